// Objects that one field has: they become members of its owner.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct head { int length; int first; };

struct owner {
    int n;
    struct head *list;
    struct head *spare;
};

static int set_up(struct owner *o, int n) {
    o->n = n;
    o->spare = NULL;
    o->list = malloc(sizeof(struct head)); // advise: embed has:&o->list_object
    if (!o->list) return 0;
    o->list->length = 0;
    o->list->first = n;
    return 1;
}

static void want_spare(struct owner *o) {
    if (o->spare) return;
    if (!(o->spare = (struct head *)calloc(1, sizeof(struct head)))) abort(); // advise: embed has:memset(&o->spare_object
    o->spare->length++;
}

static int sum(const struct head *h) { return h->length * 100 + h->first; }

static void tear_down(struct owner *o) {
    if (o->spare) free(o->spare);
    o->spare = NULL;
    free(o->list);
}

// Two stores, the second one after a release.
struct user { struct head *name; int age; };
static struct user everyone[4];

int enter(int n) {
    struct user *u = &everyone[n & 3];
    if (u->name != NULL) {
        free(u->name);
        u->name = NULL;
    }
    u->name = malloc(sizeof *u->name); // advise: embed has:struct head name_object
    if (u->name == NULL) return -1;
    u->name->length = u->name->first = n;
    return u->name->length;
}

int renew(int n) {
    free(everyone[n & 3].name);
    everyone[n & 3].name = malloc(sizeof(struct head)); // advise: embed changes this, too
    if (!everyone[n & 3].name) return -1;
    struct head *h = everyone[n & 3].name;
    h->length = h->first = -n;
    return sum(h);
}

// What it points at goes elsewhere, too.
static struct head *last;
struct handed { struct head *h; };
int hand(struct handed *o) {
    o->h = malloc(sizeof(struct head)); // advise: declined escapes
    if (!o->h) return 0;
    o->h->length = 1;
    last = o->h;
    return last->length;
}
void unhand(struct handed *o) { free(o->h); }

// An owner that is copied.
struct copied { struct head *alone; int n; };
int fill(struct copied *o) { // rule: owner-copied
    o->alone = malloc(sizeof(struct head)); // advise: embed an owner is copied
    if (!o->alone) return 0;
    o->alone->length = 4;
    struct copied other = *o;
    o->n = 0;
    int r = other.alone->length;
    return r;
}
void unfill(struct copied *o) { free(o->alone); }

// An owner that moves.
struct moved { struct head *inner; int n; };
static struct moved *grown(struct moved *all, int n) { // rule: owner-bytes
    struct moved *more = realloc(all, (size_t)n * sizeof *all);
    if (!more) abort();
    return more;
}

static void fill_in(struct moved *m, int n) {
    m->inner = malloc(sizeof(struct head)); // advise: embed handed on as another type
    if (!m->inner) abort();
    m->inner->length = n;
}

static int moving(int n) {
    struct moved *all = NULL;
    int r = 0;
    for (int i = 0; i < n; i++) {
        all = grown(all, i + 1);
        fill_in(&all[i], i);
    }
    for (int i = 0; i < n; i++) {
        r += all[i].inner->length;
        free(all[i].inner);
    }
    free(all);
    return r;
}

// A field whose address is taken.
struct swapped { struct head *ours; int n; };
static void put(struct head **to) { // rule: field-address
    static struct head none;
    *to = &none;
}
int swapping(struct swapped *o) {
    o->ours = malloc(sizeof(struct head)); // advise: embed the address of
    if (!o->ours) return 0;
    free(o->ours);
    put(&o->ours);
    return o->ours->length;
}

// The owner is released first, and what it had goes on being used.
struct brief { struct head *inner2; int n; };
static int outliving(int n) { // rule: owner-lives
    struct brief *b = malloc(sizeof *b); // advise: stack proven
    if (!b) return 0;
    b->inner2 = malloc(sizeof(struct head)); // advise: embed when its owner is released
    if (!b->inner2) abort();
    struct head *h = b->inner2;
    h->length = n;
    if (n < 0) {
        free(b->inner2);
        free(b);
        return 0;
    }
    free(b);
    n = h->length;
    if (n >= 0) free(h);
    return n;
}

// A pointer into it is kept.
struct watched { struct head *seen; int n; };
static int *watch;
int watching(struct watched *w) { // rule: member-stored
    w->seen = malloc(sizeof(struct head)); // advise: embed is stored elsewhere
    if (!w->seen) return 0;
    watch = &w->seen->length;
    *watch = 3;
    return w->seen->length;
}
void unwatch(struct watched *w) { free(w->seen); }

struct told { struct head *news; int n; };
static void tell(int *to) { watch = to; }
int telling(struct told *t) { // rule: member-kept
    t->news = malloc(sizeof(struct head)); // advise: embed may keep it
    if (!t->news) return 0;
    tell(&t->news->length);
    *watch = 6;
    return t->news->length;
}
void untell(struct told *t) { free(t->news); }

// The first object is lost, and goes on being used.
struct twice { struct head *both; int n; };
int lose(struct twice *t, int n) { // rule: member-replaced
    struct head *old = t->both;
    t->both = malloc(sizeof(struct head)); // advise: embed when the field gets another object
    if (!t->both) return 0;
    t->both->length = n;
    return old ? old->length : n;
}
void unlose(struct twice *t) { free(t->both); }

// An owner that is returned by value, inside another struct.
struct inner { struct head *deep; int n; };
struct outer { struct inner all[2]; };
int deepen(struct outer *o) {
    o->all[0].deep = malloc(sizeof(struct head)); // advise: embed an owner is copied
    if (!o->all[0].deep) return 0;
    o->all[0].deep->length = 2;
    return o->all[0].deep->length;
}
struct outer twin(const struct outer *o) { return *o; }
void flatten(struct outer *o) { free(o->all[0].deep); }

// It gets another object, too.
struct given { struct head *it; int n; };
static struct head standard;
int give(struct given *g, int n) { // rule: all-stores
    g->it = &standard;
    if (n) {
        g->it = malloc(sizeof(struct head)); // advise: embed other objects
        if (!g->it) return 0;
    }
    g->it->length = n;
    return g->it->length + standard.length;
}
void ungive(struct given *g) {
    if (g->it != &standard) free(g->it);
}

int main(void) {
    struct owner *o = malloc(sizeof *o); // advise: declined leak
    if (!o || !set_up(o, 5)) return 1;
    want_spare(o);
    want_spare(o);
    printf("%d %d %d\n", sum(o->list), sum(o->spare), o->n);
    tear_down(o);
    free(o);
    for (int n = 0; n < 9; n++) printf("%d %d\n", enter(n), renew(n));
    for (int n = 0; n < 4; n++) free(everyone[n].name);
    struct handed handed;
    printf("%d\n", hand(&handed));
    unhand(&handed);
    struct copied copied;
    printf("%d\n", fill(&copied));
    unfill(&copied);
    struct swapped swapped;
    printf("%d %d\n", moving(5), swapping(&swapped));
    struct watched watched;
    struct told told;
    struct given given;
    printf("%d %d ", watching(&watched), telling(&told));
    printf("%d\n", give(&given, 5));
    unwatch(&watched);
    untell(&told);
    ungive(&given);
    struct twice twice = { NULL, 0 };
    printf("%d %d\n", lose(&twice, 8), twice.both ? twice.both->length : 8);
    unlose(&twice);
    struct outer outer;
    if (deepen(&outer)) printf("%d\n", twin(&outer).all[0].deep->length);
    flatten(&outer);
    if (outliving(3) == 4) puts("never");
    return 0;
}
