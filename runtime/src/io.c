/* Files over descriptors: opening, buffering, positions, closing.
 *
 * Why not libc's: a FILE that is used after fclose must be found out, whatever the program does, and libc's frees
 * it. Here a closed file's object stays (72 bytes) until nothing reaches it; its buffer goes to the next file that needs one. Standard input
 * and output have buffers of their own, so printing needs no memory. */
#define _GNU_SOURCE

#include "errno_here.h"
#include "custodian.h"
#include "fds.h"
#include "io_file.h"
#include "io_wait.h"
#include "process.h"
#include "reactor.h"
#include "task_park.h"
#include "worker.h"

#include <fcntl.h>
#include <lee/globals.h>
#include <lee/heap.h>
#include <lee/layout.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of a thread's own process. */
static struct lee_file standard[3] = {
    {.fd = 0, .flags = IO_OPEN | IO_READ},
    {.fd = 1, .flags = IO_OPEN | IO_WRITE},
    {.fd = 2, .flags = IO_OPEN | IO_WRITE | IO_DECIDED, .mode = LEE_IO_NONE},
};

_Thread_local struct lee_file *lee_io_standard_input __attribute__((tls_model("initial-exec"))) = &standard[0];
_Thread_local struct lee_file *lee_io_standard_output __attribute__((tls_model("initial-exec"))) = &standard[1];

void lee_io_enter(struct lee_process *process) {
    lee_io_standard_input = process->high != 0 ? process->standard : standard;
    lee_io_standard_output = lee_io_standard_input + 1;
}

/* The open files of the process but for the standard ones. The list keeps nothing alive: the links lie in words of a file that its layout
 * does not name. */
static struct lee_file *first_file(void) {
    return (struct lee_file *)~lee_lists()->hidden_files;
}

/* Buffers that no file has at present. */
struct buffer {
    struct buffer *next;
    unsigned char pushback[IO_PUSHBACK], bytes[IO_BUFFER];
};

static struct buffer *free_buffers;
static struct buffer standard_buffers[2];
static bool standard_given[2];

static const struct lee_layout buffer_layout = {.bytes = sizeof(struct buffer), .kind = LEE_LAYOUT_MIXED, .words = 1, .name = "buffer"};

#ifndef LEE_NO_GC
/* Of these the collector need read no more than of others. */
static const struct lee_global standard_global = {standard_buffers, sizeof standard_buffers, &buffer_layout};
static struct lee_globals standard_globals = {&standard_global, 1, NULL};

__attribute__((constructor(101))) static void name_buffers(void) {
    lee_globals_add(&standard_globals);
}
#endif

/* Programs without custodians do not link them. */
struct lee_custodian *lee_custodian_here(void) __attribute__((weak));

static void drop_file(void *object, size_t bytes);
static const struct lee_layout file_layout = {
    .bytes = sizeof(struct lee_file),
    .kind = LEE_LAYOUT_WORDS,
    .words = 1u << offsetof(struct lee_file, buffer) / sizeof(void *) | 1u << offsetof(struct lee_file, custodian) / sizeof(void *),
    .drop = drop_file,
    .name = "FILE",
};

struct lee_file *lee_io_stdin(void) {
    return lee_io_standard_input;
}

struct lee_file *lee_io_stdout(void) {
    return lee_io_standard_output;
}

struct lee_file *lee_io_stderr(void) {
    return lee_io_standard_input + 2;
}

/* --- calls that wait -------------------------------------------------------------------------------------------------- */

static void begin_use(struct io_use *use, struct lee_file *f) {
    *use = (struct io_use){f, f->rpos, f->rend, f->wpos, f->wend, 0};
    f->rpos = f->rend = f->wpos = f->wend = NULL;
    f->use = use;
}

/* The file is what it was, without what was written; unless it was closed. */
static void end_use(void *context) {
    struct io_use *use = context;
    struct lee_file *f = use->f;
    f->use = NULL;
    if (f->flags & IO_OPEN) {
        if (use->out != 0) {
            size_t held = (size_t)(use->wpos - f->buffer) - use->out;
            memmove(f->buffer, f->buffer + use->out, held);
            use->wpos = f->buffer + held;
        }
        f->rpos = use->rpos;
        f->rend = use->rend;
        f->wpos = use->wpos;
        f->wend = use->wend;
    }
#ifndef LEE_NO_GC
    struct lee_task *next;
    for (struct lee_task *task = f->waiting; task != NULL; task = next) {
        next = task->outside_next;
        task->outside_next = NULL;
        lee_task_resume(task);
    }
    f->waiting = NULL;
#endif
}

#ifndef LEE_NO_GC
static void stop_claiming(struct lee_task *task) {
    struct lee_file *f = task->outside;
    struct lee_task **link = &f->waiting;
    while (*link != task)
        link = &(*link)->outside_next;
    *link = task->outside_next;
    task->outside_next = NULL;
    task->outside = NULL;
    task->leave = NULL;
}

void io_claim_slowly(struct lee_file *f) {
    while (f->use != NULL) {
        lee_task_may_wait();
        struct lee_task **link = &f->waiting;
        while (*link != NULL)
            link = &(*link)->outside_next;
        *link = lee_task_self();
        (*link)->outside_next = NULL;
        lee_task_park(f, stop_claiming);
        io_check(f);
    }
}
#else
void io_claim_slowly(struct lee_file *f) {
    (void)f;
}
#endif

#ifndef LEE_NO_GC
/* The task in the middle of a call does not go on. */
static void stop_use(struct lee_file *f) {
    if (f->use == NULL)
        return;
    struct io_use *use = f->use;
    f->waiting = NULL;
    end_use(use);
}
#endif

static void unlink_file(struct lee_file *f) {
    if (f->previous != NULL)
        f->previous->next = f->next;
    else if (first_file() == f)
        lee_lists()->hidden_files = ~(uintptr_t)f->next;
    if (f->next != NULL)
        f->next->previous = f->previous;
    f->next = f->previous = NULL;
}

struct lee_file *io_make(void) {
    struct lee_file *f = lee_heap_try_alloc_typed(sizeof *f, &file_layout);
    if (f == NULL)
        errno = ENOMEM;
    else
        f->fd = -1;
    return f;
}

/* Whether the descriptor is still the file's; else EBADF. C's `close` takes any number, which
 * another process can have by now. */
static bool has_descriptor(const struct lee_file *f) {
    return IO_LIKELY(f->life != 0) ? lee_fd_lives(f->fd, f->life) : lee_fd_is_mine(f->fd);
}

static void have_descriptor(struct lee_file *f, int fd) {
    f->fd = fd;
    f->life = fd <= STDERR_FILENO && f == lee_io_standard_input + fd ? 0 : lee_fd_life(fd);
}

/* Whether the file may close it. The standard three of all processes are the first one's to close. */
static bool may_close(const struct lee_file *f) {
    return f->life != 0 ? lee_fd_lives(f->fd, f->life) : lee_fd_is_mine_to_close(f->fd);
}

struct lee_file *io_begin(struct lee_file *f, int fd, unsigned flags) {
    if (fd < 0) {
        int why = errno;
        lee_heap_free(f);
        errno = why;
        return NULL;
    }
    lee_fd_note(fd);
    have_descriptor(f, fd);
    f->flags = flags | IO_OPEN;
    f->custodian = lee_custodian_here != NULL ? lee_custodian_here() : NULL;
    f->next = first_file();
    if (f->next != NULL)
        f->next->previous = f;
    lee_lists()->hidden_files = ~(uintptr_t)f;
    return f;
}

int io_mode(const char *mode, unsigned *flags) {
    int how = 0;
    switch (*mode++) {
    case 'r': *flags = IO_READ; break;
    case 'w': *flags = IO_WRITE, how = O_CREAT | O_TRUNC; break;
    case 'a': *flags = IO_WRITE | IO_APPEND, how = O_CREAT | O_APPEND; break;
    default: errno = EINVAL; return -1;
    }
    for (; *mode != '\0' && *mode != ','; mode++) {
        if (*mode == '+')
            *flags |= IO_READ | IO_WRITE;
        else if (*mode == 'x')
            how |= O_EXCL;
        else if (*mode == 'e')
            how |= O_CLOEXEC;
    }
    if ((*flags & (IO_READ | IO_WRITE)) == (IO_READ | IO_WRITE))
        return how | O_RDWR;
    return how | (*flags & IO_WRITE ? O_WRONLY : O_RDONLY);
}

static int open_retrying(const char *path, int how) {
    int fd;
    bool collected = false;
    do
        fd = lee_open_waiting(AT_FDCWD, path, how, 0666);
    while (fd < 0 && (errno == EINTR || (!collected && (collected = lee_heap_close_files()))));
    return fd;
}

struct lee_file *lee_io_fopen(const char *path, const char *mode) {
    if (path == NULL || mode == NULL)
        lee_fault_null(NULL);
    unsigned flags;
    int how = io_mode(mode, &flags);
    struct lee_file *f = how < 0 ? NULL : io_make();
    return f == NULL ? NULL : io_begin(f, lee_fd_made(open_retrying(path, how), LEE_FD_FILE | LEE_FD_BLOCKS), flags);
}

struct lee_file *lee_io_fdopen(int fd, const char *mode) {
    if (mode == NULL)
        lee_fault_null(NULL);
    unsigned flags;
    if (io_mode(mode, &flags) < 0)
        return NULL;
    int have = lee_fd_is_mine_to_close(fd) ? fcntl(fd, F_GETFL) : -1;
    if (have < 0)
        return NULL;
    int access = have & O_ACCMODE;
    if ((flags & IO_READ && access == O_WRONLY) || (flags & IO_WRITE && access == O_RDONLY)) {
        errno = EINVAL;
        return NULL;
    }
    if (flags & IO_APPEND && !(have & O_APPEND) && fcntl(fd, F_SETFL, have | O_APPEND) < 0)
        return NULL;
    struct lee_file *f = io_make();
    return f == NULL ? NULL : io_begin(f, fd, flags);
}

struct lee_file *lee_io_freopen(const char *path, const char *mode, struct lee_file *f) {
    if (mode == NULL)
        lee_fault_null(NULL);
    io_check(f);
    io_claim(f);
    unsigned flags;
    int how = io_mode(mode, &flags);
    int fd = -1;
    io_flush(f);
    io_check(f);
    if (how >= 0 && path == NULL)
        errno = EINVAL; /* a new mode for the same file needs a name that the system does not give */
    else if (how >= 0)
        fd = lee_fd_made(open_retrying(path, how), LEE_FD_FILE | LEE_FD_BLOCKS);
    if (fd >= 0 && fd != f->fd && may_close(f)) { /* else the file gets that number */
        uint32_t life = lee_fd_life(f->fd);
        lee_fd_closes(f->fd);
        int moved = lee_fd_replaced(dup3(fd, f->fd, how & O_CLOEXEC), LEE_FD_FILE | LEE_FD_BLOCKS, life);
        int why = errno;
        lee_fd_close(fd);
        errno = why;
        fd = moved;
    }
    if (fd < 0) {
        int why = errno;
        lee_io_fclose(f);
        errno = why;
        return NULL;
    }
    have_descriptor(f, fd);
    f->rpos = f->rend = f->wpos = f->wend = NULL;
    f->flags = flags | IO_OPEN | (f->mode == LEE_IO_NONE ? IO_DECIDED : 0);
    if (f->mode == LEE_IO_LINE)
        f->mode = LEE_IO_FULL; /* until it is known whether the new one is a terminal */
    return f;
}

struct lee_file *lee_io_tmpfile(void) {
    struct lee_file *f = io_make();
    if (f == NULL)
        return NULL;
    int fd = open("/tmp", O_TMPFILE | O_RDWR | O_EXCL, 0600);
    if (fd < 0) {
        char path[] = "/tmp/leeXXXXXX";
        fd = mkstemp(path);
        if (fd >= 0)
            unlink(path);
    }
    return io_begin(f, lee_fd_made(fd, LEE_FD_FILE | LEE_FD_BLOCKS), IO_READ | IO_WRITE);
}

static void give_buffer_back(struct lee_file *f) {
    if (f->buffer == NULL)
        return;
    struct buffer *b = (struct buffer *)(void *)(f->buffer - offsetof(struct buffer, bytes));
    f->buffer = NULL;
    if (lee_process_is_spawned()) { /* it is of the process's heap */
        lee_heap_free(b);
        return;
    }
    b->next = free_buffers;
    free_buffers = b;
}

/* The buffer, made when it is first needed: programs open more files than they read. */
static bool have_buffer(struct lee_file *f) {
    if (IO_LIKELY(f->buffer != NULL))
        return true;
    struct buffer *b = lee_process_is_spawned() ? NULL : free_buffers;
    size_t n = (size_t)f->fd;
    if (n < 2 && f == &standard[n] && !standard_given[n]) {
        standard_given[n] = true;
        b = &standard_buffers[n];
    } else if (b != NULL)
        free_buffers = b->next;
    else
        b = lee_heap_try_alloc_typed(sizeof *b, &buffer_layout);
    if (b == NULL) {
        f->flags |= IO_ERROR;
        return false;
    }
    f->buffer = b->bytes;
    if ((f->flags & IO_OPEN) == 0) { /* that allocation shut its custodian down */
        give_buffer_back(f);
        errno = EBADF;
        return false;
    }
    return true;
}

static void decide_mode(struct lee_file *f) {
    if (f->flags & IO_DECIDED)
        return;
    int why = errno;
    struct stat st;
    if (fstat(f->fd, &st) == 0 && S_ISCHR(st.st_mode) && isatty(f->fd))
        f->mode = LEE_IO_LINE;
    f->flags |= IO_DECIDED;
    errno = why;
}

/* Gives back what was read ahead, so that the descriptor stands where the program believes to be. */
static bool drop_read_ahead(struct lee_file *f) {
    off_t ahead = f->rend - f->rpos;
    f->rpos = f->rend = NULL;
    return ahead == 0 || (has_descriptor(f) && lseek(f->fd, -ahead, SEEK_CUR) >= 0);
}

bool io_start_reading(struct lee_file *f) {
    io_check(f);
    if (IO_LIKELY(f->rpos != NULL))
        return true;
    io_claim(f);
    if (f->rpos != NULL)
        return true;
    if (!(f->flags & IO_READ)) {
        errno = EBADF;
        f->flags |= IO_ERROR;
        return false;
    }
    if (!io_flush(f) || !have_buffer(f))
        return false;
    f->wpos = f->wend = NULL;
    f->rpos = f->rend = f->buffer;
    return true;
}

bool io_start_writing(struct lee_file *f) {
    io_check(f);
    if (IO_LIKELY(f->wpos != NULL))
        return true;
    io_claim(f);
    if (f->wpos != NULL)
        return true;
    if (!(f->flags & IO_WRITE)) {
        errno = EBADF;
        f->flags |= IO_ERROR;
        return false;
    }
    if (!have_buffer(f))
        return false;
    drop_read_ahead(f); /* a pipe cannot go back; what was read ahead is then lost, as in libc */
    f->flags &= ~(unsigned)IO_EOF;
    decide_mode(f);
    f->wpos = f->buffer;
    f->wend = f->mode == LEE_IO_FULL ? f->buffer + IO_BUFFER : NULL;
    return true;
}

/* A question on a terminal is seen before its answer is awaited. */
static void flush_before_reading(void) {
    struct lee_file *out = lee_io_standard_output;
    if (out->wpos != NULL && out->mode == LEE_IO_LINE)
        io_flush(out);
}

size_t io_read_direct(struct lee_file *f, void *p, size_t n) {
    if (f->flags & IO_EOF)
        return 0;
    flush_before_reading();
    ssize_t got;
    struct io_use use;
    const struct lee_left left = {end_use, &use};
    bool suspends = LEE_SUSPENDS;
    if (suspends)
        begin_use(&use, f);
    do
        got = has_descriptor(f) ? lee_read_left(f->fd, p, n < SSIZE_MAX ? n : SSIZE_MAX, &left) : -1;
    while (got < 0 && errno == EINTR);
    if (suspends)
        end_use(&use);
    if (got > 0)
        return (size_t)got;
    if (f->flags & IO_OPEN)
        f->flags |= got == 0 ? IO_EOF : IO_ERROR;
    return 0;
}

bool io_fill(struct lee_file *f) {
    if (f->rpos != f->rend)
        return true;
    size_t got = io_read_direct(f, f->buffer, f->mode == LEE_IO_NONE && f->flags & IO_DECIDED ? 1 : IO_BUFFER);
    if (!(f->flags & IO_OPEN)) /* closed while it waited */
        return false;
    f->rpos = f->buffer;
    f->rend = f->buffer + got;
    return got != 0;
}

/* Writes `n` bytes at `p` to the descriptor; returns how many got out. `*out` says so too, while it is under way. */
static size_t write_out(struct lee_file *f, const unsigned char *p, size_t n, size_t *out, const struct lee_left *left) {
    while (*out < n) {
        ssize_t put = !has_descriptor(f) ? -1
                      : left != NULL     ? lee_write_left(f->fd, p + *out, n - *out, left)
                                         : write(f->fd, p + *out, n - *out);
        if (put >= 0) {
            *out += (size_t)put;
        } else if (errno != EINTR) {
            lee_io_broken(f->fd);
            f->flags |= f->flags & IO_OPEN ? IO_ERROR : 0;
            break;
        }
    }
    return *out;
}

/* The same while others run. `held`: it is what the buffer holds. */
static size_t write_waiting(struct lee_file *f, const unsigned char *p, size_t n, bool held) {
    struct io_use use;
    const struct lee_left left = {end_use, &use};
    size_t direct = 0;
    begin_use(&use, f);
    size_t out = write_out(f, p, n, held ? &use.out : &direct, &left);
    end_use(&use);
    return out;
}

bool io_flush(struct lee_file *f) {
    if (f->wpos == NULL)
        return true;
    size_t held = (size_t)(f->wpos - f->buffer), out = 0;
    if (LEE_SUSPENDS)
        return write_waiting(f, f->buffer, held, true) == held && f->flags & IO_OPEN;
    write_out(f, f->buffer, held, &out, NULL);
    memmove(f->buffer, f->buffer + out, held - out);
    f->wpos = f->buffer + (held - out);
    return out == held;
}

/* Behind the last line end; 0 if there is none. */
static size_t whole_lines(const unsigned char *p, size_t n) {
    while (n > 0 && p[n - 1] != '\n')
        n--;
    return n;
}

static size_t write_buffered(struct lee_file *f, const unsigned char *p, size_t n) {
    size_t room = (size_t)(f->buffer + IO_BUFFER - f->wpos);
    if (n > room) {
        if (!io_flush(f))
            return 0;
        size_t out = 0;
        if (n >= IO_BUFFER)
            return LEE_SUSPENDS ? write_waiting(f, p, n, false) : write_out(f, p, n, &out, NULL);
    }
    memcpy(f->wpos, p, n);
    f->wpos += n;
    return n;
}

static size_t write_by_mode(struct lee_file *f, const unsigned char *p, size_t n) {
    if (f->mode == LEE_IO_FULL)
        return write_buffered(f, p, n);
    size_t now = f->mode == LEE_IO_NONE ? n : whole_lines(p, n);
    if (now == 0)
        return write_buffered(f, p, n);
    if (write_buffered(f, p, now) != now || !io_flush(f))
        return 0;
    return now + write_buffered(f, p + now, n - now);
}

/* Whether something may have to be written out before all of `p` is in the buffer. */
static bool may_flush_before(const struct lee_file *f, const unsigned char *p, size_t n) {
    return n > (size_t)(f->buffer + IO_BUFFER - f->wpos) || (f->mode == LEE_IO_LINE && whole_lines(p, n) != 0);
}

unsigned char *io_copy(struct lee_file *f, const void *p, size_t n) {
    unsigned char *own = lee_heap_try_alloc_plain(n);
    if (own == NULL || !(f->flags & IO_OPEN)) { /* that allocation may shut its custodian down */
        errno = own == NULL ? ENOMEM : EBADF;
        return NULL;
    }
    return memcpy(own, p, n);
}

size_t io_write(struct lee_file *f, const unsigned char *p, size_t n) {
    if (!LEE_SUSPENDS || !may_flush_before(f, p, n))
        return write_by_mode(f, p, n);
    unsigned char *own = io_copy(f, p, n);
    if (own == NULL)
        return 0;
    size_t put = write_by_mode(f, own, n);
    lee_heap_free(own);
    return put;
}

bool io_finish(struct lee_file *f) {
    int why = errno;
    bool good = io_flush(f);
    if (good)
        errno = why; /* where it failed, the reason stays */
    why = errno;
    drop_read_ahead(f);
    f->rpos = f->rend = f->wpos = f->wend = NULL;
    unlink_file(f);
    give_buffer_back(f);
    f->flags = 0;
    errno = why;
    return good;
}

/* Commands of popen that the program does not wait for: those that have ended are asked for, so that
 * the system may forget them. */
static struct lee_vector left;

void io_reap(void) {
    lee_lock();
    pid_t *children = left.data;
    size_t count = left.bytes / sizeof *children, kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (waitpid(children[i], NULL, WNOHANG) == 0)
            children[kept++] = children[i];
    }
    left.bytes = kept * sizeof *children;
    lee_unlock();
}

#ifdef LEE_NO_GC

static void reap_later(void) {}

#else

void lee_timer_set(struct lee_timer *timer, int64_t at, void (*fire)(struct lee_timer *timer)) __attribute__((weak));

/* Nanoseconds. Most commands end when their pipe does. While the timer is set a deadlock is not seen,
 * so a command that goes on for long is asked for at the next `popen` or end of a process. */
enum { REAP_SOON = 10000000 };
static const int64_t reap_late = (int64_t)REAP_SOON << 8;
static struct lee_timer reap;
static int64_t reap_pause;

static void reap_again(struct lee_timer *timer) {
    (void)timer;
    int why = errno;
    io_reap();
    errno = why;
    reap_pause *= 2;
    if (left.bytes > 0 && reap_pause <= reap_late)
        lee_timer_set(&reap, lee_clock() + reap_pause, reap_again);
}

/* With the lock. */
static void reap_later(void) {
    if (left.bytes == 0 || lee_timer_set == NULL)
        return;
    reap_pause = REAP_SOON;
    if (!reap.set)
        lee_timer_set(&reap, lee_clock() + reap_pause, reap_again);
}

#endif

void io_leave_child(pid_t child) {
    lee_lock();
    pid_t *place = lee_vector_add(&left, sizeof *place);
    if (place != NULL)
        *place = child;
    io_reap();
    reap_later();
    lee_unlock();
}

static void leave_child(struct lee_file *f) {
    pid_t child = f->child;
    f->child = 0;
    if (child != 0)
        io_leave_child(child);
}

int lee_io_fclose(struct lee_file *f) {
    io_check(f);
    io_claim(f);
    bool good = io_finish(f);
    int why = errno, closed = may_close(f) ? lee_fd_close(f->fd) : f->life != 0 ? -1 : 0;
    int close_error = errno;
    leave_child(f);
    errno = close_error;
    if (closed < 0 && errno != EINTR)
        return IO_END;
    errno = why;
    return good ? 0 : IO_END;
}

/* The collector found the file unreachable, or its custodian was shut down: what was written is written out as far as nobody has to be
 * waited for, and the descriptor closed. The buffer is dead too: nobody may get it. */
static void drop_file(void *object, size_t bytes) {
    (void)bytes;
    struct lee_file *f = object;
    if (!(f->flags & IO_OPEN))
        return;
    int why = errno;
    if (f->wpos != NULL && has_descriptor(f))
        io_write_now(f->fd, f->buffer, (size_t)(f->wpos - f->buffer));
    f->rpos = f->rend = f->wpos = f->wend = NULL;
    unlink_file(f);
    if (may_close(f))
        io_close_now(f->fd);
    leave_child(f);
    f->fd = -1; /* who was about to write to it, and was stopped by its own allocation, fails */
    f->flags = 0;
    errno = why;
}

void lee_files_begin(struct lee_process *process) {
    struct lee_file *files = process->standard;
    files[0].flags = IO_OPEN | IO_READ;
    files[1].flags = IO_OPEN | IO_WRITE;
    files[2].flags = IO_OPEN | IO_WRITE | IO_DECIDED;
    files[0].mode = files[1].mode = LEE_IO_FULL;
    files[2].mode = LEE_IO_NONE;
    files[1].fd = 1;
    files[2].fd = 2;
}

void lee_files_return(void) {
    lee_io_fflush(NULL);
}

void lee_files_end(struct lee_process *process) {
    if (left.bytes > 0)
        io_reap();
    for (int i = 1; i < 3; i++) {
        struct lee_file *f = &process->standard[i];
        if (f->wpos != NULL && has_descriptor(f))
            io_write_now(f->fd, f->buffer, (size_t)(f->wpos - f->buffer));
        f->wpos = f->wend = NULL;
    }
    for (struct lee_file *f = first_file(), *next; f != NULL; f = next) {
        next = f->next;
        drop_file(f, sizeof *f);
    }
}

void lee_files_shut(void) {
    for (struct lee_file *f = first_file(), *next; f != NULL; f = next) {
        next = f->next;
        if (f->custodian != NULL && f->custodian->shut)
            drop_file(f, sizeof *f);
    }
}

int lee_io_fflush(struct lee_file *f) {
    if (f != NULL) {
        io_check(f);
        io_claim(f);
        if (f->rpos != NULL) {
            drop_read_ahead(f);
            return 0;
        }
        return io_flush(f) ? 0 : IO_END;
    }
    bool good = true;
    for (int i = 0; i < 3; i++)
        good &= io_flush(lee_io_standard_input + i);
    for (f = first_file(); f != NULL; f = f->flags & IO_OPEN ? f->next : first_file()) /* closed while it waited: once more */
        good &= io_flush(f);
    return good ? 0 : IO_END;
}

int lee_io_setvbuf(struct lee_file *f, char *buffer, int mode, size_t size) {
    (void)buffer, (void)size;
    io_check(f);
    io_claim(f);
    if (mode != LEE_IO_FULL && mode != LEE_IO_LINE && mode != LEE_IO_NONE) {
        errno = EINVAL;
        return IO_END;
    }
    f->mode = mode;
    f->flags |= IO_DECIDED;
    if (f->wpos != NULL) {
        io_flush(f);
        f->wend = mode == LEE_IO_FULL ? f->buffer + IO_BUFFER : NULL;
    }
    return 0;
}

void lee_io_setbuf(struct lee_file *f, char *buffer) {
    lee_io_setvbuf(f, buffer, buffer != NULL ? LEE_IO_FULL : LEE_IO_NONE, 0);
}

void lee_io_setlinebuf(struct lee_file *f) {
    lee_io_setvbuf(f, NULL, LEE_IO_LINE, 0);
}

int lee_io_fileno(struct lee_file *f) {
    io_check(f);
    return f->fd;
}

int lee_io_feof(struct lee_file *f) {
    io_check(f);
    return (f->flags & IO_EOF) != 0;
}

int lee_io_ferror(struct lee_file *f) {
    io_check(f);
    return (f->flags & IO_ERROR) != 0;
}

void lee_io_clearerr(struct lee_file *f) {
    io_check(f);
    f->flags &= ~(unsigned)(IO_EOF | IO_ERROR);
}

off_t lee_io_ftello(struct lee_file *f) {
    io_check(f);
    io_claim(f);
    off_t held = f->wpos != NULL ? f->wpos - f->buffer : 0;
    off_t at = has_descriptor(f) ? lseek(f->fd, 0, f->flags & IO_APPEND && held != 0 ? SEEK_END : SEEK_CUR) : -1;
    if (at < 0)
        return -1;
    at += held - (f->rend - f->rpos);
    return at < 0 ? 0 : at; /* ungetc at the start of the file */
}

long lee_io_ftell(struct lee_file *f) {
    return lee_io_ftello(f);
}

int lee_io_fseeko(struct lee_file *f, off_t offset, int whence) {
    io_check(f);
    io_claim(f);
    if (!io_flush(f))
        return -1;
    if (whence == SEEK_CUR && f->rpos != NULL && __builtin_sub_overflow(offset, f->rend - f->rpos, &offset)) {
        errno = EOVERFLOW;
        return -1;
    }
    if (!has_descriptor(f) || lseek(f->fd, offset, whence) < 0)
        return -1;
    f->rpos = f->rend = f->wpos = f->wend = NULL;
    f->flags &= ~(unsigned)IO_EOF;
    return 0;
}

int lee_io_fseek(struct lee_file *f, long offset, int whence) {
    return lee_io_fseeko(f, offset, whence);
}

void lee_io_rewind(struct lee_file *f) {
    lee_io_fseeko(f, 0, SEEK_SET);
    f->flags &= ~(unsigned)IO_ERROR;
}

int lee_io_fgetpos(struct lee_file *f, struct lee_io_position *position) {
    off_t at = lee_io_ftello(f);
    if (at < 0)
        return -1;
    position->offset = at;
    return 0;
}

int lee_io_fsetpos(struct lee_file *f, const struct lee_io_position *position) {
    return lee_io_fseeko(f, position->offset, SEEK_SET);
}

/* Nobody goes on any more: what tasks were in the middle of is written first, and what waits, waits here. */
static void flush_last(void) {
#ifndef LEE_NO_GC
    bool used = lee_tasks_used;
    lee_tasks_used = false;
    for (int i = 0; i < 3; i++)
        stop_use(lee_io_standard_input + i);
    for (struct lee_file *f = first_file(); f != NULL; f = f->next)
        stop_use(f);
#endif
    lee_io_fflush(NULL);
#ifndef LEE_NO_GC
    lee_tasks_used = used;
#endif
}

static void flush_for_fault(void) {
    flush_last();
}

__attribute__((constructor(101))) static void install_flush(void) {
    lee_fault_flush = flush_for_fault;
}

/* Runs after the functions that the program gave to atexit. Standard input goes back to where the program stopped
 * reading, for the next reader of the same file. */
__attribute__((destructor)) static void flush_at_exit(void) {
    flush_last();
    if (lee_io_standard_input->rpos != NULL)
        drop_read_ahead(lee_io_standard_input);
}
