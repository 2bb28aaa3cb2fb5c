//@ out: first
//@ out: 1 2 3 1 7 7
//@ out: 8 9
// Which definitions are for inlining only, and which symbols there are.
extern int printf(const char *, ...);
inline int both(int a) { return a + 1; }
extern int both(int a);
extern inline int external(int a) { return a + 2; }
static inline int internal(int a) { return a + 3; }
extern inline __attribute__((gnu_inline, always_inline)) int gnu(int a) { return a + 4; }
int gnu(int a) { return a + 5; }
int weak(void) __attribute__((weak));
int weak(void) { return 7; }
int alias(void) __attribute__((alias("weak")));
static int late();
static int (*pointer)(int) = late;
static int late(int x) { return x * 2; }
__attribute__((constructor)) static void first(void) { printf("first\n"); }
int renamed(void) __asm__("its_symbol");
int renamed(void) { return 9; }
extern int its_symbol(void);
int main(void) {
    printf("%d %d %d %d %d %d\n", both(0), external(0), internal(0), gnu(0) > 3, weak(), alias());
    printf("%d %d\n", pointer(4), its_symbol());
    return 0;
}
