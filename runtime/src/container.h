/* container.h: what others tell container.c. */
#ifndef LEE_SRC_CONTAINER_H
#define LEE_SRC_CONTAINER_H

#include <lee/container.h>

#include <stdbool.h>

/* Whether anything was ever listed. */
extern bool lee_listed_any;

/* Takes all objects that begin in the range off the list. */
void lee_unlist_range(uintptr_t start, uintptr_t end);

/* Memory ends: a comparison, if the program has no `container_of`. */
static inline void lee_listed_end(const void *start, const void *end) {
    if (__builtin_expect(lee_listed_any, 0))
        lee_unlist_range((uintptr_t)start, (uintptr_t)end);
}

#endif
