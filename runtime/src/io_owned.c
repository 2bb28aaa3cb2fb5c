/* io_owned.c: C's calls with a descriptor that hand it to the system as it is, if it is the running process's; else they fail with EBADF. */
#define _GNU_SOURCE

#include "errno_here.h"
#include "fds.h"
#include "foreign_stack.h"
#include "io_owned.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define OWNED(type, name, parameters, arguments)                                                                       \
    type lee_##name parameters {                                                                                       \
        return lee_fd_is_mine(fd) ? LEE_LASTS(type, name arguments) : -1;                                              \
    }
/* These return an error number. */
#define OWNED_NUMBER(type, name, parameters, arguments)                                                                \
    type lee_##name parameters {                                                                                       \
        return lee_fd_is_mine(fd) ? LEE_LASTS(type, name arguments) : EBADF;                                           \
    }
#define OWNED_AT(type, name, parameters, arguments)                                                                    \
    type lee_##name parameters {                                                                                       \
        return fd == AT_FDCWD || lee_fd_is_mine(fd) ? LEE_LASTS(type, name arguments) : -1;                            \
    }

OWNED(int, tcgetattr, (int fd, struct termios *settings), (fd, settings))
OWNED(int, tcsetattr, (int fd, int when, const struct termios *settings), (fd, when, settings))
OWNED(int, tcflush, (int fd, int queue), (fd, queue))
OWNED(int, tcdrain, (int fd), (fd))
OWNED(int, fstat, (int fd, struct stat *facts), (fd, facts))
OWNED(int, fchmod, (int fd, mode_t mode), (fd, mode))
OWNED(int, futimens, (int fd, const struct timespec times[2]), (fd, times))
OWNED(int, fstatvfs, (int fd, struct statvfs *facts), (fd, facts))
OWNED(int, bind, (int fd, const void *address, socklen_t length), (fd, address, length))
OWNED(int, listen, (int fd, int backlog), (fd, backlog))
OWNED(int, shutdown, (int fd, int how), (fd, how))
OWNED_NUMBER(int, posix_fadvise, (int fd, off_t offset, off_t length, int advice), (fd, offset, length, advice))
OWNED_NUMBER(int, posix_fallocate, (int fd, off_t offset, off_t length), (fd, offset, length))
OWNED(ssize_t, pread, (int fd, void *p, size_t n, off_t offset), (fd, p, n, offset))
OWNED(ssize_t, pwrite, (int fd, const void *p, size_t n, off_t offset), (fd, p, n, offset))
OWNED(off_t, lseek, (int fd, off_t offset, int whence), (fd, offset, whence))
OWNED(int, ftruncate, (int fd, off_t length), (fd, length))
OWNED(int, fchown, (int fd, uid_t owner, gid_t group), (fd, owner, group))
OWNED(long, fpathconf, (int fd, int name), (fd, name))
OWNED_AT(int, fstatat, (int fd, const char *path, struct stat *facts, int flags), (fd, path, facts, flags))
OWNED_AT(int, fchmodat, (int fd, const char *path, mode_t mode, int flags), (fd, path, mode, flags))
OWNED_AT(int, mkdirat, (int fd, const char *path, mode_t mode), (fd, path, mode))
OWNED_AT(int, utimensat, (int fd, const char *path, const struct timespec times[2], int flags), (fd, path, times, flags))
OWNED_AT(int, faccessat, (int fd, const char *path, int mode, int flags), (fd, path, mode, flags))
OWNED_AT(int, unlinkat, (int fd, const char *path, int flags), (fd, path, flags))
OWNED_AT(ssize_t, readlinkat, (int fd, const char *path, char *target, size_t n), (fd, path, target, n))
OWNED(pid_t, tcgetpgrp, (int fd), (fd))
OWNED(int, tcsetpgrp, (int fd, pid_t group), (fd, group))
OWNED(int, tcflow, (int fd, int action), (fd, action))
OWNED(int, tcsendbreak, (int fd, int duration), (fd, duration))
OWNED(int, fstatfs, (int fd, struct statfs *facts), (fd, facts))
OWNED(int, futimes, (int fd, const struct timeval times[2]), (fd, times))
OWNED_AT(int, symlinkat, (const char *target, int fd, const char *path), (target, fd, path))
OWNED_AT(int, fchownat, (int fd, const char *path, uid_t owner, gid_t group, int flags), (fd, path, owner, group, flags))
OWNED_AT(int, mkfifoat, (int fd, const char *path, mode_t mode), (fd, path, mode))
OWNED_NUMBER(int, ttyname_r, (int fd, char *name, size_t n), (fd, name, n))

#ifdef LEE_NO_GC /* else they suspend the task (io_wait.c) */
OWNED(int, flock, (int fd, int operation), (fd, operation))
OWNED(int, lockf, (int fd, int command, off_t length), (fd, command, length))
#endif

static bool is_directory_of_mine(int fd) {
    return fd == AT_FDCWD || lee_fd_is_mine(fd);
}

int lee_linkat(int fd, const char *from, int other, const char *to, int flags) {
    return is_directory_of_mine(fd) && is_directory_of_mine(other) ? LEE_LASTS(int, linkat(fd, from, other, to, flags)) : -1;
}

int lee_renameat(int fd, const char *from, int other, const char *to) {
    return is_directory_of_mine(fd) && is_directory_of_mine(other) ? LEE_LASTS(int, renameat(fd, from, other, to)) : -1;
}

int lee_isatty(int fd) {
    return lee_fd_is_mine(fd) ? isatty(fd) : 0;
}
