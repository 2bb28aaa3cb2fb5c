/* scanf and its kin over our files and over strings: a scanner of its own, because libc's reads libc's files.
 *
 * As C says: an item is the longest run of characters that is a prefix of what the conversion
 * accepts; the first character after it stays unread; at most one character is ever given back. A
 * `%s` or `%[` without a width has no bound to be checked against, and `%n`, `%m` and wide
 * characters have no checked type: the compiler refuses them, and so does this. */
#include "io_file.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where characters come from. */
struct source {
    struct lee_file *file; /* null: a string */
    const char *string, *end; /* the end is found beforehand: what is stored may lie in the string and lose its zero */
    int width; /* characters that the present item may still take */
};

enum size { SIZE_CHAR, SIZE_SHORT, SIZE_INT, SIZE_LONG, SIZE_LONG_DOUBLE };

/* One conversion of a format. */
struct conversion {
    bool drop; /* `*` */
    int width; /* 0: none given */
    enum size size;
    char kind;
};

/* What became of one conversion. */
enum result { MATCHED, MISMATCHED, ENDED };

/* The characters of a number: at most DIGITS_MOST of the input's. */
struct digits {
    char *at;
    size_t count, room;
    char own[128];
};

static bool is_space(int c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static int next(struct source *s) {
    if (s->file != NULL)
        return lee_io_getc(s->file);
    return s->string == s->end ? EOF : (unsigned char)*s->string++;
}

static void give_back(struct source *s, int c) {
    if (c == EOF)
        return;
    if (s->file != NULL)
        lee_io_ungetc(c, s->file);
    else
        s->string--;
}

/* The next character that the item may have; EOF where its width is used up, and then nothing is given back. */
static int next_of_item(struct source *s) {
    if (s->width == 0)
        return EOF;
    int c = next(s);
    if (c != EOF)
        s->width--;
    return c;
}

static void give_back_of_item(struct source *s, int c) {
    if (c != EOF)
        s->width++;
    give_back(s, c);
}

static void skip_space(struct source *s) {
    int c;
    do
        c = next(s);
    while (is_space(c));
    give_back(s, c);
}

static bool at_end(struct source *s) {
    int c = next(s);
    give_back(s, c);
    return c == EOF;
}

/* Beyond that many, digits no longer change a value that any type has: it is too large, or they are cut off. */
enum { DIGITS_MOST = 1 << 16 };

static void add(struct digits *d, int c) {
    if (d->count == DIGITS_MOST)
        return;
    if (d->count + 1 == d->room) {
        char *more = malloc(d->room * 2);
        if (more == NULL)
            lee_fault_memory(NULL, d->room * 2);
        memcpy(more, d->at, d->count);
        if (d->at != d->own)
            free(d->at);
        d->at = more;
        d->room *= 2;
    }
    d->at[d->count++] = (char)c;
    d->at[d->count] = '\0';
}

static int digit_value(int c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'Z')
        return c - 'A' + 10;
    return 99;
}

/* Takes an integer's characters; false if they are none. `*base` is 0 where the prefix decides. */
static bool take_integer(struct source *s, struct digits *d, int *base) {
    int c = next_of_item(s);
    if (c == '+' || c == '-') {
        add(d, c);
        c = next_of_item(s);
    }
    bool any = false;
    if (c == '0' && (*base == 0 || *base == 16)) {
        any = true;
        add(d, c);
        c = next_of_item(s);
        if (c == 'x' || c == 'X') {
            *base = 16;
            any = false;
            c = next_of_item(s);
        } else if (*base == 0) {
            *base = 8;
        }
    }
    if (*base == 0)
        *base = 10;
    for (; digit_value(c) < *base; c = next_of_item(s)) {
        any = true;
        add(d, c);
    }
    give_back_of_item(s, c);
    return any;
}

/* Takes the letters of `word` in either case as far as they come; true if all of them did. */
static bool take_word(struct source *s, struct digits *d, const char *word) {
    for (; *word != '\0'; word++) {
        int c = next_of_item(s);
        if ((c | 0x20) != *word) {
            give_back_of_item(s, c);
            return false;
        }
        add(d, c);
    }
    return true;
}

/* After `inf` or `nan`: the rest that may follow, `inity` or `(chars)`. It must be whole once it has begun. */
static bool take_word_tail(struct source *s, struct digits *d, bool infinity) {
    int c = next_of_item(s);
    if (infinity ? (c | 0x20) != 'i' : c != '(') {
        give_back_of_item(s, c);
        return true;
    }
    add(d, c);
    if (infinity)
        return take_word(s, d, "nity");
    for (;;) {
        c = next_of_item(s);
        if (c == ')') {
            add(d, c);
            return true;
        }
        if (digit_value(c) == 99 && c != '_') {
            give_back_of_item(s, c);
            return false;
        }
        add(d, c);
    }
}

/* Takes a run of digits, adding to `*any` whether there were some; returns the character after it, taken. */
static int take_digits(struct source *s, struct digits *d, int c, int base, bool *any) {
    for (; digit_value(c) < base; c = next_of_item(s)) {
        *any = true;
        add(d, c);
    }
    return c;
}

/* Takes a floating-point number's characters as strtod accepts them; false if they are none. */
static bool take_number(struct source *s, struct digits *d) {
    int c = next_of_item(s);
    if (c == '+' || c == '-') {
        add(d, c);
        c = next_of_item(s);
    }
    if ((c | 0x20) == 'i' || (c | 0x20) == 'n') {
        bool infinity = (c | 0x20) == 'i';
        add(d, c);
        return take_word(s, d, infinity ? "nf" : "an") && take_word_tail(s, d, infinity);
    }
    int base = 10;
    bool any = false;
    if (c == '0') {
        any = true;
        add(d, c);
        c = next_of_item(s);
        if (c == 'x' || c == 'X') {
            base = 16;
            any = false;
            add(d, c);
            c = next_of_item(s);
        }
    }
    c = take_digits(s, d, c, base, &any);
    if (c == '.') {
        add(d, c);
        c = take_digits(s, d, next_of_item(s), base, &any);
    }
    if (any && (c | 0x20) == (base == 16 ? 'p' : 'e')) {
        any = false;
        add(d, c);
        c = next_of_item(s);
        if (c == '+' || c == '-') {
            add(d, c);
            c = next_of_item(s);
        }
        c = take_digits(s, d, c, 10, &any);
    }
    give_back_of_item(s, c);
    return any;
}

static void store_integer(void *to, enum size size, uintmax_t value) {
    switch (size) {
    case SIZE_CHAR: *(unsigned char *)to = (unsigned char)value; break;
    case SIZE_SHORT: *(unsigned short *)to = (unsigned short)value; break;
    case SIZE_INT: *(unsigned *)to = (unsigned)value; break;
    default: *(unsigned long *)to = value; break;
    }
}

static enum result scan_integer(struct source *s, const struct conversion *c, void *to) {
    struct digits d = {.room = sizeof d.own};
    d.at = d.own;
    d.own[0] = '\0';
    int base = c->kind == 'i' ? 0 : c->kind == 'o' ? 8 : strchr("xXp", c->kind) ? 16 : 10;
    bool matched = take_integer(s, &d, &base);
    if (matched && to != NULL) {
        bool is_signed = c->kind == 'd' || c->kind == 'i';
        store_integer(to, c->size, is_signed ? (uintmax_t)strtoimax(d.at, NULL, base) : strtoumax(d.at, NULL, base));
    }
    if (d.at != d.own)
        free(d.at);
    return matched ? MATCHED : MISMATCHED;
}

static enum result scan_number(struct source *s, const struct conversion *c, void *to) {
    struct digits d = {.room = sizeof d.own};
    d.at = d.own;
    d.own[0] = '\0';
    bool matched = take_number(s, &d);
    if (matched && to != NULL) {
        if (c->size == SIZE_LONG_DOUBLE)
            *(long double *)to = strtold(d.at, NULL);
        else if (c->size == SIZE_LONG)
            *(double *)to = strtod(d.at, NULL);
        else
            *(float *)to = strtof(d.at, NULL);
    }
    if (d.at != d.own)
        free(d.at);
    return matched ? MATCHED : MISMATCHED;
}

static enum result scan_characters(struct source *s, char *to) {
    while (s->width > 0) {
        int c = next_of_item(s);
        if (c == EOF)
            return MISMATCHED;
        if (to != NULL)
            *to++ = (char)c;
    }
    return MATCHED;
}

/* The characters that `%[` accepts: `set` of 256 flags. Returns the format behind the closing bracket. */
static const char *read_set(const char *format, bool set[256]) {
    bool inverted = *format == '^';
    format += inverted;
    memset(set, inverted, 256);
    const char *start = format;
    for (; *format != '\0' && (*format != ']' || format == start); format++) {
        unsigned char from = (unsigned char)*format, to = from;
        if (format[1] == '-' && format[2] != ']' && format[2] != '\0' && (unsigned char)format[2] >= from) {
            to = (unsigned char)format[2];
            format += 2;
        }
        memset(set + from, !inverted, (size_t)(to - from) + 1);
    }
    return *format == ']' ? format + 1 : format;
}

static enum result scan_string(struct source *s, const bool *set, char *to) {
    bool any = false;
    int c;
    while ((c = next_of_item(s)) != EOF && set[c]) {
        any = true;
        if (to != NULL)
            *to++ = (char)c;
    }
    give_back_of_item(s, c);
    if (any && to != NULL)
        *to = '\0';
    return any ? MATCHED : MISMATCHED;
}

/* Reads what stands between `%` and the conversion's letter. */
static const char *read_conversion(const char *format, struct conversion *c) {
    *c = (struct conversion){.size = SIZE_INT};
    if (*format == '*') {
        c->drop = true;
        format++;
    }
    for (; *format >= '0' && *format <= '9'; format++)
        if (__builtin_mul_overflow(c->width, 10, &c->width) || __builtin_add_overflow(c->width, *format - '0', &c->width))
            c->width = INT_MAX / 16; /* more than any buffer that passed the compiler's check */
    switch (*format) {
    case 'h': c->size = format[1] == 'h' ? SIZE_CHAR : SIZE_SHORT, format += format[1] == 'h' ? 2 : 1; break;
    case 'l': c->size = SIZE_LONG, format += format[1] == 'l' ? 2 : 1; break;
    case 'q': /* glibc's `ll` */
    case 'Z': /* and `z` */
    case 'j':
    case 'z':
    case 't': format++, c->size = SIZE_LONG; break;
    case 'L': format++, c->size = SIZE_LONG_DOUBLE; break;
    default: break;
    }
    c->kind = *format;
    if (c->kind == 'p')
        c->size = SIZE_LONG;
    return *format == '\0' ? format : format + 1;
}

static enum result scan_item(struct source *s, const struct conversion *c, const bool *set, void *to) {
    if (at_end(s))
        return ENDED;
    switch (c->kind) {
    case 'd': case 'i': case 'o': case 'u': case 'x': case 'X': case 'p': return scan_integer(s, c, to);
    case 'a': case 'e': case 'f': case 'g': case 'A': case 'E': case 'F': case 'G': return scan_number(s, c, to);
    case 'c': return scan_characters(s, to);
    default: return scan_string(s, set, to);
    }
}

static const char known[] = "diouxXpaefgAEFGcs[";

/* One conversion from `*format` on. `*stored` counts what was stored. */
static enum result scan_conversion(struct source *s, const char **format, va_list *args, int *stored) {
    struct conversion c;
    *format = read_conversion(*format, &c);
    if (c.kind == '%') {
        skip_space(s);
        int found = next(s);
        if (found == '%')
            return MATCHED;
        give_back(s, found);
        return found == EOF ? ENDED : MISMATCHED;
    }
    if (c.kind == '\0' || strchr(known, c.kind) == NULL)
        lee_fault_message(NULL, "format: a conversion that scanf does not have here");
    bool set[256];
    if (c.kind == '[') {
        *format = read_set(*format, set);
    } else if (c.kind == 's') {
        for (int i = 0; i < 256; i++)
            set[i] = !is_space(i);
    }
    if (!c.drop && c.width == 0 && (c.kind == 's' || c.kind == '['))
        lee_fault_message(NULL, "format: %s and %[ need a width");
    void *to = NULL;
    if (!c.drop) {
        to = va_arg(*args, void *);
        if (to == NULL)
            lee_fault_null(NULL);
    }
    if (c.kind != 'c' && c.kind != '[')
        skip_space(s);
    s->width = c.width != 0 ? c.width : c.kind == 'c' ? 1 : INT_MAX;
    enum result result = scan_item(s, &c, set, to);
    if (result == MATCHED && !c.drop)
        ++*stored;
    return result;
}

static int scan(struct source *s, const char *format, va_list given) {
    if (format == NULL)
        lee_fault_null(NULL);
    va_list args;
    va_copy(args, given);
    int stored = 0;
    bool any = false;
    enum result result = MATCHED;
    while (*format != '\0' && result == MATCHED) {
        unsigned char f = (unsigned char)*format++;
        if (is_space(f)) {
            skip_space(s);
        } else if (f == '%') {
            result = scan_conversion(s, &format, &args, &stored);
            any |= result == MATCHED && format[-1] != '%';
        } else {
            int c = next(s);
            result = c == f ? MATCHED : c == EOF ? ENDED : MISMATCHED;
            if (result == MISMATCHED)
                give_back(s, c);
        }
    }
    va_end(args);
    return result == ENDED && !any ? EOF : stored;
}

int lee_io_vfscanf(struct lee_file *f, const char *format, va_list args) {
    io_check(f);
    return scan(&(struct source){.file = f}, format, args);
}

int lee_io_vsscanf(const char *s, const char *format, va_list args) {
    if (s == NULL)
        lee_fault_null(NULL);
    return scan(&(struct source){.string = s, .end = s + strlen(s)}, format, args);
}

int lee_io_vscanf(const char *format, va_list args) {
    return lee_io_vfscanf(lee_io_stdin(), format, args);
}

int lee_io_scanf(const char *format, ...) {
    va_list args;
    va_start(args, format);
    int stored = lee_io_vfscanf(lee_io_stdin(), format, args);
    va_end(args);
    return stored;
}

int lee_io_fscanf(struct lee_file *f, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int stored = lee_io_vfscanf(f, format, args);
    va_end(args);
    return stored;
}

int lee_io_sscanf(const char *s, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int stored = lee_io_vsscanf(s, format, args);
    va_end(args);
    return stored;
}
