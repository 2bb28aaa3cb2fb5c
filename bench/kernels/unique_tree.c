// A search tree with one owner for each node, filled once and asked often: unique_tree [QUESTIONS].
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct node {
    struct node *left, *right;
    uint32_t key, uses;
};

static struct node *node_new(uint32_t key) {
    struct node *n = malloc(sizeof *n);
    if (!n)
        abort();
    *n = (struct node){NULL, NULL, key, 0};
    return n;
}

static struct node *build(uint32_t low, uint32_t high) {
    if (low >= high)
        return NULL;
    uint32_t middle = low + (high - low) / 2;
    struct node *n = node_new(middle);
    n->left = build(low, middle);
    n->right = build(middle + 1, high);
    return n;
}

static int find(struct node *n, uint32_t key) {
    if (!n)
        return -1;
    if (n->key == key) {
        n->uses++;
        return 1;
    }
    int deeper = key < n->key ? find(n->left, key) : find(n->right, key);
    return deeper < 0 ? -1 : deeper + 1;
}

static uint64_t uses(const struct node *n) {
    return n ? n->uses * (uint64_t)n->key + uses(n->left) + uses(n->right) : 0;
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
    printf("%ld %llu\n", depths, (unsigned long long)uses(root));
    drop(root);
    return 0;
}
