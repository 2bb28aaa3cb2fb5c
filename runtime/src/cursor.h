/* cursor.h: reading binary data that may be damaged.
 *
 * Promises: no read outside [at, end). A read that does not fit gives 0, and moves the cursor to
 * its end and marks it as failed, so that a reader may check once after several reads. Both targets
 * are little-endian, and so is what they read here. */
#ifndef LEE_CURSOR_H
#define LEE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct lee_cursor {
    const uint8_t *at, *end;
    bool failed;
};

static inline struct lee_cursor lee_cursor_over(const uint8_t *data, size_t size) {
    return (struct lee_cursor){.at = data, .end = data == NULL ? NULL : data + size};
}

static inline size_t lee_cursor_left(const struct lee_cursor *cursor) {
    return (size_t)(cursor->end - cursor->at);
}

static inline void lee_cursor_fail(struct lee_cursor *cursor) {
    cursor->failed = true;
    cursor->at = cursor->end;
}

/* The next `size` bytes as a cursor of their own; this one goes on behind them. */
static inline struct lee_cursor lee_cursor_take(struct lee_cursor *cursor, uint64_t size) {
    if (size > lee_cursor_left(cursor)) {
        lee_cursor_fail(cursor);
        return (struct lee_cursor){.at = cursor->end, .end = cursor->end, .failed = true};
    }
    struct lee_cursor part = {.at = cursor->at, .end = cursor->at};
    if (size > 0) /* an empty cursor may be at null, to which nothing is added */
        part.end = cursor->at += size;
    return part;
}

/* A number of `size` bytes, at most 8. */
static inline uint64_t lee_cursor_number(struct lee_cursor *cursor, size_t size) {
    uint64_t number = 0;
    if (size > sizeof number || size > lee_cursor_left(cursor)) {
        lee_cursor_fail(cursor);
        return 0;
    }
    memcpy(&number, cursor->at, size);
    cursor->at += size;
    return number;
}

static inline uint8_t lee_cursor_byte(struct lee_cursor *cursor) {
    if (cursor->at == cursor->end) {
        cursor->failed = true;
        return 0;
    }
    return *cursor->at++;
}

/* LEB128. Bits beyond 64 are dropped. */
static inline uint64_t lee_cursor_unsigned(struct lee_cursor *cursor) {
    uint64_t number = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = lee_cursor_byte(cursor);
        if (shift < 64)
            number |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    return number;
}

static inline int64_t lee_cursor_signed(struct lee_cursor *cursor) {
    uint64_t number = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = lee_cursor_byte(cursor);
        if (shift < 64)
            number |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    if (shift < 64 && (byte & 0x40))
        number |= UINT64_MAX << shift;
    return (int64_t)number;
}

/* A zero-terminated string; "" if there is none. */
static inline const char *lee_cursor_string(struct lee_cursor *cursor) {
    const char *string = (const char *)cursor->at;
    const void *zero = lee_cursor_left(cursor) == 0 ? NULL : memchr(string, 0, lee_cursor_left(cursor));
    if (zero == NULL) {
        lee_cursor_fail(cursor);
        return "";
    }
    cursor->at = (const uint8_t *)zero + 1;
    return string;
}

/* The string at `offset`; "" if there is none. Leaves the cursor as it is. */
static inline const char *lee_cursor_string_at(const struct lee_cursor *cursor, uint64_t offset) {
    struct lee_cursor rest = *cursor;
    lee_cursor_take(&rest, offset);
    return lee_cursor_string(&rest);
}

#endif
