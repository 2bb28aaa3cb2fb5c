/* Calls of functions that nobody compiled for small stacks, as emitted code makes them.
 * docs/internals/abi.md, "Foreign calls".
 *
 * Promises: a task's stack is small and has a guard of a few pages, which a function without stack
 * probes can step over (glibc's printf takes 80 KB at once). So what C compiled runs on a large
 * stack of the thread's. */
#ifndef LEE_FOREIGN_H
#define LEE_FOREIGN_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whether C is called by `lee_foreign_call`: the thread stands on a task's own stack, or there are several workers; not
 * during a foreign call. */
extern _Thread_local bool lee_on_task_stack __attribute__((tls_model("initial-exec")));

/* Calls `function` with `argument` on a large stack if this one is a task's own, else here. */
void lee_foreign_call(void (*function)(void *), void *argument);

#ifdef __cplusplus
}
#endif

#endif
