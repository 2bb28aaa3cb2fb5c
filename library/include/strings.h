/* BSD's additions to <string.h>. */
#ifndef LEE_STRINGS_H
#define LEE_STRINGS_H

#include <stddef.h>

trusted int strcasecmp(const char *a, const char *b);
trusted int strncasecmp([[lee::at_most(n)]] const char *a, [[lee::at_most(n)]] const char *b, size_t n);
trusted int ffs(int i);
trusted int ffsl(long i);
trusted int ffsll(long long i);
[[lee::fills(p)]] trusted void bzero(void *counted_by(n) p, size_t n);
[[lee::copies(dst, src)]] trusted void bcopy(const void *counted_by(n) src, void *counted_by(n) dst, size_t n);
trusted int bcmp(const void *counted_by(n) a, const void *counted_by(n) b, size_t n);
[[lee::into(s)]] trusted char *index(const char *s, int c) __asm__("strchr");
[[lee::into(s)]] trusted char *rindex(const char *s, int c) __asm__("strrchr");

#endif
