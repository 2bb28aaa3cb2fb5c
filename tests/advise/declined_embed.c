// Objects that could be members of what owns them. Nothing is written for these.
#include <stdlib.h>

struct head { int length; struct node *first; };
struct node { struct node *next; void *data; };
struct owner { int n; struct head *list; struct head *slots[4]; };

int set_up(struct owner *o) {
    o->list = malloc(sizeof(struct head)); // advise: embed owner.list
    if (!o->list) return 0;
    o->list->length = 0;
    o->list->first = NULL;
    return 1;
}

int push(struct owner *o, void *data) {
    struct node *n = malloc(sizeof *n); // advise: embed list node
    if (!n) return 0;
    n->data = data;
    n->next = o->list->first;
    o->list->first = n;
    return 1;
}

void tear_down(struct owner *o) {
    while (o->list->first) {
        struct node *n = o->list->first;
        o->list->first = n->next;
        free(n);
    }
    free(o->list);
}

// Released in no way that is seen.
static struct head *other;
int lost(struct owner *o) {
    o->slots[0] = malloc(sizeof(struct head)); // advise: declined escapes
    return o->slots[0] != NULL && other == NULL;
}

// A member of a union: what it holds is moved on under other names.
union slot { struct head *head; int n; };
int fill(union slot *s) {
    s->head = malloc(sizeof(struct head)); // advise: declined escapes
    return s->head != NULL;
}

void drain(union slot *s) {
    free(s->head);
}

// One store is of another size.
struct option { int length; char data[4]; };
struct client { struct option *address; };
struct option *copy_of(const struct option *from);

int first(struct client *c) {
    c->address = malloc(sizeof(struct option)); // advise: declined escapes
    return c->address != NULL;
}

void next(struct client *c, const struct option *from) {
    free(c->address);
    c->address = copy_of(from);
}

// What the field points at is larger than its type.
struct base { int kind; };
struct derived { struct base base; long value; };
struct holder { struct base *any; };
int make_any(struct holder *h) { // rule: member-size
    h->any = malloc(sizeof(struct derived)); // advise: declined escapes
    if (!h->any) return 0;
    h->any->kind = 1;
    return 1;
}

void drop_any(struct holder *h) {
    free(h->any);
}

// It has a count of references: others may have it when the owner lets it go.
struct counted { int references; };
struct sharer { struct counted *what; };
static void let_go(struct counted *c) {
    if (--c->references == 0) free(c);
}

int share(struct sharer *s) {
    s->what = malloc(sizeof(struct counted)); // advise: declined escapes
    if (!s->what) return 0;
    s->what->references = 1;
    return 1;
}

void unshare(struct sharer *s) {
    let_go(s->what);
}
