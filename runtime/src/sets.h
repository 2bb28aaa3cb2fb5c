/* sets.h: sets of custodians, each kept once, while a collection accounts by the precise policy.
 *
 * Promises: two sets with the same members have the same number. Whoever is in a set, those above
 * it are too, all but the first custodian. When there is no memory, `lee_sets_lost` says so from
 * then on, and results are any sets. */
#ifndef LEE_SRC_SETS_H
#define LEE_SRC_SETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LEE_SET_EMPTY = 0 };

extern bool lee_sets_lost;

/* `above[n]`: who is above number n; UINT32_MAX for none. Those above have higher numbers. */
void lee_sets_begin(const uint32_t *above, uint32_t count);
/* The custodian and those above. */
uint32_t lee_set_of(uint32_t custodian);
/* The members of both. */
uint32_t lee_sets_join(uint32_t a, uint32_t b);
/* The same for many: all are gathered behind a first one. */
void lee_sets_gather_first(uint32_t set);
void lee_sets_gather(uint32_t set);
uint32_t lee_sets_gathered(void);
/* Whether all members of the one are members of the other. */
bool lee_sets_within(uint32_t set, uint32_t other);
/* A bit for each custodian, in so many words; stays where it is until another set is made. */
const uint64_t *lee_set_members(uint32_t set);
size_t lee_set_words(void);
/* How many sets there are; their numbers are lower. */
uint32_t lee_sets_count(void);
/* What its members are charged, each; 0 at first. */
uint64_t *lee_set_bytes(uint32_t set);
void lee_sets_end(void);

#endif
