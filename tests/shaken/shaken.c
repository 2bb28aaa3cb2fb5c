/* shaken.c: linked into programs by `cc` beside it, for tests.
 *
 * Before each call from the program into the runtime, `shaken_call` asks whether another process is
 * to run first, which the seed in SHAKEN decides. It does so only where the signal of a slice would
 * stop the process, too (runtime/src/preempt.c), so nothing happens that cannot happen without it.
 * An odd seed also has the program stand still now and then, as on a machine that is busy: times
 * pass, and what is outside comes. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Of the runtime. Not there in programs without tasks. */
void lee_task_give_way(void) __attribute__((weak));
bool lee_task_may_stop(uintptr_t sp) __attribute__((weak));
bool lee_task_has_others(void) __attribute__((weak));
extern const char __start_lee_text[] __attribute__((weak)), __stop_lee_text[] __attribute__((weak));

void shaken_before(uintptr_t pc, uintptr_t sp);

/* A call stands at its first instruction; %r11 is where it goes on. All registers that can hold
 * arguments are kept. */
__asm__(".text\n"
        ".globl shaken_call\n"
        "shaken_call:\n"
        "    pushq %rbp\n"
        "    movq %rsp, %rbp\n"
        "    pushq %rax\n"
        "    pushq %rcx\n"
        "    pushq %rdx\n"
        "    pushq %rsi\n"
        "    pushq %rdi\n"
        "    pushq %r8\n"
        "    pushq %r9\n"
        "    pushq %r10\n"
        "    pushq %r11\n"
        "    subq $128, %rsp\n"
        "    andq $-16, %rsp\n"
        "    movdqa %xmm0, (%rsp)\n"
        "    movdqa %xmm1, 16(%rsp)\n"
        "    movdqa %xmm2, 32(%rsp)\n"
        "    movdqa %xmm3, 48(%rsp)\n"
        "    movdqa %xmm4, 64(%rsp)\n"
        "    movdqa %xmm5, 80(%rsp)\n"
        "    movdqa %xmm6, 96(%rsp)\n"
        "    movdqa %xmm7, 112(%rsp)\n"
        "    movq 8(%rbp), %rdi\n"
        "    leaq 8(%rbp), %rsi\n"
        "    call shaken_before\n"
        "    movdqa (%rsp), %xmm0\n"
        "    movdqa 16(%rsp), %xmm1\n"
        "    movdqa 32(%rsp), %xmm2\n"
        "    movdqa 48(%rsp), %xmm3\n"
        "    movdqa 64(%rsp), %xmm4\n"
        "    movdqa 80(%rsp), %xmm5\n"
        "    movdqa 96(%rsp), %xmm6\n"
        "    movdqa 112(%rsp), %xmm7\n"
        "    leaq -72(%rbp), %rsp\n"
        "    popq %r11\n"
        "    popq %r10\n"
        "    popq %r9\n"
        "    popq %r8\n"
        "    popq %rdi\n"
        "    popq %rsi\n"
        "    popq %rdx\n"
        "    popq %rcx\n"
        "    popq %rax\n"
        "    popq %rbp\n"
        "    jmp *%r11\n");

enum {
    LONGEST = 12,       /* at most 2 to this many calls before the next one that gives way */
    OFTEN = 8,          /* one in so many calls stands still, or, by the seed, up to 2 to RARER times */
    RARER = 8,          /* as many */
    STILL_MOST = 100,   /* times */
    STILL_TIME = 5000   /* microseconds, at most */
};

static uint64_t state;
static bool begun;
static int calls;
static unsigned still_in, stills; /* one in so many calls stands still; 0: none does */

/* SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014). */
static unsigned random_below(unsigned bound) {
    uint64_t x = state += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return (unsigned)((x ^ (x >> 31)) >> 32) % bound;
}

/* Often few, at times many: so each order of short pieces of code comes, and one process runs long
 * while another stands between two of its calls. */
static int next_run(void) {
    return (int)random_below(1u << random_below(LONGEST + 1));
}

static void begin(void) {
    const char *seed = getenv("SHAKEN");
    state = seed == NULL ? 0 : strtoull(seed, NULL, 10);
    if (state % 2 == 1)
        still_in = OFTEN << random_below(RARER + 1);
    begun = true;
    calls = next_run();
}

void shaken_before(uintptr_t pc, uintptr_t sp) {
    uintptr_t start = (uintptr_t)__start_lee_text;
    if (pc - start >= (uintptr_t)__stop_lee_text - start || lee_task_may_stop == NULL || !lee_task_may_stop(sp))
        return;
    if (!begun)
        begin();
    if (still_in > 0 && stills < STILL_MOST && random_below(still_in) == 0) {
        struct timespec time = {.tv_nsec = 1000 * (long)random_below(STILL_TIME)};
        int error = errno;
        stills++;
        syscall(SYS_nanosleep, &time, NULL); /* libc's would suspend; the end of a slice may cut it short */
        errno = error;
    }
    if (lee_task_give_way == NULL || --calls > 0 || !lee_task_has_others())
        return;
    calls = next_run();
    lee_task_give_way();
}
