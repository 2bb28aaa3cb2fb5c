/* task_switch.c: where a stack that is new begins, and `yield` as emitted code calls it. See
 * task_switch.h. */
#include "task_switch.h"

#include "poison.h"

#ifndef LEE_NO_GC

/* `lee_yield` (lee/task.h) comes by a jump, with what `lee_switch` has on the stack, and leaves by one.
 * `lee_bury_first` is the place that `lee_switch_bury` puts in front of another. */
#if defined(__x86_64__)

__asm__(".text\n"
        ".globl lee_yield_jump\n"
        ".type lee_yield_jump, @function\n"
        "lee_yield_jump:\n"
        "    movq %rsp, %rdi\n"
        "    andq $-16, %rsp\n"
        "    call lee_task_yields\n"
        "    movq %rax, %rsp\n"
        "    popq %rcx\n"
        "    jmp *%rcx\n"
        ".size lee_yield_jump, . - lee_yield_jump\n"
        ".globl lee_bury_first\n"
        ".hidden lee_bury_first\n"
        ".type lee_bury_first, @function\n"
        "lee_bury_first:\n"
        "    movq %rsp, %rbx\n"
        "    movq 8(%rsp), %rbp\n"
        "    andq $-16, %rsp\n"
        "    call lee_task_bury\n"
        "    movq %rbx, %rsp\n"
        "    popq %rcx\n"
        "    jmp *%rcx\n"
        ".size lee_bury_first, . - lee_bury_first\n"
        ".globl lee_switch_begin\n"
        ".hidden lee_switch_begin\n"
        ".type lee_switch_begin, @function\n"
        "lee_switch_begin:\n"
        "    popq %rbp\n"
        "    popq %rcx\n"
        "    jmp *%rcx\n"
        ".size lee_switch_begin, . - lee_switch_begin\n");

void lee_switch_begin(void) __attribute__((visibility("hidden")));
void lee_bury_first(void) __attribute__((visibility("hidden")));

uintptr_t lee_switch_prepare(uintptr_t top, void (*entry)(void)) {
    uintptr_t *at = (uintptr_t *)top;
    *--at = 0; /* no caller; and at entry the stack is as behind a call */
    *--at = (uintptr_t)entry;
    *--at = 0; /* ends the chain of frames */
    *--at = (uintptr_t)lee_switch_begin;
    return (uintptr_t)at;
}

LEE_UNWATCHED LEE_UNCHECKED uintptr_t lee_switch_bury(uintptr_t sp) {
    uintptr_t *at = (uintptr_t *)sp - 1;
    *at = (uintptr_t)lee_bury_first;
    return (uintptr_t)at;
}

#else

__asm__(".text\n"
        ".globl lee_yield_jump\n"
        ".type lee_yield_jump, %function\n"
        "lee_yield_jump:\n"
        "    mov x0, sp\n"
        "    bl lee_task_yields\n"
        "    mov sp, x0\n"
        "    ldp x29, x9, [sp], #16\n"
        "    br x9\n"
        ".size lee_yield_jump, . - lee_yield_jump\n"
        ".globl lee_bury_first\n"
        ".hidden lee_bury_first\n"
        ".type lee_bury_first, %function\n"
        "lee_bury_first:\n"
        "    bl lee_task_bury\n"
        "    ldp x29, x9, [sp], #16\n"
        "    br x9\n"
        ".size lee_bury_first, . - lee_bury_first\n"
        ".globl lee_switch_begin\n"
        ".hidden lee_switch_begin\n"
        ".type lee_switch_begin, %function\n"
        "lee_switch_begin:\n"
        "    mov x30, xzr\n" /* no caller */
        "    ldp x16, xzr, [sp], #16\n"
        "    br x16\n"
        ".size lee_switch_begin, . - lee_switch_begin\n");

void lee_switch_begin(void) __attribute__((visibility("hidden")));
void lee_bury_first(void) __attribute__((visibility("hidden")));

uintptr_t lee_switch_prepare(uintptr_t top, void (*entry)(void)) {
    uintptr_t *at = (uintptr_t *)(top - 4 * sizeof *at);
    at[0] = 0; /* x29 of 0 ends the chain of frames */
    at[1] = (uintptr_t)lee_switch_begin;
    at[2] = (uintptr_t)entry;
    return (uintptr_t)at;
}

LEE_UNWATCHED LEE_UNCHECKED uintptr_t lee_switch_bury(uintptr_t sp) {
    uintptr_t *at = (uintptr_t *)sp - 2;
    at[0] = at[2]; /* the frame pointer that it goes on with */
    at[1] = (uintptr_t)lee_bury_first;
    return (uintptr_t)at;
}

#endif

#endif
