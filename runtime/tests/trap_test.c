/* Traps become faults at the line where they happened; backtraces name functions and lines. Built with and without
 * optimisation; the case functions are never inlined, and their results are used after each call, so that no frame
 * is lost to a tail call. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <lee/lee.h>

#include "check.h"

#if defined(__clang__)
#define APART noinline
#else
#define APART noinline, noclone
#endif
#define CASE __attribute__((APART, no_sanitize("undefined"))) static
#define AFTER(call) (sink = (call), sink + 1)

static volatile int sink;
static int *volatile null_pointer;
static volatile char *volatile constant = (volatile char *)"literal";
static int (*volatile null_function)(void);
static volatile int zero;

struct node {
    int value;
    struct node *next;
};

#line 100 "case.lee"
CASE int read_null(void) {
    return *null_pointer;
}
CASE int write_null(void) {
    sink = 1;
    *null_pointer = 7;
    return 0;
}
CASE int read_field(void) {
    struct node *volatile node = NULL;
    return node->next == NULL;
}
CASE int call_null(void) {
    return null_function() + 1;
}
CASE int write_constant(void) {
    *constant = 'L';
    return 1;
}
CASE int recurse(int n) {
    volatile char frame[200];
    frame[n % 200] = 1; if (sink == 9876) return 0;
    return recurse(n + 1) + frame[n % 100];
}
CASE int recurse_forever(void) {
    return AFTER(recurse(1));
}
CASE int large_frame(void) {
    volatile char frame[64 << 20];
    for (size_t i = 0; i < sizeof frame; i += 1000)
        frame[i] = 1;
    return frame[sink];
}
__attribute__((unused)) CASE int divide(void) {
    return 5 / zero;
}
CASE int trap(void) {
    __builtin_trap();
}
CASE int wild_read(void) {
    return *(volatile int *)(uintptr_t)0x7f0012345000;
}
__attribute__((unused)) CASE int read_noncanonical(void) {
    return *(volatile int *)(uintptr_t)0x8012345678901234;
}
CASE int measure_null(void) {
    return (int)strlen((const char *)null_pointer) + 1;
}
static const struct lee_site compare_site = {"case.lee", 148, 5};
CASE int compare(const void *a, const void *b) {
    if (*(const int *)a != *(const int *)b)
    lee_fault_unreachable(&compare_site);
    return 0;
}
CASE int sort(void) {
    int numbers[5] = {3, 1, 2, 5, 4};
    qsort(numbers, 5, sizeof *numbers, compare);
    return numbers[0];
}
CASE int read_beyond_file(void) {
    return *(volatile char *)mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fileno(tmpfile()), 0);
}
CASE int allocate(void) {
    static const struct lee_site site = {"case.lee", 164, 3};
    return AFTER((int)(uintptr_t)lee_heap_alloc_array(&site, -1, 4, 0));
}
#line 106 "trap_test.c"

static const struct trap_case {
    const char *name;
    int (*body)(void);
    const char *place, *message, *call;
    bool not_under_asan; /* there the sanitizer's own wrapper of the library function traps */
} cases[] = {
    {"read_null", read_null, "case.lee:10", "null pointer", "  at read_null (case.lee:10", false},
    {"write_null", write_null, "case.lee:105", "null pointer", "  at write_null (case.lee:105)\n", false},
    {"read_field", read_field, "case.lee:110", "null pointer", "  at read_field (case.lee:110)\n", false},
    {"call_null", call_null, "case.lee:113", "null pointer", "  at call_null (case.lee:113)\n", false},
    {"write_constant", write_constant, "case.lee:116", "write to a constant", "  at write_constant (case.lee:116)\n", false},
    {"recurse_forever", recurse_forever, "case.lee:1", "stack overflow", "more calls from there\n", false},
    {"large_frame", large_frame, "case.lee:12", "stack overflow", "  at large_frame (case.lee:", false},
    {"trap", trap, "case.lee:137", "unreachable code reached", "  at trap (case.lee:137)\n", false},
    {"wild_read", wild_read, "case.lee:140", "invalid memory access at 0x7f0012345000", "  at wild_read (case.lee:140)\n", false},
    {"measure_null", measure_null, "case.lee:146", "null pointer", "  at measure_null (case.lee:146)\n", true},
    {"sort", sort, "case.lee:148:5", "unreachable code reached", "  at sort (case.lee:156)\n", true},
    {"read_beyond_file", read_beyond_file, "case.lee:160", "invalid memory access at 0x", "  at read_beyond_file (case.lee:160)\n", false},
    {"allocate", allocate, "case.lee:164:3", "out of memory (-1 elements of 4 bytes)", "  at allocate (case.lee:164)\n", false},
#if defined(__x86_64__) /* elsewhere a division does not trap, and such an address has a tag that is ignored */
    {"divide", divide, "case.lee:134", "division", "  at divide (case.lee:134)\n", false},
    {"read_noncanonical", read_noncanonical, "case.lee:143", "invalid memory access",
     "  at read_noncanonical (case.lee:143)\n", false},
#endif
};

__attribute__((APART)) static void run_case(void *argument) {
    const struct trap_case *trapped = argument;
    sink = AFTER(trapped->body());
}

static void start_and_run(void *argument) {
    /* A stack that ends soon, so that the cases of overflow do. */
    struct rlimit limit = {2 << 20, 2 << 20};
    setrlimit(RLIMIT_STACK, &limit);
    lee_start(0, NULL);
    run_case(argument);
    sink++;
}

static void test_traps(void) {
    static struct child child;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (UNDER_ASAN && cases[i].not_under_asan)
            continue;
        int failures = check_failures;
        run_child(&child, start_and_run, (void *)(uintptr_t)&cases[i]);
        CHECK(child.status == 134);
        check_holds(cases[i].name, child.output, cases[i].place);
        check_holds(cases[i].name, child.output, ": fault: ");
        check_holds(cases[i].name, child.output, cases[i].message);
        check_holds(cases[i].name, child.output, cases[i].call);
        if (strcmp(cases[i].message, "stack overflow") != 0) {
            check_holds(cases[i].name, child.output, "  at run_case (trap_test.c:");
            CHECK(strcmp(child.output + strlen(child.output) - 2, ")\n") == 0);
            check_holds(cases[i].name, child.output, "  at main (trap_test.c:");
        }
        if (check_failures > failures)
            printf("in case %s, which printed:\n%s\n", cases[i].name, child.output);
    }
}

static void *thread_start(void *unused) {
    (void)unused;
    sink = AFTER(read_null());
    return NULL;
}

static void in_thread(void *unused) {
    pthread_t thread;
    (void)unused;
    lee_start(0, NULL);
    pthread_create(&thread, NULL, thread_start, NULL);
    pthread_join(thread, NULL);
}

static void test_thread(void) {
    static struct child child;
    run_child(&child, in_thread, NULL);
    CHECK(child.status == 134);
    check_holds("a thread", child.output, "case.lee:10");
    check_holds("a thread", child.output, "  at thread_start (trap_test.c:");
}

static void host_handler(int signal) {
    _exit(signal == SIGSEGV ? 77 : 78);
}

static void own_trap_with_host(void *unused) {
    (void)unused;
    signal(SIGSEGV, host_handler);
    lee_start(0, NULL);
    sink = AFTER(read_null());
}

static void sent_with_host(void *unused) {
    (void)unused;
    signal(SIGSEGV, host_handler);
    lee_start(0, NULL);
    raise(SIGSEGV);
}

/* Code that is no file's: what a program's just-in-time compiler makes. */
static void foreign_trap_with_host(void *unused) {
    (void)unused;
    signal(SIGSEGV, host_handler);
    lee_start(0, NULL);
    unsigned char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char *code = page + 64; /* clang's -fsanitize=function reads what stands before a function */
#if defined(__x86_64__)
    memcpy(code, "\x8b\x04\x25\x00\x00\x00\x00\xc3", 8); /* mov eax, [0]; ret */
#else
    memcpy(code, "\x00\x00\x80\xd2\x00\x00\x40\xf9\xc0\x03\x5f\xd6", 12); /* mov x0, 0; ldr x0, [x0]; ret */
#endif
    mprotect(page, 4096, PROT_READ | PROT_EXEC);
    sink = AFTER(((int (*)(void))(uintptr_t)code)());
}

static void sent(void *unused) {
    (void)unused;
    signal(SIGSEGV, SIG_DFL);
    lee_start(0, NULL);
    raise(SIGSEGV);
}

static void test_handlers(void) {
    static struct child child;
    run_child(&child, own_trap_with_host, NULL);
    CHECK(child.status == 134);
    run_child(&child, sent_with_host, NULL);
    CHECK(child.status == 77);
    run_child(&child, foreign_trap_with_host, NULL);
    CHECK(child.status == 77);
    run_child(&child, sent, NULL);
    CHECK(child.status == 128 + SIGSEGV);
}

int main(void) {
    test_traps();
    test_thread();
    test_handlers();
    return check_end();
}
