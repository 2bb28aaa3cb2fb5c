/* vector.c: a growing array outside the heap, for tables of the collector. */
#include <string.h>

#include "heap.h"
#include "system.h"

void *lee_vector_add(struct lee_vector *vector, size_t bytes) {
    if (vector->room - vector->bytes < bytes) {
        size_t room = vector->room == 0 ? LEE_PAGE_BYTES : vector->room * 2;
        while (room - vector->bytes < bytes)
            room *= 2;
        void *fresh = lee_system_reserve(NULL, room);
        if (fresh == NULL)
            return NULL;
        if (vector->data != NULL) {
            memcpy(fresh, vector->data, vector->bytes);
            lee_system_release(vector->data, vector->room);
        }
        vector->data = fresh;
        vector->room = room;
    }
    void *place = (unsigned char *)vector->data + vector->bytes;
    vector->bytes += bytes;
    return place;
}

void lee_vector_free(struct lee_vector *vector) {
    if (vector->data != NULL)
        lee_system_release(vector->data, vector->room);
    *vector = (struct lee_vector){NULL, 0, 0};
}
