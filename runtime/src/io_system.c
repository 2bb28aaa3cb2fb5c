/* The system's functions whose C types say too little: variable arguments, results in memory of libc's, buffers
 * whose size is not given. Each does what the function of its name does, within what its checked type allows. */
#define _GNU_SOURCE

#include "errno_here.h"
#include "fds.h"
#include "foreign_stack.h"
#include "io_library.h"
#include "io_wait.h"
#include "process.h"

#include <lee/heap.h>

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

int *lee_errno(void) {
    return &errno;
}

void lee_assert_failed(const char *text, const char *file, unsigned line) {
    lee_fault_assert(&(struct lee_site){file, line, 0}, text);
}

void lee_library_fault(const char *message) {
    lee_fault_message(NULL, message);
}

/* The string `s` as a new string object whose view has room for the zero; null stays null. */
static char *copy_string(const char *s, char **ret_lo, char **ret_hi) {
    *ret_lo = *ret_hi = NULL;
    return s == NULL ? NULL : lee_strdup(s, ret_lo, ret_hi);
}

char *lee_getenv(const char *name, char **ret_lo, char **ret_hi) {
    if (name == NULL)
        lee_fault_null(NULL);
    return copy_string(getenv(name), ret_lo, ret_hi);
}

char *lee_secure_getenv(const char *name, char **ret_lo, char **ret_hi) {
    if (name == NULL)
        lee_fault_null(NULL);
    return copy_string(secure_getenv(name), ret_lo, ret_hi);
}

char *lee_realpath(const char *path, char *resolved, char *lo, char *hi, char **ret_lo, char **ret_hi) {
    if (path == NULL)
        lee_fault_null(NULL);
    char place[PATH_MAX]; /* memory of malloc's would be lost if the copy ended the task */
    char *copy = copy_string(LEE_LASTS(char *, realpath(path, place)), ret_lo, ret_hi);
    if (copy != NULL && resolved != NULL)
        lee_strcpy(resolved, lo, hi, copy);
    return copy;
}

char *lee_getcwd(char *buffer, size_t size, char **ret_lo, char **ret_hi) {
    char place[PATH_MAX], *found = getcwd(place, sizeof place);
    if (found != NULL && buffer != NULL && lee_strlcpy(buffer, found, size) >= size) {
        found = NULL;
        errno = size == 0 ? EINVAL : ERANGE;
    }
    int why = errno;
    char *copy = copy_string(found, ret_lo, ret_hi);
    errno = why;
    return copy;
}

int lee_chdir(const char *path) {
    return lee_process_is_first() ? chdir(path) : -1;
}

int lee_fchdir(int fd) {
    return lee_process_is_first() && lee_fd_is_mine(fd) ? fchdir(fd) : -1;
}

mode_t lee_umask(mode_t mask) {
    return lee_process_is_first() ? umask(mask) : (mode_t)-1;
}

int lee_setrlimit(int resource, const struct rlimit *limit) {
    return lee_process_is_first() ? setrlimit((__rlimit_resource_t)resource, limit) : -1;
}

int lee_setpriority(int which, id_t who, int value) {
    return lee_process_is_first() ? setpriority((__priority_which_t)which, who, value) : -1;
}

int lee_nice(int by) {
    return lee_process_is_first() ? nice(by) : -1;
}

int lee_setitimer(int which, const struct itimerval *wanted, struct itimerval *before) {
    return lee_process_is_first() ? setitimer((__itimer_which_t)which, wanted, before) : -1;
}

/* These tell of no failure: no alarm was set before, and none is set. */
unsigned lee_alarm(unsigned seconds) {
    return lee_process_is_first() ? alarm(seconds) : 0;
}

unsigned lee_ualarm(unsigned first, unsigned every) {
    return lee_process_is_first() ? ualarm(first, every) : 0;
}

int lee_setpgid(pid_t process, pid_t group) {
    return lee_process_is_first() ? setpgid(process, group) : -1;
}

pid_t lee_setsid(void) {
    return lee_process_is_first() ? setsid() : -1;
}

int lee_setuid(uid_t user) {
    return lee_process_is_first() ? setuid(user) : -1;
}

int lee_setgid(gid_t group) {
    return lee_process_is_first() ? setgid(group) : -1;
}

int lee_seteuid(uid_t user) {
    return lee_process_is_first() ? seteuid(user) : -1;
}

int lee_setegid(gid_t group) {
    return lee_process_is_first() ? setegid(group) : -1;
}

int lee_setreuid(uid_t real, uid_t effective) {
    return lee_process_is_first() ? setreuid(real, effective) : -1;
}

int lee_setregid(gid_t real, gid_t effective) {
    return lee_process_is_first() ? setregid(real, effective) : -1;
}

int lee_setresuid(uid_t real, uid_t effective, uid_t saved) {
    return lee_process_is_first() ? setresuid(real, effective, saved) : -1;
}

int lee_setresgid(gid_t real, gid_t effective, gid_t saved) {
    return lee_process_is_first() ? setresgid(real, effective, saved) : -1;
}

/* A signal to the program is one to all of its processes. Other programs may get one. */
int lee_raise(int number) {
    return lee_process_is_first() ? raise(number) : -1;
}

int lee_kill(pid_t process, int number) {
    bool own = process == getpid() || process == 0 || process == -1 || process == -getpgrp();
    return number == 0 || !own || lee_process_is_first() ? kill(process, number) : -1;
}

int lee_killpg(pid_t group, int number) {
    bool own = group == 0 || group == getpgrp();
    return number == 0 || !own || lee_process_is_first() ? killpg(group, number) : -1;
}

/* open's mode is there only if the flags ask for it. */
static mode_t creation_mode(int flags, va_list args) {
    return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(args, mode_t) : 0;
}

int lee_creat(const char *path, mode_t mode) {
    return lee_fd_made(lee_open_waiting(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode), LEE_FD_FILE | LEE_FD_BLOCKS);
}

int lee_open(const char *path, int flags, ...) {
    va_list args;
    va_start(args, flags);
    int fd = lee_open_waiting(AT_FDCWD, path, flags, creation_mode(flags, args));
    va_end(args);
    return lee_fd_made(fd, LEE_FD_FILE | (flags & O_NONBLOCK ? 0 : LEE_FD_BLOCKS));
}

int lee_openat(int directory, const char *path, int flags, ...) {
    va_list args;
    va_start(args, flags);
    int fd = directory == AT_FDCWD || lee_fd_is_mine(directory) ? lee_open_waiting(directory, path, flags, creation_mode(flags, args)) : -1;
    va_end(args);
    return lee_fd_made(fd, LEE_FD_FILE | (flags & O_NONBLOCK ? 0 : LEE_FD_BLOCKS));
}

/* How many arguments there are in front of the null pointer that ends them. */
static size_t count_arguments(char *const *argv, char *const *lo, char *const *hi) {
    if (argv == NULL)
        lee_fault_null(NULL);
    uintptr_t have = (uintptr_t)hi - (uintptr_t)lo, at = (uintptr_t)argv - (uintptr_t)lo;
    size_t room = at <= have ? (have - at) / sizeof *argv : 0, n = 0;
    while (n < room && argv[n] != NULL)
        n++;
    if (n == room)
        lee_fault_message(NULL, "bounds: the arguments of a program do not end with a null pointer");
    return n;
}

int lee_execv(const char *path, char *const *argv, char *const *lo, char *const *hi) {
    count_arguments(argv, lo, hi);
    return lee_process_is_first() ? execv(path, argv) : -1;
}

/* What libc takes from the stack for a script's arguments and a path, which it does not probe, is touched here first. */
static __attribute__((noinline)) void touch_stack(size_t bytes) {
    char room[bytes];
    __asm__ volatile("" ::"r"(room) : "memory");
}

int lee_execvp(const char *file, char *const *argv, char *const *lo, char *const *hi) {
    size_t n = count_arguments(argv, lo, hi);
    if (file == NULL)
        lee_fault_null(NULL);
    if (n > 1 << 20) { /* the system takes no more than 6 MB of them */
        errno = E2BIG;
        return -1;
    }
    touch_stack((n + 4) * sizeof *argv + 4 * PATH_MAX);
    return lee_process_is_first() ? execvp(file, argv) : -1;
}

/* What atexit keeps is C's: bounded, since nobody is charged. */
int lee_atexit(void (*function)(void)) {
    enum { MOST = 4096 };
    static int count;
    if (count == MOST)
        return -1;
    int result = atexit(function);
    count += result == 0;
    return result;
}

int lee_gettimeofday(struct timeval *now, void *zone) {
    (void)zone;
    return gettimeofday(now, NULL);
}
