/* The server to compare with: one thread, epoll, non-blocking sockets, no task per connection: epoll PORT. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listening = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), epoll = epoll_create1(0);
    address.sin_port = htons((unsigned short)(argc > 1 ? atoi(argv[1]) : 0));
    if (bind(listening, (struct sockaddr *)&address, sizeof address) != 0 || listen(listening, 1024) != 0)
        return 1;
    getsockname(listening, (struct sockaddr *)&address, &length);
    printf("listening on port %d\n", ntohs(address.sin_port));
    fflush(stdout);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listening}, events[64];
    epoll_ctl(epoll, EPOLL_CTL_ADD, listening, &event);
    for (;;) {
        int count = epoll_wait(epoll, events, 64, -1);
        for (int i = 0; i < count; i++) {
            int fd = events[i].data.fd;
            if (fd == listening) {
                int made;
                while ((made = accept4(listening, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
                    event = (struct epoll_event){.events = EPOLLIN, .data.fd = made};
                    epoll_ctl(epoll, EPOLL_CTL_ADD, made, &event);
                }
                continue;
            }
            char piece[4096];
            ssize_t got = read(fd, piece, sizeof piece);
            if (got == 0 || (got < 0 && errno != EAGAIN) || (got > 0 && write(fd, piece, (size_t)got) != got))
                close(fd);
        }
    }
}
