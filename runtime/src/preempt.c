/* preempt.c: see preempt.h.
 *
 * A timer of the processor time of the thread sends a signal to it each slice, while there are
 * others that can run or wait in the reactor. The handler only decides. If the process is in code
 * of the program, the handler makes it go on in `lee_preempt_land` instead, as if it had been
 * called between two instructions, and returns at once: so the signal stack is free, and no signal
 * is blocked while others run (preempt_land.c). If the process is elsewhere, the handler tries
 * again soon.
 *
 * A slice is long for who waits in the reactor. So while a process runs that has been stopped, or
 * has hardly begun, another timer looks several times in a slice whether something came, and ends
 * the slice then. It is of real time, which the kernel counts finely; it does not run in foreign
 * calls, which it would interrupt.
 *
 * Once such a look has found nothing, the process computes: from then on the kernel interrupts it when
 * something comes on a descriptor of the program's (`lee_preempt_hear`), by a signal that is blocked
 * otherwise. Looks go on for timers, and for descriptors that other programs may share. */
#define _GNU_SOURCE
#include "preempt.h"
#include "top.h"

#ifndef LEE_NO_GC

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "atomics.h"
#include "heap_limit.h"
#include "poison.h"
#include "preempt_land.h"
#include "process.h"
#include "reactor.h"
#include "task.h"
#include "worker.h"

enum {
    SLICE = 4000, /* microseconds */
    SLICE_MOST = 1000000,
    CPU_LEAST = 4000, /* the kernel looks at timers of processor time once in a tick: shorter slices
                       * are of real time */
    AGAIN = 100, /* microseconds after which it is tried again, at least */
    WATCH_LEAST = 64, /* microseconds between two looks at what is waited for: after something came, */
    WATCH_MOST = 256  /* and doubled up to here while nothing does */
};

uint64_t lee_preempt_stops, lee_preempt_misses, lee_preempt_events;

/* What a timer says with its signal. */
enum { OF_SLICE, OF_WATCH };

/* Of the thread: timers of the kernel. */
static _Thread_local struct {
    bool begun, runs;
    bool watching; /* `watch` is set */
    bool hears; /* LEE_SIGNAL_EVENT is not blocked */
    volatile bool resting; /* C waits perhaps: no timer of real time is set */
    int slice, again, watch;
    long distance; /* to the next look, in microseconds */
    uint32_t random;
} timers;
static long slice_length; /* in microseconds; 0: slices do not end */

/* The code of the program; none in a program of C only. */
extern const char __start_lee_text[] __attribute__((weak)), __stop_lee_text[] __attribute__((weak));

static void set_timer(int timer, long microseconds, bool repeats) {
    struct timespec at = {microseconds / 1000000, microseconds % 1000000 * 1000};
    struct itimerspec times = {.it_value = at};
    if (repeats)
        times.it_interval = at;
    syscall(SYS_timer_settime, timer, 0, &times, NULL);
}

static bool is_in(uintptr_t pc, const char *start, const char *stop) {
    return pc - (uintptr_t)start < (uintptr_t)stop - (uintptr_t)start;
}

static bool is_code(uintptr_t pc) {
    return is_in(pc, __start_lee_text, __stop_lee_text);
}

/* The marker (mark.c); none in a program of C only that makes no heap. */
extern const char __start_lee_marking[] __attribute__((weak)), __stop_lee_marking[] __attribute__((weak));

static bool is_marking(uintptr_t pc) {
    const struct lee_heap *heap = lee_process->heap;
    return heap != NULL && heap->marking != NULL && is_in(pc, __start_lee_marking, __stop_lee_marking);
}

/* Whether it stands in code of the program, in a leaf that this code called, or in the marker. */
static bool can_be_stopped(const struct lee_stand *stand) {
    return is_code(stand->pc) || (lee_preempt_is_leaf(stand->pc) && is_code(lee_leaf_caller(stand))) || is_marking(stand->pc);
}

/* Not at equal distances: a loop could keep step. */
static void try_again(void) {
    /* Numerical Recipes, 2nd edition, section 7.1. */
    timers.random = timers.random * 1664525u + 1013904223u;
    lee_slice_again = true;
    set_timer(timers.again, AGAIN + (long)(timers.random >> 25), false);
}

static void stop(siginfo_t *info, void *context) {
    struct lee_stand stand = lee_stand_of(context);
    if (lee_task_may_stop(stand.sp) && can_be_stopped(&stand) && lee_land(info, context)) {
        __atomic_fetch_add(&lee_preempt_stops, 1, __ATOMIC_RELAXED);
    } else {
        lee_slice_over = true;
        __atomic_fetch_add(&lee_preempt_misses, 1, __ATOMIC_RELAXED);
        if (!timers.resting)
            try_again();
    }
}

static void set_watch(long distance) {
    timers.distance = distance;
    timers.watching = true;
    set_timer(timers.watch, distance, false);
}

/* From where the handler returns on. Blocked otherwise, because it would interrupt what waits, and what
 * answers quickly without it. */
static void hear(void *context, bool hears) {
    sigset_t *mask = &((ucontext_t *)context)->uc_sigmask;
    timers.hears = hears;
    if (hears)
        sigdelset(mask, LEE_SIGNAL_EVENT);
    else
        sigaddset(mask, LEE_SIGNAL_EVENT);
}

/* The slice goes on unless something came that others wait for. */
static void look(siginfo_t *info, void *context, bool timed) {
    timers.watching = timers.watching && !timed;
    if (timers.resting || !lee_task_is_watched() || !lee_task_has_others()) {
        hear(context, false);
        return;
    }
    bool due = lee_reactor_is_due();
    hear(context, !due);
    if (due || timed)
        set_watch(due ? WATCH_LEAST : timers.distance * 2 < WATCH_MOST ? timers.distance * 2 : WATCH_MOST);
    if (due) {
        __atomic_fetch_add(&lee_preempt_events, !timed, __ATOMIC_RELAXED);
        lee_task_look_soon();
        stop(info, context);
    }
}

static void signalled(int signal, siginfo_t *info, void *context) {
    int error = errno;
    bool timed = info->si_code == SI_TIMER && info->si_value.sival_int == OF_WATCH;
    if (!timers.begun) { /* another thread: a program sent it */
    } else if (timed || signal == LEE_SIGNAL_EVENT) {
        look(info, context, timed);
    } else if (!lee_task_has_others()) {
        set_timer(timers.slice, 0, false);
        lee_task_call_when_others();
        lee_atomic_fence(); /* another worker hands it one, and sees this, or is seen */
        if (lee_task_has_others())
            lee_task_arm();
    } else {
        lee_task_arm(); /* the timer rests if another worker sent this one */
        hear(context, false);
        stop(info, context);
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

void lee_preempt_watch(void) {
    timers.resting = false;
    if (timers.runs && !timers.watching && lee_reactor_has_waits())
        set_watch(WATCH_LEAST);
}

static sigset_t signal_of_events(void) {
    sigset_t event;
    sigemptyset(&event);
    sigaddset(&event, LEE_SIGNAL_EVENT);
    return event;
}

void lee_preempt_hear(int fd) {
    struct f_owner_ex owner = {F_OWNER_TID, (int)syscall(SYS_gettid)};
    if (timers.runs && fcntl(fd, F_SETOWN_EX, &owner) == 0)
        ioctl(fd, FIOASYNC, &(int){1});
}

bool lee_preempt_rest(void) {
    if (!timers.runs)
        return false;
    timers.resting = true; /* before they are stopped: their signals may be on the way */
    if (timers.hears) {
        sigset_t event = signal_of_events();
        pthread_sigmask(SIG_BLOCK, &event, NULL);
        timers.hears = false;
    }
    if (timers.watching)
        set_timer(timers.watch, 0, false);
    timers.watching = false;
    if (lee_slice_again) { /* whether or not the slice that it was for has ended meanwhile */
        lee_slice_again = false;
        set_timer(timers.again, 0, false);
    }
    return true;
}

static bool make_timer(clockid_t clock, int *timer, int what) {
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = LEE_SIGNAL_SLICE;
    event.sigev_value.sival_int = what;
    event._sigev_un._tid = (int)syscall(SYS_gettid);
    return syscall(SYS_timer_create, clock, &event, timer) == 0;
}

static sigset_t our_signals(void) {
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, LEE_SIGNAL_SLICE);
    sigaddset(&ours, LEE_SIGNAL_CALL);
    return ours;
}

/* What all threads have in common. */
static void prepare_slices(void) {
    struct sigaction action = {.sa_sigaction = signalled, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    if (lee_task_is_seeded()) /* processes switch where they wait */
        return;
    long length = (long)lee_setting_number(SLICE_MOST, "LEE_SLICE", SLICE);
    if (length == 0 || (uintptr_t)__stop_lee_text == (uintptr_t)__start_lee_text)
        return;
    lee_land_prepare();
    lee_preempt_find_leaves();
    action.sa_mask = our_signals();
    sigaddset(&action.sa_mask, LEE_SIGNAL_EVENT);
    if (sigaction(LEE_SIGNAL_SLICE, &action, NULL) == 0 && sigaction(LEE_SIGNAL_CALL, &action, NULL) == 0 &&
        sigaction(LEE_SIGNAL_EVENT, &action, NULL) == 0)
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
        !make_timer(slice_length < CPU_LEAST ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &timers.slice, OF_SLICE) ||
        !make_timer(CLOCK_MONOTONIC, &timers.again, OF_SLICE) || !make_timer(CLOCK_MONOTONIC, &timers.watch, OF_WATCH))
        return; /* the same */
    sigset_t ours = our_signals(), event = signal_of_events();
    pthread_sigmask(SIG_BLOCK, &event, NULL);
    pthread_sigmask(SIG_UNBLOCK, &ours, NULL); /* the program may have been started with them blocked */
    timers.runs = true;
    lee_preempt_arm();
}

bool lee_preempt_runs(void) {
    return slice_length > 0;
}

void lee_preempt_interrupt(int thread) {
    if (lee_preempt_runs())
        syscall(SYS_tgkill, getpid(), thread, LEE_SIGNAL_CALL);
}

#else

uint64_t lee_preempt_stops, lee_preempt_misses, lee_preempt_events;

void lee_preempt_begin(void) {
    lee_top_begin();
}
void lee_preempt_arm(void) {}
void lee_preempt_soon(void) {}
void lee_preempt_watch(void) {}

bool lee_preempt_rest(void) {
    return false;
}

void lee_preempt_interrupt(int thread) {
    (void)thread;
}

bool lee_preempt_runs(void) {
    return false;
}

#endif
