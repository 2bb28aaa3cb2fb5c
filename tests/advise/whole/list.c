#include <stdlib.h>
#include <string.h>
#include "inc/list.h"

struct list *list_new(int sum) {
    struct list *l = malloc(sizeof(struct list));
    if (!l) return NULL;
    l->length = 0;
    l->sum = sum;
    return l;
}

void list_end(struct list *l) {
    if (l) {
        l->length = -1;
        free(l);
    }
}

char *text_of(const char *s, int n) {
    size_t length = strlen(s);
    char *text = malloc(length + (size_t)n + 1);
    if (!text) return NULL;
    memcpy(text, s, length);
    memset(text + length, '.', (size_t)n);
    text[length + (size_t)n] = 0;
    return text;
}
