// Writes n kilobytes in base64 and reads them back, ten times: base64 [N].
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static signed char values[256];

static int encode(char *out, const unsigned char *in, int n) {
    char *o = out;
    while (n >= 3) {
        *o++ = digits[in[0] >> 2];
        *o++ = digits[(in[0] & 3) << 4 | in[1] >> 4];
        *o++ = digits[(in[1] & 15) << 2 | in[2] >> 6];
        *o++ = digits[in[2] & 63];
        in += 3;
        n -= 3;
    }
    if (n > 0) {
        *o++ = digits[in[0] >> 2];
        *o++ = digits[(in[0] & 3) << 4 | (n > 1 ? in[1] >> 4 : 0)];
        *o++ = n > 1 ? digits[(in[1] & 15) << 2] : '=';
        *o++ = '=';
    }
    return (int)(o - out);
}

// The number of bytes, or -1 if the text is none of ours.
static int decode(unsigned char *out, const char *in, int n) {
    unsigned char *o = out;
    for (; n >= 4; n -= 4) {
        int a = values[(unsigned char)*in++], b = values[(unsigned char)*in++];
        int c = values[(unsigned char)*in++], d = values[(unsigned char)*in++];
        if ((a | b) < 0)
            return -1;
        *o++ = (unsigned char)(a << 2 | b >> 4);
        if (c < 0)
            break;
        *o++ = (unsigned char)(b << 4 | c >> 2);
        if (d < 0)
            break;
        *o++ = (unsigned char)(c << 6 | d);
    }
    return (int)(o - out);
}

int main(int argc, char **argv) {
    int n = 1000 * (argc > 1 ? atoi(argv[1]) : 8000);
    unsigned char *bytes = malloc(n), *back = malloc((n + 2) / 3 * 3);
    char *text = malloc((n + 2) / 3 * 4);
    uint32_t seed = 9, sum = 0;
    memset(values, -1, sizeof values);
    for (int i = 0; i < 64; i++)
        values[(unsigned char)digits[i]] = (signed char)i;
    for (int i = 0; i < n; i++) {
        seed = seed * 1664525 + 1013904223;
        bytes[i] = (unsigned char)(seed >> 24);
    }
    int good = 1;
    for (int round = 0; round < 10; round++) {
        int length = encode(text, bytes, n - round);
        good &= decode(back, text, length) == n - round && memcmp(back, bytes, n - round) == 0;
        for (int i = 0; i < length; i += 97)
            sum = sum * 31 + (unsigned char)text[i];
    }
    printf("%08x %s\n", (unsigned)sum, good ? "good" : "BROKEN");
    free(bytes);
    free(back);
    free(text);
    return !good;
}
