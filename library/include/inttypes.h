/* Formats and conversions of the widest integers. */
#ifndef LEE_INTTYPES_H
#define LEE_INTTYPES_H

#include_next <inttypes.h>

static inline intmax_t lee_imaxabs(intmax_t n) { return n < 0 ? -n : n; }
static inline imaxdiv_t lee_imaxdiv(intmax_t a, intmax_t b) { return (imaxdiv_t){ a / b, a % b }; }
#define imaxabs lee_imaxabs
#define imaxdiv lee_imaxdiv
[[lee::leaf]] [[lee::end_into(s, end)]] trusted intmax_t strtoimax(const char *s, char **end, int base) __asm__("lee_strtol");
[[lee::leaf]] [[lee::end_into(s, end)]] trusted uintmax_t strtoumax(const char *s, char **end, int base) __asm__("lee_strtoul");

#endif
