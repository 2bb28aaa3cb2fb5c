/* The functions of <string.h> that write where only their caller knows how much room there is, that keep a
 * position between calls, or that hand out memory; and numbers from text. libc's own serve for the rest. */
#define _GNU_SOURCE

#include <lee/heap.h>
#include <lee/io.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The bytes from `d` to its upper bound. */
static size_t room_at(const char *d, const char *lo, const char *hi) {
    if (d == NULL)
        lee_fault_null(NULL);
    size_t have = (size_t)((uintptr_t)hi - (uintptr_t)lo), at = (size_t)((uintptr_t)d - (uintptr_t)lo);
    if (at > have)
        lee_fault_pointer(NULL, d, lo, hi, 1);
    return have - at;
}

/* The length of the string that already stands at `d`. */
static size_t length_within(const char *d, size_t room) {
    size_t length = strnlen(d, room);
    if (length == room)
        lee_fault_string(NULL);
    return length;
}

/* Puts `n` characters of `s` and a zero to `d`, which has `room` bytes. memmove: they may overlap. */
static char *put(char *d, size_t room, const char *s, size_t n) {
    if (n >= room)
        lee_fault_range(NULL, n + 1, room);
    memmove(d, s, n);
    d[n] = '\0';
    return d + n;
}

char *lee_stpcpy(char *d, char *lo, char *hi, const char *s) {
    if (s == NULL)
        lee_fault_null(NULL);
    return put(d, room_at(d, lo, hi), s, strlen(s));
}

char *lee_strcpy(char *d, char *lo, char *hi, const char *s) {
    lee_stpcpy(d, lo, hi, s);
    return d;
}

char *lee_strncat(char *d, char *lo, char *hi, const char *s, size_t n) {
    if (s == NULL && n != 0)
        lee_fault_null(NULL);
    size_t room = room_at(d, lo, hi), length = length_within(d, room);
    put(d + length, room - length, s, n == 0 ? 0 : strnlen(s, n));
    return d;
}

char *lee_strcat(char *d, char *lo, char *hi, const char *s) {
    if (s == NULL)
        lee_fault_null(NULL);
    return lee_strncat(d, lo, hi, s, strlen(s));
}

char *lee_strncpy(char *d, const char *s, size_t n) {
    if (n == 0)
        return d;
    if (s == NULL)
        lee_fault_null(NULL);
    size_t length = strnlen(s, n);
    memmove(d, s, length);
    memset(d + length, 0, n - length);
    return d;
}

char *lee_stpncpy(char *d, const char *s, size_t n) {
    return lee_strncpy(d, s, n) + strnlen(d, n);
}

void *lee_mempcpy(void *d, const void *s, size_t n) {
    return (char *)memmove(d, s, n) + n;
}

void lee_swab(const void *from, void *to, ssize_t n) {
    const unsigned char *a = from;
    unsigned char *b = to;
    for (ssize_t i = 0; i + 1 < n; i += 2) {
        unsigned char first = a[i];
        b[i] = a[i + 1];
        b[i + 1] = first;
    }
}

size_t lee_strlcpy(char *d, const char *s, size_t n) {
    if (s == NULL)
        lee_fault_null(NULL);
    size_t length = strlen(s);
    if (n != 0)
        put(d, n, s, length < n ? length : n - 1);
    return length;
}

size_t lee_strlcat(char *d, const char *s, size_t n) {
    if (s == NULL)
        lee_fault_null(NULL);
    size_t length = n == 0 ? 0 : strnlen(d, n), more = strlen(s);
    if (length < n)
        put(d + length, n - length, s, more < n - length ? more : n - length - 1);
    return length + more;
}

/* A new string object with `length` characters of `s`. Its view has room for the zero, as in C; the
 * hidden zero comes after that. */
static char *new_string(const char *s, size_t length, char **ret_lo, char **ret_hi) {
    char *copy = lee_heap_alloc_array(NULL, (int64_t)length + 1, 1, 1);
    memcpy(copy, s, length);
    *ret_lo = copy;
    *ret_hi = copy + length + 1;
    return copy;
}

char *lee_strdup(const char *s, char **ret_lo, char **ret_hi) {
    if (s == NULL)
        lee_fault_null(NULL);
    return new_string(s, strlen(s), ret_lo, ret_hi);
}

char *lee_strndup(const char *s, size_t n, char **ret_lo, char **ret_hi) {
    if (s == NULL)
        lee_fault_null(NULL);
    return new_string(s, strnlen(s, n), ret_lo, ret_hi);
}

char *lee_strtok_r(char *s, const char *delimiters, char **save) {
    if (delimiters == NULL || save == NULL)
        lee_fault_null(NULL);
    if (s == NULL)
        s = *save;
    if (s == NULL)
        return NULL;
    s += strspn(s, delimiters);
    char *end = s + strcspn(s, delimiters);
    if (end == s) {
        *save = end;
        return NULL;
    }
    bool last = *end == '\0';
    *end = '\0';
    *save = last ? end : end + 1;
    return s;
}

char *lee_strsep(char **s, const char *delimiters) {
    if (s == NULL || delimiters == NULL)
        lee_fault_null(NULL);
    char *start = *s;
    if (start == NULL)
        return NULL;
    char *end = start + strcspn(start, delimiters);
    if (*end == '\0') {
        *s = NULL;
    } else {
        *end = '\0';
        *s = end + 1;
    }
    return start;
}

/* libc has constants for the errors that it knows; for others it needs a buffer, and the answer a
 * string of its own. */
const char *lee_strerror(int number) {
    char own[64], *lo, *hi;
    const char *text = strerror_r(number, own, sizeof own);
    return text == own ? lee_strdup(own, &lo, &hi) : text;
}

const char *lee_strsignal(int number) {
    char *lo, *hi;
    return lee_strdup(strsignal(number), &lo, &hi); /* libc's may be overwritten by its next call */
}

int lee_strerror_r(int number, char *buffer, size_t n) {
    char own[64];
    const char *text = strerror_r(number, own, sizeof own);
    return lee_strlcpy(buffer, text, n) >= n ? ERANGE : text == own ? EINVAL : 0;
}

const char *lee_string_within(const char *s, const char *lo, const char *hi, int precision) {
    if (s == NULL) return NULL;
    if (s < lo || s > hi) lee_fault_pointer(NULL, s, lo, hi, 1);
    size_t room = (size_t)(hi - s);
    if (precision >= 0 && (size_t)precision <= room) return s;
    if (memchr(s, 0, room) == NULL) lee_fault_string(NULL);
    return s;
}

/* strtol and its kin leave `*end` alone if there is no such base: it would still point into the
 * string before. The sanitizers' write something else there, so libc is not asked. */
#define NUMBER(type, name)                                                                                              \
    type lee_##name(const char *s, char **end, int base) {                                                              \
        if (base >= 0 && base != 1 && base <= 36)                                                                       \
            return name(s, end, base);                                                                                  \
        if (end != NULL)                                                                                                \
            *end = (char *)(uintptr_t)s;                                                                                \
        errno = EINVAL;                                                                                                 \
        return 0;                                                                                                       \
    }
NUMBER(long, strtol)
NUMBER(unsigned long, strtoul)
NUMBER(long long, strtoll)
NUMBER(unsigned long long, strtoull)
