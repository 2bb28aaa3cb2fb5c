/* no_pointers.h: large tables of the runtime that hold no pointers into a heap.
 *
 * Static data that is not named to the collector is read word by word in each collection (lee/globals.h), so such a
 * table costs each program that links it a few microseconds every time. */
#ifndef LEE_SRC_NO_POINTERS_H
#define LEE_SRC_NO_POINTERS_H

#include <lee/globals.h>

#ifdef LEE_NO_GC
#define LEE_NO_POINTERS(table)
#else
/* After the definition of a static variable, without a semicolon. */
#define LEE_NO_POINTERS(table) \
    static const struct lee_global table##_global = {&(table), sizeof(table), NULL}; \
    static struct lee_globals table##_globals = {&table##_global, 1, NULL}; \
    __attribute__((constructor(101))) static void name_##table(void) { \
        lee_globals_add(&table##_globals); \
    }
#endif

#endif
