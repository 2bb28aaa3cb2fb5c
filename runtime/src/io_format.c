/* printf and its kin. The conversions are libc's: vsnprintf writes straight into the file's buffer, or, where the
 * result could overlap what is read, into memory of our own first. */
#define _POSIX_C_SOURCE 200809L

#include "errno_here.h"
#include "foreign_stack.h"
#include "io_file.h"
#include "io_library.h"
#include "task.h"

#include <lee/foreign.h>
#include <lee/heap.h>
#include <limits.h>
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

/* What libc takes for a conversion is in proportion to its width and precision, and charged to nobody: this is the most of both. A string's
 * precision is only a bound. */
enum { FIELD_MOST = 1 << 20 };

/* `*`, or digits; false if the number is more than a conversion may have. */
static bool read_number(const char **at, va_list *args, long *number) {
    *number = 0;
    if (**at == '*') {
        *number = va_arg(*args, int);
        ++*at;
    }
    for (; **at >= '0' && **at <= '9'; ++*at)
        *number = *number > FIELD_MOST ? *number : *number * 10 + (**at - '0');
    return *number <= FIELD_MOST && *number >= -FIELD_MOST;
}

/* Whether no conversion has a width or precision that takes more memory than that. The compiler checked that arguments and conversions
 * agree; at a conversion that it does not know, which only foreign code can give, what follows is not read. */
static bool is_bounded(const char *format, va_list args) {
    int digits = 0;
    const char *place = format;
    for (; *place != '\0' && *place != '*' && digits < 7; place++)
        digits = *place >= '0' && *place <= '9' ? digits + 1 : 0;
    if (*place == '\0' && digits < 7)
        return true; /* most formats have no such number */
    va_list at;
    va_copy(at, args);
    bool bounded = true;
    while (bounded && (format = strchr(format, '%')) != NULL) {
        format += 1 + strspn(format + 1, "-+ #0'I");
        long width, precision = 0;
        bounded = read_number(&format, &at, &width);
        if (*format == '$')
            break;
        bool fits = true;
        if (*format == '.') {
            format++;
            fits = read_number(&format, &at, &precision);
        }
        int longs = 0;
        for (; *format != '\0' && strchr("hljztqLZ", *format) != NULL; format++)
            longs += *format == 'L' ? 16 : strchr("ljztqZ", *format) != NULL;
        char kind = *format;
        if (kind == '\0' || (kind == 'l' && longs == 0))
            break;
        format++;
        bounded = bounded && (fits || kind == 's');
        if (strchr("diuoxXbBc", kind) != NULL) {
            if (longs != 0)
                (void)va_arg(at, long);
            else
                (void)va_arg(at, int);
        } else if (strchr("aAeEfFgG", kind) != NULL) {
            if (longs >= 16)
                (void)va_arg(at, long double);
            else
                (void)va_arg(at, double);
        } else if (kind == 's' || kind == 'p') {
            (void)va_arg(at, void *);
        } else if (kind != '%') {
            break;
        }
    }
    va_end(at);
    return bounded;
}

/* A call of vsnprintf on another stack. */
struct conversion {
    char *to;
    size_t room;
    const char *format;
    va_list args;
    int length;
};

static void run_conversion(void *argument) {
    struct conversion *job = argument;
    job->length = vsnprintf(job->to, job->room, job->format, job->args);
}

/* libc's vsnprintf, within bounds of what it allocates, where it may take 80 KB of stack. */
__attribute__((format(printf, 3, 0))) static int convert(char *to, size_t room, const char *format, va_list args) {
    if (!is_bounded(format, args)) {
        errno = EOVERFLOW;
        return -1;
    }
    if (!lee_on_task_stack)
        return vsnprintf(to, room, format, args);
    struct conversion job = {.to = to, .room = room, .format = format};
    va_copy(job.args, args);
    lee_foreign_run(run_conversion, &job);
    va_end(job.args);
    return job.length;
}

/* The string that is all that the format wants, `%s` or `%s\n`, if it is long: libc would go through it up to three times. Else null. */
static const char *long_string(const char *format, va_list args, size_t *length) {
    if (strcmp(format, "%s") != 0 && strcmp(format, "%s\n") != 0)
        return NULL;
    va_list at;
    va_copy(at, args);
    const char *s = va_arg(at, const char *);
    va_end(at);
    *length = s == NULL ? 0 : strlen(s);
    return *length >= ON_STACK && *length < INT_MAX ? s : NULL;
}

__attribute__((format(printf, 2, 0))) static void format_text(struct text *t, const char *format, va_list args) {
    if (format == NULL)
        lee_fault_null(NULL);
    size_t n;
    const char *whole = long_string(format, args, &n);
    if (whole != NULL) {
        size_t end = format[2] == '\n';
        t->at = lee_heap_try_alloc_plain(n + end + 1);
        t->length = t->at == NULL ? -1 : (int)(n + end);
        if (t->at != NULL) {
            memcpy(t->at, whole, n);
            memcpy(t->at + n, format + 2, end + 1);
        }
        return;
    }
    va_list again;
    va_copy(again, args);
    t->at = t->own;
    t->length = convert(t->own, sizeof t->own, format, args);
    if (t->length >= (int)sizeof t->own) {
        t->at = lee_heap_try_alloc_plain((size_t)t->length + 1);
        if (t->at == NULL)
            t->length = -1;
        else
            t->length = convert(t->at, (size_t)t->length + 1, format, again);
    }
    va_end(again);
}

static void free_text(struct text *t) {
    if (t->at != t->own && t->at != NULL)
        lee_heap_free(t->at);
}

int lee_io_vfprintf(struct lee_file *f, const char *format, va_list args) {
    io_check(f);
    bool later = f->use != NULL; /* another task is in the middle of a call: what the arguments point to is read before this one waits */
    if (!later && !io_start_writing(f))
        return -1;
    if (format == NULL)
        lee_fault_null(NULL);
    size_t room = !later && f->mode == LEE_IO_FULL ? (size_t)(f->wend - f->wpos) : 0;
    va_list again;
    va_copy(again, args);
    size_t n;
    if (room > 256 && long_string(format, args, &n) == NULL) { /* else it is not worth the try */
        int length = convert((char *)f->wpos, room, format, args);
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
    if (later && !io_start_writing(f)) {
        free_text(&t);
        return -1;
    }
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

int io_say(struct lee_file *f, const char *name, const char *format, va_list args, const char *why) {
    if (format == NULL)
        return lee_io_fprintf(f, "%s: %s\n", name, why != NULL ? why : "");
    struct text t;
    format_text(&t, format, args);
    int length = t.length < 0 ? -1 : lee_io_fprintf(f, "%s: %s%s%s\n", name, t.at, why != NULL ? ": " : "", why != NULL ? why : "");
    free_text(&t);
    return length;
}

int lee_io_vdprintf(int fd, const char *format, va_list args) {
    struct text t;
    format_text(&t, format, args);
    for (int done = 0; done < t.length;) {
        ssize_t put = lee_write(fd, t.at + done, (size_t)(t.length - done));
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
    lee_task_end_slice();
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
    lee_task_end_slice();
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
