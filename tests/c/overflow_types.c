//@ only: gcc
//@ out: 0 1
// __builtin_add_overflow_p and the like: the type of the last argument counts.
#include <stdio.h>
int main(void){int x = 100; printf("%d %d\n", __builtin_add_overflow_p(1, 2, (char)0), __builtin_mul_overflow_p(x, 2, (signed char)0));return 0;}
