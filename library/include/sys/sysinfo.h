/* Facts about the machine. */
#ifndef LEE_SYS_SYSINFO_H
#define LEE_SYS_SYSINFO_H

#include_next <sys/sysinfo.h>

[[lee::leaf]] trusted int sysinfo(struct sysinfo *facts);
[[lee::leaf]] trusted int get_nprocs(void);
[[lee::leaf]] trusted int get_nprocs_conf(void);

#endif
