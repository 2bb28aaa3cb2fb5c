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
static inline bool lee_sets_within(uint32_t set, uint32_t other) {
    return set == other || lee_sets_join(set, other) == other;
}
/* The set with these members, of which those above are members too. */
uint32_t lee_sets_number(const uint64_t *members);
/* A bit for each custodian, in so many words; stays where it is until another set is made. */
const uint64_t *lee_set_members(uint32_t set);
size_t lee_set_words(void);
void lee_sets_end(void);

#endif
