// Counts the words of a made-up text in a table of chains: hash_table [THOUSANDS OF WORDS].
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    struct entry *next;
    uint32_t hash;
    unsigned count;
    const char *word;
};

struct table {
    struct entry **slots;
    size_t capacity; // a power of two
    size_t count;
};

static uint32_t hash_word(const char *word) {
    uint32_t hash = 2166136261u;
    for (; *word; word++)
        hash = (hash ^ (unsigned char)*word) * 16777619u;
    return hash ^ hash >> 15;
}

static void table_init(struct table *t, size_t capacity) {
    t->slots = calloc(capacity, sizeof *t->slots);
    t->capacity = capacity;
    t->count = 0;
}

static void table_grow(struct table *t) {
    size_t wanted = 2 * t->capacity;
    struct entry **slots = calloc(wanted, sizeof *slots);
    for (size_t i = 0; i < t->capacity; i++) {
        struct entry *next;
        for (struct entry *e = t->slots[i]; e; e = next) {
            size_t at = e->hash & (wanted - 1);
            next = e->next;
            e->next = slots[at];
            slots[at] = e;
        }
    }
    t->slots = slots;
    t->capacity = wanted;
}

static unsigned table_count(const struct table *t, const char *word) {
    uint32_t hash = hash_word(word);
    for (const struct entry *e = t->slots[hash & (t->capacity - 1)]; e; e = e->next)
        if (e->hash == hash && strcmp(e->word, word) == 0)
            return e->count;
    return 0;
}

static void table_add(struct table *t, const char *word) {
    uint32_t hash = hash_word(word);
    for (struct entry *e = t->slots[hash & (t->capacity - 1)]; e; e = e->next) {
        if (e->hash == hash && strcmp(e->word, word) == 0) {
            e->count++;
            return;
        }
    }
    if (t->count == t->capacity)
        table_grow(t);
    struct entry *e = malloc(sizeof *e);
    size_t at = hash & (t->capacity - 1);
    e->next = t->slots[at];
    e->hash = hash;
    e->count = 1;
    e->word = strdup(word);
    t->slots[at] = e;
    t->count++;
}

// Spells a number below 2^20; small numbers come often.
static void spell(char word[8], uint32_t number) {
    int i = 0;
    do {
        word[i++] = (char)('a' + number % 26);
        number /= 26;
    } while (number > 0);
    word[i] = '\0';
}

int main(int argc, char **argv) {
    long words = 1000L * (argc > 1 ? atoi(argv[1]) : 3000);
    struct table t;
    char word[8];
    uint32_t seed = 5;
    table_init(&t, 64);
    for (long i = 0; i < words; i++) {
        seed = seed * 1664525 + 1013904223;
        spell(word, seed >> 12 >> (seed >> 4) % 12);
        table_add(&t, word);
    }
    unsigned long sum = 0;
    for (uint32_t i = 0; i < 1u << 20; i += 7) {
        spell(word, i);
        sum += (unsigned long)table_count(&t, word) * (i % 1000);
    }
    printf("%zu %lu\n", t.count, sum);
    return 0;
}
