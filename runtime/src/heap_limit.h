/* heap_limit.h: what the environment tells the runtime. */
#ifndef LEE_HEAP_LIMIT_H
#define LEE_HEAP_LIMIT_H

#include <stddef.h>

/* The heap takes at most `bytes` bytes from the system from now on. Called before the program's first thread. */
void lee_heap_limit(size_t bytes);

/* A variable that cannot be read must not be taken for one that is not set: ends the program with status 2. */
_Noreturn void lee_setting_is_wrong(const char *name, const char *value, const char *wanted);
/* The number that the variable has, at most `most`; `otherwise` if it is not set. One that cannot
 * be read is wrong. */
size_t lee_setting_number(size_t most, const char *name, size_t otherwise);

#endif
