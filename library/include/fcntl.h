/* Opening files by descriptor. fcntl knows the commands that take a number or nothing; the others are EINVAL. */
#ifndef LEE_FCNTL_H
#define LEE_FCNTL_H

#include_next <fcntl.h>

[[lee::leaf]] [[lee::waits]] trusted int open(const char *path, int flags, ...) __asm__("lee_open");
[[lee::leaf]] [[lee::waits]] trusted int openat(int directory, const char *path, int flags, ...) __asm__("lee_openat");
[[lee::leaf]] [[lee::waits]] trusted int creat(const char *path, mode_t mode) __asm__("lee_creat");
[[lee::leaf]] trusted int fcntl(int fd, int command, ...) __asm__("lee_fcntl");
[[lee::leaf]] trusted int posix_fadvise(int fd, off_t offset, off_t length, int advice) __asm__("lee_posix_fadvise");
[[lee::leaf]] trusted int posix_fallocate(int fd, off_t offset, off_t length) __asm__("lee_posix_fallocate");

#endif
