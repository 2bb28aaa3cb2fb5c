/* The tenants as plain C does them, with the same handlers: `host PORT` runs them in threads of
 * this process, which one bad request ends; `host PORT processes`, each in a process of the
 * operating system. 0 is a free port. Ends at SIGINT. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "services.h"
#include "tenant.h"

enum { BODY_MOST = 1 << 20, ROOM = 1 << 30 /* bytes of address space, which keep a bomb from the machine */ };

/* The page of ../page.h asks from another port. */
#define END_OF_HEAD "Access-Control-Allow-Origin: *\r\nConnection: close\r\n\r\n"

static bool in_processes;
static atomic_long requests[TENANTS], failures[TENANTS];

static void send_all(int client, const char *text, size_t length) {
    while (length > 0) {
        ssize_t put = send(client, text, length, MSG_NOSIGNAL);
        if (put <= 0)
            return;
        text += put;
        length -= (size_t)put;
    }
}

static void say(int client, const char *status, const char *text) {
    char all[300];
    int n = snprintf(all, sizeof all, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n" END_OF_HEAD "%s", status, strlen(text), text);
    send_all(client, all, (size_t)n);
}

/* As ../host.lee tells it: [kind, whether it is up, requests, failures, restarts, bytes, nanoseconds,
 * p50, p99, why] each. What a tenant takes is not known here. */
static void say_status(int client) {
    char text[32 << 10] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" END_OF_HEAD "{\"tenants\":[";
    size_t used = strlen(text);
    for (int i = 0; i < TENANTS; i++) {
        long failed = atomic_load(&failures[i]);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s[%d,1,%ld,%ld,%ld,0,0,0,0,\"%s\"]", i ? ",\n" : "",
                                 i % 3, atomic_load(&requests[i]), failed, failed, failed ? "it was killed" : "");
    }
    used += (size_t)snprintf(text + used, sizeof text - used, "]}\n");
    send_all(client, text, used);
}

void answer(int which, int client, const char *body, size_t length) {
    struct reply out = {.used = 0};
    switch (which % 3) {
    case 0: json_answer(body, length, &out); break;
    case 1: image_answer(body, length, &out); break;
    default: calc_answer(body, length, &out); break;
    }
    char all[REPLY_MOST + 120];
    int n = snprintf(all, 120, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n" END_OF_HEAD, out.used);
    memcpy(all + n, out.text, out.used);
    send_all(client, all, (size_t)n + out.used);
}

static void serve(int client) {
    char head[4096];
    size_t used = 0;
    char *end = NULL;
    head[0] = 0;
    while (!(end = strstr(head, "\r\n\r\n"))) {
        ssize_t got = used < sizeof head - 1 ? read(client, head + used, sizeof head - 1 - used) : 0;
        if (got <= 0)
            return;
        used += (size_t)got;
        head[used] = 0;
    }
    const char *said = strstr(head, "Content-Length: ");
    size_t begin = (size_t)(end - head) + 4, length = said ? strtoul(said + 16, NULL, 10) : 0;
    int which = strncmp(head, "POST /t", 7) == 0 ? atoi(head + 7) : -1;
    if (strncmp(head, "GET /status ", 12) == 0) {
        say_status(client);
        return;
    }
    if (which < 0 || which >= TENANTS || length > BODY_MOST) {
        say(client, "404 Not Found", "POST to /t0 to /t199, or GET /status\n");
        return;
    }
    char *body = malloc(length + 1);
    if (!body)
        return;
    size_t there = used - begin < length ? used - begin : length;
    memcpy(body, head + begin, there);
    while (there < length) {
        ssize_t got = read(client, body + there, length - there);
        if (got <= 0)
            break;
        there += (size_t)got;
    }
    if (there == length) {
        atomic_fetch_add(&requests[which], 1);
        if (!in_processes) {
            answer(which, client, body, length);
            audit_read();
        } else if (!tenant_serve(which, client, body, length)) {
            atomic_fetch_add(&failures[which], 1);
            say(client, "500 Tenant Failed", "it was killed\n");
        }
    }
    free(body);
}

static void *connection(void *of) {
    int client = (int)(long)of;
    serve(client);
    close(client);
    return NULL;
}

static int listening;
static volatile sig_atomic_t stopped;

/* It may come while nothing waits in `accept`, which has to fail then, too. */
static void stop(int signal) {
    (void)signal;
    stopped = 1;
    shutdown(listening, SHUT_RDWR);
}

int main(int argc, char **argv) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int on = 1;
    listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    in_processes = argc > 2 && strcmp(argv[2], "processes") == 0;
    services_fork_processes = in_processes;
    address.sin_port = htons((unsigned short)(argc > 1 ? atoi(argv[1]) : 8081));
    setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listening, (struct sockaddr *)&address, sizeof address) != 0 || listen(listening, 1024) != 0 ||
        getsockname(listening, (struct sockaddr *)&address, &length) != 0) {
        perror("bind");
        return 1;
    }
    const char *how = in_processes ? tenants_begin() : "threads";
    if (!in_processes)
        setrlimit(RLIMIT_AS, &(struct rlimit){ROOM, ROOM});
    printf("%s\nopen http://127.0.0.1:%d/\n", how, ntohs(address.sin_port));
    fflush(stdout);
    struct sigaction action = {.sa_handler = stop};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 << 10);
    while (!stopped) {
        int client = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
        pthread_t thread;
        if (client >= 0 && pthread_create(&thread, &small, connection, (void *)(long)client) == 0)
            pthread_detach(thread);
        else if (client >= 0)
            close(client);
    }
    if (in_processes)
        tenants_end();
    return 0;
}
