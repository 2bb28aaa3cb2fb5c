/* preempt_land.h: a process is made to give way between two instructions of its own.
 *
 * Promises: `lee_land`, called by a signal's handler, makes the code that was interrupted go on in
 * `lee_task_give_way` when the handler returns, and after that where it was, with all its
 * registers. What is saved lies on the stack of that code, below what it uses. */
#ifndef LEE_SRC_PREEMPT_LAND_H
#define LEE_SRC_PREEMPT_LAND_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Where code was interrupted. `link`: aarch64's link register. */
struct lee_stand {
    uintptr_t pc, sp, link;
};

struct lee_stand lee_stand_of(const void *context);

/* The caller of a function that keeps nothing on the stack. */
uintptr_t lee_leaf_caller(const struct lee_stand *stand);

/* Once, before the first `lee_land`. */
void lee_land_prepare(void);

/* False: not here. `info` and `context` are the handler's. */
bool lee_land(const siginfo_t *info, void *context);

#endif
