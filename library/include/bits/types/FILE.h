/* What glibc's own headers (<wchar.h> ...) include for FILE: the library's type, so that there is one. */
#ifndef __FILE_defined
#define __FILE_defined 1

struct lee_file;
typedef struct lee_file FILE;

#endif
