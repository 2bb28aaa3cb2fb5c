//@ only: gcc
//@ out: 10
// Functions in functions.
#include <stdio.h>
static int each(int n, int (*f)(int)) {
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += f(i);
    return sum;
}
int main(void) {
    int factor = 1;
    int scaled(int x) { return x * factor; }
    printf("%d\n", each(5, scaled));
    return 0;
}
