/* preempt.h: a process that computes without waiting gives way to the others.
 *
 * Promises: nothing here is linked into a program that never spawns, and nothing happens before the
 * first `spawn`. After it, a process that has run for a slice is stopped wherever it stands in code
 * of the program (the section `lee_text`), and goes on there later. In the runtime, in libc and in
 * foreign code no process is stopped, so what processes share is whole whenever another one runs,
 * and a process that was stopped can be killed like one that waits. */
#ifndef LEE_SRC_PREEMPT_H
#define LEE_SRC_PREEMPT_H

#include <stdbool.h>
#include <stdint.h>

/* The signal of the timers, which Linux never sends by itself; and the one with which a worker
 * interrupts another. There are two because a signal that is pending is not sent again, and the
 * kernel drops a pending signal of a timer when the timer is set again (since Linux 6.13): what
 * another worker sent in between would be lost with it. */
enum { LEE_SIGNAL_SLICE = 16 /* SIGSTKFLT, which other systems and some headers do not name */, LEE_SIGNAL_CALL = 30 /* SIGPWR */ };
/* SIGIO: something came on a descriptor. */
enum { LEE_SIGNAL_EVENT = 29 };

/* A process is spawned by this thread; nothing after the first time. */
void lee_preempt_begin(void);
/* The slice ends early: the running process is stopped as soon as it stands in its own code. */
void lee_preempt_soon(void) __attribute__((weak));
/* Looks are taken at what is waited for outside of the program, as long as a process runs that is
 * watched (task.c). */
void lee_preempt_watch(void) __attribute__((weak));
/* This thread is interrupted when something comes on the descriptor and a process computes that is
 * watched. For descriptors that no other program shares: the kernel keeps this for all who have it open. */
void lee_preempt_hear(int fd) __attribute__((weak));
/* No looks are taken, and nothing is tried again, until `lee_preempt_watch`, because that would
 * interrupt what waits. False: nothing is to be done. */
bool lee_preempt_rest(void) __attribute__((weak));
/* Whether slices end: the signal has its handler, so that a thread may be sent it. For a thread
 * that has called `lee_preempt_begin`. */
bool lee_preempt_runs(void) __attribute__((weak));
/* By any thread: the slice of that one, of the system's number, ends as soon as it can be
 * stopped. */
void lee_preempt_interrupt(int thread);
/* Another process can run again, after the timer was stopped because none could. */
void lee_preempt_arm(void) __attribute__((weak));

/* task.c: whether LEE_SEED chooses the order. Then nothing may depend on time. */
bool lee_task_is_seeded(void);
/* task.c: whether any other process can run, or a wait may end soon. Safe in a signal handler. */
bool lee_task_has_others(void);
/* The timer has been stopped: `lee_preempt_arm` is to be called once there are others. Safe in a
 * signal handler. */
void lee_task_call_when_others(void);
/* Whether the running process is one that keeps others waiting, as far as is known. Safe in a signal
 * handler. */
bool lee_task_is_watched(void);
/* Something came in the reactor: the process that gives way looks there. Safe in a signal handler. */
void lee_task_look_soon(void);
/* Whether the running task stands on its own stack at `sp`, with room for what stopping it takes.
 * Safe in a signal handler. */
bool lee_task_may_stop(uintptr_t sp);

/* preempt_leaf.c: whether `pc` lies in a function of libc that is known to keep nothing on the
 * stack, so that `lee_leaf_caller` says who called it. Safe in a signal handler. */
bool lee_preempt_is_leaf(uintptr_t pc);
/* Finds these functions. */
void lee_preempt_find_leaves(void);

/* How often a process was stopped, and how often it could not be when its time was over; how often
 * the kernel told that something had come. */
extern uint64_t lee_preempt_stops, lee_preempt_misses, lee_preempt_events;

#endif
