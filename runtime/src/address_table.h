/* address_table.h: what a process knows of things outside of its heap, by their addresses. Open
 * addressing with linear probing; a table is at most half full. */
#ifndef LEE_SRC_ADDRESS_TABLE_H
#define LEE_SRC_ADDRESS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lee_address_entry {
    const void *key; /* null: free */
    uintptr_t value;
};

/* In memory of C's, which the collector does not read. */
struct lee_address_table {
    size_t used, room; /* a power of two */
    struct lee_address_entry entries[];
};

/* Its entry; null if there is none. A null table is an empty one. */
struct lee_address_entry *lee_address_find(struct lee_address_table *table, const void *key);
/* The bytes of the table that one more entry needs, while the old one is there, too; 0 if there is
 * room. */
size_t lee_address_growth(const struct lee_address_table *table);
/* One more is about to be added by the running process. May not return. */
void lee_address_ask(const struct lee_address_table *table);
/* Makes room for one more, which the running process is charged for. False if there is no
 * memory. */
bool lee_address_reserve(struct lee_address_table **table);
/* One that is not there yet, for which there is room. Its value is 0. */
struct lee_address_entry *lee_address_add(struct lee_address_table *table, const void *key);
/* Null is fine. */
void lee_address_free(struct lee_address_table *table);
/* Entries that were found before may be elsewhere after this: a table with few left shrinks. */
void lee_address_remove(struct lee_address_table **place, struct lee_address_entry *entry);

#endif
