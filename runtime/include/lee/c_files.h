/* What C's functions of these names are in a `.c` file that Leeward compiled for a program with
 * processes: the process that calls has the descriptors that they make, until it closes them or
 * ends.
 *
 * Promises: what closes or replaces a descriptor does so with the calling process's own; else it
 * fails with EBADF. What was made by a call that the runtime does not know is the first process's. A
 * limit on descriptors that refuses one is EMFILE. The numbers and files are the system's and
 * libc's, so a library may use them. In a child that `fork` made, and in threads that C made, they
 * are C's, because these belong to no process. */
#ifndef LEE_C_FILES_H
#define LEE_C_FILES_H

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

int lee_c_open(const char *path, int flags, ...);
int lee_c_openat(int directory, const char *path, int flags, ...);
int lee_c_creat(const char *path, mode_t mode);
int lee_c_socket(int domain, int type, int protocol);
int lee_c_socketpair(int domain, int type, int protocol, int fds[2]);
int lee_c_accept(int fd, struct sockaddr *address, socklen_t *length);
int lee_c_accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);
int lee_c_pipe(int fds[2]);
int lee_c_pipe2(int fds[2], int flags);
int lee_c_dup(int fd);
int lee_c_dup2(int fd, int to);
int lee_c_dup3(int fd, int to, int flags);
int lee_c_fcntl(int fd, int command, ...);
int lee_c_mkstemp(char *pattern);
int lee_c_mkostemp(char *pattern, int flags);
int lee_c_mkstemps(char *pattern, int suffix);
int lee_c_mkostemps(char *pattern, int suffix, int flags);
int lee_c_epoll_create(int size);
int lee_c_epoll_create1(int flags);
int lee_c_eventfd(unsigned first, int flags);
int lee_c_timerfd_create(int clock, int flags);
int lee_c_inotify_init(void);
int lee_c_inotify_init1(int flags);
int lee_c_memfd_create(const char *name, unsigned flags);
int lee_c_posix_openpt(int flags);
int lee_c_signalfd(int fd, const sigset_t *signals, int flags);
ssize_t lee_c_recvmsg(int fd, struct msghdr *message, int flags);
int lee_c_close(int fd);

FILE *lee_c_fopen(const char *path, const char *mode);
FILE *lee_c_fdopen(int fd, const char *mode);
FILE *lee_c_freopen(const char *path, const char *mode, FILE *file);
FILE *lee_c_tmpfile(void);
FILE *lee_c_popen(const char *command, const char *mode);
int lee_c_fclose(FILE *file);
int lee_c_pclose(FILE *file);
DIR *lee_c_opendir(const char *path);
DIR *lee_c_fdopendir(int fd);
int lee_c_closedir(DIR *directory);

#ifdef __cplusplus
}
#endif

#endif
