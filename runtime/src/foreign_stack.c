/* foreign_stack.c: stacks for foreign functions, and the switch to them.
 *
 * Promises: what lee/foreign.h says. A thread needs one such stack, unless a callback from C waits:
 * its task keeps the stack that C's frames lie on until they have returned, and other tasks take
 * further ones. Below a stack lies so much address space without memory that no frame that C code
 * makes at once reaches beyond it; it takes no memory, and where addresses are limited it is less.
 * A stack keeps what C touched of it for the next call. AddressSanitizer knows nothing of these
 * stacks: under it foreign functions stay on the task's. */
#include "errno_here.h"
#include "foreign_stack.h"

#include <lee/fault.h>
#include <lee/foreign.h>

#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

#include "heap.h"
#include "no_pointers.h"
#include "preempt.h"
#include "process.h"
#include "task.h"
#include "valgrind.h"
#include "worker.h"

_Thread_local bool lee_on_task_stack __attribute__((tls_model("initial-exec")));

#if defined(LEE_NO_GC)

void lee_foreign_call(void (*function)(void *), void *argument) {
    function(argument);
}

void lee_foreign_run(void (*function)(void *), void *argument) {
    function(argument);
}

bool lee_call_begins(void) {
    return false;
}

void lee_call_ends(bool told) {
    (void)told;
}

const struct lee_foreign_stack *lee_foreign_stack_find(uintptr_t address) {
    (void)address;
    return NULL;
}

#else

enum {
    STACK_BYTES = 8 << 20, /* as much as a program's first stack usually has */
    GUARD_MOST = 256 << 20,
    GUARD_LEAST = 1 << 20,
    STACKS_MOST = 1 << 10
};

/* Written by one thread at a time under `lock`; places are complete before they are counted, and stay. */
static struct lee_foreign_stack stacks[STACKS_MOST];
LEE_NO_POINTERS(stacks)
static atomic_int stack_count;
static atomic_flag lock = ATOMIC_FLAG_INIT;

/* The one that this thread gave back last. */
static _Thread_local struct lee_foreign_stack *idle;

static struct lee_foreign_stack *add_stack(void) {
    int number = atomic_load_explicit(&stack_count, memory_order_relaxed);
    for (size_t guard = GUARD_MOST; guard >= GUARD_LEAST && number < STACKS_MOST; guard /= 4) {
        void *start = mmap(NULL, guard + STACK_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (start == MAP_FAILED)
            continue;
        uintptr_t low = (uintptr_t)start + guard;
        if (mprotect((void *)low, STACK_BYTES, PROT_READ | PROT_WRITE) != 0) {
            munmap(start, guard + STACK_BYTES);
            continue;
        }
#ifdef MADV_NOHUGEPAGE
        madvise((void *)low, STACK_BYTES, MADV_NOHUGEPAGE); /* a touched page must not become 2 MB */
#endif
        lee_valgrind_stack(low, low + STACK_BYTES - 1);
        stacks[number] = (struct lee_foreign_stack){(uintptr_t)start, low, low + STACK_BYTES, 0};
        atomic_store_explicit(&stack_count, number + 1, memory_order_release);
        return &stacks[number];
    }
    return NULL;
}

struct lee_foreign_stack *lee_foreign_stack_take(void) {
    struct lee_foreign_stack *found = idle;
    idle = NULL;
    if (found != NULL)
        return found;
    int error = errno;
    while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire))
        ;
    int count = atomic_load_explicit(&stack_count, memory_order_relaxed);
    for (int i = 0; i < count && found == NULL; i++)
        found = __atomic_load_n(&stacks[i].left, __ATOMIC_RELAXED) == 0 ? &stacks[i] : NULL;
    if (found == NULL)
        found = add_stack();
    if (found != NULL)
        found->left = 1;
    atomic_flag_clear_explicit(&lock, memory_order_release);
    errno = error;
    return found;
}

void lee_foreign_stack_give(struct lee_foreign_stack *stack) {
    if (idle == NULL) {
        __atomic_store_n(&stack->left, 1, __ATOMIC_RELAXED); /* no other thread may take it */
        idle = stack;
        return;
    }
    while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire))
        ;
    stack->left = 0;
    atomic_flag_clear_explicit(&lock, memory_order_release);
}

const struct lee_foreign_stack *lee_foreign_stack_find(uintptr_t address) {
    int count = atomic_load_explicit(&stack_count, memory_order_acquire);
    for (int i = 0; i < count; i++) {
        if (address >= stacks[i].guard && address < stacks[i].high)
            return &stacks[i];
    }
    return NULL;
}

/* Calls `function(argument)` with the stack pointer `high`; `*left` gets its own, where the
 * caller's frame pointer and the place to return to lie. */
void lee_foreign_switch(void (*function)(void *), void *argument, uintptr_t high, uintptr_t *left);

#if defined(__x86_64__)

__asm__(".text\n"
        ".globl lee_foreign_switch\n"
        ".hidden lee_foreign_switch\n"
        ".type lee_foreign_switch, @function\n"
        "lee_foreign_switch:\n"
        "    .cfi_startproc\n"
        "    pushq %rbp\n"
        "    .cfi_def_cfa_offset 16\n"
        "    .cfi_offset 6, -16\n"
        "    movq %rsp, %rbp\n"
        "    .cfi_def_cfa_register 6\n"
        "    movq %rsp, (%rcx)\n"
        "    movq %rdi, %rax\n"
        "    movq %rsi, %rdi\n"
        "    movq %rdx, %rsp\n"
        "    call *%rax\n"
        "    movq %rbp, %rsp\n"
        "    popq %rbp\n"
        "    .cfi_def_cfa 7, 8\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".size lee_foreign_switch, . - lee_foreign_switch\n");

#else

__asm__(".text\n"
        ".globl lee_foreign_switch\n"
        ".hidden lee_foreign_switch\n"
        ".type lee_foreign_switch, %function\n"
        "lee_foreign_switch:\n"
        "    .cfi_startproc\n"
        "    stp x29, x30, [sp, #-16]!\n"
        "    .cfi_def_cfa_offset 16\n"
        "    .cfi_offset 29, -16\n"
        "    .cfi_offset 30, -8\n"
        "    mov x29, sp\n"
        "    .cfi_def_cfa_register 29\n"
        "    str x29, [x3]\n"
        "    mov x9, x0\n"
        "    mov x0, x1\n"
        "    mov sp, x2\n"
        "    blr x9\n"
        "    mov sp, x29\n"
        "    ldp x29, x30, [sp], #16\n"
        "    .cfi_restore 29\n"
        "    .cfi_restore 30\n"
        "    .cfi_def_cfa 31, 0\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".size lee_foreign_switch, . - lee_foreign_switch\n");

#endif

/* Others go on during the call, if there are any. */
static inline void tell_begins(void) {
    if (__builtin_expect(lee_pool_may_begin, 0))
        lee_pool_begin_for_c();
    if (__builtin_expect(lee_many, 0))
        lee_worker_calls_c();
}

static void run(void (*function)(void *), void *argument) {
    if (!lee_on_task_stack) {
        function(argument);
        return;
    }
    struct lee_task *task = lee_task_self();
    struct lee_foreign_stack *stack = NULL;
    if (task->low != 0) { /* else it is the system's stack, and there are workers, which have to be told */
        stack = lee_foreign_stack_take();
        if (stack == NULL)
            lee_fault_memory(NULL, STACK_BYTES);
    }
    tell_begins();
    bool rests = __builtin_expect(lee_slice_over || lee_slice_again || task->process->watch > 0, 0) && lee_preempt_rest();
    lee_on_task_stack = false;
    task->process->keeps_thread++; /* a callback may wait */
    if (stack != NULL) {
        task->foreign = stack;
        lee_foreign_switch(function, argument, stack->high, &stack->left);
        task->foreign = NULL;
    } else {
        task->below_c = true;
        function(argument);
        task->below_c = false;
    }
    task->process->keeps_thread--;
    lee_on_task_stack = true;
    if (__builtin_expect(lee_many, 0))
        lee_worker_called_c();
    if (__builtin_expect(rests, 0))
        lee_preempt_watch();
    if (stack != NULL)
        lee_foreign_stack_give(stack);
}

/* The timer that was to end the slice was stopped for the call, or its signal was not sent. */
static void end_slice_soon(void) {
    if (__builtin_expect(lee_slice_over && !lee_slice_again, 0))
        lee_preempt_soon();
}

void lee_foreign_run(void (*function)(void *), void *argument) {
    run(function, argument);
    end_slice_soon();
}

bool lee_call_begins(void) {
    if (__builtin_expect(!lee_many && !lee_pool_may_begin, 1) || !lee_on_task_stack)
        return false;
    tell_begins();
    return lee_many;
}

void lee_call_ends(bool told) {
    if (!told)
        return;
    int error = errno;
    lee_worker_called_c();
    end_slice_soon();
    errno = error;
}

void lee_foreign_call(void (*function)(void *), void *argument) {
    run(function, argument);
    lee_task_end_slice();
}

#endif
