//@ only: gcc
//@ out: 4 3 2 1
//@ out: 4 8 1 5
// Shuffles by gcc's builtin, which clang has not.
#include <stdio.h>
typedef int four __attribute__((vector_size(16)));
static void show(four v) { printf("%d %d %d %d\n", v[0], v[1], v[2], v[3]); }
int main(void) {
    four a = { 1, 2, 3, 4 }, b = { 5, 6, 7, 8 };
    show(__builtin_shuffle(a, (four){ 3, 2, 1, 0 }));
    show(__builtin_shuffle(a, b, (four){ 3, 7, 0, 4 }));
    return 0;
}
