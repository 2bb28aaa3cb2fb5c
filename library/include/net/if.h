/* Network interfaces. */
#ifndef LEE_NET_IF_H
#define LEE_NET_IF_H

#include_next <net/if.h>

[[lee::leaf]] trusted unsigned if_nametoindex(const char *name);
[[lee::leaf]] [[lee::into(name)]] trusted char *if_indextoname(unsigned number, char *counted_by(16) name);

#endif
