/* Sockets: an address is so many bytes, and a buffer for one is never filled beyond its bounds, whatever length the
 * program claims. getaddrinfo's list is copied to the heap, so that freeaddrinfo has nothing to invalidate. */
#define _GNU_SOURCE

#include "errno_here.h"
#include "aside.h"
#include "fds.h"
#include "io_library.h"
#include "io_wait.h"
#include "opened.h"

#include <lee/heap.h>
#include <lee/layout.h>

#include <arpa/inet.h>
#include <netdb.h>
#include <stddef.h>
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
    int result = lee_accept_waiting(fd, address != NULL && length != NULL ? (struct sockaddr *)address : NULL, &room, flags);
    if (result >= 0 && address != NULL && length != NULL)
        *length = room;
    return result;
}

int lee_accept(int fd, char *address, char *lo, char *hi, socklen_t *length) {
    return lee_accept4(fd, address, lo, hi, length, 0);
}

int lee_getsockname(int fd, char *address, char *lo, char *hi, socklen_t *length) {
    socklen_t room = room_for(address, lo, hi, length);
    int result = !lee_fd_is_mine(fd) ? -1 : getsockname(fd, (struct sockaddr *)address, &room);
    if (result == 0 && length != NULL)
        *length = room;
    return result;
}

int lee_getpeername(int fd, char *address, char *lo, char *hi, socklen_t *length) {
    socklen_t room = room_for(address, lo, hi, length);
    int result = !lee_fd_is_mine(fd) ? -1 : getpeername(fd, (struct sockaddr *)address, &room);
    if (result == 0 && length != NULL)
        *length = room;
    return result;
}

ssize_t lee_recvfrom(int fd, void *buffer, size_t n, int flags, char *address, char *lo, char *hi, socklen_t *length) {
    socklen_t room = room_for(address, lo, hi, length);
    bool wanted = address != NULL && length != NULL;
    ssize_t got = lee_receive(fd, buffer, n, flags, wanted ? (struct sockaddr *)address : NULL, wanted ? &room : NULL);
    if (got >= 0 && wanted)
        *length = room;
    return got;
}

/* Options that are no plain bytes: filters are addresses in the program's memory (and counted in other units when they are read back),
 * TCP's receiving without copies writes to an address that it is told, and the packet filter's tables have pointers. */
static bool is_plain_option(int level, int name) {
    switch (level) {
    case SOL_SOCKET:
        return name != SO_ATTACH_FILTER && name != 50 /* SO_ATTACH_BPF */ && name != 51 && name != 52 /* the same of a group */;
    case IPPROTO_TCP:
        return name != 35; /* TCP_ZEROCOPY_RECEIVE */
    case IPPROTO_IP: case IPPROTO_IPV6:
        return name < 64; /* IPT_BASE_CTL and above */
    case IPPROTO_UDP:
        return true;
    default:
        return false;
    }
}

int lee_getsockopt(int fd, int level, int name, char *value, char *lo, char *hi, socklen_t *length) {
    socklen_t room = room_for(value, lo, hi, length);
    if (!is_plain_option(level, name)) {
        errno = ENOPROTOOPT;
        return -1;
    }
    int result = !lee_fd_is_mine(fd) ? -1 : getsockopt(fd, level, name, value, &room);
    if (result == 0 && length != NULL)
        *length = room;
    return result;
}

int lee_setsockopt(int fd, int level, int name, const void *value, socklen_t length) {
    if (!is_plain_option(level, name)) {
        errno = ENOPROTOOPT;
        return -1;
    }
    if (!lee_fd_is_mine(fd))
        return -1;
    if (level == SOL_SOCKET && (name == SO_RCVTIMEO || name == SO_SNDTIMEO))
        lee_fd_add_kind(fd, LEE_FD_TIMES);
    if ((level == SOL_SOCKET && name == SO_OOBINLINE) || (level == IPPROTO_TCP && name == 31 /* TCP_ULP */))
        lee_fd_drop_kind(fd, LEE_FD_TCP);
    return setsockopt(fd, level, name, value, length);
}

/* libc's resolver waits for other machines, and takes as much stack as it likes. What it is asked stands behind the job. */
struct name_job {
    struct lee_aside aside;
    struct sockaddr_storage address;
    char zero; /* of a local address libc takes the name for a string: behind what is there it finds this */
    socklen_t length, host_length, service_length;
    int flags, result, error;
    char texts[];
};

static void find_name(struct lee_aside *aside) {
    struct name_job *job = (struct name_job *)aside;
    job->result = getnameinfo((const struct sockaddr *)&job->address, job->length, job->texts, job->host_length, job->texts + job->host_length,
                              job->service_length, job->flags);
    job->error = errno;
}

static void release_name(struct lee_aside *aside) {
    free(aside);
}

struct address_job {
    struct lee_aside aside;
    const char *node, *service; /* null, or in `texts` */
    struct addrinfo hints, *found;
    bool hinted;
    int result, error;
    char texts[];
};

static void find_addresses(struct lee_aside *aside) {
    struct address_job *job = (struct address_job *)aside;
    job->result = getaddrinfo(job->node, job->service, job->hinted ? &job->hints : NULL, &job->found);
    job->error = errno;
}

static void release_addresses(struct lee_aside *aside) {
    struct address_job *job = (struct address_job *)aside;
    if (job->result == 0 && job->found != NULL)
        freeaddrinfo(job->found);
    free(job);
}

/* Whoever holds libc's list while it is copied: an allocation may end the task. */
struct address_list {
    struct lee_opened opened;
    struct address_job *job; /* null: given back */
};

static void give_list_back(struct lee_opened *entry) {
    struct address_list *list = (struct address_list *)entry;
    lee_opened_remove(&list->opened);
    release_addresses(&list->job->aside);
    list->job = NULL;
}

/* The collector found it unreachable. */
static void drop_list(void *object, size_t bytes) {
    (void)bytes;
    struct address_list *list = object;
    int why = errno;
    if (list->job != NULL)
        give_list_back(&list->opened);
    errno = why;
}

static const struct lee_layout list_layout = {.bytes = sizeof(struct address_list),
                                              .words = 1u << offsetof(struct lee_opened, custodian) / sizeof(void *),
                                              .drop = drop_list,
                                              .name = "addrinfo list"};

enum { NAME_MOST = 1 << 16 }; /* longer than names are */

int lee_getnameinfo(const void *address, socklen_t length, char *host, socklen_t host_length, char *service,
                    socklen_t service_length, int flags) {
    if (address == NULL || length > sizeof(struct sockaddr_storage))
        return EAI_FAMILY;
    if (host == NULL || host_length > NAME_MOST)
        host_length = host == NULL ? 0 : NAME_MOST;
    if (service == NULL || service_length > NAME_MOST)
        service_length = service == NULL ? 0 : NAME_MOST;
    struct name_job *job = calloc(1, sizeof *job + host_length + service_length);
    if (job == NULL)
        return EAI_MEMORY;
    job->aside.run = find_name;
    job->aside.release = release_name;
    memcpy(&job->address, address, length);
    job->length = length;
    job->host_length = host_length;
    job->service_length = service_length;
    job->flags = flags;
    lee_run_aside(&job->aside);
    int result = job->result;
    if (result == 0 && host_length > 0)
        memcpy(host, job->texts, host_length);
    if (result == 0 && service_length > 0)
        memcpy(service, job->texts + host_length, service_length);
    errno = job->error;
    release_name(&job->aside);
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

static char *put_text(char **at, const char *text) {
    char *put = *at;
    if (text == NULL)
        return NULL;
    size_t bytes = strlen(text) + 1;
    memcpy(put, text, bytes);
    *at += bytes;
    return put;
}

int lee_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **result) {
    if (result == NULL)
        lee_fault_null(NULL);
    *result = NULL;
    size_t bytes = (node != NULL ? strlen(node) + 1 : 0) + (service != NULL ? strlen(service) + 1 : 0);
    if (bytes > NAME_MOST)
        return EAI_NONAME;
    struct address_list *list = lee_heap_alloc_typed(NULL, sizeof *list, &list_layout);
    struct address_job *job = calloc(1, sizeof *job + bytes);
    if (job == NULL) {
        lee_heap_free(list);
        return EAI_MEMORY;
    }
    char *at = job->texts;
    job->aside.run = find_addresses;
    job->aside.release = release_addresses;
    job->node = put_text(&at, node);
    job->service = put_text(&at, service);
    job->hinted = hints != NULL;
    if (hints != NULL)
        job->hints = (struct addrinfo){.ai_flags = hints->ai_flags, .ai_family = hints->ai_family, .ai_socktype = hints->ai_socktype,
                                       .ai_protocol = hints->ai_protocol};
    lee_run_aside(&job->aside); /* releases the job itself if the task ends meanwhile */
    lee_opened_add(&list->opened, give_list_back);
    list->job = job;
    int why = job->result, error = job->error;
    struct addrinfo **link = result;
    for (const struct addrinfo *from = why == 0 ? job->found : NULL; from != NULL; from = from->ai_next) {
        *link = copy_info(from);
        link = &(*link)->ai_next;
    }
    give_list_back(&list->opened);
    lee_heap_free(list);
    errno = error;
    return why;
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
