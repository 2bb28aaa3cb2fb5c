/* What the handlers use of <stdlib.h>; guest.c has it. */
#ifndef TENANTS_WASM_STDLIB_H
#define TENANTS_WASM_STDLIB_H

#include <stddef.h>

void *malloc(size_t size);
void free(void *block);

#endif
