/* cases.h: tables of `switch receive`, as emitted code has them. */
#ifndef LEE_TESTS_CASES_H
#define LEE_TESTS_CASES_H

#include <lee/channel.h>

/* CASES(name, how many cases, has_default, {head, which}...) */
#define CASES(name, count, has_default, ...) \
    static const struct lee_wanted name##_wanted[] = {__VA_ARGS__}; \
    static const struct lee_cases name = {name##_wanted, sizeof name##_wanted / sizeof *name##_wanted, count, has_default}

#endif
