/* huge.c: see huge.h. */
#include "huge.h"

bool lee_huge_wanted(struct lee_huge *huge, size_t units) {
    if (huge->rest == 0)
        return true;
    huge->rest = units < huge->rest ? (uint16_t)(huge->rest - units) : 0;
    return false;
}

void lee_huge_took(struct lee_huge *huge, uint64_t nanoseconds) {
    if (nanoseconds < LEE_HUGE_SLOW) {
        *huge = (struct lee_huge){0};
        return;
    }
    if (++huge->slow < LEE_HUGE_TRIES)
        return;
    huge->slow = LEE_HUGE_TRIES - 1; /* one more is enough behind a rest */
    huge->last_rest = huge->last_rest == 0 ? LEE_HUGE_REST_LEAST : 2 * huge->last_rest;
    if (huge->last_rest > LEE_HUGE_REST_MOST)
        huge->last_rest = LEE_HUGE_REST_MOST;
    huge->rest = huge->last_rest;
}
