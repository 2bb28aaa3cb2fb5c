//@ only: gcc
//@ out: 8 5
//@ out: second
//@ out: on the name
//@ out: done
// Attributes that change the type of a parameter, and two `cleanup`s on one variable, of which gcc
// runs the last of a list.
#include <stdio.h>
__attribute__((noinline)) static long wide(__attribute__((mode(DI))) int x) { return x == 5000000000 ? sizeof x : 0; }
__attribute__((noinline)) static int scaled(int x __attribute__((mode(HI)))) { return x; }
static void first(int *x) { puts("first"); }
static void second(int *x) { puts("second"); }
static void name(int *x) { puts("on the name"); }
int main(void) {
    printf("%ld %d\n", wide(5000000000), scaled(65541));
    { int x __attribute__((cleanup(first), cleanup(second))) = 1; (void)x; }
    { __attribute__((cleanup(name))) int y __attribute__((cleanup(first))) = 1; (void)y; }
    puts("done");
    return 0;
}
