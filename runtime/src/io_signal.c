/* Signals without handlers in the program: a count for each, that a handler of ours raises. */
#define _GNU_SOURCE

#include "errno_here.h"
#include "io_library.h"
#include "preempt.h"
#include "process.h"
#include "reactor.h"

#include <signal.h>
#include <stdatomic.h>

static atomic_int caught[_NSIG];

static void note(int number) {
    atomic_fetch_add_explicit(&caught[number], 1, memory_order_relaxed);
    lee_reactor_signal();
}

/* Signals that mean a fault are the runtime's. */
static bool is_ours_to_change(int number) {
    switch (number) {
    case SIGSEGV: case SIGBUS: case SIGFPE: case SIGILL: case SIGTRAP: case SIGABRT: case SIGSYS:
    case LEE_SIGNAL_SLICE: case LEE_SIGNAL_CALL: case LEE_SIGNAL_EVENT:
        break;
    default:
        if (number > 0 && number < _NSIG)
            return true;
    }
    errno = EINVAL;
    return false;
}

static int set(int number, void (*handler)(int)) {
    struct sigaction action = {.sa_handler = handler};
    return lee_process_is_first() && is_ours_to_change(number) ? sigaction(number, &action, NULL) : -1;
}

int lee_signal_catch(int number) {
    return set(number, note);
}

int lee_signal_ignore(int number) {
    return set(number, SIG_IGN);
}

int lee_signal_default(int number) {
    return set(number, SIG_DFL);
}

/* What `signal` takes and gives (library/include/signal.h). */
enum way { WAY_DEFAULT, WAY_IGNORE };

int lee_signal_set(int number, int way) {
    struct sigaction before;
    if (way != WAY_DEFAULT && way != WAY_IGNORE) {
        errno = EINVAL;
        return -1;
    }
    if (!lee_process_is_first() || !is_ours_to_change(number) || sigaction(number, NULL, &before) != 0)
        return -1;
    if (set(number, way == WAY_IGNORE ? SIG_IGN : SIG_DFL) != 0)
        return -1;
    return before.sa_handler == SIG_IGN ? WAY_IGNORE : WAY_DEFAULT;
}

/* What the program knows of does not end its next wait, unless another signal came, too. */
static void forget_known(void) {
    lee_reactor_forget_signal();
    for (int number = 1; number < _NSIG; number++) {
        if (atomic_load_explicit(&caught[number], memory_order_relaxed) != 0) {
            lee_reactor_signal();
            return;
        }
    }
}

int lee_signal_caught(int number) {
    if (!lee_process_is_first() || !is_ours_to_change(number))
        return -1;
    int count = atomic_exchange_explicit(&caught[number], 0, memory_order_relaxed);
    if (count > 0)
        forget_known();
    return count;
}
