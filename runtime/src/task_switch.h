/* task_switch.h: from one stack to another.
 *
 * Promises: what is said below. Nothing returns after a switch that was not called on the same
 * stack: processors guess where `ret` goes by the calls that they saw, and one that is not paired
 * makes the guesses after it wrong, at ten nanoseconds each. So whoever waits does it in few
 * frames, and what is to be done before stacks change is called, and has returned, before they do.
 * The compiler saves what it needs. Floating-point modes are those of the thread: programs cannot
 * change them. */
#ifndef LEE_TASK_SWITCH_H
#define LEE_TASK_SWITCH_H

#include <lee/task.h>

#include <stdint.h>

/* A stack pointer with which a switch goes to `entry`, which never returns. `top` is aligned to 16 bytes. */
uintptr_t lee_switch_prepare(uintptr_t top, void (*entry)(void));

/* A stack pointer with which a switch to what goes on at `sp` calls `lee_task_bury` there first.
 * Nobody stands on that stack. So only who leaves has to know whether there is something to do:
 * who arrives does not ask. */
uintptr_t lee_switch_bury(uintptr_t sp);
void lee_task_bury(void);

/* Goes on at the stack pointer that `choose` gives; it is given the one at which the caller can be
 * gone on with in the same way, and what stands after it. It runs on the stack that is left. There
 * lie, at a stack pointer with which something goes on: on x86-64 the place, then the frame pointer;
 * on aarch64 the frame pointer, then the place. */
#if defined(__x86_64__)

static inline __attribute__((always_inline)) void lee_switch(uintptr_t (*choose)(uintptr_t sp, void *a, uintptr_t b), void *a, uintptr_t b) {
    __asm__ volatile("leaq -128(%%rsp), %%rsp\n\t" /* what a leaf keeps below its stack pointer */
                     "pushq %%rbp\n\t"
                     "leaq 1f(%%rip), %%rcx\n\t"
                     "pushq %%rcx\n\t"
                     "movq %%rsp, %%rdi\n\t"
                     "andq $-16, %%rsp\n\t"
                     "call *%%rax\n\t"
                     "movq %%rax, %%rsp\n\t"
                     "popq %%rcx\n\t"
                     "jmp *%%rcx\n"
                     "1:\n\t"
                     "popq %%rbp\n\t"
                     "leaq 128(%%rsp), %%rsp"
                     : "+a"(choose), "+S"(a), "+d"(b)
                     :
                     : "rcx", "rdi", LEE_SWITCH_CHANGES);
}

#elif defined(__aarch64__)

static inline __attribute__((always_inline)) void lee_switch(uintptr_t (*choose)(uintptr_t sp, void *a, uintptr_t b), void *a, uintptr_t b) {
    register uintptr_t first __asm__("x0");
    register void *second __asm__("x1") = a;
    register uintptr_t third __asm__("x2") = b;
    register uintptr_t (*called)(uintptr_t, void *, uintptr_t) __asm__("x3") = choose;
    __asm__ volatile("adr x9, 1f\n\t"
                     "stp x29, x9, [sp, #-16]!\n\t"
                     "mov x0, sp\n\t"
                     "blr x3\n\t"
                     "mov sp, x0\n\t"
                     "ldp x29, x9, [sp], #16\n\t"
                     "br x9\n"
                     "1:"
                     : "=r"(first), "+r"(second), "+r"(third), "+r"(called)
                     :
                     : LEE_SWITCH_CHANGES);
}

#else
#error "tasks know x86-64 and aarch64"
#endif

#endif
