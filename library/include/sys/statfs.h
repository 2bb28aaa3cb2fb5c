/* Facts about file systems, as Linux has them. */
#ifndef LEE_SYS_STATFS_H
#define LEE_SYS_STATFS_H

#include_next <sys/statfs.h>

[[lee::leaf]] trusted int statfs(const char *path, struct statfs *facts);
[[lee::leaf]] trusted int fstatfs(int fd, struct statfs *facts) __asm__("lee_fstatfs");

#endif
