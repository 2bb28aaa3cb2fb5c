/* heap_limit.h: what the environment tells the runtime. */
#ifndef LEE_HEAP_LIMIT_H
#define LEE_HEAP_LIMIT_H

#include <stddef.h>

/* The heap takes at most `bytes` bytes from the system from now on. Called before the program's first thread. */
void lee_heap_limit(size_t bytes);

/* A variable that cannot be read must not be taken for one that is not set: ends the program with status 2. */
_Noreturn void lee_setting_is_wrong(const char *name, const char *value, const char *wanted);

#endif
