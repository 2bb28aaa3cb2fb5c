//@ flags: -std=gnu2x
//@ out: 2 3 3 7 2 0
//@ out: 8 1 1
//@ out: 12 15
//@ out: clean 3
//@ out: clean 2
//@ out: clean 1
//@ out: 3
//@ out: 7 8 1 64 64
//@ out: 0 0 1 5
//@ out: 9
//@ out: 4 5 3 11 3 2 17
//@ out: 1 10 9 4 0x3
//@ out: 1 3
//@ out: destroyed
// Attributes: alias, weak, section, constructors, cleanup, packing, alignment (also of typedefs), enumerators, labels.
#include <stdio.h>
#include <stdlib.h>
#include <stddef.h>
#include <stdint.h>
static int real_one(int x) { return x + 1; }
int real_two(int x) { return x + 2; }
int other_two(int x) __attribute__((alias("real_two")));
extern __typeof(real_two) weak_two __attribute__((weak, alias("real_two")));
int counter = 7;
extern int other_counter __attribute__((alias("counter")));
static int hidden_alias(int) __attribute__((alias("real_one"), used));
extern int missing(void) __attribute__((weak));
extern int missing_data __attribute__((weak));
int order[4], orders;
__attribute__((constructor(101))) static void first(void) { order[orders++] = 1; }
__attribute__((constructor(102))) static void second(void) { order[orders++] = 2; }
static void __attribute__((destructor)) last(void) { puts("destroyed"); }
static int placed __attribute__((section("mine"), used)) = 3;
__attribute__((section(".text.mine"), noinline)) int in_section(int a) { return a * placed; }
extern int __start_mine, __stop_mine;
static void clean(int *p) { printf("clean %d\n", *p); }
static int cleans(void) { __attribute__((cleanup(clean))) int a = 1; int b __attribute__((__cleanup__(clean))) = 2; { int c __attribute__((cleanup(clean))) = 3; if (a) goto out; } out: return a + b; }
struct __attribute__((packed)) packed { char a; int b; short c; };
struct half { char a; int b __attribute__((packed)); short c; };
struct aligned { char c; int x __attribute__((aligned(16))); } __attribute__((aligned(64)));
typedef int aligned_int __attribute__((aligned(32)));
union __attribute__((transparent_union)) either { int *i; float *f; };
static int take(union either e) { return *e.i; }
enum color { RED __attribute__((deprecated)), GREEN [[maybe_unused]] = 5, BLUE __attribute__((unavailable("no"))) };
enum __attribute__((packed)) tiny { T1, T2 };
[[nodiscard]] static int nod(void) { return 4; }
[[maybe_unused, deprecated("old")]] static int unused_one;
__attribute__((noreturn)) static void ends(int n);
__attribute__((const)) static int five(void) { return 5; }
__attribute__((pure)) static int len(const char *s) { int n = 0; while (*s++) n++; return n; }
__attribute__((always_inline)) static inline int inl(int a) { return a ^ 1; }
__attribute__((noinline, cold)) static int cold(int a) { return a ^ 2; }
__attribute__((hot, flatten)) static int hot(int a) { return cold(a) + inl(a); }
__attribute__((format(printf, 1, 2))) static int say(const char *f, ...) { return f[0]; }
__attribute__((nonnull(1), returns_nonnull, malloc, alloc_size(2), warn_unused_result)) static void *mem(void *p, size_t n) { return (char *)p + n; }
__attribute__((visibility("hidden"))) int hidden_one = 1;
__attribute__((optimize("O1"))) int opt(int a) { return a + 9; }
int tgt(int a) { return a + 8; }
static int label(int n) {
    switch (n) { case 0: n++; __attribute__((fallthrough)); case 1: n += 2; [[fallthrough]]; case 2: return n; default: break; }
    goto here;
here: __attribute__((unused));
    n += 10;
    if (n > 1000) goto never;
    return n;
never: __attribute__((cold)) ; return -1;
}
__thread int tls __attribute__((tls_model("initial-exec"))) = 4;
static void *fptr(int) ; static void *fptr(int x) { return (void *)(intptr_t)x; }
struct s { int a; } __attribute__((designated_init));
int common_one __attribute__((common)); int nocommon __attribute__((nocommon));
int main(void) {
    aligned_int ai = 1; struct aligned al;
    printf("%d %d %d %d %d %d\n", real_one(1), other_two(1), weak_two(1), other_counter, hidden_alias(1), missing ? 1 : 0);
    counter = 8; printf("%d %d %d\n", other_counter, &other_counter == &counter, &missing_data == 0);
    printf("%d%d %d\n", order[0], order[1], in_section(5));
    printf("%d\n", cleans());
    printf("%zu %zu %zu %zu %zu\n", sizeof(struct packed), sizeof(struct half), offsetof(struct half, b), sizeof(struct aligned), _Alignof(struct aligned));
    printf("%d %d %zu %d\n", (int)((uintptr_t)&ai % 32), (int)((uintptr_t)&al.x % 16), sizeof(enum tiny), GREEN);
    int x = 9; float f = 0; (void)f; printf("%d\n", take(&x));
    printf("%d %d %d %d %d %d %d\n", nod(), five(), len("abc"), hot(4), label(0), label(2), label(7));
    printf("%d %d %d %d %p\n", hidden_one, opt(1), tgt(1), tls, fptr(3));
    printf("%d %ld\n", (&__stop_mine - &__start_mine) == 1, (long)((char *)mem(&x, 3) - (char *)&x));
    if (say("x") == 'x') ends(0);
}
static void ends(int n) { fflush(stdout); exit(n); }
