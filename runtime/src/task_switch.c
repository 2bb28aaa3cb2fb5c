/* task_switch.c: from one stack to another.
 *
 * Promises: what task.h says of `lee_switch`. Only what a callee must keep is saved: the compiler
 * saved the rest around the call. The return is a jump: the processor's guess of where `ret` goes
 * would be wrong each time. Floating-point modes are those of the thread: programs cannot change
 * them. */
#include "task.h"

#if defined(__x86_64__)

__asm__(".text\n"
        ".globl lee_switch\n"
        ".hidden lee_switch\n"
        ".type lee_switch, @function\n"
        "lee_switch:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    popq %rcx\n"
        "    jmp *%rcx\n"
        ".size lee_switch, . - lee_switch\n");

uintptr_t lee_switch_prepare(uintptr_t top, void (*entry)(void)) {
    uintptr_t *at = (uintptr_t *)top;
    *--at = 0; /* no caller; and at entry the stack is as behind a call */
    *--at = (uintptr_t)entry;
    for (int i = 0; i < 6; i++)
        *--at = 0; /* %rbp of 0 ends the chain of frames */
    return (uintptr_t)at;
}

#elif defined(__aarch64__)

__asm__(".text\n"
        ".globl lee_switch\n"
        ".hidden lee_switch\n"
        ".type lee_switch, %function\n"
        "lee_switch:\n"
        "    sub sp, sp, #160\n"
        "    stp x29, x30, [sp]\n"
        "    stp x19, x20, [sp, #16]\n"
        "    stp x21, x22, [sp, #32]\n"
        "    stp x23, x24, [sp, #48]\n"
        "    stp x25, x26, [sp, #64]\n"
        "    stp x27, x28, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n"
        "    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    mov x9, sp\n"
        "    str x9, [x0]\n"
        "    mov sp, x1\n"
        "    ldp x29, x30, [sp]\n"
        "    ldp x19, x20, [sp, #16]\n"
        "    ldp x21, x22, [sp, #32]\n"
        "    ldp x23, x24, [sp, #48]\n"
        "    ldp x25, x26, [sp, #64]\n"
        "    ldp x27, x28, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n"
        "    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #160\n"
        "    mov x9, x30\n"
        "    br x9\n"
        ".size lee_switch, . - lee_switch\n");

uintptr_t lee_switch_prepare(uintptr_t top, void (*entry)(void)) {
    uintptr_t *at = (uintptr_t *)(top - 160);
    for (int i = 0; i < 20; i++)
        at[i] = 0; /* x29 of 0 ends the chain of frames */
    at[1] = (uintptr_t)entry;
    return (uintptr_t)at;
}

#else
#error "tasks know x86-64 and aarch64"
#endif
