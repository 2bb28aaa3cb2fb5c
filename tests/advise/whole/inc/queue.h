#ifndef QUEUE_H
#define QUEUE_H
#include "list.h"
struct queue {
    int n;
    struct list *first;
};
#endif
