/* Dates as text, and as objects: libc's gmtime, localtime, asctime and ctime return memory that
 * their next call overwrites; here each call has its own. */
#define _GNU_SOURCE

#include "io_library.h"

#include <lee/heap.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct tm *broken_down(const time_t *t, struct tm *(*how)(const time_t *, struct tm *)) {
    if (t == NULL)
        lee_fault_null(NULL);
    struct tm tm;
    if (how(t, &tm) == NULL)
        return NULL;
    struct tm *copy = lee_heap_alloc(NULL, sizeof *copy);
    *copy = tm;
    return copy;
}

struct tm *lee_gmtime(const time_t *t) {
    return broken_down(t, gmtime_r);
}

struct tm *lee_localtime(const time_t *t) {
    return broken_down(t, localtime_r);
}

/* The 26 characters of asctime; libc's own would write more for a year of five digits. */
char *lee_asctime_r(const struct tm *tm, char *buffer) {
    static const char days[] = "SunMonTueWedThuFriSat", months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    if (tm == NULL)
        lee_fault_null(NULL);
    struct tm t = *tm;
    const char *day = t.tm_wday < 0 || t.tm_wday > 6 ? "???" : days + 3 * t.tm_wday;
    const char *month = t.tm_mon < 0 || t.tm_mon > 11 ? "???" : months + 3 * t.tm_mon;
    char text[128];
    snprintf(text, sizeof text, "%.3s %.3s%3d %.2d:%.2d:%.2d %lld\n", day, month, t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec,
             1900 + (long long)t.tm_year);
    lee_strlcpy(buffer, text, 26);
    return buffer;
}

char *lee_ctime_r(const time_t *t, char *buffer) {
    if (t == NULL)
        lee_fault_null(NULL);
    struct tm tm;
    return localtime_r(t, &tm) == NULL ? NULL : lee_asctime_r(&tm, buffer);
}

char *lee_asctime(const struct tm *tm, char **ret_lo, char **ret_hi) {
    char text[26];
    return lee_strdup(lee_asctime_r(tm, text), ret_lo, ret_hi);
}

char *lee_ctime(const time_t *t, char **ret_lo, char **ret_hi) {
    char text[26];
    *ret_lo = *ret_hi = NULL;
    return lee_ctime_r(t, text) == NULL ? NULL : lee_strdup(text, ret_lo, ret_hi);
}

/* Through memory of our own: the format may lie in the buffer. */
size_t lee_strftime(char *s, size_t n, const char *format, const struct tm *tm) {
    if (format == NULL || tm == NULL)
        lee_fault_null(NULL);
    if (n == 0)
        return 0;
    char own[256];
    size_t room = n < sizeof own ? n : sizeof own;
    size_t length = strftime(own, room, format, tm);
    if (length != 0 || room == n) {
        memcpy(s, own, length);
        s[length] = '\0';
        return length;
    }
    char *text = malloc(n);
    if (text == NULL)
        return 0;
    length = strftime(text, n, format, tm);
    memcpy(s, text, length);
    s[length] = '\0';
    free(text);
    return length;
}
