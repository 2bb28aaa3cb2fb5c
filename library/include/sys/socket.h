/* Sockets. An address is so many bytes of plain data: `(struct sockaddr *)&address` as an argument means all bytes of
 * `address`, whatever kind of address it is (library/README.md). */
#ifndef LEE_SYS_SOCKET_H
#define LEE_SYS_SOCKET_H

#include_next <sys/socket.h>

[[lee::leaf]] trusted int socket(int domain, int type, int protocol) __asm__("lee_socket");
[[lee::leaf]] trusted int socketpair(int domain, int type, int protocol, int fds[2]) __asm__("lee_socketpair");
[[lee::leaf]] trusted int bind(int fd, const void *counted_by(length) address, socklen_t length) __asm__("lee_bind");
trusted int connect(int fd, const void *counted_by(length) address, socklen_t length) __asm__("lee_connect");
[[lee::leaf]] trusted int listen(int fd, int backlog) __asm__("lee_listen");
trusted int accept(int fd, void *fat address, socklen_t *length) __asm__("lee_accept");
trusted int accept4(int fd, void *fat address, socklen_t *length, int flags) __asm__("lee_accept4");
[[lee::leaf]] trusted int getsockname(int fd, void *fat address, socklen_t *length) __asm__("lee_getsockname");
[[lee::leaf]] trusted int getpeername(int fd, void *fat address, socklen_t *length) __asm__("lee_getpeername");
trusted ssize_t send(int fd, const void *counted_by(n) p, size_t n, int flags) __asm__("lee_send");
trusted ssize_t recv(int fd, void *counted_by(n) p, size_t n, int flags) __asm__("lee_recv");
trusted ssize_t sendto(int fd, const void *counted_by(n) p, size_t n, int flags, const void *counted_by(length) address,
                       socklen_t length) __asm__("lee_sendto");
trusted ssize_t recvfrom(int fd, void *counted_by(n) p, size_t n, int flags, void *fat address, socklen_t *length)
    __asm__("lee_recvfrom");
[[lee::leaf]] trusted int setsockopt(int fd, int level, int name, const void *counted_by(length) value, socklen_t length)
    __asm__("lee_setsockopt");
[[lee::leaf]] trusted int getsockopt(int fd, int level, int name, void *fat value, socklen_t *length) __asm__("lee_getsockopt");
[[lee::leaf]] trusted int shutdown(int fd, int how) __asm__("lee_shutdown");

#endif
