/* Custodians: who pays for memory, and what is shut down when it gets too much.
 * docs/reference/custodians.md is about programs, ACCOUNTING.md about the accounts.
 *
 * Promises: a custodian is an object of the collected heap; it lives while something refers to it,
 * while it has tasks, and while a custodian below it lives. Null stands for the custodian that the
 * caller entered. Bytes that are negative or too large to be memory count as no limit, or as more
 * than there can be. */
#ifndef LEE_CUSTODIAN_H
#define LEE_CUSTODIAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct lee_custodian;

enum lee_custodian_policy {
    LEE_BLAME_CHILD, /* what several reach is charged to one of them, to a child before its parents */
    LEE_PRECISE      /* it is charged in full to each */
};

/* The custodian that what is started next belongs to. */
struct lee_custodian *lee_custodian_current(void);
/* A custodian below `parent`. Below one that was shut down it is so too. Faults if there is no memory. */
struct lee_custodian *lee_custodian_new(struct lee_custodian *parent);
/* From now on this task starts things for `custodian`. Gives the one that it was before. */
struct lee_custodian *lee_custodian_enter(struct lee_custodian *custodian);
/* Ends its tasks and those of all custodians below it. May not return: if the caller is one of them. */
void lee_custodian_shutdown(struct lee_custodian *custodian);
bool lee_custodian_is_shut(struct lee_custodian *custodian);
/* If `custodian` holds more than `bytes`, `victim` is shut down. Another call with the same victim
 * replaces the limit. */
void lee_custodian_limit(struct lee_custodian *custodian, int64_t bytes, struct lee_custodian *victim);
/* If `custodian` could not get `bytes` more, `victim` is shut down. */
void lee_custodian_require(struct lee_custodian *custodian, int64_t bytes, struct lee_custodian *victim);
/* What may be counted. */
enum lee_custodian_count {
    LEE_COUNT_PROCESSES = 1,
    LEE_COUNT_TASKS,
    LEE_COUNT_DESCRIPTORS, /* of the processes that were spawned in it */
    LEE_COUNT_ENDPOINTS    /* ends of channels, likewise */
};
/* If there are more than `most` of the kind in `custodian` and below it, `victim` is shut down. */
void lee_custodian_limit_count(struct lee_custodian *custodian, int kind, int64_t most, struct lee_custodian *victim);
/* What it gets of the time of the custodian above, beside the others there: 1 to 10000; 100 at
 * first. */
void lee_custodian_share(struct lee_custodian *custodian, int64_t weight);
/* Nanoseconds that the processes in it and below it have run. */
int64_t lee_custodian_time(struct lee_custodian *custodian);
/* The bytes that the processes in it and below it are charged now; nothing is collected. */
int64_t lee_custodian_charged(struct lee_custodian *custodian);
/* The bytes charged to it and to those below it, after a collection. */
int64_t lee_custodian_use(struct lee_custodian *custodian);
void lee_custodian_policy(int policy);

struct lee_work;

/* From the drop function of a message or of arguments (lee/owned.h): the word at `place` is a
 * `struct lee_custodian *`, or what names it while it is on its way. The process that gets it gets
 * an object of its own for it, the same one each time, and the one that made it the custodian
 * itself. */
void lee_push_custodian(struct lee_work *work, void *place);

#ifdef __cplusplus
}
#endif

#endif
