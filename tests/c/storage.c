//@ out: 0 0 0 5 o
//@ out: 0 0 0 0
//@ out: 42 6 6 16 3
//@ out: 6 1 99 5 0 9 1
//@ out: pointed at
//@ out: 1
//@ out: done 4
//@ out: done 5
//@ out: 64 16 5
// Volatile, atomics, threads' variables, alignment, cleanup, file-scope assembly, sections, tentative definitions.
#include <stdatomic.h>
#include <stddef.h>
extern int printf(const char *, ...);
int tentative; int tentative; extern int tentative; int later[]; int later[3];
static int internal; extern int internal;
__thread int local_to_thread = 4; static _Thread_local char other = 'o';
_Alignas(64) static char aligned[3]; static int spaced __attribute__((aligned(32)));
__asm__(".pushsection .rodata\n.globl from_assembly\nfrom_assembly: .long 42\n.popsection");
extern const int from_assembly;
static int placed __attribute__((section(".data.placed"), used)) = 6;
static volatile int port; static int reads;
static _Atomic int counter; static atomic_flag flag = ATOMIC_FLAG_INIT;
static void done(int *p) { printf("done %d\n", *p); }
static int cleaned(int n) { for (int i = 0; i < 2; i++) { __attribute__((cleanup(done))) int k = i + n; if (i) return k; } return 0; }
static void pointed(char **p) { printf("pointed %s\n", *p); }
static int starred(void) { char *__attribute__((cleanup(pointed))) s = "at"; return *s == 'a'; }
static int *once(void) { static int calls = 10; reads++; return &calls; }
int main(void) {
    _Alignas(32) char here; int near __attribute__((aligned(16))) = 1;
    port = 3; port; port += port; *once() += 5; (*once())++;
    counter++; counter += 5; int old = atomic_fetch_add(&counter, 10); _Atomic long big = 7; big ^= 2;
    int expected = 16; _Bool swapped = atomic_compare_exchange_strong(&counter, &expected, 99);
    int set = atomic_flag_test_and_set(&flag), plain = 1;
    int synced = __sync_fetch_and_add(&plain, 2) + __atomic_add_fetch(&plain, 4, __ATOMIC_SEQ_CST) + __sync_bool_compare_and_swap(&plain, 7, 1);
    printf("%d %d %d %d %c\n", tentative, later[2], internal, ++local_to_thread, other);
    printf("%d %d %d %d\n", (int)((size_t)aligned % 64), (int)((size_t)&spaced % 32), (int)((size_t)&here % 32), (int)((size_t)&near % 16));
    int last = *once();
    printf("%d %d %d %d %d\n", from_assembly, placed, port, last, reads);
    printf("%d %d %d %ld %d %d %d\n", old, swapped, counter, (long)big, set, synced, plain);
    printf("%d\n", starred());
    printf("%zu %zu %d\n", _Alignof(aligned), __alignof__(near), cleaned(4));
    return near != 1;
}
