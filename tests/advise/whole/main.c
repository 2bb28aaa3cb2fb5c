#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "queue.h"

int fill(struct queue *q);

int main(void) {
    struct queue q = { 3, NULL };
    if (!fill(&q)) return 1;
    char *text = text_of("words", q.n);
    if (!text) return 1;
    printf("%d %s %d\n", q.first->sum, text, (int)strlen(text));
    free(text);
    list_end(q.first);
    return 0;
}
