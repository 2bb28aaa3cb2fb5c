//@ out: 12 5 42
//@ out: 4 0 1 7 1 0 -5
//@ out: 7 7 100000000 6 1 3.0 21
// Assembly labels, statements with names, flags and jumps.
#if defined __x86_64__
#include <stdio.h>
int renamed(int) __asm__("the_real_name");
int renamed(int x) { return x * 3; }
int global_one __asm__("other_name") = 5;
extern int again __asm__("other_name");
__asm__(".globl from_asm\n.type from_asm, @function\nfrom_asm:\n movl $42, %eax\n ret\n");
int from_asm(void);

static int locals(int a) { __asm__ volatile("addl $1, %0" : "+r"(a)); return a; }
static int jump(int a) { __asm__ goto("testl %0, %0\n jz %l[zero]" : : "r"(a) : "cc" : zero); return 1; zero: return 0; }
static int named(int a, int b) { int r; __asm__("leal (%q[x],%q[y]), %[out]" : [out] "=r"(r) : [x] "r"((long)a), [y] "r"((long)b)); return r; }
static int flags(int a, int b) { int lt; __asm__("cmpl %2, %1" : "=@ccl"(lt) : "r"(a), "r"(b)); return lt; }
static int tied(int a) { int r; __asm__("negl %0" : "=r"(r) : "0"(a) : "cc"); return r; }

static void mem(int *p, int n) { __asm__ volatile("movl %1, %0" : "=m"(p[n]) : "ri"(7) : "memory"); }
static unsigned long long tsc_like(void) { unsigned lo, hi; __asm__ __volatile__("xorl %0, %0\n movl $1, %1" : "=a"(lo), "=d"(hi)); return (unsigned long long)hi << 32 | lo; }

static void cpuid(int leaf, unsigned *o) { __asm__("cpuid" : "=a"(o[0]), "=b"(o[1]), "=c"(o[2]), "=d"(o[3]) : "a"(leaf)); }
static double sse(double x) { double r; __asm__("sqrtsd %1, %0" : "=x"(r) : "x"(x)); return r; }
struct two { int a, b; };
static int fields(struct two *t) { __asm__("xchgl %0, %1" : "+r"(t->a), "+r"(t->b)); return t->a * 10 + t->b; }
int main(void) {
    int a[3] = { 0 }; unsigned o[4]; mem(a, 2); cpuid(0, o);
    struct two t = { 1, 2 };
    printf("%d %d %d\n", renamed(4), again, from_asm());
    printf("%d %d %d %d %d %d %d\n", locals(3), jump(0), jump(2), named(3, 4), flags(1, 2), flags(2, 1), tied(5));
    printf("%d %d %llx %d %d %.1f %d\n", 7, a[2], tsc_like(), 6, o[0] > 0, sse(9), fields(&t));
    __asm__ volatile("nop"); __asm__("nop; nop"); asm("");
    return 0;
}
#endif
