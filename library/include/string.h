/* Memory blocks and strings. library/README.md says what the attributes mean. */
#ifndef LEE_STRING_H
#define LEE_STRING_H

#include <stddef.h>
#include <strings.h>

/* Blocks. memcpy may overlap: it is memmove. */
[[lee::into(dst)]] [[lee::copies(dst, src)]] trusted void *memcpy(void *counted_by(n) dst, const void *counted_by(n) src, size_t n)
    __asm__("memmove");
[[lee::into(dst)]] [[lee::copies(dst, src)]] trusted void *memmove(void *counted_by(n) dst, const void *counted_by(n) src, size_t n);
[[lee::into(dst)]] trusted void *memccpy(void *counted_by(n) dst, const void *counted_by(n) src, int c, size_t n);
[[lee::into(p)]] [[lee::fills(p, c)]] trusted void *memset(void *counted_by(n) p, int c, size_t n);
trusted void explicit_bzero(void *counted_by(n) p, size_t n);
trusted int memcmp(const void *counted_by(n) a, const void *counted_by(n) b, size_t n);
[[lee::into(p)]] trusted void *memchr(const void *counted_by(n) p, int c, size_t n);
[[lee::into(p)]] trusted void *memrchr(const void *counted_by(n) p, int c, size_t n);
[[lee::into(p)]] trusted void *memmem(const void *counted_by(n) p, size_t n, const void *counted_by(m) what, size_t m);

/* Reading strings */
trusted size_t strlen(const char *s);
trusted size_t strnlen([[lee::at_most(n)]] const char *s, size_t n);
trusted int strcmp(const char *a, const char *b);
trusted int strncmp([[lee::at_most(n)]] const char *a, [[lee::at_most(n)]] const char *b, size_t n);
trusted int strcoll(const char *a, const char *b) __asm__("strcmp");
trusted int strverscmp(const char *a, const char *b);
[[lee::into(s)]] trusted char *strchr(const char *s, int c);
[[lee::into(s)]] trusted char *strrchr(const char *s, int c);
[[lee::into(s)]] trusted char *strchrnul(const char *s, int c);
[[lee::into(s)]] trusted char *strstr(const char *s, const char *what);
[[lee::into(s)]] trusted char *strcasestr(const char *s, const char *what);
[[lee::into(s)]] trusted char *strpbrk(const char *s, const char *set);
trusted size_t strspn(const char *s, const char *set);
trusted size_t strcspn(const char *s, const char *set);

/* Writing strings */
[[lee::into(dst)]] trusted char *strcpy(char *fat dst, const char *s) __asm__("lee_strcpy");
[[lee::into(dst)]] trusted char *stpcpy(char *fat dst, const char *s) __asm__("lee_stpcpy");
[[lee::into(dst)]] trusted char *strcat(char *fat dst, const char *s) __asm__("lee_strcat");
[[lee::into(dst)]] trusted char *strncat(char *fat dst, [[lee::at_most(n)]] const char *s, size_t n) __asm__("lee_strncat");
[[lee::into(dst)]] trusted char *strncpy(char *counted_by(n) dst, [[lee::at_most(n)]] const char *s, size_t n) __asm__("lee_strncpy");
trusted size_t strlcpy(char *counted_by(n) dst, const char *s, size_t n) __asm__("lee_strlcpy");
trusted size_t strlcat(char *counted_by(n) dst, const char *s, size_t n) __asm__("lee_strlcat");
[[lee::advances(save, s)]] trusted char *strtok_r(char *null_terminated s, const char *delimiters, char **save)
    __asm__("lee_strtok_r");
[[lee::advances(s)]] trusted char *strsep(char **s, const char *delimiters) __asm__("lee_strsep");

/* New strings */
trusted char *fat null_terminated unique strdup(const char *s) __asm__("lee_strdup") __attribute__((malloc));
trusted char *fat null_terminated unique strndup([[lee::at_most(n)]] const char *s, size_t n) __asm__("lee_strndup") __attribute__((malloc));
trusted const char *nonnull strerror(int number) __asm__("lee_strerror");
trusted const char *nonnull strsignal(int number) __asm__("lee_strsignal");
[[lee::terminates(buffer)]] trusted int strerror_r(int number, char *counted_by(n) buffer, size_t n) __asm__("lee_strerror_r");

#endif
