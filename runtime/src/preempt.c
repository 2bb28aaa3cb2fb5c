/* preempt.c: see preempt.h.
 *
 * A timer of the processor time of the thread sends a signal to it each slice, while there are
 * others that can run or wait in the reactor. The handler only decides. If the process is in code
 * of the program, the handler makes it go on in `lee_preempt_land` instead, as if it had been
 * called between two instructions, and returns at once: so the signal stack is free, and no signal
 * is blocked while others run. `lee_preempt_land` saves all registers on the process's stack. If
 * the process is elsewhere, the handler tries again soon.
 *
 * Only x86-64 has it: on aarch64 no instruction goes back to a place without changing a register.
 * There processes switch where they wait, as tasks do. */
#define _GNU_SOURCE
#include "preempt.h"
#include "top.h"

#if defined(__x86_64__) && !defined(LEE_NO_GC)

#include <cpuid.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "heap_limit.h"
#include "poison.h"
#include "task.h"

enum {
    SLICE = 4000, /* microseconds */
    SLICE_MOST = 1000000,
    CPU_LEAST = 4000, /* the kernel looks at timers of processor time once in a tick: shorter slices
                       * are of real time */
    AGAIN = 100,   /* microseconds after which it is tried again, at least */
    RED_ZONE = 128 /* bytes below the stack pointer that leaf functions use */
};

uint64_t lee_preempt_stops, lee_preempt_misses;

/* Of the thread: timers of the kernel. */
static _Thread_local struct {
    bool begun, runs;
    int slice, again;
    uint32_t random;
} timers;
static long slice_length; /* in microseconds; 0: slices do not end */

/* The code of the program; none in a program of C only. */
extern const char __start_lee_text[] __attribute__((weak)), __stop_lee_text[] __attribute__((weak));

/* What `xsave` saves, and the bytes that it takes. A mask of 0: the processor has `fxsave` only. */
struct {
    uint32_t mask, bytes;
} lee_preempt_state __attribute__((visibility("hidden"))) = {0, 512};

void lee_preempt_land(void) __attribute__((visibility("hidden")));

__asm__(".text\n"
        ".globl lee_preempt_land\n"
        ".hidden lee_preempt_land\n"
        ".type lee_preempt_land, @function\n"
        "lee_preempt_land:\n" /* at the stack pointer: where to go on; above it, the red zone */
        "    pushfq\n"
        "    pushq %rbp\n"
        "    pushq %rax\n"
        "    pushq %rcx\n"
        "    pushq %rdx\n"
        "    pushq %rbx\n"
        "    pushq %rsi\n"
        "    pushq %rdi\n"
        "    pushq %r8\n"
        "    pushq %r9\n"
        "    pushq %r10\n"
        "    pushq %r11\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    cld\n"
        "    movq %rsp, %rbp\n"
        "    movl 4+lee_preempt_state(%rip), %eax\n"
        "    subq %rax, %rsp\n"
        "    andq $-64, %rsp\n"
        "    movl lee_preempt_state(%rip), %ebx\n"
        "    testl %ebx, %ebx\n"
        "    jz 1f\n"
        "    xorl %eax, %eax\n" /* the header of the area must be zero */
        "    leaq 512(%rsp), %rdi\n"
        "    movl $8, %ecx\n"
        "    rep stosq\n"
        "    movl %ebx, %eax\n"
        "    xorl %edx, %edx\n"
        "    xsave64 (%rsp)\n"
        "    call lee_task_give_way\n"
        "    movl %ebx, %eax\n"
        "    xorl %edx, %edx\n"
        "    xrstor64 (%rsp)\n"
        "    jmp 2f\n"
        "1:  fxsave64 (%rsp)\n"
        "    call lee_task_give_way\n"
        "    fxrstor64 (%rsp)\n"
        "2:  movq %rbp, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %r11\n"
        "    popq %r10\n"
        "    popq %r9\n"
        "    popq %r8\n"
        "    popq %rdi\n"
        "    popq %rsi\n"
        "    popq %rbx\n"
        "    popq %rdx\n"
        "    popq %rcx\n"
        "    popq %rax\n"
        "    popq %rbp\n"
        "    popfq\n"
        "    ret $128\n"
        ".size lee_preempt_land, . - lee_preempt_land\n");

/* Intel's manual, volume 1, chapter 13: all state that code without special permission has. */
static void measure_state(void) {
    enum { USED = 0xe7 /* x87, SSE, AVX, and the three of AVX-512 */, LEGACY = 512 + 64, OSXSAVE = 1 << 27 };
    uint32_t a, b, c, d, allowed, high, bytes = LEGACY;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & OSXSAVE) == 0)
        return;
    __asm__ volatile("xgetbv" : "=a"(allowed), "=d"(high) : "c"(0));
    for (uint32_t i = 2; i < 8; i++) {
        if ((allowed & USED & 1u << i) != 0 && __get_cpuid_count(0xd, i, &a, &b, &c, &d) && a + b > bytes)
            bytes = a + b;
    }
    lee_preempt_state.bytes = bytes;
    lee_preempt_state.mask = allowed & USED;
}

static void set_timer(int timer, long microseconds, bool repeats) {
    struct timespec at = {microseconds / 1000000, microseconds % 1000000 * 1000};
    struct itimerspec times = {.it_value = at};
    if (repeats)
        times.it_interval = at;
    syscall(SYS_timer_settime, timer, 0, &times, NULL);
}

static bool is_code(uintptr_t pc) {
    return pc - (uintptr_t)__start_lee_text < (uintptr_t)__stop_lee_text - (uintptr_t)__start_lee_text;
}

/* Whether it stands in code of the program, or in a leaf that this code called. */
LEE_UNCHECKED static bool can_be_stopped(uintptr_t pc, uintptr_t sp) {
    return is_code(pc) || (lee_preempt_is_leaf(pc) && is_code(*(const uintptr_t *)sp));
}

/* Not at equal distances: a loop could keep step. */
static void try_again(void) {
    /* Numerical Recipes, 2nd edition, section 7.1. */
    timers.random = timers.random * 1664525u + 1013904223u;
    set_timer(timers.again, AGAIN + (long)(timers.random >> 25), false);
}

LEE_UNCHECKED static void slice_is_over(int signal, siginfo_t *info, void *context) {
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    uintptr_t pc = (uintptr_t)registers[REG_RIP], sp = (uintptr_t)registers[REG_RSP];
    int error = errno;
    (void)signal;
    (void)info;
    if (!timers.begun) /* another thread: a program sent it */
        return;
    if (!lee_task_has_others()) {
        set_timer(timers.slice, 0, false);
        lee_task_call_when_others();
    } else if (lee_task_may_stop(sp) && can_be_stopped(pc, sp)) {
        sp -= RED_ZONE + sizeof pc;
        *(uintptr_t *)sp = pc;
        registers[REG_RSP] = (greg_t)sp;
        registers[REG_RIP] = (greg_t)(uintptr_t)lee_preempt_land;
        __atomic_fetch_add(&lee_preempt_stops, 1, __ATOMIC_RELAXED);
    } else {
        lee_slice_over = true;
        __atomic_fetch_add(&lee_preempt_misses, 1, __ATOMIC_RELAXED);
        try_again();
    }
    errno = error;
}

void lee_preempt_arm(void) {
    if (timers.runs)
        set_timer(timers.slice, slice_length, true);
}

void lee_preempt_soon(void) {
    if (timers.runs)
        try_again();
}

static bool make_timer(clockid_t clock, int *timer) {
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = LEE_SIGNAL_SLICE;
    event._sigev_un._tid = (int)syscall(SYS_gettid);
    return syscall(SYS_timer_create, clock, &event, timer) == 0;
}

/* What all threads have in common. */
static void prepare_slices(void) {
    struct sigaction action = {.sa_sigaction = slice_is_over, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    if (lee_task_is_seeded()) /* processes switch where they wait */
        return;
    long length = (long)lee_setting_number(SLICE_MOST, "LEE_SLICE", SLICE);
    if (length == 0 || (uintptr_t)__stop_lee_text == (uintptr_t)__start_lee_text)
        return;
    measure_state();
    lee_preempt_find_leaves();
    sigemptyset(&action.sa_mask);
    if (sigaction(LEE_SIGNAL_SLICE, &action, NULL) == 0)
        slice_length = length;
}

static void prepare(void) {
    prepare_slices();
    lee_top_begin();
}

void lee_preempt_begin(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (timers.begun)
        return;
    timers.begun = true;
    pthread_once(&once, prepare);
    if (slice_length == 0 ||
        !make_timer(slice_length < CPU_LEAST ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &timers.slice) ||
        !make_timer(CLOCK_MONOTONIC, &timers.again))
        return; /* the same */
    timers.runs = true;
    lee_preempt_arm();
}

bool lee_preempt_runs(void) {
    return slice_length > 0;
}

void lee_preempt_interrupt(int thread) {
    if (lee_preempt_runs())
        syscall(SYS_tgkill, getpid(), thread, LEE_SIGNAL_SLICE);
}

#else

uint64_t lee_preempt_stops, lee_preempt_misses;

void lee_preempt_begin(void) {
    lee_top_begin();
}
void lee_preempt_arm(void) {}
void lee_preempt_soon(void) {}
void lee_preempt_interrupt(int thread) {
    (void)thread;
}

bool lee_preempt_runs(void) {
    return false;
}

#endif
