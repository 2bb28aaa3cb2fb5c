// Objects that a helper makes for fields, and a function that ends them and does more.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct list { int length; int sum; void (*end)(int); };

static int ended;
static void count(int n) { ended += n; }

static struct list *list_new(void (*end)(int)) {
    struct list *l = malloc(sizeof *l); // advise: declined it is returned
    if (!l) return NULL;
    l->length = l->sum = 0;
    l->end = end;
    return l;
}

static void list_end(struct list *l, int more) {
    if (l) {
        if (l->end) l->end(l->length + more);
        free(l);
    }
}

static void list_add(struct list *l, int n) {
    l->length++;
    l->sum += n;
}

struct queue {
    int n;
    struct list *first;
    struct list *second;
};

static int queue_init(struct queue *q, int n) {
    q->n = n;
    q->first = list_new(count); // advise: embed has:, &q->first_
    if (!(q->second = list_new(NULL))) { // advise: embed changes this, too
        list_end(q->first, 0);
        return 0;
    }
    return q->first != NULL;
}

static void queue_end(struct queue *q) {
    list_end(q->first, 1);
    list_end(q->second, 2);
}

// One of the callers keeps it elsewhere.
static struct list *kept;
static void keep(void) {
    kept = list_new(count);
}

// An array of pointers.
struct slots { struct list *all[4]; int n; };
static int slots_init(struct slots *s) {
    for (int i = 0; i < 4; i++) {
        s->all[i] = malloc(sizeof(struct list)); // advise: embed has:&s->all_
        if (!s->all[i]) return 0;
        s->all[i]->sum = i;
    }
    return 1;
}

static void slots_end(struct slots *s) {
    for (int i = 0; i < 4; i++) free(s->all[i]);
}

// The helper, or its argument, may make another owner the one.
struct handle { struct list *own; };
static struct handle one, *current = &one;
static int open_current(void) { // rule: owner-stays
    current->own = list_new(NULL); // advise: embed may be another one
    return current->own != NULL;
}

static void close_current(void) { list_end(current->own, 0); }

// An owner that would not grow with its type.
struct tight { struct list *it; int n; };
static struct tight *tight_new(void) { // rule: owner-size
    struct tight *t = malloc(16); // advise: declined it is returned
    if (t) t->it = malloc(sizeof(struct list)); // advise: embed a number for its size
    if (t && t->it) t->it->sum = 4;
    return t;
}

static void tight_end(struct tight *t) {
    free(t->it);
    free(t);
}

int main(void) {
    struct queue *q = malloc(sizeof *q); // advise: declined leak
    if (!q || !queue_init(q, 3)) return 1;
    for (int i = 0; i < q->n; i++) list_add(q->first, i), list_add(q->second, -i);
    printf("%d %d\n", q->first->sum, q->second->sum);
    queue_end(q);
    free(q);
    keep();
    if (kept) list_end(kept, 5);
    struct slots s;
    if (!slots_init(&s)) return 1;
    int sum = 0;
    for (int i = 0; i < 4; i++) sum += s.all[i]->sum;
    slots_end(&s);
    printf("%d %d\n", ended, sum);
    if (!open_current()) return 1;
    close_current();
    struct tight *t = tight_new();
    if (!t || !t->it) return 1;
    printf("%d\n", t->it->sum);
    tight_end(t);
    return 0;
}
