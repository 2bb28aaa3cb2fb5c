/* Facts about file systems. */
#ifndef LEE_SYS_STATVFS_H
#define LEE_SYS_STATVFS_H

#include_next <sys/statvfs.h>

trusted int statvfs(const char *path, struct statvfs *facts);
trusted int fstatvfs(int fd, struct statvfs *facts) __asm__("lee_fstatvfs");

#endif
