/* signals.h: from signals of the processor to faults. */
#ifndef LEE_SIGNALS_H
#define LEE_SIGNALS_H

/* Installs the handlers, and for the calling thread a stack of its own for them, on which they also
 * run when the thread's stack has overflowed. Handlers that were installed before are kept: what
 * happens outside the program's own code goes to them. */
void lee_signals_install(void);
/* Only the stack, for a thread that the runtime starts. */
void lee_signals_stack(void);

#endif
