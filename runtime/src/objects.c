/* objects.c: see objects.h. */
#define _GNU_SOURCE
#include "objects.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "maps.h"
#include "no_pointers.h"

enum {
    CODE_RANGES = 256, /* programs with more libraries show the frames of the first ones */
    OBJECTS = 64
};

struct code_range {
    uintptr_t start, end;
    uint64_t offset;
    struct lee_object *object; /* null: not from a file, or one too many */
    bool readable;
};

static struct code_range ranges[CODE_RANGES];
static size_t range_count;
static struct lee_object objects[OBJECTS];
static size_t object_count;
static char program[sizeof objects->path]; /* the path of the program as /proc/self/maps shows it */

LEE_NO_POINTERS(objects)
LEE_NO_POINTERS(ranges)

/* The program itself is opened through /proc, where it is found also after it was moved or deleted. */
static void open_object(struct lee_object *object) {
    object->program = strcmp(object->path, program) == 0;
    const char *path = object->program ? "/proc/self/exe" : object->path;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    if (file < 0)
        return;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
        void *data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        if (data != MAP_FAILED)
            object->readable = lee_image_parse(&object->image, data, (size_t)status.st_size);
    }
    close(file);
}

static struct lee_object *object_at(const char *path) {
    if (path[0] != '/')
        return NULL;
    for (size_t i = 0; i < object_count; i++) {
        if (strcmp(objects[i].path, path) == 0)
            return &objects[i];
    }
    if (object_count == OBJECTS)
        return NULL;
    struct lee_object *object = &objects[object_count++];
    strcpy(object->path, path);
    open_object(object);
    return object;
}

static bool note_range(const struct lee_mapping *mapping, void *context) {
    (void)context;
    if (mapping->executable) {
        ranges[range_count++] = (struct code_range){
            .start = mapping->start,
            .end = mapping->end,
            .offset = mapping->offset,
            .object = object_at(mapping->path),
            .readable = mapping->readable,
        };
    }
    return range_count < CODE_RANGES;
}

void lee_objects_refresh(void) {
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = 0;
    range_count = 0;
    lee_maps_each(note_range, NULL);
}

static const struct code_range *range_of(uintptr_t pc) {
    for (size_t i = 0; i < range_count; i++) {
        if (pc >= ranges[i].start && pc < ranges[i].end)
            return &ranges[i];
    }
    return NULL;
}

const struct lee_object *lee_objects_find(uintptr_t pc, uint64_t *address) {
    const struct code_range *range = range_of(pc);
    if (range == NULL || range->object == NULL || !range->object->readable ||
        !lee_image_address(&range->object->image, pc - range->start + range->offset, address))
        return NULL;
    return range->object;
}

bool lee_objects_has_code(uintptr_t pc, size_t before) {
    const struct code_range *range = range_of(pc);
    return range != NULL && range->readable && pc - range->start >= before;
}
