//@ only: gcc
//@ out: 3
// A builtin that is not known.
#include <stdio.h>
int main(void) {
    volatile _Float32 nine = 9;
    printf("%d\n", (int)__builtin_sqrtf32(nine));
    return 0;
}
