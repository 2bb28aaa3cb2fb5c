/* Tasks, as emitted code calls them. docs/reference/tasks.md says what programs see.
 *
 * Promises: tasks of one process share its heap and its thread; another runs only while one yields,
 * joins or ends. A task's address is that of an object of the collected heap and may be kept for
 * ever. */
#ifndef LEE_TASK_H
#define LEE_TASK_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct lee_site;
struct lee_task;

/* A task that calls `entry` with a copy of `bytes` bytes of arguments, which lies on its stack. It
 * runs when the others wait. It belongs to the custodian that the caller entered; if that was shut
 * down, the task has ended already. `site`: where it is started. Faults if there is no memory for
 * it. */
void *lee_task_start(const struct lee_site *site, void (*entry)(void *), const void *arguments, size_t bytes);

/* Waits until the task has ended. Whether it returned by itself; false if it was shut down. */
bool lee_task_join(struct lee_task *task);

/* Lets every other task that can run do so once. */
void lee_task_yield(void);

/* What a switch may change: all that the compiler can keep in registers. Not the frame pointer, and not
 * those with which the switch is told what to do. */
#if defined(__x86_64__)
#ifdef __AVX512F__
#define LEE_SWITCH_WIDE \
    "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", \
    "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4", "k5", "k6", \
    "k7",
#else
#define LEE_SWITCH_WIDE
#endif
#define LEE_SWITCH_CHANGES \
    "rbx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1", "xmm2", \
    "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", \
    "xmm14", "xmm15", "st", "st(1)", "st(2)", "st(3)", "st(4)", "st(5)", "st(6)", "st(7)", LEE_SWITCH_WIDE "cc", "memory"
#elif defined(__aarch64__)
#ifdef __ARM_FEATURE_SVE
#define LEE_SWITCH_WIDE \
    "p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10", "p11", "p12", "p13", "p14", "p15",
#else
#define LEE_SWITCH_WIDE
#endif
#define LEE_SWITCH_CHANGES \
    "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", \
    "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x30", "v0", "v1", \
    "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", \
    "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", \
    "v29", "v30", "v31", LEE_SWITCH_WIDE "cc", "memory"
#endif

/* The same, for emitted code. Jumps there and back: a task goes on after a call that another one
 * made, so the processor's guess of where that returns would be wrong. */
static inline __attribute__((always_inline)) void lee_yield(void) {
#if defined(__x86_64__)
    __asm__ volatile("leaq -128(%%rsp), %%rsp\n\t" /* what a leaf keeps below its stack pointer */
                     "pushq %%rbp\n\t"
                     "leaq 1f(%%rip), %%rcx\n\t"
                     "pushq %%rcx\n\t"
                     "jmp lee_yield_jump\n"
                     "1:\n\t"
                     "popq %%rbp\n\t"
                     "leaq 128(%%rsp), %%rsp" ::
                         : "rax", "rcx", "rdx", "rsi", "rdi", LEE_SWITCH_CHANGES);
#elif defined(__aarch64__)
    __asm__ volatile("adr x9, 1f\n\t"
                     "stp x29, x9, [sp, #-16]!\n\t"
                     "b lee_yield_jump\n"
                     "1:" ::
                         : "x0", "x1", "x2", "x3", LEE_SWITCH_CHANGES);
#endif
}

#ifdef __cplusplus
}
#endif

#endif
