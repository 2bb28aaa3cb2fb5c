/* Names of hosts and services. A full replacement of the system's header: getaddrinfo's list is on the heap, an
 * address in it has its bounds, and freeaddrinfo does nothing. */
#ifndef LEE_NETDB_H
#define LEE_NETDB_H

#include <netinet/in.h>
#include <sys/socket.h>

struct addrinfo {
    int ai_flags;
    int ai_family;
    int ai_socktype;
    int ai_protocol;
    socklen_t ai_addrlen;
    unsigned char *counted_by(ai_addrlen) ai_addr;
    char *null_terminated ai_canonname;
    struct addrinfo *ai_next;
};

#define AI_PASSIVE 0x0001
#define AI_CANONNAME 0x0002
#define AI_NUMERICHOST 0x0004
#define AI_V4MAPPED 0x0008
#define AI_ALL 0x0010
#define AI_ADDRCONFIG 0x0020
#define AI_NUMERICSERV 0x0400
#define NI_NUMERICHOST 1
#define NI_NUMERICSERV 2
#define NI_NOFQDN 4
#define NI_NAMEREQD 8
#define NI_DGRAM 16
#define NI_MAXHOST 1025
#define NI_MAXSERV 32
#define EAI_BADFLAGS (-1)
#define EAI_NONAME (-2)
#define EAI_AGAIN (-3)
#define EAI_FAIL (-4)
#define EAI_FAMILY (-6)
#define EAI_SOCKTYPE (-7)
#define EAI_SERVICE (-8)
#define EAI_MEMORY (-10)
#define EAI_SYSTEM (-11)
#define EAI_OVERFLOW (-12)

trusted int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **result)
    __asm__("lee_getaddrinfo");
[[lee::leaf]] trusted void freeaddrinfo(struct addrinfo *list) __asm__("lee_freeaddrinfo");
[[lee::leaf]] trusted const char *nonnull gai_strerror(int number);
trusted int getnameinfo(const void *counted_by(length) address, socklen_t length, char *counted_by(host_length) host,
                        socklen_t host_length, char *counted_by(service_length) service, socklen_t service_length, int flags)
    __asm__("lee_getnameinfo");

#endif
