/* C23 names that older compilers lack. */
#include_next <stddef.h>
#ifndef LEE_STDDEF_H
#define LEE_STDDEF_H
typedef typeof(nullptr) nullptr_t;
#undef unreachable
#define unreachable() (__builtin_unreachable())
#endif
