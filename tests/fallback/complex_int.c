//@ out: -5 10
// Complex integers of GNU C.
#include <stdio.h>
int main(void) {
    _Complex int a = 1 + 3i, b = a * (1 + 0i);
    _Complex int c = b * (2 + 0i);
    a = a + c;
    a = a * (1 + 0i);
    printf("%d %d\n", __real__ a - 8, __imag__ a + 1);
    return 0;
}
