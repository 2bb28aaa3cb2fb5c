/* Limits and use of resources. */
#ifndef LEE_SYS_RESOURCE_H
#define LEE_SYS_RESOURCE_H

#include_next <sys/resource.h>

trusted int getrusage(int who, struct rusage *use);
trusted int getrlimit(int resource, struct rlimit *limit);
trusted int setrlimit(int resource, const struct rlimit *limit) __asm__("lee_setrlimit");
trusted int getpriority(int which, id_t who);
trusted int setpriority(int which, id_t who, int value) __asm__("lee_setpriority");

#endif
