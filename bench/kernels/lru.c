// Looks n thousand keys up in a cache that drops what was used least recently: lru [N].
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct entry {
    struct entry *newer, *older; // by use
    struct entry *next;          // in the bucket
    int key;
    int value;
};

struct cache {
    struct entry **table;
    int buckets; // a power of two
    int count;
    int capacity;
    struct entry *newest, *oldest;
};

static void cache_init(struct cache *c, int capacity) {
    int buckets = 1;
    while (buckets < capacity)
        buckets *= 2;
    c->table = calloc(buckets, sizeof *c->table);
    c->buckets = buckets;
    c->count = 0;
    c->capacity = capacity;
    c->newest = c->oldest = NULL;
}

static int bucket(const struct cache *c, int key) {
    return (int)((uint32_t)key * 2654435761u >> 8) & (c->buckets - 1);
}

static void unlink_use(struct cache *c, struct entry *e) {
    if (e->newer)
        e->newer->older = e->older;
    else
        c->newest = e->older;
    if (e->older)
        e->older->newer = e->newer;
    else
        c->oldest = e->newer;
}

static void link_newest(struct cache *c, struct entry *e) {
    e->newer = NULL;
    e->older = c->newest;
    if (c->newest)
        c->newest->newer = e;
    else
        c->oldest = e;
    c->newest = e;
}

// Gives the value of the key, or -1.
static int cache_get(struct cache *c, int key) {
    for (struct entry *e = c->table[bucket(c, key)]; e; e = e->next)
        if (e->key == key) {
            if (e != c->newest) {
                unlink_use(c, e);
                link_newest(c, e);
            }
            return e->value;
        }
    return -1;
}

// Takes the entry that was used least recently.
static struct entry *cache_take(struct cache *c) {
    struct entry *e = c->oldest;
    int b = bucket(c, e->key);
    unlink_use(c, e);
    if (c->table[b] == e) {
        c->table[b] = e->next;
    } else {
        struct entry *p = c->table[b];
        while (p->next != e)
            p = p->next;
        p->next = e->next;
    }
    return e;
}

static void cache_put(struct cache *c, int key, int value) {
    struct entry *e;
    if (c->count < c->capacity) {
        e = calloc(1, sizeof *e);
        c->count++;
    } else {
        e = cache_take(c);
    }
    int b = bucket(c, key);
    e->key = key;
    e->value = value;
    e->next = c->table[b];
    c->table[b] = e;
    link_newest(c, e);
}

int main(int argc, char **argv) {
    int n = 1000 * (argc > 1 ? atoi(argv[1]) : 6000);
    struct cache c;
    uint32_t seed = 17, sum = 0;
    int hits = 0;
    cache_init(&c, 3000);
    for (int i = 0; i < n; i++) {
        seed = seed * 1664525 + 1013904223;
        int key = (int)(seed >> 16 & 2047) * (int)(seed >> 28 & 3);
        int value = cache_get(&c, key);
        if (value < 0)
            cache_put(&c, key, i & 65535);
        else
            hits++;
        sum = sum * 31 + (uint32_t)value;
    }
    printf("%d %d %08x\n", c.count, hits, (unsigned)sum);
    return 0;
}
