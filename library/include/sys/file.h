/* Locks on whole files. */
#ifndef LEE_SYS_FILE_H
#define LEE_SYS_FILE_H

#include_next <sys/file.h>

[[lee::leaf]] [[lee::waits]] trusted int flock(int fd, int operation) __asm__("lee_flock");

#endif
