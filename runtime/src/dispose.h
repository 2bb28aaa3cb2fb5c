/* dispose.h: walks over what objects own, beside those that release it. The drop functions that emitted code has for its types push each part;
 * what becomes of it is the walk's to say. */
#ifndef LEE_SRC_DISPOSE_H
#define LEE_SRC_DISPOSE_H

#include <lee/owned.h>

#include <stddef.h>

enum lee_walk {
    LEE_WALK_RELEASE, /* what is owned is released */
    LEE_WALK_DEAD,    /* the collector found the owner dead: nothing is freed, counts of what lives are taken back */
    LEE_WALK_LEAVE,   /* it goes on its way in a message, and leaves the lists of the running process */
    LEE_WALK_ARRIVE   /* it was received, and joins them */
};

enum lee_walk lee_walk_of(const struct lee_work *work);

/* Walks over what `bytes` bytes of elements at `place` own, which stay as they are: leaving or arriving. */
void lee_walk_parts(enum lee_walk walk, void *place, size_t bytes, const struct lee_owned *owned);

#endif
