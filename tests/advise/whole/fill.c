#include <stdlib.h>
#include "queue.h"

struct list *spare;

int fill(struct queue *q) {
    q->first = list_new(q->n);
    if (!spare) spare = list_new(0);
    return q->first != NULL && spare != NULL;
}
