// What library.lee does, as a C programmer writes it by hand: containers for one type, everything inline. Sorting is libc's
// qsort ('s') or an introsort of the same design with the comparison inline ('i').
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdint.h>

static unsigned long state = 1;
static unsigned next(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33);
}

static void *grown(void *p, size_t bytes) {
    p = realloc(p, bytes);
    if (p == NULL)
        abort();
    return p;
}

struct ints { int *items; size_t room, length; };

static void push(struct ints *v, int item) {
    if (v->length == v->room) {
        v->room = v->room ? 2 * v->room : 4;
        v->items = grown(v->items, v->room * sizeof *v->items);
    }
    v->items[v->length++] = item;
}

static unsigned long vec(int n) {
    unsigned long sum = 0;
    for (int round = 0; round < 10; round++) {
        struct ints v = {0};
        for (int i = 0; i < n; i++)
            push(&v, i);
        for (size_t i = 0; i < v.length; i++)
            sum += (unsigned)v.items[i];
        free(v.items);
    }
    return sum;
}

static size_t mix(size_t h) {
    h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
    h = (h ^ h >> 27) * 0x94d049bb133111ebu;
    return h ^ h >> 31;
}

/* Open addressing with the keys in the table. */
struct cell { int key, value; char used; };
struct table { struct cell *cells; size_t size, length; };

static struct cell *cell_of(struct table *t, int key) {
    size_t at = mix((size_t)key) & (t->size - 1);
    while (t->cells[at].used && t->cells[at].key != key)
        at = (at + 1) & (t->size - 1);
    return &t->cells[at];
}

static struct cell *place(struct table *t, int key) {
    if (4 * t->length >= 3 * t->size) {
        struct table more = {NULL, t->size ? 2 * t->size : 8, t->length};
        more.cells = calloc(more.size, sizeof *more.cells);
        if (more.cells == NULL)
            abort();
        for (size_t i = 0; i < t->size; i++)
            if (t->cells[i].used)
                *cell_of(&more, t->cells[i].key) = t->cells[i];
        free(t->cells);
        *t = more;
    }
    struct cell *c = cell_of(t, key);
    if (!c->used) {
        *c = (struct cell){key, 0, 1};
        t->length++;
    }
    return c;
}

static unsigned long map(int n) {
    struct table t = {0};
    unsigned long sum = 0;
    for (int i = 0; i < n; i++)
        place(&t, (int)(next() % (2 * (unsigned)n)))->value += i;
    for (int i = 0; i < 2 * n; i++) {
        struct cell *c = cell_of(&t, i);
        sum += c->used ? (unsigned)c->value : 1;
    }
    free(t.cells);
    return sum;
}

/* Chains, as most C programs do it. */
struct word { struct word *next; size_t hash; int n; char text[]; };

static unsigned long words(int n) {
    struct word **heads = calloc(8, sizeof *heads);
    size_t size = 8, length = 0;
    for (int i = 0; i < n; i++) {
        char text[24];
        snprintf(text, sizeof text, "word%u", next() % ((unsigned)n / 4));
        size_t hash = 14695981039346656037u;
        for (const char *p = text; *p; p++)
            hash = (hash ^ (unsigned char)*p) * 1099511628211u;
        struct word *w = heads[hash & (size - 1)];
        while (w && (w->hash != hash || strcmp(w->text, text) != 0))
            w = w->next;
        if (!w) {
            if (length == size) {
                struct word **more = calloc(2 * size, sizeof *more);
                for (size_t k = 0; k < size; k++)
                    for (struct word *o = heads[k], *next; o; o = next) {
                        next = o->next;
                        o->next = more[o->hash & (2 * size - 1)];
                        more[o->hash & (2 * size - 1)] = o;
                    }
                free(heads);
                heads = more;
                size *= 2;
            }
            w = grown(NULL, sizeof *w + strlen(text) + 1);
            *w = (struct word){heads[hash & (size - 1)], hash, 0};
            strcpy(w->text, text);
            heads[hash & (size - 1)] = w;
            length++;
        }
        w->n++;
    }
    unsigned long sum = 0;
    for (size_t k = 0; k < size; k++)
        for (struct word *o = heads[k], *next; o; o = next) {
            next = o->next;
            sum += (unsigned)o->n * (unsigned)o->n;
            free(o);
        }
    free(heads);
    return sum;
}

static int by_value(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

static void quick(int *a, size_t n) {
    while (n > 16) {
        size_t m = n / 2;
        int x = a[0], y = a[m], z = a[n - 1];
        int p = x < y ? (y < z ? y : x < z ? z : x) : (x < z ? x : y < z ? z : y);
        size_t i = (size_t)-1, j = n;
        for (;;) {
            do i++; while (a[i] < p);
            do j--; while (a[j] > p);
            if (i >= j)
                break;
            int t = a[i];
            a[i] = a[j];
            a[j] = t;
        }
        j++;
        if (j < n - j) {
            quick(a, j);
            a += j;
            n -= j;
        } else {
            quick(a + j, n - j);
            n = j;
        }
    }
    for (size_t i = 1; i < n; i++) {
        int t = a[i];
        size_t j = i;
        for (; j > 0 && a[j - 1] > t; j--)
            a[j] = a[j - 1];
        a[j] = t;
    }
}

static unsigned long sort(int n, int mine) {
    struct ints v = {0};
    for (int i = 0; i < n; i++)
        push(&v, (int)next());
    if (mine)
        quick(v.items, v.length);
    else
        qsort(v.items, v.length, sizeof *v.items, by_value);
    unsigned long sum = 0;
    for (size_t i = 0; i < v.length; i++)
        sum = sum * 31 + (unsigned)v.items[i];
    free(v.items);
    return sum;
}

static unsigned long text(int n) {
    unsigned long sum = 0;
    for (int round = 0; round < 10; round++) {
        char *s = NULL;
        size_t room = 0, length = 0;
        for (int i = 0; i < n; i++) {
            size_t more = strlen("some ");
            if (length + more + 2 > room)
                s = grown(s, room = room ? 2 * room : 16);
            memcpy(s + length, "some ", more);
            length += more;
            s[length++] = (char)('a' + i % 26);
            s[length] = '\0';
        }
        sum += length + (unsigned char)s[length / 2];
        free(s);
    }
    return sum;
}

int main(int argc, char **argv) {
    char what = argc > 1 ? argv[1][0] : 'v';
    int n = argc > 2 ? atoi(argv[2]) : 1000;
    unsigned long sum = what == 'v'   ? vec(n)
                        : what == 'm' ? map(n)
                        : what == 'w' ? words(n)
                        : what == 't' ? text(n)
                                      : sort(n, what == 'i');
    printf("%lu\n", sum);
    return 0;
}
