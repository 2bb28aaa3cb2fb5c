/* The tenants as WebAssembly: the handlers are the same files, and this is what they need beside
 * the host. One instance is one tenant, or what it forked. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../handlers.h"

#define EXPORT(name) __attribute__((export_name(name)))

/* Memory of one instance begins at `__heap_base`. A block that was freed is used again as a whole,
 * by the first request that it has room for: the handlers free all that they take but what they
 * keep on purpose, so more would gain nothing. */
struct block {
    size_t size;
    struct block *next;
};

enum { PAGE_SIZE = 1 << 16 };

extern char __heap_base;
static struct block *unused;
static char *top;

void *malloc(size_t size) {
    if (size > INT32_MAX)
        return NULL;
    size = (size + 7) & ~(size_t)7;
    for (struct block **at = &unused; *at; at = &(*at)->next) {
        struct block *found = *at;
        if (found->size >= size) {
            *at = found->next;
            return found + 1;
        }
    }
    if (!top)
        top = (char *)(((uintptr_t)&__heap_base + 7) & ~(uintptr_t)7);
    size_t needed = (uintptr_t)top + sizeof(struct block) + size;
    size_t there = __builtin_wasm_memory_size(0) * PAGE_SIZE;
    /* The host ends an instance that asks for more than its tenant's limit. */
    if (needed > there && __builtin_wasm_memory_grow(0, (needed - there + PAGE_SIZE - 1) / PAGE_SIZE) == SIZE_MAX)
        return NULL;
    struct block *made = (struct block *)(void *)top;
    top = (char *)needed;
    made->size = size;
    return made + 1;
}

void free(void *block) {
    if (!block)
        return;
    struct block *freed = (struct block *)block - 1;
    freed->next = unused;
    unused = freed;
}

/* One instruction each, with `-mbulk-memory`. */
void *memcpy(void *restrict to, const void *restrict from, size_t n) {
    return __builtin_memcpy(to, from, n);
}

void *memset(void *to, int byte, size_t n) {
    return __builtin_memset(to, byte, n);
}

size_t strlen(const char *text) {
    size_t n = 0;
    while (text[n])
        n++;
    return n;
}

/* Where the host writes a body of `length` bytes. */
EXPORT("room") char *room(size_t length) {
    return malloc(length);
}

/* Answers a body that `room` made room for. */
EXPORT("serve") const struct reply *serve(int kind, char *body, size_t length) {
    static struct reply out;
    out.used = 0;
    switch (kind) {
    case 0: json_answer(body, length, &out); break;
    case 1: image_answer(body, length, &out); break;
    default: calc_answer(body, length, &out); break;
    }
    free(body);
    return &out;
}
