//@ out: 10 13 28 2
//@ out: 6 3 4
//@ out: 5 done
// Packed fields and parameters of a transparent union; arrays whose other declarations leave their length open; values of a
// flexible member; attributes that name functions nobody uses.
#include <stdio.h>
#include <stddef.h>
struct p { unsigned short a; unsigned long b __attribute__((packed)); };
union h { unsigned char raw[26]; struct { char c; int n; long l __attribute__((packed)); struct p inner; } f __attribute__((packed)); };
typedef union { const char *text; int *number; } either __attribute__((transparent_union));
static int length(either e) { int n = 0; while (e.text[n]) n++; return n; }
struct tail { int n; short items[]; };
static const struct tail list = { 3, { 1, 2, 4 } };
extern int later[];
static int sum(void) { return later[0] + later[2]; }
int later[3] = { 1, 2, 4 };
extern const int table[2];
const int table[2] = { 3, 7 };
static int half = 0.5 * 9;
int main(void) {
    char word[] = "done??";
    FILE *f = fopen("/dev/null", "w");
    printf("%zu %zu %zu %zu\n", sizeof(struct p), offsetof(union h, f.l) + 5, sizeof(union h), offsetof(struct p, b));
    printf("%d %zu %d\n", length(word), sizeof later / sizeof later[0], half);
    word[4] = 0;
    printf("%d %s\n", f ? sum() : 0, list.items[2] == 4 && table[1] == 7 ? word : "wrong");
    return 0;
}
