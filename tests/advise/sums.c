// Sizes that are sums of lengths of strings, and what is written of these.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int joined(const char *a, const char *b) {
    char *p = malloc(strlen(a) + strlen(b) + 2); // advise: hybrid proven
    if (!p) return -1;
    strcpy(p, a);
    strcat(p, "/");
    strcat(p, b);
    int r = (int)strlen(p) + p[0];
    free(p);
    return r;
}

static int copied_in_two(const char *a, const char *b) {
    size_t m = strlen(a), n = strlen(b);
    char *p = malloc(m + n + 2); // advise: hybrid proven
    if (!p) return -1;
    memcpy(p, a, m);
    p[m] = '-';
    memcpy(p + m + 1, b, n + 1);
    int r = (int)strlen(p);
    puts(p);
    free(p);
    return r;
}

static int ended_later(const char *a, const char *b) {
    size_t m = strlen(a), n = strlen(b);
    char *p = malloc(m + n + 1); // advise: hybrid proven
    if (!p) return -1;
    memcpy(p, a, m);
    memcpy(p + m, b, n);
    p[m + n] = 0;
    int r = (int)strlen(p);
    free(p);
    return r;
}

static int printed(const char *a, const char *b, int n) {
    char *p = malloc(strlen(a) + strlen(b) + 16); // advise: hybrid proven
    if (!p) return -1;
    sprintf(p, "%s: %s %d", a, b, n);
    puts(p);
    int r = (int)strlen(p);
    free(p);
    return r;
}

static int printed_number(long n) {
    char *p = malloc(24); // advise: stack proven
    if (!p) return -1;
    sprintf(p, "<%ld>", n);
    int r = (int)strlen(p);
    free(p);
    return r;
}

static int copied_with_its_end(const char *a) {
    char *p = malloc(strlen(a) + 1); // advise: hybrid proven
    if (!p) return -1;
    memcpy(p, a, strlen(a) + 1);
    int r = (int)strlen(p);
    free(p);
    return r;
}

static int with_an_ending(const char *a) {
    char *p = malloc(strlen(a) + sizeof ".txt"); // advise: hybrid proven
    if (!p) return -1;
    memcpy(p, a, strlen(a));
    memcpy(p + strlen(a), ".txt", 5);
    int r = (int)strlen(p);
    free(p);
    return r;
}

static int zeroed(const char *a, const char *b) {
    char *p = calloc(1, strlen(b) + strlen(a) + 1); // advise: hybrid proven
    if (!p) return -1;
    sprintf(p, "%s%s", a, b);
    int r = (int)strlen(p);
    free(p);
    return r;
}

int main(void) {
    static const char *const words[] = { "", "a", "some words", "words that are somewhat longer than the others of this table" };
    for (int i = 0; i < 4; i++) {
        const char *a = words[i], *b = words[3 - i];
        printf("%d\n", joined(a, b));
        printf("%d\n", copied_in_two(a, b));
        printf("%d\n", ended_later(a, b));
        printf("%d\n", printed(a, b, -i * 1000));
        printf("%d\n", printed_number(-123456789L * i));
        printf("%d\n", copied_with_its_end(a));
        printf("%d\n", with_an_ending(b));
        printf("%d\n", zeroed(a, b));
    }
    return 0;
}
