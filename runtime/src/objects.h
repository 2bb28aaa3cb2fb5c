/* objects.h: the program and the shared libraries that are loaded, as files.
 *
 * Promises: allocates nothing; maps files read-only when they are first asked for and keeps them
 * mapped. Fit for signal handlers. Not for two threads at once. */
#ifndef LEE_OBJECTS_H
#define LEE_OBJECTS_H

#include "image.h"

#include <string.h>

struct lee_object {
    char path[1024];
    bool readable; /* `image` is filled in */
    bool program;  /* the program itself, not a library */
    struct lee_image image;
};

/* Learns what code is mapped now. Comes first. */
void lee_objects_refresh(void);

/* The object that holds the code at `pc`, and its address in the file. Null if `pc` is in no code
 * that came from a file. */
const struct lee_object *lee_objects_find(uintptr_t pc, uint64_t *address);

/* Whether `pc` is in code that may be read, with `before` bytes of code in front of it. */
bool lee_objects_has_code(uintptr_t pc, size_t before);

/* Whether this is a sanitizer's library, as `libasan.so.8`. */
static inline bool lee_object_is_sanitizer(const struct lee_object *object) {
    const char *name = strrchr(object->path, '/');
    return strstr(name != NULL ? name : object->path, "san.so") != NULL;
}

/* Whether lines are known for code in this object, and the code is the user's: a sanitizer's
 * library may have lines too, and the stack holds old return addresses into it. */
static inline bool lee_object_has_lines(const struct lee_object *object) {
    return object != NULL && object->readable && lee_cursor_left(&object->image.line) > 0 && !lee_object_is_sanitizer(object);
}

#endif
