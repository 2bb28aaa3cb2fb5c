// Runs n thousand events through a priority queue in an array: heap_queue [N].
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct event {
    int time;
    int number;
};

struct heap {
    struct event *items;
    int capacity;
    int count;
};

static void heap_push(struct heap *h, struct event e) {
    if (h->count == h->capacity) {
        int wanted = h->capacity ? 2 * h->capacity : 16;
        h->items = realloc(h->items, wanted * sizeof *h->items);
        h->capacity = wanted;
    }
    int i = h->count++;
    while (i > 0 && h->items[(i - 1) / 2].time > e.time) {
        h->items[i] = h->items[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    h->items[i] = e;
}

static struct event heap_pop(struct heap *h) {
    struct event top = h->items[0];
    struct event last = h->items[--h->count];
    int i = 0;
    for (;;) {
        int child = 2 * i + 1;
        if (child >= h->count)
            break;
        if (child + 1 < h->count && h->items[child + 1].time < h->items[child].time)
            child++;
        if (last.time <= h->items[child].time)
            break;
        h->items[i] = h->items[child];
        i = child;
    }
    h->items[i] = last;
    return top;
}

int main(int argc, char **argv) {
    int n = 1000 * (argc > 1 ? atoi(argv[1]) : 3000);
    struct heap h = { 0 };
    uint32_t seed = 11, sum = 0;
    for (int i = 0; i < 4000 + n / 3000; i++) {
        seed = seed * 1664525 + 1013904223;
        heap_push(&h, (struct event){ (int)(seed >> 12), i });
    }
    for (int i = 0; i < n; i++) {
        struct event e = heap_pop(&h);
        sum = sum * 31 + (uint32_t)e.time + (uint32_t)e.number;
        seed = seed * 1664525 + 1013904223;
        heap_push(&h, (struct event){ e.time + (int)(seed >> 18), i });
    }
    printf("%d %08x\n", h.count, (unsigned)sum);
    return 0;
}
