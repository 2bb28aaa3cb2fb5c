/* The parts of a device's number. */
#ifndef LEE_SYS_SYSMACROS_H
#define LEE_SYS_SYSMACROS_H

#include_next <sys/sysmacros.h>

[[lee::leaf]] trusted unsigned gnu_dev_major(dev_t device);
[[lee::leaf]] trusted unsigned gnu_dev_minor(dev_t device);
[[lee::leaf]] trusted dev_t gnu_dev_makedev(unsigned major, unsigned minor);

#endif
