// Builds and drops binary trees with malloc and free: binary_trees [DEPTH].
#include <stdio.h>
#include <stdlib.h>

struct tree {
    struct tree *left, *right;
};

static struct tree *build(int depth) {
    struct tree *t = malloc(sizeof *t);
    if (!t)
        abort();
    *t = (struct tree){NULL, NULL};
    if (depth > 0) {
        t->left = build(depth - 1);
        t->right = build(depth - 1);
    }
    return t;
}

static int count(const struct tree *t) {
    return t->left ? 1 + count(t->left) + count(t->right) : 1;
}

static void drop(struct tree *t) {
    if (t->left) {
        drop(t->left);
        drop(t->right);
    }
    free(t);
}

int main(int argc, char **argv) {
    int depth = argc > 1 ? atoi(argv[1]) : 18;
    struct tree *lasting = build(depth);
    long total = 0;
    for (int d = 4; d <= depth; d += 4)
        for (int i = 1 << (depth - d + 4); i > 0; i--) {
            struct tree *t = build(d);
            total += count(t);
            drop(t);
        }
    printf("%ld %d\n", total, count(lasting));
    drop(lasting);
    return 0;
}
