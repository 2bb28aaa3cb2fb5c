/* io_owned.h: what io_owned.c has: each does what the function of its name does. */
#ifndef LEE_SRC_IO_OWNED_H
#define LEE_SRC_IO_OWNED_H

#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/types.h>
#include <termios.h>

int lee_tcgetattr(int fd, struct termios *settings);
int lee_tcsetattr(int fd, int when, const struct termios *settings);
int lee_tcflush(int fd, int queue);
int lee_tcdrain(int fd);
int lee_fstat(int fd, struct stat *facts);
int lee_fchmod(int fd, mode_t mode);
int lee_futimens(int fd, const struct timespec times[2]);
int lee_flock(int fd, int operation);
int lee_fstatvfs(int fd, struct statvfs *facts);
int lee_bind(int fd, const void *address, socklen_t length);
int lee_listen(int fd, int backlog);
int lee_shutdown(int fd, int how);
int lee_posix_fadvise(int fd, off_t offset, off_t length, int advice);
int lee_posix_fallocate(int fd, off_t offset, off_t length);
ssize_t lee_pread(int fd, void *p, size_t n, off_t offset);
ssize_t lee_pwrite(int fd, const void *p, size_t n, off_t offset);
off_t lee_lseek(int fd, off_t offset, int whence);
int lee_fsync(int fd);
int lee_fdatasync(int fd);
int lee_ftruncate(int fd, off_t length);
int lee_lockf(int fd, int command, off_t length);
int lee_fchown(int fd, uid_t owner, gid_t group);
long lee_fpathconf(int fd, int name);
int lee_fstatat(int fd, const char *path, struct stat *facts, int flags);
int lee_fchmodat(int fd, const char *path, mode_t mode, int flags);
int lee_mkdirat(int fd, const char *path, mode_t mode);
int lee_utimensat(int fd, const char *path, const struct timespec times[2], int flags);
int lee_faccessat(int fd, const char *path, int mode, int flags);
int lee_unlinkat(int fd, const char *path, int flags);
ssize_t lee_readlinkat(int fd, const char *path, char *target, size_t n);
int lee_ttyname_r(int fd, char *name, size_t n);
pid_t lee_tcgetpgrp(int fd);
int lee_tcsetpgrp(int fd, pid_t group);
int lee_tcflow(int fd, int action);
int lee_tcsendbreak(int fd, int duration);
int lee_syncfs(int fd);
int lee_fstatfs(int fd, struct statfs *facts);
int lee_futimes(int fd, const struct timeval times[2]);
int lee_symlinkat(const char *target, int fd, const char *path);
int lee_fchownat(int fd, const char *path, uid_t owner, gid_t group, int flags);
int lee_mkfifoat(int fd, const char *path, mode_t mode);
int lee_linkat(int fd, const char *from, int other, const char *to, int flags);
int lee_renameat(int fd, const char *from, int other, const char *to);
int lee_isatty(int fd);

#endif
