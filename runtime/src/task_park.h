/* task_park.h: waiting for what is outside of the process.
 *
 * Promises: `lee_task_park` waits in the frame of its caller (task_switch.h says why). */
#ifndef LEE_TASK_PARK_H
#define LEE_TASK_PARK_H

#include "poison.h"
#include "process.h"
#include "task_switch.h"
#include "worker.h"

#ifndef LEE_NO_GC /* else there are no tasks */

/* Chooses who runs next (for `lee_switch`): the running task waits. */
uintptr_t lee_task_parks(uintptr_t sp, void *outside, uintptr_t leave);

/* Waits until somebody calls `lee_task_resume`, perhaps of another process. From the look that said
 * so on, the lock is held (worker.h), as it is by who resumes. `leave` is called if the task is
 * ended meanwhile. */
static inline __attribute__((always_inline)) void lee_task_park(void *outside, void (*leave)(struct lee_task *task)) {
    struct lee_task *self = lee_process->tasks.running;
    lee_switch(lee_task_parks, outside, (uintptr_t)leave);
    self->outside = NULL;
    self->leave = NULL;
}

#endif

#endif
