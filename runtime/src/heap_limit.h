/* heap_limit.h: what the runtime's start tells the heap. */
#ifndef LEE_HEAP_LIMIT_H
#define LEE_HEAP_LIMIT_H

#include <stddef.h>

/* The heap takes at most `bytes` bytes from the system from now on. Called before the program's first thread. */
void lee_heap_limit(size_t bytes);

#endif
