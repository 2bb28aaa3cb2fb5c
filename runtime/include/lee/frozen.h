/* Frozen blocks of the exchange heap, as the library makes them (lee/freeze.lh).
 *
 * Promises: a frozen block does not change. Holders are counted, in whatever processes they are
 * (lee/exchange.h); the last one frees it, and what a process holds is given up when it ends. */
#ifndef LEE_FROZEN_H
#define LEE_FROZEN_H

#ifdef __cplusplus
extern "C" {
#endif

/* A block of the running process, which owns nothing but frozen blocks, becomes a frozen one with one
 * holder. Null stays null. Faults if there is no memory. */
void *lee_exchange_freeze(void *block);
/* The same where the caller has the pointer, of more than one word. */
void lee_exchange_freeze_in_place(void *block);

#ifdef __cplusplus
}
#endif

#endif
