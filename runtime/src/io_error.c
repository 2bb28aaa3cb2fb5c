/* err, warn and their kin. */
#define _GNU_SOURCE

#include "errno_here.h"
#include "io_file.h"
#include "io_library.h"

#include <stdlib.h>

/* If `number` is not 0, what that error means stands at the end. */
__attribute__((format(printf, 2, 0))) static void report(int number, const char *format, va_list args) {
    io_say(lee_io_stderr(), program_invocation_short_name, format, args, number != 0 ? lee_strerror(number) : NULL);
}

void lee_vwarn(const char *format, va_list args) {
    int number = errno;
    report(number, format, args);
    errno = number;
}

void lee_vwarnx(const char *format, va_list args) {
    report(0, format, args);
}

_Noreturn void lee_verr(int status, const char *format, va_list args) {
    report(errno, format, args);
    exit(status);
}

_Noreturn void lee_verrx(int status, const char *format, va_list args) {
    report(0, format, args);
    exit(status);
}

void lee_warn(const char *format, ...) {
    va_list args;
    va_start(args, format);
    lee_vwarn(format, args);
    va_end(args);
}

void lee_warnx(const char *format, ...) {
    va_list args;
    va_start(args, format);
    lee_vwarnx(format, args);
    va_end(args);
}

_Noreturn void lee_err(int status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    lee_verr(status, format, args);
}

_Noreturn void lee_errx(int status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    lee_verrx(status, format, args);
}
