/* deadlock.h: what is said when every task waits. */
#ifndef LEE_SRC_DEADLOCK_H
#define LEE_SRC_DEADLOCK_H

#include <stdbool.h>

struct lee_process;
struct lee_task;
struct lee_text;

/* What a task waits for outside of its process. */
struct lee_awaited {
    struct lee_process *process; /* whoever can end the waiting; null: no process that is known */
    const char *contract;        /* a message of it; null: the end of the process */
};

/* channel.c, process_spawn.c: whether the task waits there, and for what. */
bool lee_channel_awaits(const struct lee_task *task, struct lee_awaited *what) __attribute__((weak));
bool lee_process_awaits(const struct lee_task *task, struct lee_awaited *what) __attribute__((weak));

/* What a task of a process that does not run waits for; false if no process can end that. */
bool lee_process_waits_for(struct lee_process *process, struct lee_awaited *what);

/* The fault: the task is the last that went to wait. Names those who wait for each other in a
 * circle. */
_Noreturn void lee_deadlock(const struct lee_task *task);

/* `main`, `task 3 (started at a.lee:12)` */
void lee_task_name(struct lee_text *text, const struct lee_task *task);

#endif
