// A list that is replaced node by node: list_reuse [ROUNDS].
#include <stdio.h>
#include <stdlib.h>

struct node {
    struct node *next;
    unsigned key;
};

static __attribute__((noinline)) struct node *next(struct node *list) {
    struct node *done = NULL;
    while (list) {
        struct node *rest = list->next;
        unsigned key = list->key;
        free(list);
        struct node *n = malloc(sizeof *n);
        n->key = key * 3 + 1;
        n->next = done;
        done = n;
        list = rest;
    }
    return done;
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 100000;
    struct node *list = NULL;
    for (unsigned i = 0; i < 1000; i++) {
        struct node *n = malloc(sizeof *n);
        n->key = i;
        n->next = list;
        list = n;
    }
    for (int i = 0; i < rounds; i++)
        list = next(list);
    unsigned total = 0;
    for (struct node *n = list; n; n = n->next)
        total += n->key;
    printf("%u\n", total);
    while (list) {
        struct node *rest = list->next;
        free(list);
        list = rest;
    }
    return 0;
}
