// Pairs of malloc and free of 64 bytes: arena_empty [THOUSANDS OF PAIRS].
#include <stdio.h>
#include <stdlib.h>

static __attribute__((noinline)) int use(void *p, int i) {
    return p ? i & 1 : 2;
}

int main(int argc, char **argv) {
    int rounds = 1000 * (argc > 1 ? atoi(argv[1]) : 20000);
    long total = 0;
    for (int i = 0; i < rounds; i++) {
        void *p = malloc(64);
        total += use(p, i);
        free(p);
    }
    printf("%ld\n", total);
    return 0;
}
