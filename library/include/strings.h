/* BSD's additions to <string.h>. */
#ifndef LEE_STRINGS_H
#define LEE_STRINGS_H

#include <stddef.h>

[[lee::leaf]] trusted int strcasecmp(const char *a, const char *b) __attribute__((pure));
[[lee::leaf]] trusted int strncasecmp([[lee::at_most(n)]] const char *a, [[lee::at_most(n)]] const char *b, size_t n) __attribute__((pure));
[[lee::leaf]] trusted int ffs(int i) __attribute__((pure));
[[lee::leaf]] trusted int ffsl(long i) __attribute__((pure));
[[lee::leaf]] trusted int ffsll(long long i) __attribute__((pure));
[[lee::leaf]] [[lee::fills(p)]] trusted void bzero(void *counted_by(n) p, size_t n);
[[lee::leaf]] [[lee::copies(dst, src)]] trusted void bcopy(const void *counted_by(n) src, void *counted_by(n) dst, size_t n);
[[lee::leaf]] trusted int bcmp(const void *counted_by(n) a, const void *counted_by(n) b, size_t n) __attribute__((pure));
[[lee::leaf]] [[lee::into(s)]] trusted char *index(const char *s, int c) __asm__("strchr") __attribute__((pure));
[[lee::leaf]] [[lee::into(s)]] trusted char *rindex(const char *s, int c) __asm__("strrchr") __attribute__((pure));

#endif
