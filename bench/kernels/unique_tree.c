// A search tree with one owner for each node, filled once and asked often: unique_tree [QUESTIONS].
// What is compared is the walk: `build` stays a function, or gcc copies it into main for one of the two and starts each walk elsewhere.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct node {
    struct node *left, *right;
    uint32_t key;
};

static struct node *node_new(uint32_t key) {
    struct node *n = malloc(sizeof *n);
    if (!n)
        abort();
    *n = (struct node){NULL, NULL, key};
    return n;
}

static __attribute__((noinline)) struct node *build(uint32_t low, uint32_t high) {
    if (low >= high)
        return NULL;
    uint32_t middle = low + (high - low) / 2;
    struct node *n = node_new(middle);
    n->left = build(low, middle);
    n->right = build(middle + 1, high);
    return n;
}

static int find(const struct node *n, uint32_t key) {
    for (int depth = 1; n; depth++) {
        if (n->key == key)
            return depth;
        n = key < n->key ? n->left : n->right;
    }
    return -1;
}

static uint64_t sum(const struct node *n) {
    return n ? n->key + sum(n->left) + sum(n->right) : 0;
}

static void drop(struct node *n) {
    if (!n)
        return;
    drop(n->left);
    drop(n->right);
    free(n);
}

int main(int argc, char **argv) {
    int questions = argc > 1 ? atoi(argv[1]) : 20000000;
    struct node *root = build(0, 1000);
    uint32_t state = 1;
    long depths = 0;
    for (int i = 0; i < questions; i++) {
        state = state * 1664525u + 1013904223u;
        depths += find(root, (state >> 16) % 1100);
    }
    printf("%ld %llu\n", depths, (unsigned long long)sum(root));
    drop(root);
    return 0;
}
