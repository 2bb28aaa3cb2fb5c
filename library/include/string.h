/* Memory blocks and strings. library/README.md says what the attributes mean. */
#ifndef LEE_STRING_H
#define LEE_STRING_H

#include <stddef.h>
#include <strings.h>

#ifndef __ssize_t_defined
#define __ssize_t_defined
typedef __PTRDIFF_TYPE__ ssize_t;
#endif

/* Blocks. memcpy may overlap: it is memmove. */
[[lee::leaf]] [[lee::into(dst)]] [[lee::copies(dst, src)]] trusted void *memcpy(void *counted_by(n) dst, const void *counted_by(n) src, size_t n)
    __asm__("memmove");
[[lee::leaf]] [[lee::into(dst)]] [[lee::copies(dst, src)]] trusted void *memmove(void *counted_by(n) dst, const void *counted_by(n) src, size_t n);
[[lee::leaf]] [[lee::into(dst)]] trusted void *memccpy(void *counted_by(n) dst, const void *counted_by(n) src, int c, size_t n);
[[lee::leaf]] [[lee::into(p)]] [[lee::fills(p, c)]] trusted void *memset(void *counted_by(n) p, int c, size_t n);
[[lee::leaf]] [[lee::into(dst)]] trusted void *mempcpy(void *counted_by(n) dst, const void *counted_by(n) src, size_t n) __asm__("lee_mempcpy");
[[lee::leaf]] trusted void swab(const void *counted_by(n) from, void *counted_by(n) to, ssize_t n) __asm__("lee_swab");
[[lee::leaf]] trusted void explicit_bzero(void *counted_by(n) p, size_t n);
[[lee::leaf]] trusted int memcmp(const void *counted_by(n) a, const void *counted_by(n) b, size_t n) __attribute__((pure));
[[lee::leaf]] [[lee::into(p)]] trusted void *memchr(const void *counted_by(n) p, int c, size_t n) __attribute__((pure));
[[lee::leaf]] [[lee::into(p)]] trusted void *memrchr(const void *counted_by(n) p, int c, size_t n) __attribute__((pure));
[[lee::leaf]] [[lee::into(p)]] trusted void *memmem(const void *counted_by(n) p, size_t n, const void *counted_by(m) what, size_t m) __attribute__((pure));

/* Reading strings */
[[lee::leaf]] trusted size_t strlen(const char *s) __attribute__((pure));
[[lee::leaf]] trusted size_t strnlen([[lee::at_most(n)]] const char *s, size_t n) __attribute__((pure));
[[lee::leaf]] trusted int strcmp(const char *a, const char *b) __attribute__((pure));
[[lee::leaf]] trusted int strncmp([[lee::at_most(n)]] const char *a, [[lee::at_most(n)]] const char *b, size_t n) __attribute__((pure));
[[lee::leaf]] trusted int strcoll(const char *a, const char *b) __asm__("strcmp") __attribute__((pure));
[[lee::leaf]] trusted int strverscmp(const char *a, const char *b) __attribute__((pure));
[[lee::leaf]] [[lee::into(s)]] trusted char *strchr(const char *s, int c) __attribute__((pure));
[[lee::leaf]] [[lee::into(s)]] trusted char *strrchr(const char *s, int c) __attribute__((pure));
[[lee::leaf]] [[lee::into(s)]] trusted char *strchrnul(const char *s, int c) __attribute__((pure));
[[lee::leaf]] [[lee::into(s)]] trusted char *strstr(const char *s, const char *what) __attribute__((pure));
[[lee::leaf]] [[lee::into(s)]] trusted char *strcasestr(const char *s, const char *what) __attribute__((pure));
[[lee::leaf]] [[lee::into(s)]] trusted char *strpbrk(const char *s, const char *set) __attribute__((pure));
[[lee::leaf]] trusted size_t strspn(const char *s, const char *set) __attribute__((pure));
[[lee::leaf]] trusted size_t strcspn(const char *s, const char *set) __attribute__((pure));

/* Writing strings */
[[lee::leaf]] [[lee::into(dst)]] trusted char *strcpy(char *fat dst, const char *s) __asm__("lee_strcpy");
[[lee::leaf]] [[lee::into(dst)]] trusted char *stpcpy(char *fat dst, const char *s) __asm__("lee_stpcpy");
[[lee::leaf]] [[lee::into(dst)]] trusted char *strcat(char *fat dst, const char *s) __asm__("lee_strcat");
[[lee::leaf]] [[lee::into(dst)]] trusted char *strncat(char *fat dst, [[lee::at_most(n)]] const char *s, size_t n) __asm__("lee_strncat");
[[lee::leaf]] [[lee::into(dst)]] [[lee::cuts(dst)]] trusted char *strncpy(char *counted_by(n) dst, [[lee::at_most(n)]] const char *s, size_t n) __asm__("lee_strncpy");
[[lee::leaf]] [[lee::into(dst)]] [[lee::cuts(dst)]] trusted char *stpncpy(char *counted_by(n) dst, [[lee::at_most(n)]] const char *s, size_t n) __asm__("lee_stpncpy");
[[lee::leaf]] [[lee::terminates(dst)]] trusted size_t strlcpy(char *counted_by(n) dst, const char *s, size_t n) __asm__("lee_strlcpy");
[[lee::leaf]] [[lee::terminates(dst)]] trusted size_t strlcat(char *counted_by(n) dst, const char *s, size_t n) __asm__("lee_strlcat");
[[lee::leaf]] [[lee::advances(save, s)]] trusted char *@r strtok_r(char *null_terminated @r s, const char *delimiters, char *@r *save)
    __asm__("lee_strtok_r");
[[lee::leaf]] [[lee::advances(s)]] trusted char *@r strsep(char *@r *s, const char *delimiters) __asm__("lee_strsep");

/* New strings */
[[lee::leaf]] trusted char *fat null_terminated unique nonnull strdup(const char *s) __asm__("lee_strdup") __attribute__((malloc));
[[lee::leaf]] trusted char *fat null_terminated unique nonnull strndup([[lee::at_most(n)]] const char *s, size_t n) __asm__("lee_strndup") __attribute__((malloc));
[[lee::leaf]] trusted const char *nonnull strerror(int number) __asm__("lee_strerror");
[[lee::leaf]] trusted const char *strerrorname_np(int number);
[[lee::leaf]] trusted const char *strerrordesc_np(int number);
[[lee::leaf]] trusted const char *sigabbrev_np(int number);
[[lee::leaf]] trusted const char *nonnull strsignal(int number) __asm__("lee_strsignal");
[[lee::leaf]] [[lee::terminates(buffer)]] trusted int strerror_r(int number, char *counted_by(n) buffer, size_t n) __asm__("lee_strerror_r");

#endif
