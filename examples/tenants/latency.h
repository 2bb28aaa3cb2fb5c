/* A histogram of times in microseconds: 8 slots for each power of two, so within 12 %. */
#ifndef TENANTS_LATENCY_H
#define TENANTS_LATENCY_H

enum { LATENCY_SLOTS = 200 };

struct latency {
    long counts[LATENCY_SLOTS], all;
};

static inline int latency_slot(long us) {
    int shift = 0;
    if (us < 0)
        us = 0;
    while (us >> shift >= 16)
        shift++;
    int slot = 8 * shift + (int)(us >> shift);
    return slot < LATENCY_SLOTS ? slot : LATENCY_SLOTS - 1;
}

static inline void latency_add(struct latency *nonnull l, long us) {
    l->counts[latency_slot(us)]++;
    l->all++;
}

/* The time that `permille` of 1000 did not exceed: the upper end of its slot; 0 if there are
 * none. */
static inline long latency_at(const struct latency *nonnull l, long permille) {
    long left = (l->all * permille + 999) / 1000;
    for (int slot = 0; slot < LATENCY_SLOTS; slot++) {
        left -= l->counts[slot];
        if (left <= 0 && l->all > 0)
            return slot < 16 ? slot : (long)(8 + slot % 8 + 1) << (slot / 8 - 1);
    }
    return 0;
}

/* What is old counts half. */
__attribute__((unused)) static inline void latency_fade(struct latency *nonnull l) {
    l->all = 0;
    for (int slot = 0; slot < LATENCY_SLOTS; slot++)
        l->all += l->counts[slot] /= 2;
}

#endif
