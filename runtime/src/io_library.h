/* The functions that only library/include names (in its __asm__ labels) and that need types of the system: what
 * the files of each part promise. A `fat` argument is address,
 * lower and upper bound; a new string object is its address, the bounds go through the last two parameters. */
#ifndef LEE_IO_LIBRARY_H
#define LEE_IO_LIBRARY_H

#include <lee/io.h>

#include <poll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <time.h>

struct addrinfo;
struct itimerval;
struct rlimit;
struct option;

/* The program (io_system.c) */
int *lee_errno(void);
_Noreturn void lee_assert_failed(const char *text, const char *file, unsigned line);
_Noreturn void lee_library_fault(const char *message);
char *lee_getenv(const char *name, char **ret_lo, char **ret_hi);
char *lee_secure_getenv(const char *name, char **ret_lo, char **ret_hi);
char *lee_realpath(const char *path, char *resolved, char *lo, char *hi, char **ret_lo, char **ret_hi);
int lee_chdir(const char *path);
int lee_fchdir(int fd);
mode_t lee_umask(mode_t mask);
int lee_setrlimit(int resource, const struct rlimit *limit);
int lee_setpriority(int which, id_t who, int value);
int lee_nice(int by);
int lee_setitimer(int which, const struct itimerval *wanted, struct itimerval *before);
unsigned lee_alarm(unsigned seconds);
unsigned lee_ualarm(unsigned first, unsigned every);
int lee_setpgid(pid_t process, pid_t group);
pid_t lee_setsid(void);
int lee_setuid(uid_t user);
int lee_setgid(gid_t group);
int lee_seteuid(uid_t user);
int lee_setegid(gid_t group);
int lee_setreuid(uid_t real, uid_t effective);
int lee_setregid(gid_t real, gid_t effective);
int lee_setresuid(uid_t real, uid_t effective, uid_t saved);
int lee_setresgid(gid_t real, gid_t effective, gid_t saved);
int lee_raise(int number);
int lee_kill(pid_t process, int number);
int lee_killpg(pid_t group, int number);
int lee_signal_set(int number, int way);
char *lee_getcwd(char *buffer, size_t size, char **ret_lo, char **ret_hi);
int lee_creat(const char *path, mode_t mode);
int lee_open(const char *path, int flags, ...);
int lee_openat(int directory, const char *path, int flags, ...);
int lee_execv(const char *path, char *const *argv, char *const *lo, char *const *hi);
int lee_execvp(const char *file, char *const *argv, char *const *lo, char *const *hi);
int lee_atexit(void (*function)(void));
int lee_gettimeofday(struct timeval *now, void *zone);

/* Making and closing descriptors (io_fds.c) */
int lee_mkstemp(char *pattern);
int lee_mkostemp(char *pattern, int flags);
int lee_mkstemps(char *pattern, int suffix);
int lee_socket(int domain, int type, int protocol);
int lee_socketpair(int domain, int type, int protocol, int fds[2]);
int lee_pipe(int fds[2]);
int lee_dup(int fd);
int lee_dup2(int fd, int to);
int lee_close(int fd);
int lee_fcntl(int fd, int command, ...);

/* Reading and writing by tasks (io_wait.c) */
ssize_t lee_read(int fd, void *p, size_t n);
ssize_t lee_write(int fd, const void *p, size_t n);
ssize_t lee_recv(int fd, void *p, size_t n, int flags);
ssize_t lee_send(int fd, const void *p, size_t n, int flags);
ssize_t lee_sendto(int fd, const void *p, size_t n, int flags, const void *address, socklen_t length);
int lee_connect(int fd, const void *address, socklen_t length);

/* Waiting by tasks (io_sleep.c) */
unsigned lee_sleep(unsigned seconds);
int lee_usleep(unsigned microseconds);
int lee_nanosleep(const struct timespec *wanted, struct timespec *left);
int lee_clock_nanosleep(clockid_t clock, int flags, const struct timespec *wanted, struct timespec *left);
int lee_pause(void);
int lee_poll(struct pollfd *fds, nfds_t n, int timeout);
int lee_select(int count, fd_set *readable, fd_set *writable, fd_set *exceptional, struct timeval *timeout);
pid_t lee_waitpid(pid_t child, int *status, int options);
pid_t lee_wait(int *status);

/* Dates (io_time.c) */
struct tm *lee_gmtime(const time_t *t);
struct tm *lee_localtime(const time_t *t);
char *lee_asctime_r(const struct tm *tm, char *buffer);
char *lee_ctime_r(const time_t *t, char *buffer);
char *lee_asctime(const struct tm *tm, char **ret_lo, char **ret_hi);
char *lee_ctime(const time_t *t, char **ret_lo, char **ret_hi);
size_t lee_strftime(char *s, size_t n, const char *format, const struct tm *tm);

/* Sockets (io_net.c) */
int lee_accept(int fd, char *address, char *lo, char *hi, socklen_t *length);
int lee_accept4(int fd, char *address, char *lo, char *hi, socklen_t *length, int flags);
int lee_getsockname(int fd, char *address, char *lo, char *hi, socklen_t *length);
int lee_getpeername(int fd, char *address, char *lo, char *hi, socklen_t *length);
ssize_t lee_recvfrom(int fd, void *buffer, size_t n, int flags, char *address, char *lo, char *hi, socklen_t *length);
int lee_setsockopt(int fd, int level, int name, const void *value, socklen_t length);
int lee_getnameinfo(const void *address, socklen_t length, char *host, socklen_t host_length, char *service,
                    socklen_t service_length, int flags);
int lee_getsockopt(int fd, int level, int name, char *value, char *lo, char *hi, socklen_t *length);
int lee_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **result);
void lee_freeaddrinfo(struct addrinfo *list);
int lee_inet_pton(int family, const char *text, char *address, char *lo, char *hi);
const char *lee_inet_ntop(int family, const char *address, const char *lo, const char *hi, char *text, socklen_t n);

/* Options (io_options.c) */
char *lee_optarg(void);
int *lee_optind(void);
int *lee_opterr(void);
int *lee_optopt(void);
int lee_getopt(int argc, char *const *argv, const char *options);
int lee_getopt_long(int argc, char *const *argv, const char *options, const struct option *longer, const struct option *lo,
                    const struct option *hi, int *which);
int lee_getopt_long_only(int argc, char *const *argv, const char *options, const struct option *longer,
                         const struct option *lo, const struct option *hi, int *which);

/* Signals (io_signal.c) */
int lee_signal_catch(int number);
int lee_signal_caught(int number);
int lee_signal_ignore(int number);
int lee_signal_default(int number);

/* Messages (io_error.c) */
void lee_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void lee_warnx(const char *format, ...) __attribute__((format(printf, 1, 2)));
void lee_vwarn(const char *format, va_list args) __attribute__((format(printf, 1, 0)));
void lee_vwarnx(const char *format, va_list args) __attribute__((format(printf, 1, 0)));
_Noreturn void lee_err(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
_Noreturn void lee_errx(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
_Noreturn void lee_verr(int status, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
_Noreturn void lee_verrx(int status, const char *format, va_list args) __attribute__((format(printf, 2, 0)));

#endif
