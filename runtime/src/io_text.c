/* Bytes, blocks and lines of a file. The short way of each function is a comparison and a move; what follows when
 * it fails (the first use, an empty or full buffer, a closed file) is out of line. */
#include "errno_here.h"
#include "io_file.h"

#include <lee/heap.h>
#include <lee/owned.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define SLOW __attribute__((noinline, cold))

static SLOW int get_slowly(struct lee_file *f) {
    if (!io_start_reading(f) || !io_fill(f))
        return EOF;
    return *f->rpos++;
}

static inline int get(struct lee_file *f) {
    if (IO_LIKELY(f->rpos < f->rend))
        return *f->rpos++;
    return get_slowly(f);
}

int lee_io_getc(struct lee_file *f) {
    if (IO_UNLIKELY(f == NULL))
        lee_fault_null(NULL);
    return get(f);
}

int lee_io_getchar(void) {
    return get(lee_io_standard_input);
}

int lee_io_ungetc(int c, struct lee_file *f) {
    io_check(f);
    if (c == EOF || !io_start_reading(f) || f->rpos == f->buffer - IO_PUSHBACK)
        return EOF;
    f->flags &= ~(unsigned)IO_EOF;
    return *--f->rpos = (unsigned char)c;
}

static SLOW int put_slowly(unsigned char c, struct lee_file *f) {
    return io_start_writing(f) && io_write(f, &c, 1) == 1 ? c : EOF;
}

static inline int put(unsigned char c, struct lee_file *f) {
    if (IO_LIKELY(f->wpos < f->wend))
        return *f->wpos++ = c;
    return put_slowly(c, f);
}

int lee_io_putc(int c, struct lee_file *f) {
    if (IO_UNLIKELY(f == NULL))
        lee_fault_null(NULL);
    return put((unsigned char)c, f);
}

int lee_io_putchar(int c) {
    return put((unsigned char)c, lee_io_standard_output);
}

/* `size * count`. The compiler has checked that so many bytes are there; this repeats the product's overflow, on
 * which memory depends. */
static size_t product(size_t size, size_t count) {
    size_t bytes;
    if (__builtin_mul_overflow(size, count, &bytes))
        lee_fault_range(NULL, UINT64_MAX, 0);
    return bytes;
}

static size_t take(struct lee_file *f, unsigned char *p, size_t n) {
    size_t ahead = (size_t)(f->rend - f->rpos);
    if (n > ahead)
        n = ahead;
    memcpy(p, f->rpos, n);
    f->rpos += n;
    return n;
}

static SLOW size_t read_slowly(struct lee_file *f, unsigned char *p, size_t bytes) {
    if (!io_start_reading(f))
        return 0;
    size_t done = take(f, p, bytes);
    while (done < bytes) {
        if (bytes - done >= IO_BUFFER) {
            size_t got = io_read_direct(f, p + done, bytes - done);
            if (got == 0)
                break;
            done += got;
        } else {
            if (!io_fill(f))
                break;
            done += take(f, p + done, bytes - done);
        }
    }
    return done;
}

size_t lee_io_fread(void *p, size_t size, size_t count, struct lee_file *f) {
    if (IO_UNLIKELY(f == NULL))
        lee_fault_null(NULL);
    size_t bytes = product(size, count);
    if (IO_LIKELY(bytes != 0 && bytes <= (size_t)(f->rend - f->rpos))) {
        take(f, p, bytes);
        return count;
    }
    io_check(f);
    return bytes == 0 ? 0 : read_slowly(f, p, bytes) / size;
}

/* Another task is in the middle of a call. */
static SLOW size_t write_later(struct lee_file *f, const void *p, size_t bytes) {
    unsigned char *own = io_copy(f, p, bytes);
    if (own == NULL)
        return 0;
    size_t put = io_start_writing(f) ? io_write(f, own, bytes) : 0;
    lee_heap_free(own);
    return put;
}

size_t lee_io_fwrite(const void *p, size_t size, size_t count, struct lee_file *f) {
    if (IO_UNLIKELY(f == NULL))
        lee_fault_null(NULL);
    size_t bytes = product(size, count);
    if (IO_LIKELY(bytes != 0 && f->wend != NULL && bytes <= (size_t)(f->wend - f->wpos))) {
        memcpy(f->wpos, p, bytes);
        f->wpos += bytes;
        return count;
    }
    io_check(f);
    if (IO_UNLIKELY(f->use != NULL) && bytes != 0)
        return write_later(f, p, bytes) / size;
    if (!io_start_writing(f) || bytes == 0)
        return 0;
    return io_write(f, p, bytes) / size;
}

char *lee_io_fgets(char *s, int n, struct lee_file *f) {
    if (!io_start_reading(f) || n <= 0)
        return NULL;
    size_t done = 0, room = (size_t)n - 1;
    while (done < room && io_fill(f)) {
        size_t ahead = (size_t)(f->rend - f->rpos);
        if (ahead > room - done)
            ahead = room - done;
        const unsigned char *end = memchr(f->rpos, '\n', ahead);
        if (end != NULL)
            ahead = (size_t)(end - f->rpos) + 1;
        memcpy(s + done, f->rpos, ahead);
        f->rpos += ahead;
        done += ahead;
        if (end != NULL)
            break;
    }
    if (room != 0 && (done == 0 || (f->flags & IO_ERROR && f->rpos == f->rend)))
        return NULL;
    s[done] = '\0';
    return s;
}

int lee_io_fputs(const char *s, struct lee_file *f) {
    if (s == NULL)
        lee_fault_null(NULL);
    size_t n = strlen(s);
    if (n == 0) {
        io_check(f);
        return 0;
    }
    return lee_io_fwrite(s, 1, n, f) == n ? 0 : EOF;
}

int lee_io_puts(const char *s) {
    struct lee_file *out = lee_io_stdout();
    return lee_io_fputs(s, out) != EOF && put('\n', out) != EOF ? 0 : EOF;
}

/* Makes room for `n` characters in `line`, whose first `used` are kept. */
static bool grow(struct lee_io_string *line, size_t used, size_t n) {
    size_t have = (size_t)(line->hi - line->p);
    if (line->p != NULL && n <= have)
        return true;
    size_t room = have < 120 ? 120 : have + have / 2;
    if (room < n)
        room = n;
    if (room > PTRDIFF_MAX)
        return false;
    char *fresh = lee_heap_try_alloc_array((int64_t)room, 1, 1); /* one more: the hidden zero */
    if (fresh == NULL)
        return false;
    if (used != 0)
        memcpy(fresh, line->p, used);
    lee_free(line->p); /* `line` is the only pointer to it */
    *line = (struct lee_io_string){fresh, fresh, fresh + room};
    return true;
}

ssize_t lee_io_getdelim(struct lee_io_string *line, size_t *capacity, int delimiter, struct lee_file *f) {
    if (line == NULL || capacity == NULL)
        lee_fault_null(NULL);
    if (!io_start_reading(f))
        return -1;
    size_t done = 0;
    while (io_fill(f)) {
        size_t ahead = (size_t)(f->rend - f->rpos);
        const unsigned char *end = memchr(f->rpos, delimiter, ahead);
        if (end != NULL)
            ahead = (size_t)(end - f->rpos) + 1;
        if (!grow(line, done, done + ahead + 1)) {
            errno = ENOMEM;
            f->flags |= IO_ERROR;
            return -1;
        }
        memcpy(line->p + done, f->rpos, ahead);
        f->rpos += ahead;
        done += ahead;
        if (end != NULL)
            break;
    }
    *capacity = (size_t)(line->hi - line->p);
    if (done == 0 || (f->flags & IO_ERROR && f->rpos == f->rend))
        return -1;
    line->p[done] = '\0';
    return (ssize_t)done;
}

size_t lee_io_take(char *to, size_t n, int delimiter, struct lee_file *f) {
    if (!io_start_reading(f))
        return 0;
    size_t done = 0;
    while (done < n && io_fill(f)) {
        size_t ahead = (size_t)(f->rend - f->rpos);
        if (ahead > n - done)
            ahead = n - done;
        const unsigned char *end = memchr(f->rpos, delimiter, ahead);
        if (end != NULL)
            ahead = (size_t)(end - f->rpos) + 1;
        memcpy(to + done, f->rpos, ahead);
        f->rpos += ahead;
        done += ahead;
        if (end != NULL)
            break;
    }
    return done;
}

ssize_t lee_io_getline(struct lee_io_string *line, size_t *capacity, struct lee_file *f) {
    return lee_io_getdelim(line, capacity, '\n', f);
}

void lee_io_perror(const char *s) {
    int why = errno;
    const char *colon = s != NULL && *s != '\0' ? ": " : "";
    lee_io_fprintf(lee_io_stderr(), "%s%s%m\n", s != NULL ? s : "", colon);
    errno = why;
}
