/* Round trips of 64 bytes: client PORT CONNECTIONS SECONDS. Each connection has one question on its way at
 * any time. Prints how many were answered in a second. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BYTES = 64 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
    if (argc < 4)
        return 2;
    int count = atoi(argv[2]), epoll = epoll_create1(0);
    double seconds = atof(argv[3]);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(argv[1])), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char question[BYTES] = "question", answer[BYTES];
    for (int i = 0; i < count; i++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
        if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0 ||
            write(fd, question, BYTES) != BYTES) {
            perror("client");
            return 1;
        }
    }
    long answered = 0;
    double begin = now(), end = begin;
    struct epoll_event events[64];
    while (end - begin < seconds) {
        int ready = epoll_wait(epoll, events, 64, -1);
        for (int i = 0; i < ready; i++) {
            int fd = events[i].data.fd;
            if (recv(fd, answer, BYTES, MSG_WAITALL) != BYTES || write(fd, question, BYTES) != BYTES) {
                perror("client");
                return 1;
            }
            answered++;
        }
        end = now();
    }
    printf("%.0f\n", (double)answered / (end - begin));
    return 0;
}
