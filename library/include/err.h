/* BSD's messages on standard error, headed by the program's name. */
#ifndef LEE_ERR_H
#define LEE_ERR_H

#include <stdarg.h>

trusted void err(int status, const char *format, ...)
    __asm__("lee_err") __attribute__((noreturn)) __attribute__((format(printf, 2, 3)));
trusted void errx(int status, const char *format, ...)
    __asm__("lee_errx") __attribute__((noreturn)) __attribute__((format(printf, 2, 3)));
[[lee::leaf]] [[lee::waits]] trusted void warn(const char *format, ...) __asm__("lee_warn") __attribute__((format(printf, 1, 2)));
[[lee::leaf]] [[lee::waits]] trusted void warnx(const char *format, ...) __asm__("lee_warnx") __attribute__((format(printf, 1, 2)));
trusted void verr(int status, const char *format, va_list args)
    __asm__("lee_verr") __attribute__((noreturn)) __attribute__((format(printf, 2, 0)));
trusted void verrx(int status, const char *format, va_list args)
    __asm__("lee_verrx") __attribute__((noreturn)) __attribute__((format(printf, 2, 0)));
[[lee::leaf]] [[lee::waits]] trusted void vwarn(const char *format, va_list args) __asm__("lee_vwarn") __attribute__((format(printf, 1, 0)));
[[lee::leaf]] [[lee::waits]] trusted void vwarnx(const char *format, va_list args) __asm__("lee_vwarnx") __attribute__((format(printf, 1, 0)));

#endif
