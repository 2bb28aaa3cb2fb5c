/* task_switch.c: where a stack that is new begins, and `yield` as emitted code calls it. See
 * task_switch.h. */
#include "task_switch.h"

#include "poison.h"

#ifndef LEE_NO_GC

/* `lee_yield` (lee/task.h) comes by a jump, with the place to go on at the top of the stack, and
 * leaves by one. What follows a switch is done at `lee_yield_back`. It is here, not in emitted
 * code, because a process can be stopped there. */
#if defined(__x86_64__)

#ifdef LEE_ASAN
#define BACK "jmp" /* it is told of each switch */
#else
#define BACK "jne"
#endif

__asm__(".text\n"
        ".globl lee_yield_jump\n"
        ".type lee_yield_jump, @function\n"
        "lee_yield_jump:\n"
        "    leaq lee_yield_back(%rip), %rcx\n"
        "    pushq %rcx\n"
        "    movq %rsp, %rdi\n"
        "    andq $-16, %rsp\n"
        "    call lee_task_yields\n"
        "    movq %rax, %rsp\n"
        "    popq %rcx\n"
        "    jmp *%rcx\n"
        ".size lee_yield_jump, . - lee_yield_jump\n"
        ".type lee_yield_back, @function\n"
        "lee_yield_back:\n"
        "    movq lee_worker@gottpoff(%rip), %rax\n"
        "    cmpb $0, %fs:(%rax)\n" /* lee_worker.left */
        "    " BACK " 1f\n"
        "    popq %rcx\n"
        "    jmp *%rcx\n"
        "1:  movq %rsp, %rbx\n"
        "    movq 8(%rsp), %rbp\n"
        "    andq $-16, %rsp\n"
        "    call lee_task_bury\n"
        "    movq %rbx, %rsp\n"
        "    popq %rcx\n"
        "    jmp *%rcx\n"
        ".size lee_yield_back, . - lee_yield_back\n"
        ".globl lee_switch_begin\n"
        ".hidden lee_switch_begin\n"
        ".type lee_switch_begin, @function\n"
        "lee_switch_begin:\n"
        "    xorl %ebp, %ebp\n" /* ends the chain of frames */
        "    popq %rcx\n"
        "    jmp *%rcx\n"
        ".size lee_switch_begin, . - lee_switch_begin\n");

void lee_switch_begin(void) __attribute__((visibility("hidden")));

uintptr_t lee_switch_prepare(uintptr_t top, void (*entry)(void)) {
    uintptr_t *at = (uintptr_t *)top;
    *--at = 0; /* no caller; and at entry the stack is as behind a call */
    *--at = (uintptr_t)entry;
    *--at = (uintptr_t)lee_switch_begin;
    return (uintptr_t)at;
}

#else

#ifdef LEE_ASAN
#define SKIP "" /* it is told of each switch */
#else
#define SKIP \
    "    adrp x0, :gottprel:lee_worker\n" \
    "    ldr x0, [x0, #:gottprel_lo12:lee_worker]\n" \
    "    mrs x1, tpidr_el0\n" \
    "    ldrb w0, [x1, x0]\n" /* lee_worker.left */ \
    "    cbz w0, 1f\n"
#endif

__asm__(".text\n"
        ".globl lee_yield_jump\n"
        ".type lee_yield_jump, %function\n"
        "lee_yield_jump:\n"
        "    adr x9, lee_yield_back\n"
        "    stp x29, x9, [sp, #-16]!\n"
        "    mov x0, sp\n"
        "    bl lee_task_yields\n"
        "    mov sp, x0\n"
        "    ldp x29, x9, [sp], #16\n"
        "    br x9\n"
        ".size lee_yield_jump, . - lee_yield_jump\n"
        ".type lee_yield_back, %function\n"
        "lee_yield_back:\n"
        "    ldr x29, [sp]\n"
        SKIP
        "    bl lee_task_bury\n"
        "1:  ldp x29, x9, [sp], #16\n"
        "    br x9\n"
        ".size lee_yield_back, . - lee_yield_back\n"
        ".globl lee_switch_begin\n"
        ".hidden lee_switch_begin\n"
        ".type lee_switch_begin, %function\n"
        "lee_switch_begin:\n"
        "    mov x30, xzr\n" /* no caller */
        "    ldp x16, xzr, [sp], #16\n"
        "    br x16\n"
        ".size lee_switch_begin, . - lee_switch_begin\n");

void lee_switch_begin(void) __attribute__((visibility("hidden")));

uintptr_t lee_switch_prepare(uintptr_t top, void (*entry)(void)) {
    uintptr_t *at = (uintptr_t *)(top - 4 * sizeof *at);
    at[0] = 0; /* x29 of 0 ends the chain of frames */
    at[1] = (uintptr_t)lee_switch_begin;
    at[2] = (uintptr_t)entry;
    return (uintptr_t)at;
}

#endif

#endif
