/* A tenant as a process of the operating system: what containers do. */
#ifndef TENANTS_PLAIN_TENANT_H
#define TENANTS_PLAIN_TENANT_H

#include <stdbool.h>
#include <stddef.h>

enum { TENANTS = 200, PATIENCE = 500 /* milliseconds, as in ../tenants.lh */ };

/* What bounds them: "cgroup v2", "cgroup v1" or "setrlimit". */
const char *tenants_begin(void);
/* Hands the client and the request to the tenant's process. False if that failed: then the process
 * was killed, with what it had forked, and the next request starts it again. */
bool tenant_serve(int which, int client, const char *body, size_t length);
void tenants_end(void);

/* host.c: runs tenant `which`'s handler and answers. */
void answer(int which, int client, const char *body, size_t length);

#endif
