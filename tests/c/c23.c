//@ flags: -std=gnu2x
//@ out: 1 2 170 0 0 1 ffffffffff -1 3 8
// C23 as both compilers know it.
#include <stdio.h>
[[deprecated]] static int old(void);
static int old(void) { return 1; }
static int unnamed(int, [[maybe_unused]] int b) { return b; }
static int digits = 0b10101010;
struct [[gnu::packed]] pk { char c; int i; };
enum [[nodiscard]] e { A [[deprecated]], B };
enum big { BIG = 0xFFFFFFFFFF, NEG = -1 };
_Static_assert(sizeof(struct pk) == 5);
static int lab(int n) { switch (n) { case 1:; int x = 3; return x; default:; } goto end; end: return 0; }
static int none() { return 8; }
int main(void) {
    int e = 0; struct pk p = {}; 
    printf("%d %d %d %d %d %d %lx %d %d %d\n", old(), unnamed(1, 2), digits, e, p.i, B, (long)BIG, (int)NEG, lab(1), none());
    return 0;
}
