// Lists of points in a bump allocator, dropped as a whole: arena_bump [ROUNDS].
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct point {
    struct point *next;
    int x, y;
};

struct page {
    struct page *older;
};

struct bump {
    char *next, *end;
    struct page *pages;
    size_t bytes;
};

static __attribute__((noinline)) void *bump_more(struct bump *b, size_t size) {
    b->bytes = b->bytes ? b->bytes < 1 << 20 ? 2 * b->bytes : b->bytes : 4096;
    struct page *page = malloc(b->bytes);
    if (!page)
        abort();
    page->older = b->pages;
    b->pages = page;
    b->next = (char *)(page + 1) + size;
    b->end = (char *)page + b->bytes;
    return page + 1;
}

static inline void *bump_alloc(struct bump *b, size_t size) {
    char *start = b->next;
    if ((size_t)(b->end - start) < size)
        return bump_more(b, size);
    b->next = start + size;
    return start;
}

static void bump_free(struct bump *b) {
    for (struct page *p = b->pages; p;) {
        struct page *older = p->older;
        free(p);
        p = older;
    }
}

static struct point *line(struct bump *b, int n) {
    struct point *first = NULL;
    for (int i = 0; i < n; i++) {
        struct point *p = bump_alloc(b, sizeof *p);
        *p = (struct point){first, i, 2 * i};
        first = p;
    }
    return first;
}

static uint64_t sum(const struct point *p) {
    uint64_t total = 0;
    for (; p; p = p->next)
        total += (unsigned)p->x ^ (unsigned)p->y;
    return total;
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 20000;
    uint64_t total = 0;
    for (int i = 0; i < rounds; i++) {
        struct bump b = {0};
        total += sum(line(&b, 2000));
        bump_free(&b);
    }
    printf("%llu\n", (unsigned long long)total);
    return 0;
}
