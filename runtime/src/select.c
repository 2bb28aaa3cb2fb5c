/* select.c: waiting until a case of `switch receive` can be taken.
 *
 * Promises: what lee/channel.h says of selects. A statement that names few ends and sets looks at
 * all of them each time. One that names more and runs twice for the same ones is kept: each end
 * and set gets a column, which lists the conditions that ask for it, and each case counts its
 * conditions that do not hold. Whoever changes what stands at a head puts the column on the list of
 * those that changed. When the statement runs again it looks at these only, so a message costs the
 * same whatever else the statement names (as with epoll against poll).
 *
 * An end or a set is in one kept select at most. It is forgotten, whole, when one of them leaves
 * its process or is closed, freed or put into a set, so it names none that is gone; and when
 * another statement that names its first end runs twice in a row. It is memory of C's; the
 * process of the ends is charged for it. With several workers what is kept is touched with the
 * lock; ends are looked at without. */
#include "process.h"

#ifndef LEE_NO_GC

#include <lee/channel.h>
#include <lee/lee.h>

#include <stdlib.h>
#include <string.h>

#include "channel.h"
#include "report.h"
#include "system.h"
#include "worker.h"

enum {
    WORTH_IT = 6,   /* conditions from which a select is kept */
    WORD_BITS = 64,
};

/* An end or a set of a kept select. */
struct lee_column {
    struct lee_select *select;
    struct lee_task *waiter; /* waits for it alone */
    struct lee_column *next_changed;
    uint32_t first, count; /* its conditions */
    bool changed;
};

struct condition {
    int32_t wanted;
    uint32_t of; /* which case */
    enum lee_state state;
};

struct case_count {
    uint32_t missing; /* conditions that do not hold */
    uint32_t gone;    /* and never will */
};

struct lee_select {
    const struct lee_cases *cases;
    struct lee_process *owner;
    unsigned count, set_count;
    struct lee_endpoint **ends;
    struct lee_set **sets;
    struct lee_task *waiter; /* for all of them */
    struct lee_column *changed;
    uint32_t possible;     /* cases that can be taken, or may be later */
    uint64_t *taken;       /* a bit for each case: it can be taken */
    struct case_count *counts;
    struct condition *conditions;
    size_t bytes;
    struct lee_column columns[];
};

enum { WAIT = -2, NEVER = -1 };

/* --- looking at all --------------------------------------------------------------------------- */

/* The case that can be taken; WAIT if one may be later; NEVER. */
static int choose(const struct lee_waited *what, const struct lee_cases *cases) {
    int found = NEVER;
    for (uint32_t i = 0, number = 0; i < cases->conditions; number++) {
        enum lee_state worst = LEE_HOLDS;
        do {
            const struct lee_wanted *wanted = &cases->wanted[i];
            uint32_t which = wanted->which & ~LEE_AND;
            enum lee_state state = which < what->count ? lee_state_of_end(what->ends[which], wanted->head)
                                                       : lee_set_state(what->sets[which - what->count], wanted->head);
            worst = state > worst ? state : worst;
        } while (++i < cases->conditions && (cases->wanted[i].which & LEE_AND) != 0);
        if (worst == LEE_HOLDS)
            return (int)number;
        if (worst == LEE_POSSIBLE)
            found = WAIT;
    }
    return found;
}

/* The same of one end. */
static inline int choose_of_one(const struct lee_endpoint *end, const struct lee_cases *cases) {
    int32_t head = lee_head_of(end);
    for (uint32_t c = 0; c < cases->conditions; c++) {
        if (cases->wanted[c].head == head)
            return (int)c;
    }
    return head == LEE_EMPTY && cases->conditions > 0 ? WAIT : NEVER;
}

/* --- kept ones -------------------------------------------------------------------------------- */

void lee_select_notice(struct lee_column *column) {
    if (column->changed)
        return;
    column->changed = true;
    column->next_changed = column->select->changed;
    column->select->changed = column;
}

struct lee_task *lee_select_waiter(const struct lee_column *column) {
    return column->waiter != NULL ? column->waiter : column->select->waiter;
}

void lee_select_await(struct lee_column *column, struct lee_task *task) {
    column->waiter = task;
}

void lee_select_await_all(struct lee_select *select, struct lee_task *task) {
    select->waiter = task;
}

static void forget(struct lee_select *select) {
    for (unsigned i = 0; i < select->count; i++)
        lee_tell(select->ends[i], LEE_TELLS_TASK, select->columns[i].waiter);
    for (unsigned i = 0; i < select->set_count; i++) {
        select->sets[i]->column = NULL;
        select->sets[i]->waiter = select->columns[select->count + i].waiter;
    }
    lee_process_count(select->owner, LEE_GROUP_BYTES, -(ptrdiff_t)(select->bytes + LEE_MALLOC_HEADER));
    free(select);
}

void lee_select_forget(struct lee_column *column) {
    forget(column->select);
}

static void set_state(struct lee_select *select, struct condition *condition, enum lee_state state) {
    struct case_count *count = &select->counts[condition->of];
    select->possible -= count->gone == 0;
    count->gone += (state == LEE_GONE) - (uint32_t)(condition->state == LEE_GONE);
    count->missing += (state != LEE_HOLDS) - (uint32_t)(condition->state != LEE_HOLDS);
    select->possible += count->gone == 0;
    condition->state = state;
    uint64_t bit = (uint64_t)1 << condition->of % WORD_BITS, *word = &select->taken[condition->of / WORD_BITS];
    *word = count->missing == 0 ? *word | bit : *word & ~bit;
}

/* As `choose`, looking at what changed only. */
static int choose_kept(struct lee_select *select) {
    struct lee_column *column;
    while ((column = select->changed) != NULL) {
        select->changed = column->next_changed;
        column->changed = false;
        size_t number = (size_t)(column - select->columns);
        struct condition *condition = select->conditions + column->first, *end = condition + column->count;
        for (; condition < end; condition++) {
            enum lee_state state = number < select->count ? lee_state_of_end(select->ends[number], condition->wanted)
                                                          : lee_set_state(select->sets[number - select->count], condition->wanted);
            if (state != condition->state)
                set_state(select, condition, state);
        }
    }
    for (uint32_t i = 0; i < (select->cases->cases + WORD_BITS - 1) / WORD_BITS; i++) {
        if (select->taken[i] != 0)
            return (int)(i * WORD_BITS + (unsigned)__builtin_ctzll(select->taken[i]));
    }
    return select->possible > 0 ? WAIT : NEVER;
}

static bool is_of(const struct lee_select *select, const struct lee_waited *what, const struct lee_cases *cases) {
    return select->cases == cases && select->count == what->count && select->set_count == what->set_count &&
           memcmp(select->ends, what->ends, what->count * sizeof *what->ends) == 0 &&
           (what->set_count == 0 || memcmp(select->sets, what->sets, what->set_count * sizeof *what->sets) == 0);
}

/* Sorts the conditions by what they ask for. Each is gone until it was looked at. */
static void fill_columns(struct lee_select *select) {
    const struct lee_cases *cases = select->cases;
    size_t columns = (size_t)select->count + select->set_count;
    for (uint32_t i = 0; i < cases->conditions; i++)
        select->columns[cases->wanted[i].which & ~LEE_AND].count++;
    for (size_t i = 0, first = 0; i < columns; i++) {
        struct lee_column *column = &select->columns[i];
        column->select = select;
        column->first = (uint32_t)first;
        first += column->count;
        column->count = 0;
        lee_select_notice(column);
    }
    uint32_t of = UINT32_MAX;
    for (uint32_t i = 0; i < cases->conditions; i++) {
        const struct lee_wanted *wanted = &cases->wanted[i];
        struct lee_column *column = &select->columns[wanted->which & ~LEE_AND];
        of += (wanted->which & LEE_AND) == 0;
        select->conditions[column->first + column->count++] = (struct condition){wanted->head, of, LEE_GONE};
        select->counts[of].missing++;
        select->counts[of].gone++;
    }
}

/* Memory for one of these; null: it is not kept. May end the process, which is asked for it. */
static struct lee_select *make(const struct lee_waited *what, const struct lee_cases *cases) {
    size_t columns = (size_t)what->count + what->set_count, words = (cases->cases + WORD_BITS - 1) / WORD_BITS;
    size_t bytes = sizeof(struct lee_select) + columns * (sizeof(struct lee_column) + sizeof(void *)) + words * sizeof(uint64_t) +
                   cases->conditions * sizeof(struct condition) + cases->cases * sizeof(struct case_count);
    lee_process_ask(LEE_GROUP_BYTES, bytes + LEE_MALLOC_HEADER);
    struct lee_select *select = lee_system_fails() ? NULL : calloc(1, bytes);
    if (select == NULL)
        return NULL;
    select->cases = cases;
    select->owner = lee_process_self();
    select->count = what->count;
    select->set_count = what->set_count;
    select->bytes = bytes;
    select->ends = (struct lee_endpoint **)(void *)(select->columns + columns);
    select->sets = (struct lee_set **)(void *)(select->ends + what->count);
    select->taken = (uint64_t *)(void *)(select->sets + what->set_count);
    select->counts = (struct case_count *)(void *)(select->taken + words);
    select->conditions = (struct condition *)(void *)(select->counts + cases->cases);
    for (unsigned i = 0; i < what->count; i++)
        select->ends[i] = what->ends[i];
    for (unsigned i = 0; i < what->set_count; i++)
        select->sets[i] = what->sets[i];
    fill_columns(select);
    return select;
}

/* From here on the ends and sets tell it. Those that another one keeps leave that. */
static void keep(struct lee_select *select) {
    for (unsigned i = 0; i < select->count; i++) {
        struct lee_endpoint *end = select->ends[i];
        if (end->told == LEE_TELLS_SELECT)
            forget(end->column->select);
        lee_tell(end, LEE_TELLS_SELECT, &select->columns[i]);
    }
    if (lee_many)
        lee_atomic_fence();
    for (unsigned i = 0; i < select->set_count; i++) {
        struct lee_set *set = select->sets[i];
        if (set->column != NULL)
            forget(set->column->select);
        set->column = &select->columns[select->count + i];
    }
    lee_process_count(select->owner, LEE_GROUP_BYTES, (ptrdiff_t)(select->bytes + LEE_MALLOC_HEADER));
}

static void want_all(const struct lee_site *site, const struct lee_waited *what) {
    for (unsigned i = 0; i < what->count; i++) {
        if (what->ends[i] == NULL)
            lee_fault_null(site);
    }
    for (unsigned i = 0; i < what->set_count; i++) {
        if (what->sets[i] == NULL)
            lee_fault_null(site);
    }
}

/* The kept select of the statement; null if it has none. It gets one when it runs twice with no
 * other in between that names the same first end. `made`: that it is new. Faults if an end or a set
 * is null; the ends of a kept select are not. */
static struct lee_select *kept_of(const struct lee_site *site, const struct lee_waited *what, const struct lee_cases *cases, bool *made) {
    const struct lee_column *column = NULL;
    struct lee_endpoint *first = what->count > 0 ? what->ends[0] : NULL;
    struct lee_set *first_set = first == NULL && what->set_count > 0 ? what->sets[0] : NULL;
    if (first != NULL)
        column = first->told == LEE_TELLS_SELECT ? first->column : NULL;
    else if (first_set != NULL)
        column = first_set->column;
    uint16_t statement = (uint16_t)((uintptr_t)cases / _Alignof(struct lee_cases));
    bool kept = column != NULL && is_of(column->select, what, cases);
    if (!kept)
        want_all(site, what);
    if (cases->conditions < WORTH_IT)
        return NULL;
    uint16_t *seen = first != NULL ? &first->seen : &first_set->seen;
    *made = !kept && *seen == statement;
    *seen = statement;
    return kept ? column->select : *made ? make(what, cases) : NULL;
}

/* --- what emitted code calls ------------------------------------------------------------------ */

static int select_one(const struct lee_site *site, struct lee_endpoint *end, const struct lee_cases *cases) {
    int found;
    if (end == NULL)
        lee_fault_null(site);
    if (__builtin_expect(lee_many, 0))
        lee_task_end_slice();
    while ((found = choose_of_one(end, cases)) == WAIT) {
        if (__builtin_expect(lee_many, 0))
            lee_channel_wait_many(end);
        else
            lee_channel_wait_end(end);
    }
    if (found == NEVER && !cases->has_default)
        lee_fault_message(site, "receive: no case can match any more");
    return found;
}

/* With several workers: all ends are awaited before the last look at them. What a kept select has
 * are so already. */
static bool looks_again(struct lee_waited *what, bool awaited) {
    if (awaited)
        return false;
    lee_channel_await_all(what);
    return lee_many && what->kept == NULL;
}

/* `deadline`: of `lee_clock`; LEE_FOR_EVER: none. */
static int select_until(const struct lee_site *site, struct lee_waited *what, const struct lee_cases *cases, int64_t deadline) {
    bool made = false, awaited = false;
    struct lee_select *kept = what->kept = kept_of(site, what, cases, &made);
    if (__builtin_expect(lee_many, 0)) {
        lee_task_end_slice();
        int found = kept == NULL && what->set_count == 0 ? choose(what, cases) : WAIT;
        if (found >= 0)
            return found;
    }
    lee_lock();
    if (made && kept != NULL)
        keep(kept);
    for (;;) {
        int found = kept != NULL ? choose_kept(kept) : choose(what, cases);
        bool never = found == NEVER && cases->has_default; /* nothing comes but the time */
        if (found < 0 && !never && deadline != LEE_FOR_EVER && lee_clock() >= deadline)
            found = (int)cases->cases;
        if (found >= 0 || never) {
            if (awaited)
                lee_channel_leave_all(what);
            lee_unlock();
            return found;
        }
        if (found == NEVER && deadline == LEE_FOR_EVER)
            lee_fault_message(site, "receive: no case can match any more");
        if (looks_again(what, awaited)) {
            awaited = true;
            continue;
        }
        lee_channel_wait(what, deadline);
        awaited = false;
    }
}

/* The time of `lee_clock` that is so many milliseconds away. */
static int64_t deadline_of(int64_t milliseconds) {
    int64_t time;
    return lee_deadline(__builtin_mul_overflow(milliseconds, 1000000, &time) ? milliseconds < 0 ? 0 : INT64_MAX : time);
}

int lee_channel_select(const struct lee_site *site, struct lee_endpoint *const *ends, unsigned count, const struct lee_cases *cases) {
    if (count == 1)
        return select_one(site, ends[0], cases);
    return lee_set_select(site, ends, count, NULL, 0, cases);
}

int lee_channel_select_for(const struct lee_site *site, struct lee_endpoint *const *ends, unsigned count, const struct lee_cases *cases,
                           int64_t milliseconds) {
    return lee_set_select_for(site, ends, count, NULL, 0, cases, milliseconds);
}

int lee_set_select(const struct lee_site *site, struct lee_endpoint *const *ends, unsigned count, struct lee_set *const *sets, unsigned set_count,
                   const struct lee_cases *cases) {
    struct lee_waited what;
    what.ends = ends;
    what.sets = sets;
    what.count = count;
    what.set_count = set_count;
    return select_until(site, &what, cases, LEE_FOR_EVER);
}

int lee_set_select_for(const struct lee_site *site, struct lee_endpoint *const *ends, unsigned count, struct lee_set *const *sets,
                       unsigned set_count, const struct lee_cases *cases, int64_t milliseconds) {
    struct lee_waited what;
    what.ends = ends;
    what.sets = sets;
    what.count = count;
    what.set_count = set_count;
    return select_until(site, &what, cases, deadline_of(milliseconds));
}

#endif
