/* As bits/types/FILE.h, under the name that glibc's headers use among themselves. */
#ifndef ____FILE_defined
#define ____FILE_defined 1

struct lee_file;
typedef struct lee_file __FILE;

#endif
