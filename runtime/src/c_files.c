/* c_files.c: see lee/c_files.h. Descriptors that C code makes are in the table of fds.c, as those
 * of safe code are. Its files and directories are libc's, so that libraries may use them; each
 * process lists them, since libc has memory for each, and writes what a file holds when the
 * program ends: by then its number may be another process's. */
#define _GNU_SOURCE
#include <lee/c_files.h>

#include "errno_here.h"
#include "address_table.h"
#include "fds.h"
#include "io_file.h"
#include "process.h"
#include "worker.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child that has not called `exec` yet. After `vfork` it shares the program's memory. */
static bool is_child(void) {
    return lee_processes_used && getpid() != lee_program;
}

/* A thread that C made is not a worker, so it must not wake a task. */
static bool is_thread_of_c(void) {
    return lee_processes_used && (lee_process == NULL || (lee_process->high == 0 && lee_process != lee_first_process));
}

static bool is_outside(void) {
    return is_thread_of_c() || is_child();
}

/* --- descriptors ------------------------------------------------------------------------------ */

static int made_with(int fd, uint32_t life) {
    if (fd < 0 || is_child())
        return fd;
    if (is_thread_of_c()) {
        int error = errno;
        lee_fd_of_thread(fd);
        errno = error;
        return fd;
    }
    if (lee_fd_own_for_c(fd, life))
        return fd;
    close(fd);
    errno = EMFILE;
    return -1;
}

static int made(int fd) {
    return made_with(fd, 0);
}

static int made_two(int result, int fds[2]) {
    if (result != 0)
        return result;
    if (is_outside()) {
        made(fds[0]);
        made(fds[1]);
        return 0;
    }
    bool first = lee_fd_own_for_c(fds[0], 0);
    if (first && lee_fd_own_for_c(fds[1], 0))
        return 0;
    if (first)
        lee_fd_closes(fds[0]);
    close(fds[0]);
    close(fds[1]);
    errno = EMFILE;
    return -1;
}

static mode_t mode_of(int flags, va_list arguments) {
    return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(arguments, mode_t) : 0;
}

int lee_c_open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return made(open(path, flags, mode));
}

int lee_c_openat(int directory, const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return made(openat(directory, path, flags, mode));
}

int lee_c_creat(const char *path, mode_t mode) {
    return made(creat(path, mode));
}

int lee_c_socket(int domain, int type, int protocol) {
    return made(socket(domain, type, protocol));
}

int lee_c_socketpair(int domain, int type, int protocol, int fds[2]) {
    return made_two(socketpair(domain, type, protocol, fds), fds);
}

int lee_c_accept(int fd, struct sockaddr *address, socklen_t *length) {
    return made(accept(fd, address, length));
}

int lee_c_accept4(int fd, struct sockaddr *address, socklen_t *length, int flags) {
    return made(accept4(fd, address, length, flags));
}

int lee_c_pipe(int fds[2]) {
    return made_two(pipe(fds), fds);
}

int lee_c_pipe2(int fds[2], int flags) {
    return made_two(pipe2(fds, flags), fds);
}

int lee_c_mkstemp(char *pattern) {
    return made(mkstemp(pattern));
}

int lee_c_mkostemp(char *pattern, int flags) {
    return made(mkostemp(pattern, flags));
}

int lee_c_mkstemps(char *pattern, int suffix) {
    return made(mkstemps(pattern, suffix));
}

int lee_c_mkostemps(char *pattern, int suffix, int flags) {
    return made(mkostemps(pattern, suffix, flags));
}

int lee_c_epoll_create(int size) {
    return made(epoll_create(size));
}

int lee_c_epoll_create1(int flags) {
    return made(epoll_create1(flags));
}

int lee_c_eventfd(unsigned first, int flags) {
    return made(eventfd(first, flags));
}

int lee_c_timerfd_create(int clock, int flags) {
    return made(timerfd_create(clock, flags));
}

int lee_c_inotify_init(void) {
    return made(inotify_init());
}

int lee_c_inotify_init1(int flags) {
    return made(inotify_init1(flags));
}

int lee_c_memfd_create(const char *name, unsigned flags) {
    return made(memfd_create(name, flags));
}

int lee_c_posix_openpt(int flags) {
    return made(posix_openpt(flags));
}

/* Those that a message brought. One that would break a limit is closed, and its number is -1. */
ssize_t lee_c_recvmsg(int fd, struct msghdr *message, int flags) {
    ssize_t got = recvmsg(fd, message, flags);
    if (got < 0 || message->msg_controllen == 0 || is_outside())
        return got;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part != NULL; part = CMSG_NXTHDR(message, part)) {
        bool descriptors = part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS;
        size_t count = descriptors ? (part->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;
        for (size_t i = 0; i < count; i++) {
            unsigned char *place = CMSG_DATA(part) + i * sizeof(int);
            int number;
            memcpy(&number, place, sizeof number);
            number = made(number);
            memcpy(place, &number, sizeof number);
        }
    }
    return got;
}

int lee_c_signalfd(int fd, const sigset_t *signals, int flags) {
    int got = signalfd(fd, signals, flags);
    return fd == -1 ? made(got) : got;
}

/* `to` has the open file of `fd` from here on: whether it waits is changed through either. */
static int made_from(int fd, int to) {
    lee_fd_drop_kind(fd, LEE_FD_BLOCKS);
    return made(to);
}

int lee_c_dup(int fd) {
    int to = dup(fd);
    return is_outside() ? to : made_from(fd, to);
}

/* To a number that is free, and that another process may get at any moment: so the system is asked
 * for the first free one from there on. */
static int dup_to_free(int fd, int to, int flags) {
    int got = fcntl(fd, (flags & O_CLOEXEC) != 0 ? F_DUPFD_CLOEXEC : F_DUPFD, to);
    if (got >= 0 && got != to) {
        close(got);
        errno = EBADF;
        return -1;
    }
    return made_from(fd, got);
}

/* `two`: as dup2, which takes a number that is the same. */
static int dup_to(int fd, int to, int flags, bool two) {
    if (is_outside() || fd == to || (flags & ~O_CLOEXEC) != 0 || fcntl(fd, F_GETFD) < 0)
        return two ? dup2(fd, to) : dup3(fd, to, flags);
    if (lee_fds_guarded && fcntl(to, F_GETFD) < 0)
        return dup_to_free(fd, to, flags);
    if (!lee_fd_is_mine_to_close(to))
        return -1;
    uint32_t life = lee_fd_life(to);
    lee_fd_closes(to);
    lee_fd_drop_kind(fd, LEE_FD_BLOCKS);
    return made_with(dup3(fd, to, flags), life);
}

int lee_c_dup2(int fd, int to) {
    return dup_to(fd, to, 0, true);
}

int lee_c_dup3(int fd, int to, int flags) {
    return dup_to(fd, to, flags, false);
}

/* An argument of any command is a word, or is not read. */
int lee_c_fcntl(int fd, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    int result = fcntl(fd, command, argument);
    if (result < 0 || is_outside())
        return result;
    if (command == F_SETFL)
        lee_fd_drop_kind(fd, LEE_FD_BLOCKS);
    return command == F_DUPFD || command == F_DUPFD_CLOEXEC ? made_from(fd, result) : result;
}

int lee_c_close(int fd) {
    if (is_child())
        return close(fd);
    if (is_thread_of_c()) {
        lee_fd_forget(fd);
        return close(fd);
    }
    return lee_fd_is_mine_to_close(fd) ? lee_fd_close(fd) : -1;
}

/* --- files and directories -------------------------------------------------------------------- */

/* What the list says of one. */
struct opened {
    uint32_t life;    /* of its number; 0: it is not the process's to close */
    unsigned child;   /* of popen, else 0 */
    bool directory;
};

enum { LIFE_BITS = 32, DIRECTORY_BIT = 63 };

static uintptr_t packed(struct opened opened) {
    return opened.life | (uintptr_t)opened.child << LIFE_BITS | (uintptr_t)opened.directory << DIRECTORY_BIT;
}

static struct opened unpacked(uintptr_t value) {
    return (struct opened){.life = (uint32_t)value,
                           .child = (unsigned)(value >> LIFE_BITS) & 0x7fffffff,
                           .directory = value >> DIRECTORY_BIT != 0};
}

/* Lists a file or a directory; false if memory ran out. */
static bool listed(const void *key, struct opened opened) {
    struct lee_process *self = lee_process_self();
    size_t growth = lee_address_growth(self->c_files);
    if (!lee_process_charge(self, growth))
        return false;
    lee_process_uncharge(self, growth); /* the table counts itself */
    if (!lee_address_reserve(&self->c_files))
        return false;
    lee_address_add(self->c_files, key)->value = packed(opened);
    return true;
}

/* Takes it off the list. False: it is not there. */
static bool unlisted(const void *key, struct opened *opened) {
    struct lee_address_table **table = &lee_process_self()->c_files;
    struct lee_address_entry *entry = lee_address_find(*table, key);
    if (entry == NULL)
        return false;
    *opened = unpacked(entry->value);
    lee_address_remove(table, entry);
    return true;
}

/* Whether the number is the process's to close still. C's `close` may have closed it, and another
 * process may have it by now. */
static bool may_close(int fd, uint32_t life) {
    return life != 0 && lee_fd_lives(fd, life) && lee_fd_is_mine_to_close(fd);
}

/* Gives the file's memory back, but leaves its number open. */
static void drop_memory(FILE *file) {
    file->_fileno = -1; /* of glibc's */
    fclose(file);
}

static int close_file(FILE *file, struct opened opened) {
    int fd = fileno(file), flushed = fflush(file), why = errno;
    drop_memory(file);
    errno = EBADF;
    int closed = may_close(fd, opened.life) ? lee_fd_close(fd) : -1;
    if (flushed != 0)
        errno = why;
    return flushed != 0 || closed != 0 ? EOF : 0;
}

static FILE *refused(FILE *file, int why) {
    fclose(file);
    errno = why;
    return NULL;
}

static FILE *opened_file(FILE *file, unsigned child) {
    if (file == NULL || is_outside())
        return file;
    int fd = fileno(file);
    if (!lee_fd_own_for_c(fd, 0))
        return refused(file, EMFILE);
    if (listed(file, (struct opened){.life = lee_fd_life(fd), .child = child}))
        return file;
    lee_fd_closes(fd);
    return refused(file, ENOMEM);
}

/* The number is the process's from here on, to be closed with a file, unless it is another's: then
 * `*life` is 0. False: a limit. */
static bool adopted(int fd, uint32_t *life) {
    bool own = lee_fd_is_mine_to_close(fd);
    if (own && lee_fd_generation(fd) == 0 && !lee_fd_own_for_c(fd, 0))
        return false;
    *life = own ? lee_fd_life(fd) : 0;
    return true;
}

FILE *lee_c_fopen(const char *path, const char *mode) {
    return opened_file(fopen(path, mode), 0);
}

FILE *lee_c_tmpfile(void) {
    return opened_file(tmpfile(), 0);
}

FILE *lee_c_fdopen(int fd, const char *mode) {
    FILE *file = fdopen(fd, mode);
    if (file == NULL || is_outside())
        return file;
    uint32_t life;
    int why = EMFILE;
    if (adopted(fd, &life)) {
        if (listed(file, (struct opened){.life = life}))
            return file;
        why = ENOMEM;
    }
    drop_memory(file);
    errno = why;
    return NULL;
}

FILE *lee_c_freopen(const char *path, const char *mode, FILE *file) {
    struct opened opened;
    int fd = fileno(file);
    if (is_outside() || fd < 0)
        return freopen(path, mode, file);
    bool known = unlisted(file, &opened);
    if (known ? !may_close(fd, opened.life) : !lee_fd_is_mine_to_close(fd)) {
        if (known)
            drop_memory(file); /* where it cannot be opened again, it is closed */
        errno = EBADF;
        return NULL;
    }
    lee_fd_closes(fd);
    return opened_file(freopen(path, mode, file), 0);
}

FILE *lee_c_popen(const char *command, const char *mode) {
    bool reading = mode[0] == 'r';
    if (is_outside() || (!reading && mode[0] != 'w'))
        return popen(command, mode);
    io_reap();
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return NULL;
    int ours = reading ? ends[0] : ends[1], theirs = reading ? ends[1] : ends[0];
    pid_t child;
    FILE *file = fdopen(ours, reading ? "r" : "w");
    int why = file == NULL ? errno : io_start_shell(command, theirs, reading ? 1 : 0, &child);
    close(theirs);
    if (why == 0) {
        bool inherited = true;
        for (const char *at = mode; *at != '\0'; at++)
            inherited = inherited && *at != 'e';
        if (inherited)
            fcntl(ours, F_SETFD, 0);
        FILE *opened = opened_file(file, (unsigned)child);
        if (opened == NULL) {
            why = errno;
            io_leave_child(child);
            errno = why;
        }
        return opened;
    }
    if (file != NULL)
        fclose(file);
    else
        close(ours);
    errno = why;
    return NULL;
}

int lee_c_fclose(FILE *file) {
    struct opened opened;
    if (is_outside())
        return fclose(file);
    if (unlisted(file, &opened)) {
        int result = close_file(file, opened);
        if (opened.child != 0)
            io_leave_child((pid_t)opened.child);
        return result;
    }
    int fd = fileno(file); /* of what only has memory: -1 */
    if (fd >= 0 && !lee_fd_is_mine_to_close(fd))
        return EOF;
    if (fd >= 0)
        lee_fd_closes(fd);
    return fclose(file);
}

int lee_c_pclose(FILE *file) {
    struct opened opened;
    int status;
    if (is_outside())
        return pclose(file);
    if (!unlisted(file, &opened)) {
        if (!lee_fd_is_mine_to_close(fileno(file)))
            return -1;
        lee_fd_closes(fileno(file));
        return pclose(file);
    }
    close_file(file, opened);
    if (opened.child == 0) {
        errno = ECHILD;
        return -1;
    }
    while (waitpid((pid_t)opened.child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return status;
}

static DIR *opened_directory(DIR *directory, uint32_t life) {
    if (listed(directory, (struct opened){.life = life, .directory = true}))
        return directory;
    lee_fd_closes(dirfd(directory));
    closedir(directory);
    errno = ENOMEM;
    return NULL;
}

DIR *lee_c_opendir(const char *path) {
    DIR *directory = opendir(path);
    if (directory == NULL || is_outside())
        return directory;
    if (lee_fd_own_for_c(dirfd(directory), 0))
        return opened_directory(directory, lee_fd_life(dirfd(directory)));
    closedir(directory);
    errno = EMFILE;
    return NULL;
}

/* libc closes the number with the directory, so it has to be the process's. */
DIR *lee_c_fdopendir(int fd) {
    uint32_t life;
    if (is_outside())
        return fdopendir(fd);
    if (!lee_fd_is_mine_to_close(fd) || !adopted(fd, &life))
        return NULL;
    DIR *directory = fdopendir(fd);
    return directory == NULL ? NULL : opened_directory(directory, life);
}

static int close_directory(DIR *directory, struct opened opened) {
    int fd = dirfd(directory);
    if (!may_close(fd, opened.life)) { /* libc would close what has the number now: its memory is lost */
        errno = EBADF;
        return -1;
    }
    lee_fd_closes(fd);
    return closedir(directory);
}

int lee_c_closedir(DIR *directory) {
    struct opened opened;
    if (is_outside())
        return closedir(directory);
    if (directory != NULL && unlisted(directory, &opened))
        return close_directory(directory, opened);
    int fd = directory != NULL ? dirfd(directory) : -1;
    if (fd >= 0 && !lee_fd_is_mine_to_close(fd))
        return -1;
    if (fd >= 0)
        lee_fd_closes(fd);
    return closedir(directory);
}

/* Its process ends: what it holds is written as far as that needs no waiting. */
static void end_file(FILE *file, struct opened opened) {
    int fd = fileno(file);
    bool own = may_close(fd, opened.life);
    /* What was locked by code that never goes on stays libc's, without a number. */
    bool locked = ftrylockfile(file) != 0;
    struct stat is;
    if (own && !locked && file->_mode <= 0 && file->_IO_write_ptr > file->_IO_write_base) {
        if (fstat(fd, &is) == 0 && S_ISREG(is.st_mode))
            fflush(file);
        else
            io_write_now(fd, (unsigned char *)file->_IO_write_base, (size_t)(file->_IO_write_ptr - file->_IO_write_base));
    }
    file->_fileno = -1;
    if (!locked) {
        funlockfile(file);
        fclose(file);
    }
    if (own)
        io_close_now(fd);
    if (opened.child != 0)
        io_leave_child((pid_t)opened.child);
}

void lee_c_files_end(struct lee_process *process) {
    struct lee_address_table *table = process->c_files;
    int why = errno;
    process->c_files = NULL;
    for (size_t i = 0; table != NULL && i < table->room; i++) {
        struct opened opened = unpacked(table->entries[i].value);
        void *key = (void *)(uintptr_t)table->entries[i].key;
        if (key != NULL && opened.directory)
            close_directory(key, opened);
        else if (key != NULL)
            end_file(key, opened);
    }
    lee_address_free(table);
    errno = why;
}
