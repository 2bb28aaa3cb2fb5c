/* What C's functions of these names are in a `.c` file that Leeward compiled for a program with
 * processes: the process that calls has what they return, until it frees it or ends.
 *
 * Promises: in a process that was spawned, memory is charged to its custodians; where they refuse
 * it, the result is as when there is no memory (null and ENOMEM; -1 of `asprintf` and `getline`).
 * Elsewhere they are C's. */
#ifndef LEE_C_MEMORY_H
#define LEE_C_MEMORY_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

void *lee_c_malloc(size_t bytes);
void *lee_c_calloc(size_t count, size_t bytes);
void *lee_c_realloc(void *block, size_t bytes);
void *lee_c_reallocarray(void *block, size_t count, size_t bytes);
void *lee_c_aligned_alloc(size_t alignment, size_t bytes);
int lee_c_posix_memalign(void **place, size_t alignment, size_t bytes);
char *lee_c_strdup(const char *text);
char *lee_c_strndup(const char *text, size_t most);
int lee_c_vasprintf(char **place, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));
int lee_c_asprintf(char **place, const char *format, ...) __attribute__((format(printf, 2, 3)));
ssize_t lee_c_getdelim(char **line, size_t *room, int end, FILE *file);
ssize_t lee_c_getline(char **line, size_t *room, FILE *file);
void lee_c_free(void *block);

#ifdef __cplusplus
}
#endif

#endif
