/* text.h: building a message without memory from anywhere: for reports of faults, also inside
 * signal handlers.
 *
 * Promises: never writes beyond its bytes; what does not fit is cut off. */
#ifndef LEE_TEXT_H
#define LEE_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct lee_text {
    size_t length;
    char bytes[1024]; /* a long path, a message that names two types */
};

void lee_text_string(struct lee_text *text, const char *string); /* null adds nothing */
void lee_text_span(struct lee_text *text, const char *bytes, size_t length);
void lee_text_unsigned(struct lee_text *text, uint64_t number);
void lee_text_signed(struct lee_text *text, int64_t number);
void lee_text_address(struct lee_text *text, uint64_t address); /* as 0x... */

/* On standard error, whole, whatever interrupts. */
void lee_text_write(const struct lee_text *text);

#endif
