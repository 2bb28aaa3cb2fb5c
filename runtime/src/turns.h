/* turns.h: processes that can run, in the order of their turns.
 *
 * One that waited comes before those that were stopped because they compute: it has mostly little to
 * do, and what it waited for has come. So that these are not kept waiting for ever, at most
 * LEE_PASSES come before them between two of their turns; then all wait in one line. One that yields
 * is the last.
 *
 * Promises: each operation takes constant time. From `stopped` on all were stopped, or yielded. */
#ifndef LEE_SRC_TURNS_H
#define LEE_SRC_TURNS_H

struct lee_process;

struct lee_turns {
    struct lee_process *head, *tail;
    struct lee_process *stopped; /* the first of those that compute; null: there is none, or their turn has come */
    unsigned passes;             /* others that may still come before it */
};

enum { LEE_PASSES = 32 };

#endif
