/* errno_here.h: `errno` of the thread that runs this code now.
 *
 * The system's header promises compilers that the address of `errno` never changes, so they keep
 * it. A task that waits may go on on another thread. */
#ifndef LEE_ERRNO_HERE_H
#define LEE_ERRNO_HERE_H

#include <errno.h>

extern int *lee_errno_here(void) __asm__("__errno_location");
#undef errno
#define errno (*lee_errno_here())

#endif
