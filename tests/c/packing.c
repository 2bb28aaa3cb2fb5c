// `#pragma pack`, packed and aligned records and fields, modes.
extern int printf(const char *, ...);
#pragma pack(push, 1)
struct one { char c; int i; };
#pragma pack(2)
struct two { char c; int i; long l; struct one o; double d[2]; };
#pragma pack(pop)
struct plain { char c; int i; } __attribute__((aligned(16)));
struct mixed { char c; int i __attribute__((packed)); short s __attribute__((aligned(8))); } __attribute__((packed));
typedef int wide __attribute__((mode(TI)));
union both { struct one a; long long b; };
static struct two two = { 'c', 7, 8, { 'o', 9 }, { 1.5, 2.5 } };
int main(void) {
#pragma pack(push, 1)
    struct bits { int x : 12; char y : 6; long long z : 63; char a : 4; } bits = { 1, 2, 3, 4 };
#pragma pack(pop)
    struct two copy = two, *p = &copy;
    p->i += p->o.i;
    printf("%zu %zu %zu %zu %zu\n", sizeof(struct one), sizeof(struct two), sizeof(struct plain), sizeof(struct mixed), sizeof bits);
    printf("%d %ld %.1f %d\n", p->i, p->l, p->d[1], (int)((char *)&p->d - (char *)p));
    printf("%zu %zu %zu %d\n", sizeof(wide), sizeof(union both), __builtin_offsetof(struct mixed, s), bits.x + bits.y + (int)bits.z + bits.a);
    return 0;
}
