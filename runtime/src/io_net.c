/* Sockets: an address is so many bytes, and a buffer for one is never filled beyond its bounds, whatever length the
 * program claims. getaddrinfo's list is copied to the heap, so that freeaddrinfo has nothing to invalidate. */
#define _GNU_SOURCE

#include "io_library.h"

#include <lee/heap.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* The bytes that may be written at `p`: what the program says, and no more than there are. */
static socklen_t room_for(const char *p, const char *lo, const char *hi, const socklen_t *length) {
    if (p == NULL || length == NULL)
        return 0;
    size_t have = (size_t)((uintptr_t)hi - (uintptr_t)lo), at = (size_t)((uintptr_t)p - (uintptr_t)lo);
    size_t left = at <= have ? have - at : 0;
    return *length < left ? *length : (socklen_t)left;
}

int lee_accept4(int fd, char *address, char *lo, char *hi, socklen_t *length, int flags) {
    socklen_t room = room_for(address, lo, hi, length);
    int result = accept4(fd, address != NULL && length != NULL ? (struct sockaddr *)address : NULL, &room, flags);
    if (result >= 0 && address != NULL && length != NULL)
        *length = room;
    return result;
}

int lee_accept(int fd, char *address, char *lo, char *hi, socklen_t *length) {
    return lee_accept4(fd, address, lo, hi, length, 0);
}

int lee_getsockname(int fd, char *address, char *lo, char *hi, socklen_t *length) {
    socklen_t room = room_for(address, lo, hi, length);
    int result = getsockname(fd, (struct sockaddr *)address, &room);
    if (result == 0 && length != NULL)
        *length = room;
    return result;
}

int lee_getpeername(int fd, char *address, char *lo, char *hi, socklen_t *length) {
    socklen_t room = room_for(address, lo, hi, length);
    int result = getpeername(fd, (struct sockaddr *)address, &room);
    if (result == 0 && length != NULL)
        *length = room;
    return result;
}

ssize_t lee_recvfrom(int fd, void *buffer, size_t n, int flags, char *address, char *lo, char *hi, socklen_t *length) {
    socklen_t room = room_for(address, lo, hi, length);
    bool wanted = address != NULL && length != NULL;
    ssize_t got = recvfrom(fd, buffer, n, flags, wanted ? (struct sockaddr *)address : NULL, wanted ? &room : NULL);
    if (got >= 0 && wanted)
        *length = room;
    return got;
}

int lee_getsockopt(int fd, int level, int name, char *value, char *lo, char *hi, socklen_t *length) {
    socklen_t room = room_for(value, lo, hi, length);
    int result = getsockopt(fd, level, name, value, &room);
    if (result == 0 && length != NULL)
        *length = room;
    return result;
}

static struct addrinfo *copy_info(const struct addrinfo *from) {
    struct addrinfo *to = lee_heap_alloc(NULL, sizeof *to);
    *to = *from;
    to->ai_next = NULL;
    if (from->ai_addr != NULL) {
        to->ai_addr = lee_heap_alloc(NULL, from->ai_addrlen);
        memcpy(to->ai_addr, from->ai_addr, from->ai_addrlen);
    }
    if (from->ai_canonname != NULL) {
        char *lo, *hi;
        to->ai_canonname = lee_strdup(from->ai_canonname, &lo, &hi);
    }
    return to;
}

int lee_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **result) {
    if (result == NULL)
        lee_fault_null(NULL);
    *result = NULL;
    struct addrinfo asked = {.ai_family = AF_UNSPEC}, *found = NULL;
    if (hints != NULL) {
        asked.ai_flags = hints->ai_flags;
        asked.ai_family = hints->ai_family;
        asked.ai_socktype = hints->ai_socktype;
        asked.ai_protocol = hints->ai_protocol;
    }
    int why = getaddrinfo(node, service, hints != NULL ? &asked : NULL, &found);
    if (why != 0)
        return why;
    struct addrinfo **link = result;
    for (const struct addrinfo *from = found; from != NULL; from = from->ai_next) {
        *link = copy_info(from);
        link = &(*link)->ai_next;
    }
    freeaddrinfo(found);
    return 0;
}

void lee_freeaddrinfo(struct addrinfo *list) {
    (void)list; /* the collector's */
}

/* Whether the `n` bytes of an Internet address are there. */
static bool check_address(int family, const char *p, const char *lo, const char *hi) {
    if (family != AF_INET && family != AF_INET6) {
        errno = EAFNOSUPPORT;
        return false;
    }
    socklen_t n = family == AF_INET ? 4 : 16;
    if (p == NULL)
        lee_fault_null(NULL);
    socklen_t room = room_for(p, lo, hi, &n);
    if (room < n)
        lee_fault_range(NULL, n, room);
    return true;
}

int lee_inet_pton(int family, const char *text, char *address, char *lo, char *hi) {
    if (text == NULL)
        lee_fault_null(NULL);
    return check_address(family, address, lo, hi) ? inet_pton(family, text, address) : -1;
}

const char *lee_inet_ntop(int family, const char *address, const char *lo, const char *hi, char *text, socklen_t n) {
    return check_address(family, address, lo, hi) ? inet_ntop(family, address, text, n) : NULL;
}
