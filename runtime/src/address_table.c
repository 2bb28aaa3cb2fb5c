/* address_table.c: see address_table.h. */
#include "address_table.h"

#include <stdlib.h>

#include "process.h"
#include "system.h"

/* Tables of MAPPED bytes or more are mapped: in libc's heap, what is allocated after one would keep
 * its memory from going back to the system. */
enum { ROOM_LEAST = 8, MAPPED = 1 << 16 };

/* Fibonacci hashing (Knuth, 6.4): the upper half of the product depends on all bits of the
 * address. */
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

void lee_address_free(struct lee_address_table *table) {
    if (bytes_of(table) >= MAPPED)
        lee_system_release(table, bytes_of(table));
    else
        free(table);
}

static struct lee_address_table *new_table(size_t room) {
    size_t bytes = sizeof(struct lee_address_table) + room * sizeof(struct lee_address_entry);
    if (bytes >= MAPPED)
        return lee_system_reserve(NULL, bytes);
    return lee_system_fails() ? NULL : calloc(1, bytes);
}

/* The entries move to a table of so much room. False if there is no memory for it. */
static bool move_to(struct lee_address_table **place, size_t room) {
    struct lee_address_table *old = *place;
    struct lee_address_table *table = new_table(room);
    if (table == NULL)
        return false;
    table->room = room;
    for (size_t i = 0; old != NULL && i < old->room; i++) {
        if (old->entries[i].key != NULL)
            lee_address_add(table, old->entries[i].key)->value = old->entries[i].value;
    }
    lee_process_count(lee_process_self(), LEE_GROUP_BYTES, (ptrdiff_t)(bytes_of(table) - bytes_of(old)));
    *place = table;
    lee_address_free(old);
    return true;
}

/* How much room a table needs for one entry more: 0 if it has that. */
static size_t room_needed(const struct lee_address_table *table) {
    return table == NULL ? ROOM_LEAST : 2 * table->used < table->room ? 0 : 2 * table->room;
}

size_t lee_address_growth(const struct lee_address_table *table) {
    size_t room = room_needed(table);
    return room == 0 ? 0 : sizeof *table + room * sizeof *table->entries;
}

void lee_address_ask(const struct lee_address_table *table) {
    size_t bytes = lee_address_growth(table);
    if (bytes > 0)
        lee_process_ask(LEE_GROUP_BYTES, bytes);
}

bool lee_address_reserve(struct lee_address_table **place) {
    size_t room = room_needed(*place);
    return room == 0 || move_to(place, room);
}

struct lee_address_entry *lee_address_add(struct lee_address_table *table, const void *key) {
    struct lee_address_entry *entry = probe(table, key);
    entry->key = key;
    table->used++;
    return entry;
}

/* What follows a removed entry moves up (Knuth, 6.4, algorithm R). */
void lee_address_remove(struct lee_address_table **place, struct lee_address_entry *entry) {
    struct lee_address_table *table = *place;
    size_t hole = (size_t)(entry - table->entries), mask = table->room - 1;
    for (size_t at = (hole + 1) & mask; table->entries[at].key != NULL; at = (at + 1) & mask) {
        if (((at - place_of(table, table->entries[at].key)) & mask) >= ((at - hole) & mask)) {
            table->entries[hole] = table->entries[at];
            hole = at;
        }
    }
    table->entries[hole] = (struct lee_address_entry){NULL, 0};
    table->used--;
    /* Many names of what has ended go at once, in a collection. */
    if (table->room > ROOM_LEAST && 16 * table->used < table->room)
        (void)move_to(place, table->room / 4 < ROOM_LEAST ? ROOM_LEAST : table->room / 4);
}
