/* What the handlers may ask for, in C: threads and locks; services.lee has it in Leeward. */
#ifndef TENANTS_PLAIN_SERVICES_H
#define TENANTS_PLAIN_SERVICES_H

#include "../handlers.h"

/* Whether `host_fork` makes processes of the operating system, and not threads. */
extern bool services_fork_processes;

/* The audit reads the events of the calling thread: so many had a value. */
long audit_read(void);

#endif
