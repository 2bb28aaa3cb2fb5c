//@ out: 3 101 9 1 1 15 -200
//@ out: 1 1 1
//@ out: 16 7 5 10
//@ out: 1 4095 -7 5 1
//@ out: 5 13 4
//@ out: 3 8000000000
// Bit-fields: promotion, wrapping, initialisers, compound assignment, unnamed ones, layout.
extern int printf(const char *, ...);
struct b { unsigned a : 3, : 2, b : 7; int c : 5; unsigned long long d : 40; _Bool e : 1; unsigned char f : 4; int : 0; short g : 9; };
struct __attribute__((packed)) p { char x; unsigned y : 12; int z : 20; short w; };
union u { struct { unsigned lo : 4, hi : 4; }; unsigned char byte; };
static struct b global = { 5, 100, -3, 1ULL << 39, 1, .g = -200 };
static volatile struct { unsigned r : 4; } reg;
static struct b make(int n) { struct b x = { .a = n, .c = n }; return x; }
int main(void) {
    struct b s = global;
    union u u = { .byte = 0xa5 };
    struct p p = { 1, 0xfff, -7, 5 };
    s.a += 6; s.b++; s.c -= 20; s.d <<= 1; s.f = 31; s.e = 2;
    printf("%d %d %d %d %d %d %d\n", s.a, s.b, s.c, s.d == 0, s.e, s.f, s.g);
    printf("%d %d %d\n", s.a - 4 < 0, -s.b < 0, ~s.a < 0);
    printf("%zu %zu %d %d\n", sizeof(struct b), sizeof(struct p), u.lo, u.hi);
    printf("%d %d %d %d %d\n", p.x, p.y, p.z, p.w, (s.a = 9));
    printf("%d %d %d\n", make(13).a, make(13).c, (make(1).a, s.a++ + ++s.a));
    reg.r = 17; reg.r |= 2;
    printf("%d %llx\n", reg.r, (unsigned long long)global.d);
    return 0;
}
