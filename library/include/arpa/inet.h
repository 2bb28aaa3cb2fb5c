/* Internet addresses as text. inet_ntoa keeps its result in memory that the next call overwrites: use inet_ntop. */
#ifndef LEE_ARPA_INET_H
#define LEE_ARPA_INET_H

#include_next <arpa/inet.h>
#include <netinet/in.h>

[[lee::leaf]] trusted int inet_pton(int family, const char *text, void *fat address) __asm__("lee_inet_pton");
[[lee::leaf]] [[lee::into(text)]] [[lee::terminates(text)]] trusted const char *inet_ntop(int family, const void *fat address, char *counted_by(n) text, socklen_t n)
    __asm__("lee_inet_ntop");
[[lee::leaf]] trusted in_addr_t inet_addr(const char *text);
[[lee::leaf]] trusted int inet_aton(const char *text, struct in_addr *address);

#endif
