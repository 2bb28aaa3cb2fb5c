/* Cells: objects of the heap that hold one block of the exchange heap, or none.
 *
 * Promises: whoever takes the block owns it alone. A cell may be reached by all tasks of its
 * process. The block of one that nothing reaches is freed, as is that of a process that ends. Those
 * who wait go on in the order in which they came. Null is a fault. So is taking from one that was
 * emptied by a task that was shut down, until something is put into it. */
#ifndef LEE_EXCHANGE_CELL_H
#define LEE_EXCHANGE_CELL_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

struct lee_exchange_cell;

/* A cell with the block; null: an empty one. */
struct lee_exchange_cell *lee_exchange_cell_new(void *block);
/* Waits until there is one. */
void *lee_exchange_cell_take(struct lee_exchange_cell *cell);
/* Null if there is none now. */
void *lee_exchange_cell_try_take(struct lee_exchange_cell *cell);
/* Whether that would be a fault, since a task that emptied it was shut down. */
bool lee_exchange_cell_is_poisoned(const struct lee_exchange_cell *cell);
/* Waits until there is none. */
void lee_exchange_cell_put(struct lee_exchange_cell *cell, void *block);

#ifdef __cplusplus
}
#endif

#endif
