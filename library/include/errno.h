/* The system's error numbers; `errno` is the runtime's. */
#ifndef LEE_ERRNO_H
#define LEE_ERRNO_H

#include_next <errno.h>

trusted int *nonnull lee_errno(void);
#undef errno
#define errno (*lee_errno())

#endif
