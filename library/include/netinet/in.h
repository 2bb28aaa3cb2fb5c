/* Internet addresses. */
#ifndef LEE_NETINET_IN_H
#define LEE_NETINET_IN_H

#include_next <netinet/in.h>
#include <endian.h>

#undef htons
#undef htonl
#undef ntohs
#undef ntohl
trusted uint16_t htons(uint16_t x);
trusted uint32_t htonl(uint32_t x);
trusted uint16_t ntohs(uint16_t x);
trusted uint32_t ntohl(uint32_t x);

#endif
