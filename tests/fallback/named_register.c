//@ only: gcc
//@ out: 1
// A variable in a named register.
#include <stdio.h>
#ifdef __x86_64__
register void *stack __asm__("rsp");
#else
register void *stack __asm__("sp");
#endif
int main(void) {
    int here;
    long distance = (char *)&here - (char *)stack;
    printf("%d\n", distance >= 0 && distance < 4096);
    return 0;
}
