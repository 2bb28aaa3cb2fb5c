/* Times of files. */
#ifndef LEE_UTIME_H
#define LEE_UTIME_H

#include_next <utime.h>

[[lee::leaf]] trusted int utime(const char *path, const struct utimbuf *times) __asm__("lee_utime");

#endif
