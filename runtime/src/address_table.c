/* address_table.c: see address_table.h. */
#include "address_table.h"

#include <stdlib.h>

#include "process.h"
#include "system.h"

enum { ROOM_LEAST = 8 };

/* Fibonacci hashing (Knuth, 6.4): the upper half of the product depends on all bits of the address. */
static size_t place_of(const struct lee_address_table *table, const void *key) {
    return ((uintptr_t)key >> 4) * 0x9e3779b97f4a7c15u >> 32 & (table->room - 1);
}

/* Its entry, or the free one where it would be. */
static struct lee_address_entry *probe(struct lee_address_table *table, const void *key) {
    size_t at = place_of(table, key);
    while (table->entries[at].key != NULL && table->entries[at].key != key)
        at = (at + 1) & (table->room - 1);
    return &table->entries[at];
}

static size_t bytes_of(const struct lee_address_table *table) {
    return table == NULL ? 0 : sizeof *table + table->room * sizeof *table->entries;
}

struct lee_address_entry *lee_address_find(struct lee_address_table *table, const void *key) {
    struct lee_address_entry *entry = table == NULL ? NULL : probe(table, key);
    return entry == NULL || entry->key == NULL ? NULL : entry;
}

bool lee_address_reserve(struct lee_address_table **place) {
    struct lee_address_table *old = *place;
    if (old != NULL && 2 * old->used < old->room)
        return true;
    size_t room = old == NULL ? ROOM_LEAST : 2 * old->room;
    struct lee_address_table *table = lee_system_fails() ? NULL : calloc(1, sizeof *table + room * sizeof *table->entries);
    if (table == NULL)
        return false;
    table->room = room;
    for (size_t i = 0; old != NULL && i < old->room; i++) {
        if (old->entries[i].key != NULL)
            lee_address_add(table, old->entries[i].key)->value = old->entries[i].value;
    }
    lee_process_count(lee_process_self(), LEE_GROUP_BYTES, (ptrdiff_t)(bytes_of(table) - bytes_of(old)));
    *place = table;
    free(old);
    return true;
}

struct lee_address_entry *lee_address_add(struct lee_address_table *table, const void *key) {
    struct lee_address_entry *entry = probe(table, key);
    entry->key = key;
    table->used++;
    return entry;
}

/* What lies behind a removed entry moves up (Knuth, 6.4, algorithm R). */
void lee_address_remove(struct lee_address_table *table, struct lee_address_entry *entry) {
    size_t hole = (size_t)(entry - table->entries), mask = table->room - 1;
    for (size_t at = (hole + 1) & mask; table->entries[at].key != NULL; at = (at + 1) & mask) {
        if (((at - place_of(table, table->entries[at].key)) & mask) >= ((at - hole) & mask)) {
            table->entries[hole] = table->entries[at];
            hole = at;
        }
    }
    table->entries[hole] = (struct lee_address_entry){NULL, 0};
    table->used--;
}
