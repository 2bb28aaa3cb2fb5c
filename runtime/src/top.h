/* top.h: the socket from which `lee top` reads what processes and custodians do.
 *
 * Promises: without LEE_TOP there is no thread, no socket and no cost. With it, a thread of its own
 * waits for clients and touches nothing of the program's but with the lock of several workers: what
 * it sends was written with the lock, else by the thread that runs processes, between two tasks,
 * into memory that was there. What a client does delays no process; what memory consists of is
 * found in steps of a quarter of a millisecond (why.h), for which the process pays with its
 * time. */
#ifndef LEE_SRC_TOP_H
#define LEE_SRC_TOP_H

/* The program is about to spawn. LEE_TOP names the socket, of which only the program's user may
 * make use; where there is one that answers, it stays. */
void lee_top_begin(void);
/* From the reactor, when its bell rang: if a client waits, writes what it gets. */
void lee_top_answer(void) __attribute__((weak));

/* What a process is asked for: nothing, to be looked at while it does not run, or at its next
 * stop. */
enum { LEE_ASKED_NOTHING, LEE_ASKED_LATER, LEE_ASKED_NOW };
struct lee_process;
/* The running process of one of several workers, which is asked now, gives way. With the lock. */
void lee_top_stops(struct lee_process *process) __attribute__((weak));
/* One that is asked ends. With the lock. */
void lee_top_ends(struct lee_process *process) __attribute__((weak));

#endif
