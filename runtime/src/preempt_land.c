/* preempt_land.c: see preempt_land.h.
 *
 * On x86-64 the handler writes the program counter below the red zone and changes it and the stack
 * pointer; `lee_preempt_land` saves and restores the rest. On aarch64 no instruction goes back to a
 * place without changing a register, but the kernel does, at the end of a handler: so the handler
 * copies what the kernel saved to the stack of the code, and `lee_preempt_land` ends as a handler
 * does, by the system call `rt_sigreturn`. */
#define _GNU_SOURCE
#include "preempt_land.h"

#ifndef LEE_NO_GC

#include <string.h>
#include <ucontext.h>

#include "poison.h"
#include "task.h"

void lee_preempt_land(void) __attribute__((visibility("hidden")));

#if defined(__x86_64__)

#include <cpuid.h>

enum { RED_ZONE = 128 }; /* bytes below the stack pointer that leaf functions use */

/* What `xsave` saves, and the bytes that it takes. A mask of 0: the processor has `fxsave` only. */
struct {
    uint32_t mask, bytes;
} lee_preempt_state __attribute__((visibility("hidden"))) = {0, 512};

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
void lee_land_prepare(void) {
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

struct lee_stand lee_stand_of(const void *context) {
    const greg_t *registers = ((const ucontext_t *)context)->uc_mcontext.gregs;
    return (struct lee_stand){.pc = (uintptr_t)registers[REG_RIP], .sp = (uintptr_t)registers[REG_RSP]};
}

LEE_UNCHECKED uintptr_t lee_leaf_caller(const struct lee_stand *stand) {
    return *(const uintptr_t *)stand->sp;
}

LEE_UNCHECKED bool lee_land(const siginfo_t *info, void *context) {
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    uintptr_t sp = (uintptr_t)registers[REG_RSP] - RED_ZONE - sizeof sp;
    (void)info;
    *(uintptr_t *)sp = (uintptr_t)registers[REG_RIP];
    registers[REG_RSP] = (greg_t)sp;
    registers[REG_RIP] = (greg_t)(uintptr_t)lee_preempt_land;
    return true;
}

#else

/* What the kernel saves, and restores if the stack pointer is at its beginning. Larger registers
 * than fit are elsewhere. */
struct saved {
    siginfo_t info;
    ucontext_t context;
};

/* A part of what is in the context's reserved bytes. */
struct part {
    uint32_t magic, bytes;
};

enum { ELSEWHERE = 0x45585401 }; /* the kernel's EXTRA_MAGIC */

__asm__(".text\n"
        ".globl lee_preempt_land\n"
        ".hidden lee_preempt_land\n"
        ".type lee_preempt_land, %function\n"
        "lee_preempt_land:\n" /* at the stack pointer: `struct saved` */
        "    bl lee_task_give_way\n"
        "    mov x8, #139\n" /* rt_sigreturn */
        "    svc #0\n"
        ".size lee_preempt_land, . - lee_preempt_land\n");

void lee_land_prepare(void) {}

struct lee_stand lee_stand_of(const void *context) {
    const mcontext_t *machine = &((const ucontext_t *)context)->uc_mcontext;
    return (struct lee_stand){.pc = machine->pc, .sp = machine->sp, .link = machine->regs[30]};
}

uintptr_t lee_leaf_caller(const struct lee_stand *stand) {
    return stand->link;
}

/* Whether all that was saved is in the context. */
static bool is_whole(const mcontext_t *machine) {
    const unsigned char *at = machine->__reserved, *end = at + sizeof machine->__reserved;
    struct part part;
    for (; end - at >= (ptrdiff_t)sizeof part; at += part.bytes) {
        memcpy(&part, at, sizeof part);
        if (part.magic == 0)
            return true;
        if (part.magic == ELSEWHERE || part.bytes < sizeof part || part.bytes > (size_t)(end - at))
            return false;
    }
    return false;
}

LEE_UNCHECKED bool lee_land(const siginfo_t *info, void *context) {
    mcontext_t *machine = &((ucontext_t *)context)->uc_mcontext;
    uintptr_t sp = machine->sp - sizeof(struct saved);
    if (context != &((struct saved *)(uintptr_t)info)->context || sp % 16 != 0 || !is_whole(machine))
        return false;
    memcpy((void *)sp, info, sizeof(struct saved));
    machine->sp = sp;
    machine->pc = (uintptr_t)lee_preempt_land;
    return true;
}

#endif

#endif
