// Counts words in n kilobytes of text, by Horspool's algorithm and character by character: string_search [N].
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t horspool(const unsigned char *text, size_t n, const unsigned char *word, size_t m) {
    size_t skip[256], count = 0;
    for (int c = 0; c < 256; c++)
        skip[c] = m;
    for (size_t i = 0; i + 1 < m; i++)
        skip[word[i]] = m - 1 - i;
    for (size_t at = 0; at + m <= n; at += skip[text[at + m - 1]]) {
        size_t i = m;
        while (i > 0 && text[at + i - 1] == word[i - 1])
            i--;
        count += i == 0;
    }
    return count;
}

// The same over a string that ends with a zero.
static size_t direct(const char *s, const char *word) {
    size_t count = 0;
    for (; *s; s++) {
        const char *p = s, *q = word;
        while (*q && *p == *q) {
            p++;
            q++;
        }
        count += *q == '\0';
    }
    return count;
}

static void write_text(char *text, size_t n) {
    static const char syllables[] = "bacidofugehilenoparisotu";
    uint32_t seed = 3;
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525 + 1013904223;
        uint32_t pick = seed >> 24;
        text[i] = pick < 40 ? ' ' : syllables[pick % 24];
    }
    text[n] = '\0';
}

int main(int argc, char **argv) {
    static const char *const words[] = { "bad", "so", "pari", "gene", "no fish", "i" };
    size_t n = 1000 * (argc > 1 ? (size_t)atoi(argv[1]) : 15000);
    char *text = malloc(n + 1);
    write_text(text, n);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t fast = horspool((const unsigned char *)text, n, (const unsigned char *)words[i], strlen(words[i]));
        printf("%zu %zu\n", fast, direct(text, words[i]));
    }
    free(text);
    return 0;
}
