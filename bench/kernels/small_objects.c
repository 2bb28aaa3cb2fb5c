// Small objects that are made, looked at and freed: small_objects [THOUSANDS].
#include <stdio.h>
#include <stdlib.h>

struct vec {
    int x, y, z;
};

__attribute__((noinline)) int square(struct vec *v) {
    return v->x * v->x + v->y * v->y + v->z * v->z;
}

int main(int argc, char **argv) {
    int rounds = 1000 * (argc > 1 ? atoi(argv[1]) : 20000);
    unsigned total = 0;
    for (int i = 0; i < rounds; i++) {
        struct vec *v = malloc(sizeof *v);
        v->x = i;
        v->y = v->z = 1;
        total += (unsigned)square(v);
        free(v);
    }
    printf("%u\n", total);
    return 0;
}
