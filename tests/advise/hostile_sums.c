// Strings that look as if the object had room for them, and may not fit: none is proven. Each is
// called so that it does.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// rule: sums
static int one_twice(const char *a, const char *b) {
    char *p = malloc(strlen(a) + strlen(b) + 1); // advise: hybrid likely
    if (!p) return -1;
    strcpy(p, a);
    strcat(p, a);
    int r = p[0];
    free(p);
    return r;
}

static int no_room_for_the_end(const char *a, const char *b) {
    char *p = malloc(strlen(a) + strlen(b) + 1); // advise: hybrid likely
    if (!p) return -1;
    sprintf(p, "%s:%s", a, b);
    int r = p[0];
    free(p);
    return r;
}

static int as_wide_as(const char *a, int n) {
    char *p = malloc(strlen(a) + 1); // advise: hybrid likely
    if (!p) return -1;
    sprintf(p, "%*s", n, a);
    int r = p[0];
    free(p);
    return r;
}

// rule: length-lasts
static int measured_again(char *s, int n) {
    char *p = NULL;
    int r = 0;
    for (int i = 0; i < n; i++) {
        size_t length = strlen(s);
        if (!p) {
            p = malloc(length + 1); // advise: hybrid likely
            if (!p) return -1;
        } else {
            strcpy(p, s);
            r = p[0];
        }
        s[0] = (char)('a' + i);
    }
    free(p);
    return r;
}

// rule: own-text
static int changed_through_another(char *b, const char *a) {
    size_t n = strlen(b);
    char *p = malloc(strlen(a) + n + 1); // advise: hybrid likely
    if (!p) return -1;
    strcpy(p, a);
    strcpy(b, a);
    strcat(p, b);
    int r = p[0];
    free(p);
    return r;
}

// rule: copied-end
static int without_its_end(const char *a, size_t n) {
    char *p = calloc(1, n + 1); // advise: stack likely
    if (!p) return -1;
    memcpy(p, a, n);
    int r = (int)strlen(p);
    free(p);
    return r;
}

static int measured_before_it_grew(char *a) {
    size_t before = strlen(a);
    strcat(a, "x");
    size_t after = strlen(a);
    char *p = malloc(before + 1); // advise: hybrid likely
    if (!p) return -1;
    memcpy(p, a, after + 1 - 1);
    int r = p[0];
    free(p);
    return r;
}

static int longer_in_a_loop(const char *a, int n) {
    char *p = malloc(strlen(a) + strlen(a) + 1); // advise: hybrid likely
    if (!p) return -1;
    p[0] = 0;
    for (int i = 0; i < n; i++) strcat(p, a);
    int r = p[0];
    free(p);
    return r;
}

int main(void) {
    char text[16] = "abc", other[16] = "xyz", growing[16] = "ab";
    printf("%d %d %d %d\n", one_twice("ab", "abc"), as_wide_as("abc", 2), measured_again(text, 4),
           changed_through_another(other, "q"));
    printf("%d %d\n", without_its_end("abcd", 4), longer_in_a_loop("ab", 2));
    growing[1] = 0;
    printf("%d\n", growing[0]);
    // These do not fit whatever they get.
    if (text[0] == 'Z') printf("%d %d\n", measured_before_it_grew(growing), no_room_for_the_end("", ""));
    return 0;
}
