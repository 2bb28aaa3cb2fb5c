/* opened.c: see opened.h. */
#include "opened.h"

#include "process.h"

/* Programs without custodians do not link them. */
struct lee_custodian *lee_custodian_here(void) __attribute__((weak));

static struct lee_opened *first(void) {
    return (struct lee_opened *)~lee_lists()->hidden_opened;
}

void lee_opened_add(struct lee_opened *entry, void (*shut)(struct lee_opened *entry)) {
    *entry = (struct lee_opened){.next = first(), .shut = shut};
    entry->custodian = lee_custodian_here != NULL ? lee_custodian_here() : NULL;
    if (entry->next != NULL)
        entry->next->previous = entry;
    lee_lists()->hidden_opened = ~(uintptr_t)entry;
}

void lee_opened_remove(struct lee_opened *entry) {
    if (entry->previous != NULL)
        entry->previous->next = entry->next;
    else
        lee_lists()->hidden_opened = ~(uintptr_t)entry->next;
    if (entry->next != NULL)
        entry->next->previous = entry->previous;
}

void lee_opened_end(void) {
    while (first() != NULL)
        first()->shut(first());
}

void lee_opened_shut(void) {
    for (struct lee_opened *entry = first(), *next; entry != NULL; entry = next) {
        next = entry->next;
        if (entry->custodian != NULL && entry->custodian->shut)
            entry->shut(entry);
    }
}
