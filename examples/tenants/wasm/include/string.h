/* What the handlers, and what clang makes of loops, use of <string.h>; guest.c has it. */
#ifndef TENANTS_WASM_STRING_H
#define TENANTS_WASM_STRING_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memset(void *to, int byte, size_t n);
size_t strlen(const char *text);

#endif
