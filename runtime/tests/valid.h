/* valid.h: for tests of the heap: it and the page allocator are whole, or what is wrong is printed. */
#ifndef LEE_TESTS_VALID_H
#define LEE_TESTS_VALID_H

#include "../src/heap.h"
#include "../src/units.h"
#include "check.h"

static void valid(struct lee_heap *heap) {
    const char *wrong = lee_heap_validate(heap);
    if (wrong == NULL)
        wrong = lee_units_validate();
    if (wrong != NULL) {
        printf("%s\n", wrong);
        check_failures++;
    }
}

#endif
