/* Patterns of file names. */
#ifndef LEE_FNMATCH_H
#define LEE_FNMATCH_H

#include_next <fnmatch.h>

[[lee::leaf]] trusted int fnmatch(const char *pattern, const char *s, int flags);

#endif
