/* opened.h: what is open and belongs to a custodian (directories, descriptors).
 *
 * Promises: an entry is closed once: by hand, when nothing reaches its object, or when its
 * custodian is shut down. The list keeps nothing alive; the layout of an entry's object names its
 * custodian. */
#ifndef LEE_SRC_OPENED_H
#define LEE_SRC_OPENED_H

#include "custodian.h"

/* Part of an object of the heap. */
struct lee_opened {
    struct lee_opened *next, *previous;
    struct lee_custodian *custodian; /* of the task that made it; null if the program has none */
    void (*shut)(struct lee_opened *entry); /* closes it, and removes it from the list */
};

void lee_opened_add(struct lee_opened *entry, void (*shut)(struct lee_opened *entry));
void lee_opened_remove(struct lee_opened *entry);

#endif
