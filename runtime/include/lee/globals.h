/* Globals: what emitted code knows of its large static variables.
 *
 * Promises (of whoever adds them): each is a variable of static storage and of the size given, and
 * its words that can hold a pointer to the collected heap are those of the layout, of which it is
 * an array; without a layout it has none. Static data that nobody adds is read word by word. */
#ifndef LEE_GLOBALS_H
#define LEE_GLOBALS_H

#include <lee/layout.h>

#ifdef __cplusplus
extern "C" {
#endif

struct lee_global {
    const volatile void *start;
    size_t bytes;
    const struct lee_layout *layout; /* null: no pointers */
};

/* Those of a unit, in its memory: added before it runs, removed before it is unloaded. */
struct lee_globals {
    const struct lee_global *globals;
    size_t count;
    struct lee_globals *next;
};

void lee_globals_add(struct lee_globals *unit);
void lee_globals_remove(struct lee_globals *unit);

#ifdef __cplusplus
}
#endif

#endif
