/* io_fds.c: C's calls that make and close descriptors, as safe code makes them: those the runtime gets to know (fds.h). */
#define _GNU_SOURCE

#include "errno_here.h"
#include "fds.h"
#include "foreign_stack.h"
#include "io_library.h"
#include "task.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static unsigned blocks_unless(int nonblocking) {
    return nonblocking ? 0 : LEE_FD_BLOCKS;
}

int lee_mkstemp(char *pattern) {
    return lee_fd_made(LEE_LASTS(int, mkstemp(pattern)), LEE_FD_FILE | LEE_FD_BLOCKS);
}

int lee_mkostemp(char *pattern, int flags) {
    return lee_fd_made(LEE_LASTS(int, mkostemp(pattern, flags)), LEE_FD_FILE | LEE_FD_BLOCKS);
}

int lee_mkstemps(char *pattern, int suffix) {
    return lee_fd_made(LEE_LASTS(int, mkstemps(pattern, suffix)), LEE_FD_FILE | LEE_FD_BLOCKS);
}

int lee_socket(int domain, int type, int protocol) {
    bool internet = domain == AF_INET || domain == AF_INET6, stream = (type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC)) == SOCK_STREAM;
    unsigned tcp = internet && stream && (protocol == 0 || protocol == IPPROTO_TCP) ? LEE_FD_TCP : 0;
    return lee_fd_made(socket(domain, type, protocol), LEE_FD_SOCKET | tcp | blocks_unless(type & SOCK_NONBLOCK));
}

int lee_socketpair(int domain, int type, int protocol, int fds[2]) {
    int result = socketpair(domain, type, protocol, fds);
    for (int i = 0; i < 2 && result == 0; i++)
        lee_fd_made(fds[i], LEE_FD_SOCKET | blocks_unless(type & SOCK_NONBLOCK));
    return result;
}

int lee_pipe(int fds[2]) {
    int result = pipe(fds);
    for (int i = 0; i < 2 && result == 0; i++)
        lee_fd_made(fds[i], LEE_FD_FILE | LEE_FD_BLOCKS);
    return result;
}

/* Its open file is shared with `fd`: what is changed by the one is so for the other. `life`: as for
 * `lee_fd_replaced`. */
static int made_from(int fd, int made, uint32_t life) {
    lee_fd_drop_kind(fd, LEE_FD_BLOCKS);
    return lee_fd_replaced(made, lee_fd_kind(fd), life);
}

int lee_dup(int fd) {
    return lee_fd_is_mine(fd) ? made_from(fd, dup(fd), 0) : -1;
}

/* dup2 to a number that is free. Another process may get it at any moment, so the system is asked
 * for the first free one from there on. */
static int dup_to_free(int fd, int to) {
    int made = fcntl(fd, F_DUPFD, to);
    if (made >= 0 && made != to) {
        close(made);
        errno = EBADF;
        return -1;
    }
    return made_from(fd, made, 0);
}

int lee_dup2(int fd, int to) {
    if (!lee_fd_is_mine(fd))
        return -1;
    if (lee_fds_guarded && fd != to && fcntl(to, F_GETFD) < 0)
        return dup_to_free(fd, to);
    if (!lee_fd_is_mine_to_close(to))
        return -1;
    if (fd == to || fcntl(fd, F_GETFD) < 0)
        return dup2(fd, to);
    uint32_t life = lee_fd_life(to);
    lee_fd_closes(to);
    return made_from(fd, dup2(fd, to), life);
}

int lee_close(int fd) {
    lee_task_end_slice();
    return lee_fd_is_mine_to_close(fd) ? lee_fd_close(fd) : -1;
}

/* The commands whose argument is a number, or that have none. The others read or write through a pointer whose type
 * depends on the command. */
int lee_fcntl(int fd, int command, ...) {
    va_list args;
    va_start(args, command);
    int argument = 0;
    switch (command) {
    case F_DUPFD: case F_DUPFD_CLOEXEC: case F_SETFD: case F_SETFL: case F_SETOWN: case F_SETPIPE_SZ:
        argument = va_arg(args, int);
        break;
    case F_GETFD: case F_GETFL: case F_GETOWN: case F_GETPIPE_SZ:
        break;
    default:
        va_end(args);
        errno = EINVAL;
        return -1;
    }
    va_end(args);
    if (!lee_fd_is_mine(fd))
        return -1;
    int result = fcntl(fd, command, argument);
    if (command == F_DUPFD || command == F_DUPFD_CLOEXEC)
        return made_from(fd, result, 0);
    if (command == F_SETFL && result == 0)
        lee_fd_drop_kind(fd, LEE_FD_BLOCKS);
    return result;
}
