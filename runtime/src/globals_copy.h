/* globals_copy.h: the globals of processes that were spawned. See lee/delta.h. */
#ifndef LEE_SRC_GLOBALS_COPY_H
#define LEE_SRC_GLOBALS_COPY_H

#include "process.h"

enum {
    LEE_GLOBALS_SMALL = 1024, /* bytes that lie on the process's own page */
    LEE_GLOBALS_ALIGN = 64    /* of these */
};

/* How much of the process's page its globals take; 0 if they lie elsewhere, or there are none. */
size_t lee_globals_on_stack(void);
/* What they take elsewhere. */
size_t lee_globals_bytes(void) __attribute__((weak));
/* Gives a process globals with their first values: at `place`, zeroed, if they lie on its page.
 * False if there is no memory. */
bool lee_globals_make(struct lee_process *process, uintptr_t place);
void lee_globals_release(struct lee_process *process);
/* Where the variable of the running process's that lies at `at` is linked; else `at`. */
uintptr_t lee_globals_linked(uintptr_t at) __attribute__((weak));
struct lee_span;
/* Visits, where they are linked, the stretches of variables that may hold pointers. */
void lee_globals_each(bool (*visit)(void *context, struct lee_span span), void *context) __attribute__((weak));

#endif
