/* signals.c: from signals of the processor to faults.
 *
 * Promises: a trap in the program's own code, or in a library function that it called, becomes a
 * fault at the source line where it happened. A signal that somebody sent, and a trap in foreign
 * code that has a handler of its own, go where they would have gone without the runtime.
 *
 * What a trap means is told from the address and from what is mapped around it; nothing has to be
 * known of the stack beforehand, so it holds for threads that foreign code made, too (of these only
 * overflow needs an alternate stack, and without one ends the program by the signal itself). */
#define _GNU_SOURCE
#include "foreign_stack.h"
#include "signals.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "backtrace.h"
#include "maps.h"
#include "poison.h"
#include "report.h"
#include "task.h"
#include "worker.h"

enum {
    NULL_PAGE = 4096,             /* architecture.md: constant offsets below are left to the trap */
    HANDLER_STACK = 64 << 10,     /* the report keeps its data in static memory and needs a tenth of this */
    HANDLER_GUARD = 4096,         /* rounded up by the kernel where pages are larger */
    NEAR_STACK = 256 << 10,       /* from a stack's end: frames are probed in steps of at most 64 KB */
    SIGNALS = 5
};

static const int signals[SIGNALS] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
static struct sigaction before[SIGNALS];

static struct lee_frame trapped_frame(const void *context) {
    const mcontext_t *machine = &((const ucontext_t *)context)->uc_mcontext;
#if defined(__x86_64__)
    return (struct lee_frame){
        .pc = (uintptr_t)machine->gregs[REG_RIP],
        .fp = (uintptr_t)machine->gregs[REG_RBP],
        .sp = (uintptr_t)machine->gregs[REG_RSP],
    };
#else
    return (struct lee_frame){
        .pc = machine->pc,
        .fp = machine->regs[29],
        .sp = machine->sp,
        .link = machine->regs[30],
    };
#endif
}

/* The stack grows downwards, so overflow is a trap close below what is mapped of it, with the stack
 * pointer near. */
static bool is_overflow(uintptr_t address, uintptr_t sp) {
    static struct lee_mapping mapping;
    uintptr_t apart = address > sp ? address - sp : sp - address;
    const struct lee_foreign_stack *foreign = lee_foreign_stack_find(address);
    if (lee_stack_is_guard(address) || (foreign != NULL && address < foreign->low))
        return true;
    if (apart > NEAR_STACK || !lee_maps_find(address, &mapping))
        return false;
    if (mapping.start <= address) {
        if (mapping.readable || !lee_maps_find(mapping.end, &mapping)) /* the guard of a thread's stack */
            return false;
    }
    return mapping.readable && mapping.writable && mapping.start - address <= NEAR_STACK;
}

static bool is_constant(uintptr_t address, uintptr_t pc) {
    static struct lee_mapping mapping;
    return address != pc && lee_maps_find(address, &mapping) && mapping.start <= address && mapping.readable &&
           !mapping.writable;
}

static void word_access(struct lee_text *text, const siginfo_t *info, const struct lee_frame *frame) {
    uintptr_t address = (uintptr_t)info->si_addr;
    if (info->si_code == SI_KERNEL) { /* x86-64 does not tell the address, and gives 0 */
        lee_text_string(text, "invalid memory access, to an address that cannot exist");
    } else if (address < NULL_PAGE) {
        lee_text_string(text, "null pointer");
    } else if (is_overflow(address, frame->sp)) {
        lee_text_string(text, "stack overflow");
    } else if (info->si_signo == SIGSEGV && info->si_code == SEGV_ACCERR && is_constant(address, frame->pc)) {
        lee_text_string(text, "write to a constant");
    } else {
        lee_text_string(text, "invalid memory access at ");
        lee_text_address(text, address);
    }
}

static void word_message(struct lee_text *text, const siginfo_t *info, const struct lee_frame *frame) {
    text->length = 0;
    switch (info->si_signo) {
    case SIGFPE:
        lee_text_string(text, info->si_code == FPE_INTDIV ? "division by zero or division overflow"
                                                          : "floating-point exception");
        break;
    case SIGILL:
    case SIGTRAP:
        lee_text_string(text, "unreachable code reached");
        break;
    default:
        word_access(text, info, frame);
    }
}

static struct sigaction *handler_before(int signal) {
    for (int i = 0; i < SIGNALS; i++) {
        if (signals[i] == signal)
            return &before[i];
    }
    return NULL;
}

static bool is_function(const struct sigaction *action) {
    return action != NULL &&
           ((action->sa_flags & SA_SIGINFO) || (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN));
}

/* As if the runtime were not there. Without a handler the default action is put back; a trap then
 * happens again as soon as this one returns, and a signal that somebody sent is sent once more. */
static void pass_on(int signal, siginfo_t *info, void *context) {
    struct sigaction *action = handler_before(signal);
    if (is_function(action)) {
        if (action->sa_flags & SA_SIGINFO)
            action->sa_sigaction(signal, info, context);
        else
            action->sa_handler(signal);
        return;
    }
    if (info->si_code <= 0 && action != NULL && action->sa_handler == SIG_IGN)
        return;
    struct sigaction standard = {.sa_handler = SIG_DFL};
    sigaction(signal, &standard, NULL);
    if (info->si_code <= 0)
        raise(signal);
}

/* Looking at the place of a trap may trap itself, in a damaged program file: then it is nobody's own. */
static bool is_ours(const struct lee_frame *frame) {
    static volatile sig_atomic_t looking;
    if (looking)
        return false;
    looking = 1;
    bool ours = lee_backtrace_is_ours(*frame);
    looking = 0;
    return ours;
}

/* Whether it is for the handler that was there before: it trapped in code that is not the program's. */
static bool is_theirs(int signal, const siginfo_t *info, const struct lee_frame *frame) {
    if (!is_function(handler_before(signal)))
        return false;
#ifdef LEE_ASAN
    /* What the program overflows is its stack, also if that ends in a function of the sanitizer. */
    if (is_overflow((uintptr_t)info->si_addr, frame->sp))
        return false;
#else
    (void)info;
#endif
    return !is_ours(frame);
}

static void handle(int signal, siginfo_t *info, void *context) {
    static struct lee_text text;
    struct lee_frame frame = trapped_frame(context);
    /* SIGTRAP is a debugger's too: only a trap instruction counts, which some compilers use for
     * unreachable code. */
    lee_lock(); /* of the workers, one reports at a time */
    bool sent = info->si_code <= 0 || (signal == SIGTRAP && info->si_code != SI_KERNEL && info->si_code != TRAP_BRKPT);
    if (sent || is_theirs(signal, info, &frame)) {
        lee_unlock();
        pass_on(signal, info, context);
        return;
    }
    word_message(&text, info, &frame);
    lee_report(NULL, &text, frame);
}

/* Kept for the life of the thread. Without memory for it the handlers run on the thread's stack. */
void lee_signals_stack(void) {
    stack_t present;
    if (sigaltstack(NULL, &present) == 0 && !(present.ss_flags & SS_DISABLE) && present.ss_size >= HANDLER_STACK)
        return;
    unsigned char *memory =
        mmap(NULL, HANDLER_GUARD + HANDLER_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return;
    mprotect(memory, HANDLER_GUARD, PROT_NONE);
    stack_t stack = {.ss_sp = memory + HANDLER_GUARD, .ss_size = HANDLER_STACK};
    sigaltstack(&stack, NULL);
}

void lee_signals_install(void) {
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    lee_signals_stack();
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < SIGNALS; i++)
        sigaction(signals[i], &action, &before[i]);
}
