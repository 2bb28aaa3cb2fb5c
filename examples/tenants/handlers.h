/* What the tenants' handlers and those who run them agree on. The handlers are read as Leeward and,
 * through <lee/compat.h>, as plain C: host.lee runs them in processes, plain/host.c in threads. */
#ifndef TENANTS_HANDLERS_H
#define TENANTS_HANDLERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <lee/compat.h>

enum { REPLY_MOST = 8192 };

/* What the client gets: `used` bytes. What does not fit is dropped. */
struct reply {
    size_t used;
    char text[REPLY_MOST];
};

/* The handlers. A request is `length` bytes of any content. */

/* Members of a JSON document, one a line, with the names that lead there. */
void json_answer(const char *counted_by(length) body, size_t length, struct reply *nonnull out);
/* `WIDTH HEIGHT`, then an image as text ("P2" of Netpbm): the image, made smaller. */
void image_answer(const char *counted_by(length) body, size_t length, struct reply *nonnull out);
/* Runs a program in a small language, which calc.lee describes. */
void calc_answer(const char *counted_by(length) body, size_t length, struct reply *nonnull out);

/* What the handlers may ask of whoever runs them: services.lee, plain/host.c. */

/* Waits for the rate of a currency; 1 to 9 are known. */
long host_ask(long code);
/* An event for the audit, which reads it when the request has been answered. */
void host_emit(long value);
/* Runs the calculator on the program beside this request; its output is lost. */
void host_fork(const char *counted_by(length) program, size_t length);

static inline void reply_byte(struct reply *nonnull out, char byte) {
    if (out->used < REPLY_MOST)
        out->text[out->used++] = byte;
}

__attribute__((unused)) static inline void reply_number(struct reply *nonnull out, long number) {
    unsigned long left = number < 0 ? 0 - (unsigned long)number : (unsigned long)number;
    char digits[24];
    int count = 0;
    do {
        digits[count++] = (char)('0' + left % 10);
        left /= 10;
    } while (left != 0);
    if (number < 0)
        reply_byte(out, '-');
    while (count > 0)
        reply_byte(out, digits[--count]);
}

#endif
