/* top.h: the socket from which `lee top` reads what processes and custodians do.
 *
 * Promises: without LEE_TOP there is no thread, no socket and no cost. With it, a thread of its own
 * waits for clients and touches nothing of the program's: what it sends was written by a thread
 * that runs processes, with the lock, between two tasks, into memory that was there. What a client
 * does delays no process. */
#ifndef LEE_SRC_TOP_H
#define LEE_SRC_TOP_H

/* The program is about to spawn. LEE_TOP names the socket, of which only the program's user may
 * make use; where there is one that answers, it stays. */
void lee_top_begin(void);
/* From the reactor, when its bell rang: if a client waits, writes what it gets. */
void lee_top_answer(void) __attribute__((weak));

#endif
