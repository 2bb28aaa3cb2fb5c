/* Tasks, as emitted code calls them. docs/reference/tasks.md says what programs see.
 *
 * Promises: tasks of one process share its heap and its thread; another runs only while one yields,
 * joins or ends. A task's address is that of an object of the collected heap and may be kept for
 * ever. */
#ifndef LEE_TASK_H
#define LEE_TASK_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct lee_site;
struct lee_task;

/* A task that calls `entry` with a copy of `bytes` bytes of arguments, which lies on its stack. It
 * runs when the others wait. It belongs to the custodian that the caller entered; if that was shut
 * down, the task has ended already. `site`: where it is started. Faults if there is no memory for
 * it. */
void *lee_task_start(const struct lee_site *site, void (*entry)(void *), const void *arguments, size_t bytes);

/* Waits until the task has ended. Whether it returned by itself; false if it was shut down. */
bool lee_task_join(struct lee_task *task);

/* Lets every other task that can run do so once. */
void lee_task_yield(void);

#ifdef __cplusplus
}
#endif

#endif
