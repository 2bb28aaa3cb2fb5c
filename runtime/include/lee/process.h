/* Processes, as emitted code calls them.
 *
 * Promises: a process has a heap, globals, files and custodians of its own; nothing that it holds is another's. All processes of a program
 * take turns on one thread: another runs while one waits, yields or ends. When a process ends, however it does, all that it held is
 * released at once and without waiting. */
#ifndef LEE_PROCESS_H
#define LEE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct lee_owned;
struct lee_site;
struct lee_work;

/* A process as others know it: an object of the heap of whoever has it. */
struct lee_pid;

enum lee_end_how {
    LEE_RETURNED, /* its function did; `status` is what it returned */
    LEE_EXITED,   /* by `exit`, with `status` */
    LEE_FAULTED,  /* `message` says why */
    LEE_KILLED,
    LEE_LIMIT     /* its first custodian was shut down */
};

struct lee_process_end {
    enum lee_end_how how;
    int status;
    char message[120]; /* with a zero; cut off if it is longer */
};

/* A process that calls `entry` with a copy of `bytes` bytes of arguments, which lies on its stack. It runs when the caller waits.
 * `site`: where it is spawned. Faults if there is no memory for it; `try` gives null then. */
struct lee_pid *lee_process_spawn(const struct lee_site *site, int (*entry)(void *), const void *arguments, size_t bytes);
struct lee_pid *lee_process_try_spawn(const struct lee_site *site, int (*entry)(void *), const void *arguments, size_t bytes);

/* The same for arguments that are more than bytes: they own what `owned` says, and may name
 * processes (`lee_push_pid`). They are on their way, as in a message, until the new process begins;
 * if it never does, or there is no memory for it, what they own is released. `owned` is constant,
 * or null. `question`: null, not a fault, where there is no memory. */
struct lee_pid *lee_process_spawn_with(const struct lee_site *site, int (*entry)(void *), const void *arguments, size_t bytes,
                                       const struct lee_owned *owned, bool question);

/* From the drop function of a message or of arguments: the word at `place` is a `struct lee_pid *`,
 * or null. On its way it is a record, counted. */
void lee_push_pid(struct lee_work *work, void *place);

/* Ends the process now, unless it has ended. A process may kill itself; the first one faults then. */
void lee_process_kill(struct lee_pid *pid);

/* Waits until the process has ended; any number of times. */
struct lee_process_end lee_process_wait(struct lee_pid *pid);

/* The calling process goes on upon this thread from now on, wherever it waits: for C code that keeps
 * something for each thread. */
void lee_process_keep_thread(void);

/* C's `exit`: ends the program in the first process, the process in any other. */
_Noreturn void lee_exit(int status);
/* C's `_exit` and `abort`, likewise. */
_Noreturn void lee_exit_now(int status);
_Noreturn void lee_abort(void);

#ifdef __cplusplus
}
#endif

#endif
