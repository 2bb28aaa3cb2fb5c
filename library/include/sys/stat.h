/* Facts about files. */
#ifndef LEE_SYS_STAT_H
#define LEE_SYS_STAT_H

#include_next <sys/stat.h>

[[lee::leaf]] trusted int stat(const char *path, struct stat *facts) __asm__("lee_stat");
[[lee::leaf]] trusted int lstat(const char *path, struct stat *facts) __asm__("lee_lstat");
[[lee::leaf]] trusted int fstat(int fd, struct stat *facts) __asm__("lee_fstat");
[[lee::leaf]] trusted int fstatat(int directory, const char *path, struct stat *facts, int flags) __asm__("lee_fstatat");
[[lee::leaf]] trusted int chmod(const char *path, mode_t mode) __asm__("lee_chmod");
[[lee::leaf]] trusted int fchmod(int fd, mode_t mode) __asm__("lee_fchmod");
[[lee::leaf]] trusted int fchmodat(int directory, const char *path, mode_t mode, int flags) __asm__("lee_fchmodat");
[[lee::leaf]] trusted int mkdir(const char *path, mode_t mode) __asm__("lee_mkdir");
[[lee::leaf]] trusted int mkdirat(int directory, const char *path, mode_t mode) __asm__("lee_mkdirat");
[[lee::leaf]] trusted mode_t umask(mode_t mask) __asm__("lee_umask");
[[lee::leaf]] trusted int mkfifoat(int directory, const char *path, mode_t mode) __asm__("lee_mkfifoat");
[[lee::leaf]] trusted int mknod(const char *path, mode_t mode, dev_t device) __asm__("lee_mknod");
[[lee::leaf]] trusted int mkfifo(const char *path, mode_t mode) __asm__("lee_mkfifo");
[[lee::leaf]] trusted int utimensat(int directory, const char *path, [[lee::optional]] const struct timespec *counted_by(2) times, int flags) __asm__("lee_utimensat");
[[lee::leaf]] trusted int futimens(int fd, [[lee::optional]] const struct timespec *counted_by(2) times) __asm__("lee_futimens");

#endif
