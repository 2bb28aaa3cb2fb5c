/* The system's name. */
#ifndef LEE_SYS_UTSNAME_H
#define LEE_SYS_UTSNAME_H

#include_next <sys/utsname.h>

trusted int uname(struct utsname *name);

#endif
