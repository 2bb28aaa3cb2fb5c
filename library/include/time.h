/* Dates and clocks. gmtime and localtime return a new object at each call, asctime and ctime a new string. */
#ifndef LEE_TIME_H
#define LEE_TIME_H

#include_next <time.h>

[[lee::leaf]] trusted time_t time(time_t *now);
[[lee::leaf]] trusted clock_t clock(void);
[[lee::leaf]] trusted double difftime(time_t a, time_t b);
[[lee::leaf]] trusted time_t mktime(struct tm *tm);
[[lee::leaf]] trusted time_t timegm(struct tm *tm);
[[lee::leaf]] trusted time_t timelocal(struct tm *tm) __asm__("mktime");
[[lee::leaf]] trusted struct tm *gmtime(const time_t *t) __asm__("lee_gmtime");
[[lee::leaf]] trusted struct tm *localtime(const time_t *t) __asm__("lee_localtime");
[[lee::leaf]] [[lee::into(tm)]] trusted struct tm *gmtime_r(const time_t *t, struct tm *tm);
[[lee::leaf]] [[lee::into(tm)]] trusted struct tm *localtime_r(const time_t *t, struct tm *tm);
[[lee::leaf]] [[lee::terminates(s)]] trusted size_t strftime(char *counted_by(n) s, size_t n, const char *format, const struct tm *tm) __asm__("lee_strftime");
[[lee::leaf]] [[lee::into(s)]] trusted char *strptime(const char *s, const char *format, struct tm *tm);
[[lee::leaf]] trusted char *fat null_terminated asctime(const struct tm *tm) __asm__("lee_asctime");
[[lee::leaf]] trusted char *fat null_terminated ctime(const time_t *t) __asm__("lee_ctime");
[[lee::leaf]] [[lee::into(s)]] trusted char *asctime_r(const struct tm *tm, char *counted_by(26) s) __asm__("lee_asctime_r");
[[lee::leaf]] [[lee::into(s)]] trusted char *ctime_r(const time_t *t, char *counted_by(26) s) __asm__("lee_ctime_r");

trusted int nanosleep(const struct timespec *wanted, struct timespec *left) __asm__("lee_nanosleep");
[[lee::leaf]] trusted int clock_gettime(clockid_t clock, struct timespec *now);
[[lee::leaf]] trusted int clock_getres(clockid_t clock, struct timespec *resolution);
[[lee::leaf]] trusted int clock_settime(clockid_t clock, const struct timespec *now);
trusted int clock_nanosleep(clockid_t clock, int flags, const struct timespec *wanted, struct timespec *left) __asm__("lee_clock_nanosleep");
[[lee::leaf]] trusted int timespec_get(struct timespec *now, int base);

#endif
