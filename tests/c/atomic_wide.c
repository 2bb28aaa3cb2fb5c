//@ out: 3 18446744073709551615 1 7
// Atomics of 16 bytes are calls of libatomic, which is linked where it is needed; gcc wants
// `-latomic` for the same program.
#include <stdio.h>
#include <stdatomic.h>
static _Atomic __int128 x;
static _Atomic unsigned __int128 y;
int main(void) {
    x = 1;
    x += 2;
    int low = (int)x;
    y = ((unsigned __int128)1 << 64) - 1;
    unsigned long all = (unsigned long)y;
    y++;
    int high = (int)(y >> 64);
    __int128 old = 3;
    atomic_compare_exchange_strong(&x, &old, 7);
    printf("%d %lu %d %d\n", low, all, high, (int)x);
    return 0;
}
