//@ out: 1 2
//@ out: 6
// A vector that no typedef names, and a place with effects.
#include <stdio.h>
typedef int four __attribute__((vector_size(16)));
static int first(__attribute__((vector_size(16))) int v) { return v[0]; }
int main(void) {
    four a[2] = { { 1 }, { 5 } };
    int i = 0;
    printf("%d %d\n", first(a[0]), first(a[i] * 2));
    a[++i] += 1;
    printf("%d\n", first(a[1]));
    return 0;
}
