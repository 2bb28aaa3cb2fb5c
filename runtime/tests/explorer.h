/* explorer.h: runs code of several threads in all orders, on a memory that is as weak as C11 allows
 * short of reading what is written later.
 *
 * Threads are coroutines. Before each atomic access, fence and use of the lock another one may go
 * on: all schedules are tried in which a thread that could go on is made to wait at most
 * so many times. A location that is accessed atomically keeps all that was ever stored there,
 * and a load gives each value that the thread may still see, at most STALE times per run not the
 * newest. What a thread may see is its view: a number of the newest store that it knows for each
 * location (Kang and others, "A promising semantics for relaxed-memory concurrency", POPL 2017, and
 * without promises; fences as there). A load that acquires joins the view that a store released.
 * This covers store buffers (TSO, PSO) and loads that come early.
 *
 * All other accesses are reported by what `-fsanitize=thread` makes the compiler insert, and must be
 * ordered: two of which one writes, without an order between them, are a failure (vector clocks, as
 * in ThreadSanitizer), as is what was freed. So what they read is certain, and they are no steps.
 *
 * A run is made again from its start with the next choice (Godefroid, "Model checking for
 * programming languages using VeriSoft", POPL 1997; Musuvathi and Qadeer, PLDI 2007, for the
 * bound). `explore` fails a scenario by `explore_fail`, or if nobody can go on. One access may be
 * weakened, `weakened`: a fence is left out, another order becomes relaxed. */
#ifndef LEE_TESTS_EXPLORER_H
#define LEE_TESTS_EXPLORER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { THREADS = 4, STALE = 2 };

struct scenario {
    const char *name;
    void (*begin)(void);                /* alone, before the threads */
    void (*threads[THREADS])(void);     /* null: no more */
    void (*end)(void);                  /* alone, after they have ended */
};

/* Tries all orders with so many preemptions at most. What failed first, or null; how many runs it
 * took. */
const char *explore(const struct scenario *scenario, unsigned most_preemptions, long *runs);

/* --- for scenarios and what stands for the runtime around the code ------------------------------ */

_Noreturn void explore_fail(const char *what);
unsigned explore_thread(void); /* which one runs */
void explore_lock(void);
void explore_unlock(void);
/* The thread waits, with the lock, which others have meanwhile, until `explore_wake`. */
void explore_park(void);
void explore_wake(unsigned thread);
/* Ends one that is parked, or was woken and has not gone on. With the lock. */
void explore_end(unsigned thread);
/* The thread waits until that one is parked, or has ended. */
void explore_await_parked(unsigned thread);
/* An access that is not atomic, by code that was compiled without reports. Only those of memory
 * that was given out here count. */
void explore_access(const void *at, size_t bytes, bool writes);
void *explore_malloc(size_t bytes);
void *explore_calloc(size_t count, size_t bytes);
void explore_free(void *block);
/* Called when a thread goes on. */
void explore_entered(unsigned thread);

/* --- the accesses that were made --------------------------------------------------------------- */

enum { SITES_MOST = 64 };
struct explored_site {
    char name[64];
    bool orders; /* it is a fence, or not relaxed */
};
extern struct explored_site explored_sites[SITES_MOST];
extern unsigned explored_count;
extern int explore_weakened; /* number of a site; -1: none */

#endif
