/* The inside of a FILE, for the files of runtime/src that read and write it.
 *
 * A file is idle, reading or writing. Reading: `rpos <= rend` bound what was read ahead, `wpos` and `wend` are null.
 * Writing: `buffer <= wpos` bound what is not written out, `rpos` and `rend` are null. Idle: all four are null. So
 * the two short ways (`rpos < rend`: take a byte; `wpos < wend`: put one) need no test of the state, and closing a
 * file closes them too. A file that must look at each byte (line buffered, unbuffered) keeps `wend` null.
 *
 * The buffer has PUSHBACK bytes in front of it: ungetc works even where nothing was read. */
#ifndef LEE_IO_FILE_H
#define LEE_IO_FILE_H

#include <lee/fault.h>
#include <lee/io.h>
#include <stdarg.h>

#define IO_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define IO_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

enum {
    IO_BUFFER = 32768, /* bytes; large enough that the cost of the system call disappears, small enough for the cache */
    IO_PUSHBACK = 8,
    IO_END = -1, /* C's EOF; <stdio.h> of libc is for io_format.c alone */
};

enum io_flags {
    IO_READ = 1,     /* was opened for reading */
    IO_WRITE = 2,    /* was opened for writing */
    IO_APPEND = 4,   /* each write goes to the end */
    IO_EOF = 8,
    IO_ERROR = 16,
    IO_OPEN = 32,
    IO_DECIDED = 64, /* `mode` was set, by setvbuf or by looking whether this is a terminal */
};

struct lee_file {
    unsigned char *rpos, *rend;
    unsigned char *wpos, *wend;
    unsigned char *buffer; /* null until it is needed */
    int fd;
    uint32_t life; /* of that number (fds.h); 0: a standard one, which is whatever the number means */
    unsigned flags;
    int mode;      /* LEE_IO_FULL, _LINE or _NONE */
    pid_t child;   /* of popen, else 0 */
    struct lee_file *next, *previous; /* among the open files; not for the standard ones */
    struct lee_custodian *custodian;  /* that closes it when it is shut down; null: none */
    struct io_use *use;       /* a task is in the middle of a call that waits; null: none is */
    struct lee_task *waiting; /* for the end of that */
};

/* Such a call, on the stack of its task. Meanwhile the file is idle for everybody else. */
struct io_use {
    struct lee_file *f;
    unsigned char *rpos, *rend, *wpos, *wend; /* what they are in truth */
    size_t out;                               /* bytes of the buffer that were written */
};

/* Waits until no other task is in the middle of a call. */
void io_claim_slowly(struct lee_file *f);
static inline void io_claim(struct lee_file *f) {
    if (IO_UNLIKELY(f->use != NULL))
        io_claim_slowly(f);
}

/* Faults unless `f` is an open file. */
static inline void io_check(const struct lee_file *f) {
    if (IO_UNLIKELY(f == NULL))
        lee_fault_null(NULL);
    if (IO_UNLIKELY(!(f->flags & IO_OPEN)))
        lee_fault_closed(NULL);
}

/* A file that is not open, null and errno if there is no memory. It is made before its descriptor: an allocation may end the task, and the
 * descriptor would be lost. */
struct lee_file *io_make(void);
/* Opens it: from here on it closes `fd`. `flags` of io_mode. Null, and the file is no more, if `fd` is negative. */
struct lee_file *io_begin(struct lee_file *f, int fd, unsigned flags);

/* io_release.c: what ends a file that its program left behind. Neither waits for anyone. */

/* Writes what a disk takes, or a reader that is there takes at once; the rest is lost. */
void io_write_now(int fd, const unsigned char *p, size_t n);
/* Closes a descriptor, a lingering socket too. */
void io_close_now(int fd);

/* Reads fopen's `mode` into flags for open(2); -1 and EINVAL if it is none. `*flags` are those of a file. */
int io_mode(const char *mode, unsigned *flags);

/* Makes the file ready to read (write); false, errno and the error flag if it cannot be. */
bool io_start_reading(struct lee_file *f);
bool io_start_writing(struct lee_file *f);

/* Reads ahead when `rpos == rend`; false at the end or on an error. */
bool io_fill(struct lee_file *f);

/* Reads at most `n` bytes past the buffer into `p`, of a file that is reading and whose buffer is empty. Returns
 * how many; 0 at the end or on an error. */
size_t io_read_direct(struct lee_file *f, void *p, size_t n);

/* Writes out what the buffer holds. After a failure the rest stays in the buffer. */
bool io_flush(struct lee_file *f);

/* A copy of the bytes, to be freed; null and errno if there is no memory, or the file was closed meanwhile. What an argument points to may be freed
 * by others as soon as the task waits (`[[lee::waits]]`), so it is copied before that. */
unsigned char *io_copy(struct lee_file *f, const void *p, size_t n);

/* Appends `n` bytes; returns how many were taken. The file is writing. `p` is not read any more once the task has waited. */
size_t io_write(struct lee_file *f, const unsigned char *p, size_t n);

/* `NAME: MESSAGE: WHY` and a line end, in one piece: between two of them other tasks could write. Without a format there is no
 * message; `why` may be null. */
int io_say(struct lee_file *f, const char *name, const char *format, va_list args, const char *why)
    __attribute__((format(printf, 3, 0)));

/* Looks whether commands of popen that nobody waits for have ended. */
void io_reap(void);
/* Nobody will wait for the command. */
void io_leave_child(pid_t child);
/* Starts `sh -c command` with `theirs` as its descriptor `number`; 0, or an errno. */
int io_start_shell(const char *command, int theirs, int number, pid_t *child);

/* Closes the file but for its descriptor; false if what it held could not be written. */
bool io_finish(struct lee_file *f);

#endif
