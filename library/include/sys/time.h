/* Time of day. */
#ifndef LEE_SYS_TIME_H
#define LEE_SYS_TIME_H

#include_next <sys/time.h>

trusted int gettimeofday(struct timeval *now, void *counted_by(0) zone) __asm__("lee_gettimeofday");
trusted int utimes(const char *path, [[lee::optional]] const struct timeval *counted_by(2) times);
trusted int lutimes(const char *path, [[lee::optional]] const struct timeval *counted_by(2) times);
trusted int futimes(int fd, [[lee::optional]] const struct timeval *counted_by(2) times) __asm__("lee_futimes");
trusted int setitimer(int which, const struct itimerval *wanted, struct itimerval *before) __asm__("lee_setitimer");
trusted int getitimer(int which, struct itimerval *now);

#endif
