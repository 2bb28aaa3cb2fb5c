/* scanf: what ours stores, returns and leaves unread must be what libc's does. */
#define _GNU_SOURCE

#include "check.h"

#include <lee/fault.h>
#include <lee/io.h>

struct sample {
    const char *format, *input;
};

/* Each format stores at most three things, each of at most 32 bytes. */
static const struct sample samples[] = {
    {"%d", "42"}, {"%d", "  -42x"}, {"%d", "+7"}, {"%d", "x"}, {"%d", ""}, {"%d", "   "}, {"%d", "-"}, {"%d", "99999999999"},
    {"%d", "-99999999999999999999999"}, {"%ld", "9223372036854775808"}, {"%lu", "-1"}, {"%u", "-1"}, {"%lu", "99999999999999999999"},
    {"%hd", "70000"}, {"%hhd", "300"}, {"%hhu", "300"}, {"%lld", "123456789012345"}, {"%zu", "77"}, {"%jd", "-5"}, {"%td", "6"},
    {"%i", "0x1F"}, {"%i", "017"}, {"%i", "19"}, {"%i", "08"}, {"%i", "0"}, {"%x", "0xfFg"}, {"%x", "ff"}, {"%X", "-0x10"},
    {"%o", "0789"}, {"%o", "778"}, {"%p", "0x1234"}, {"%3d%d", "12345"}, {"%1d%1d%1d", "123"}, 
    {"%d,%d", "1,2"}, {"%d,%d", "1, 2"}, {"%d,%d", "1 ,2"}, {"%d , %d", "1  ,2"}, {"%d%%%d", "5%6"}, {"%d %% %d", "5 % 6"},
    {"%*d %d", "1 2"}, {"%*d", "1"}, {"%*d%d", "x"}, {"%d abc %d", "1 abc 2"}, {"%d abc %d", "1 abx 2"}, {"abc", "abc"},
    {"abc%d", "abd"}, {"abc%d", ""}, {" %d", "\n\t 3"}, {"%5s", "hello"}, {"%5s", "helloworld"}, {"%5s%5s", "ab cd"}, {"%5s", "  "},
    {"%5s%d", "abc 12"}, {"%c", "x"}, {"%c", " x"}, {" %c", " x"}, {"%3c", "abcdef"}, {"%c%c%c", "a b"}, {"%c", ""},
    {"%9[abc]", "cabbage"}, {"%9[^,],%9[^,]", "one,two"}, {"%9[a-z]", "xyzA"}, {"%9[]x]", "]x]y"}, {"%9[^]]", "ab]c"},
    {"%9[a-]", "a-b"}, {"%9[-a]", "-a-b"}, {"%9[0-9a-f]%5s", "12afgh"}, {"%9[abc]", "xyz"}, {"%9[ ]%d", "   4"}, {"%*[^\n]%c", "abc\nx"},
    {"%9[^-]-%5s", "ab-cd"}, {"%9[z-a]", "zzz"}, {"%9[%]", "%%"}, {"%f", "3.25"}, {"%f", "-1e3x"}, {"%f", ".5"}, {"%f", "5."},
    {"%f", "."}, {"%f", "inf"}, {"%f", "INFINITY"}, {"%f", "nan"}, {"%f", "infx"},
    {"%f", "in"}, {"%lf", "1.7976931348623157e308"}, {"%lf", "1e999"}, {"%lf", "0x1.8p3"}, {"%Lf", "2.5"},
    {"%4f%f", "3.14159"}, {"%lf %lf", "1 2"}, {"%lf,%lf", "1.5,abc"}, {"%g%5s", "1.5abc"}, {"%e", "-0"}, {"%a", "0x.8"},
    {"%d:%d:%d", "12:34:56"}, {"%d:%d:%d", "12:34"}, {"%d:%d:%d", "12:"}, {"%d-%d-%d", "2026-11-21"}, {"%2d%2d%2d", "010203"},
    {"%5s = %d", "x = 5"}, {"%5s=%d", "x=5"}, {"%d\n", "5\n\n  x"}, {"%d %5s", "5"}, {"%9[^\n]", "\n"},
};

static int last_offset;

static int scan_ours_string(const struct sample *s, char out[3][64]) {
    return lee_io_sscanf(s->input, s->format, out[0], out[1], out[2]);
}

static int scan_theirs_string(const struct sample *s, char out[3][64]) {
    return sscanf(s->input, s->format, out[0], out[1], out[2]);
}

/* Through a file, to see also what stays unread. */
static int scan_ours_file(const struct sample *s, char out[3][64]) {
    struct lee_file *f = lee_io_tmpfile();
    lee_io_fputs(s->input, f);
    lee_io_rewind(f);
    int n = lee_io_fscanf(f, s->format, out[0], out[1], out[2]);
    last_offset = (int)lee_io_ftell(f);
    lee_io_fclose(f);
    return n;
}

static int scan_theirs_file(const struct sample *s, char out[3][64]) {
    FILE *f = tmpfile();
    fputs(s->input, f);
    rewind(f);
    int n = fscanf(f, s->format, out[0], out[1], out[2]);
    last_offset = (int)ftell(f);
    fclose(f);
    return n;
}

typedef int scanner(const struct sample *, char[3][64]);

/* After a mismatch libc may have stored what it read of a string that C says nothing about: only what was counted
 * is compared, and that is in order. */
static void compare(const struct sample *s, scanner *ours, scanner *theirs, bool offsets) {
    _Alignas(16) char a[3][64], b[3][64];
    memset(a, 'z', sizeof a);
    memset(b, 'z', sizeof b);
    int mine = ours(s, a), mine_at = last_offset;
    int other = theirs(s, b), other_at = last_offset;
    bool same = mine == other && (!offsets || mine_at == other_at);
    for (int i = 0; i < mine && i < 3; i++)
        same &= memcmp(a[i], b[i], 32) == 0;
    if (!same) {
        printf("\"%s\" of \"%s\": %d at %d, libc %d at %d\n", s->format, s->input, mine, mine_at, other, other_at);
        check_failures++;
    }
}

/* Where libc takes a prefix of what C asks for, and C says that there is no match. */
static void test_beginnings(void) {
    static const struct sample refused[] = {{"%2x%d", "0x12"}, {"%3c", "ab"}, {"%f", "1e"}, {"%f", "1e+"}, {"%lf", "0x1p"}};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        char out[3][64];
        CHECK(scan_ours_string(&refused[i], out) == 0);
    }
}

static void test_long_number(void) {
    static char text[1001];
    memset(text, '1', 1000);
    double d = 0;
    long n = 0;
    CHECK(lee_io_sscanf(text, "%lf", &d) == 1 && d == strtod(text, NULL));
    CHECK(lee_io_sscanf(text, "%ld", &n) == 1 && n == strtol(text, NULL, 10));
}

/* What is stored may lie in the string that is read, over its zero too: reading ends where the string ended. */
static void test_overlap(void) {
    char text[16] = "ab";
    memset(text + 3, 'q', 12);
    CHECK(lee_io_sscanf(text, "%8c", text + 1) == EOF || true);
    CHECK(lee_io_sscanf(text, "%2c%7s", text + 5, text + 8) >= 1);
    CHECK(text[15] == 0);
}

static void no_width(void *format) {
    char text[8];
    lee_io_sscanf("abc", format, text);
}

int main(void) {
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        compare(&samples[i], scan_ours_string, scan_theirs_string, false);
        compare(&samples[i], scan_ours_file, scan_theirs_file, true);
    }
    test_beginnings();
    test_long_number();
    test_overlap();
    static struct child child;
    static char formats[][8] = {"%s", "%[a]", "%n", "%5ms", "%"};
    for (int i = 0; i < 5; i++) {
        run_child(&child, no_width, formats[i]);
        CHECK(child.status == 134 && check_holds(formats[i], child.output, "fault: format"));
    }
    return check_end();
}
