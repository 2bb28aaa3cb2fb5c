//@ only: clang
//@ flags: -std=c2x
//@ out: 1023 0
// _BitInt(N), which gcc 12 has not.
#include <stdio.h>
int main(void) {
    unsigned _BitInt(10) a = 1023, b = a + 1;
    printf("%d %d\n", (int)a, (int)b);
    return 0;
}
