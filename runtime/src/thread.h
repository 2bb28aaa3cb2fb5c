/* thread.h: threads of the runtime's own. */
#ifndef LEE_SRC_THREAD_H
#define LEE_SRC_THREAD_H

#include <stdbool.h>
#include <stddef.h>

/* Starts a detached thread with a stack of so many bytes, which runs `run(argument)`. All signals
 * are blocked there: they are for the program's own threads. `errno` stays. False if there can be
 * none. */
bool lee_thread_start(void *(*run)(void *), void *argument, size_t stack);

#endif
