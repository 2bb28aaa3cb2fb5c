/* text.c: see text.h. */
#include "text.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

void lee_text_span(struct lee_text *text, const char *bytes, size_t length) {
    size_t left = sizeof text->bytes - text->length;
    if (length > left)
        length = left;
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
}

void lee_text_string(struct lee_text *text, const char *string) {
    if (string != NULL)
        lee_text_span(text, string, strlen(string));
}

static void add_digits(struct lee_text *text, uint64_t number, unsigned base) {
    char digits[20]; /* of the largest number, in base 10 */
    size_t at = sizeof digits;
    do {
        digits[--at] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number != 0);
    lee_text_span(text, digits + at, sizeof digits - at);
}

void lee_text_unsigned(struct lee_text *text, uint64_t number) {
    add_digits(text, number, 10);
}

void lee_text_signed(struct lee_text *text, int64_t number) {
    if (number < 0)
        lee_text_string(text, "-");
    add_digits(text, number < 0 ? 0 - (uint64_t)number : (uint64_t)number, 10);
}

void lee_text_address(struct lee_text *text, uint64_t address) {
    lee_text_string(text, "0x");
    add_digits(text, address, 16);
}

void lee_text_write(const struct lee_text *text) {
    size_t done = 0;
    while (done < text->length) {
        ssize_t wrote = write(STDERR_FILENO, text->bytes + done, text->length - done);
        if (wrote > 0)
            done += (size_t)wrote;
        else if (wrote == 0 || errno != EINTR)
            return;
    }
}
