//@ flags: -pthread
//@ out: int int unsigned int char* float bool void* fn ?
//@ out: unsigned int float int* ? long
//@ out: 50 8 7 17 1 3 3 1 7
//@ out: 0 50 9 7
//@ out: 0 1 1 8
//@ out: 3003 6000 21 3
//@ out: 0 16 16
//@ out: 1 2 1 3
//@ out: 2 7 7 6
//@ out: 3 1 7
//@ out: 1 1 1
//@ out: é 0x1.8p+3 1
//@ out: 1 9786
//@ out: 55main
// C11: _Generic, atomics, threads, alignment, anonymous members.
#include <stdio.h>
#include <stddef.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdalign.h>
#include <stdnoreturn.h>
#include <threads.h>
#include <limits.h>
#define name(x) _Generic((x), int: "int", unsigned: "unsigned", long: "long", char: "char", char *: "char*", const char *: "const char*", float: "float", double: "double", _Bool: "bool", void *: "void*", int *: "int*", int (*)(void): "fn", default: "?")
static int fn(void) { return 1; }
_Static_assert(sizeof(int) == 4, "int"); _Static_assert(1);
struct at { atomic_int i; _Atomic(long) l; _Atomic unsigned char c; _Atomic _Bool b; _Atomic(int *) p; _Atomic double d; _Atomic struct { int a, b; } s; };
static struct at at; static atomic_flag flag = ATOMIC_FLAG_INIT; static _Atomic int counted = ATOMIC_VAR_INIT(3);
static thread_local int tl = 3; alignas(32) static char buf[10];
static int worker(void *p) { for (int i = 0; i < 1000; i++) { counted++; atomic_fetch_add_explicit((atomic_int *)p, 2, memory_order_relaxed); } tl = 9; return 7; }
struct anon { union { struct { int a, b; }; long l; }; int c; };
noreturn static void stop(void) { thrd_exit(5); }
inline int inl(int a) { return a + 1; } extern inline int inl(int a);
int restr(int *restrict a, const int *restrict b) { return *a + *b; }
int statics(int a[static 3], const int b[const]) { return a[2] + b[0]; }
static int variadic(int n, ...) { __builtin_va_list l; __builtin_va_start(l, n); int s = 0; while (n--) s += __builtin_va_arg(l, int); __builtin_va_end(l); return s; }
int main(void) {
    int v = 3; const int cv = 4; long long ll = 1; struct anon an = { .a = 1, .b = 2, .c = 3 };
    printf("%s %s %s %s %s %s %s %s %s %s\n", name(v), name(cv), name(1u), name('a'), name("s"), name(1.f), name((_Bool)1), name((void *)0), name(fn), name(ll));
    printf("%s %s %s %s %s %s\n", name(v + 1u), name((char)1 + (char)2), name(1.f * 2), name(&v), name(sizeof v), name(v ? 1 : 2L));
    at.i = 5; at.i += 3; at.i++; --at.i; at.l = 7; at.c |= 0x10; at.c ^= 1; at.b = 5; at.p = &v; at.d = 1.5; at.d *= 2; int old = at.i--; int exp = 7;
    bool ok = atomic_compare_exchange_strong(&at.i, &exp, 50); printf("%d %d %ld %d %d %d %g %d %d\n", at.i, old, at.l, at.c, at.b, *at.p, at.d, ok, exp);
    ok = atomic_compare_exchange_weak(&at.l, &(long) { 1 }, 5); printf("%d %d %d %ld\n", ok, atomic_exchange(&at.i, 9), atomic_load(&at.i), atomic_fetch_or(&at.l, 8)); atomic_store(&at.l, 1); atomic_thread_fence(memory_order_seq_cst);
    printf("%d %d %d %d\n", atomic_flag_test_and_set(&flag), atomic_flag_test_and_set(&flag), atomic_is_lock_free(&at.i), (int)sizeof at.s);
    typeof(at.s) st; atomic_init(&at.i, 0); thrd_t t[3]; for (int i = 0; i < 3; i++) thrd_create(&t[i], worker, &at.i); int r, sum = 0; for (int i = 0; i < 3; i++) thrd_join(t[i], &r), sum += r; (void)st;
    printf("%d %d %d %d\n", counted, at.i, sum, tl);
    printf("%d %d %d\n", (int)((unsigned long)buf % 32), (int)_Alignof(max_align_t) , (int)alignof(long double));
    printf("%d %d %d %d\n", an.a, an.b, an.l == (2L << 32 | 1), an.c);
    printf("%d %d %d %d\n", inl(1), restr(&v, &cv), statics((int[]) { 1, 2, 3 }, &cv), variadic(3, 1, 2, 3));
    printf("%d %d %d\n", __sync_fetch_and_add(&v, 2), __sync_bool_compare_and_swap(&v, 5, 6), __atomic_add_fetch(&v, 1, __ATOMIC_SEQ_CST)); long tmp; __atomic_load(&ll, (long long *)&tmp, __ATOMIC_ACQUIRE); __atomic_store_n(&v, 1, __ATOMIC_RELEASE); printf("%ld %d %d\n", tmp, v, __atomic_exchange_n(&v, 4, __ATOMIC_ACQ_REL));
    printf("%s %.1a %g\n", u8"\u00e9", 0x1.8p3, 0x.8p1); printf("%d %d\n", '\377' < 0, L'\x263a'); (void)stop;
    for (int i = 0, *p = &i; *p < 2; i++) { int i = 5; printf("%d", i); } puts(__func__);
    return 0;
}
