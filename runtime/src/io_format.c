/* printf and its kin. The conversions are libc's: vsnprintf writes straight into the file's buffer, or, where the
 * result could overlap what is read, into memory of our own first. */
#define _POSIX_C_SOURCE 200809L

#include "io_file.h"

#include <errno.h>
#include <lee/heap.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ON_STACK = 1024 };

/* What a format came to: at `at`, which is `own` or an object of the heap, so that custodians pay for it, and it is not lost when they end
 * the task. */
struct text {
    char *at;
    int length; /* -1: an error */
    char own[ON_STACK];
};

__attribute__((format(printf, 2, 0))) static void format_text(struct text *t, const char *format, va_list args) {
    if (format == NULL)
        lee_fault_null(NULL);
    va_list again;
    va_copy(again, args);
    t->at = t->own;
    t->length = vsnprintf(t->own, sizeof t->own, format, args);
    if (t->length >= (int)sizeof t->own) {
        t->at = lee_heap_try_alloc_plain((size_t)t->length + 1);
        if (t->at == NULL)
            t->length = -1;
        else
            t->length = vsnprintf(t->at, (size_t)t->length + 1, format, again);
    }
    va_end(again);
}

static void free_text(struct text *t) {
    if (t->at != t->own && t->at != NULL)
        lee_heap_free(t->at);
}

int lee_io_vfprintf(struct lee_file *f, const char *format, va_list args) {
    if (!io_start_writing(f))
        return -1;
    if (format == NULL)
        lee_fault_null(NULL);
    size_t room = f->mode == LEE_IO_FULL ? (size_t)(f->wend - f->wpos) : 0;
    va_list again;
    va_copy(again, args);
    if (room > 256) { /* else it is not worth the try */
        int length = vsnprintf((char *)f->wpos, room, format, args);
        if (length < 0 || (size_t)length < room) {
            va_end(again);
            if (length > 0)
                f->wpos += length;
            return length;
        }
    }
    struct text t;
    format_text(&t, format, again);
    va_end(again);
    if (t.length >= 0 && io_write(f, (unsigned char *)t.at, (size_t)t.length) != (size_t)t.length)
        t.length = -1;
    free_text(&t);
    return t.length;
}

int lee_io_vprintf(const char *format, va_list args) {
    return lee_io_vfprintf(lee_io_stdout(), format, args);
}

int lee_io_printf(const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = lee_io_vfprintf(lee_io_stdout(), format, args);
    va_end(args);
    return length;
}

int lee_io_fprintf(struct lee_file *f, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = lee_io_vfprintf(f, format, args);
    va_end(args);
    return length;
}

int lee_io_vdprintf(int fd, const char *format, va_list args) {
    struct text t;
    format_text(&t, format, args);
    for (int done = 0; done < t.length;) {
        ssize_t put = write(fd, t.at + done, (size_t)(t.length - done));
        if (put >= 0)
            done += (int)put;
        else if (errno != EINTR)
            t.length = -1;
    }
    free_text(&t);
    return t.length;
}

int lee_io_dprintf(int fd, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = lee_io_vdprintf(fd, format, args);
    va_end(args);
    return length;
}

/* Through memory of our own: libc writes the result while it still reads arguments, so one that lies in the result
 * could lose its terminator and be read beyond its end. */
int lee_io_vsnprintf(char *s, size_t n, const char *format, va_list args) {
    struct text t;
    format_text(&t, format, args);
    if (n != 0) {
        size_t copied = t.length < 0 ? 0 : (size_t)t.length < n ? (size_t)t.length : n - 1;
        memcpy(s, t.at, copied);
        s[copied] = '\0';
    }
    free_text(&t);
    return t.length;
}

int lee_io_snprintf(char *s, size_t n, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = lee_io_vsnprintf(s, n, format, args);
    va_end(args);
    return length;
}

char *lee_io_vformat(const char *format, va_list args, char **ret_lo, char **ret_hi) {
    struct text t;
    format_text(&t, format, args);
    char *s = NULL;
    size_t length = 0;
    if (t.length >= 0) {
        length = (size_t)t.length;
        s = lee_heap_alloc_array(NULL, t.length, 1, 1);
        memcpy(s, t.at, length);
    }
    free_text(&t);
    *ret_lo = s;
    *ret_hi = s + length;
    return s;
}

/* A result's words stand behind the named parameters, in front of the others. */
char *lee_io_format(const char *format, char **ret_lo, char **ret_hi, ...) {
    va_list args;
    va_start(args, ret_hi);
    char *s = lee_io_vformat(format, args, ret_lo, ret_hi);
    va_end(args);
    return s;
}
