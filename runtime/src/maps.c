/* maps.c: see maps.h. */
#include "maps.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* The file, read in pieces. */
struct reader {
    int file;
    ssize_t length, at;
    char bytes[1024];
};

/* The next character, or -1 at the end. */
static int next_character(struct reader *reader) {
    if (reader->at == reader->length) {
        reader->length = read(reader->file, reader->bytes, sizeof reader->bytes);
        reader->at = 0;
        if (reader->length <= 0) {
            reader->length = 0;
            return -1;
        }
    }
    return (unsigned char)reader->bytes[reader->at++];
}

static uint64_t hexadecimal(struct reader *reader, int *behind) {
    uint64_t number = 0;
    for (;;) {
        int c = next_character(reader);
        if (c >= '0' && c <= '9') {
            number = number * 16 + (uint64_t)(c - '0');
        } else if (c >= 'a' && c <= 'f') {
            number = number * 16 + (uint64_t)(c - 'a' + 10);
        } else {
            *behind = c;
            return number;
        }
    }
}

/* One line: `START-END rwxp OFFSET DEVICE INODE   PATH`. */
static bool read_mapping(struct reader *reader, struct lee_mapping *mapping) {
    int c;
    size_t length = 0;
    mapping->start = hexadecimal(reader, &c);
    if (c != '-')
        return false;
    mapping->end = hexadecimal(reader, &c);
    mapping->readable = next_character(reader) == 'r';
    mapping->writable = next_character(reader) == 'w';
    mapping->executable = next_character(reader) == 'x';
    next_character(reader);
    next_character(reader);
    mapping->offset = hexadecimal(reader, &c);
    for (int blanks = 0; blanks < 2 && c != '\n' && c != -1; c = next_character(reader))
        blanks += c == ' ';
    while (c != ' ' && c != '\n' && c != -1)
        c = next_character(reader);
    while (c == ' ')
        c = next_character(reader);
    for (; c != '\n' && c != -1; c = next_character(reader)) {
        if (length < sizeof mapping->path - 1)
            mapping->path[length++] = (char)c;
    }
    mapping->path[length] = 0;
    return c != -1;
}

void lee_maps_each(bool (*visit)(const struct lee_mapping *mapping, void *context), void *context) {
    static struct reader reader; /* static, and so is the mapping: little stack may be left */
    static struct lee_mapping mapping;
    reader = (struct reader){.file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC)};
    if (reader.file < 0)
        return;
    while (read_mapping(&reader, &mapping) && visit(&mapping, context))
        ;
    close(reader.file);
}

struct search {
    uintptr_t address;
    struct lee_mapping *found;
    bool success;
};

static bool is_it(const struct lee_mapping *mapping, void *context) {
    struct search *search = context;
    if (mapping->end <= search->address)
        return true;
    *search->found = *mapping;
    search->success = true;
    return false;
}

bool lee_maps_find(uintptr_t address, struct lee_mapping *found) {
    struct search search = {.address = address, .found = found};
    lee_maps_each(is_it, &search);
    return search.success;
}
