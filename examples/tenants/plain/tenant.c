#define _GNU_SOURCE
#include "tenant.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cgroup.h"
#include "services.h"

static struct {
    pthread_mutex_t lock; /* one request at a time */
    int socket;
    pid_t process;
} tenants[TENANTS];

const char *tenants_begin(void) {
    for (int i = 0; i < TENANTS; i++) {
        tenants[i].socket = -1;
        pthread_mutex_init(&tenants[i].lock, NULL);
    }
    signal(SIGPIPE, SIG_IGN);
    const char *groups = cgroups_begin(TENANTS);
    return groups ? groups : "setrlimit";
}

static void run_tenant(int which, int socket) {
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    cgroup_enter(which);
    if (!cgroups_bound_memory()) {
        pthread_attr_t small; /* a thread's stack counts in full, and would have 8 MB */
        pthread_attr_init(&small);
        pthread_attr_setstacksize(&small, 256 << 10);
        pthread_setattr_default_np(&small);
        setrlimit(RLIMIT_DATA, &(struct rlimit){8 << 20, 8 << 20});
    }
    static char body[1 << 20];
    for (;;) {
        size_t length = 0, there = 0;
        union { struct cmsghdr head; char bytes[CMSG_SPACE(sizeof(int))]; } control;
        struct iovec piece = {&length, sizeof length};
        struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
        if (recvmsg(socket, &message, 0) != (ssize_t)sizeof length || length > sizeof body)
            _exit(0);
        int client = *(int *)(void *)CMSG_DATA(CMSG_FIRSTHDR(&message));
        while (there < length) {
            ssize_t got = read(socket, body + there, length - there);
            if (got <= 0)
                _exit(0);
            there += (size_t)got;
        }
        answer(which, client, body, length);
        close(client);
        if (write(socket, "", 1) != 1)
            _exit(0);
        audit_read();
    }
}

static bool start(int which) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    pid_t process = fork();
    if (process == 0) {
        /* Others' clients, whose connections would stay open with it. */
        dup2(ends[1], 3);
        close_range(4, ~0u, 0);
        run_tenant(which, 3);
    }
    close(ends[1]);
    tenants[which].socket = ends[0];
    tenants[which].process = process;
    return process > 0;
}

static void stop(int which) {
    close(tenants[which].socket);
    tenants[which].socket = -1;
    kill(tenants[which].process, SIGKILL);
    cgroup_kill(which);
    waitpid(tenants[which].process, NULL, 0);
}

/* Milliseconds for a request. */
static int patience(void) {
    const char *said = getenv("TENANTS_PATIENCE");
    return said && atoi(said) > 0 ? atoi(said) : PATIENCE;
}

bool tenant_serve(int which, int client, const char *body, size_t length) {
    pthread_mutex_lock(&tenants[which].lock);
    bool served = tenants[which].socket >= 0 || start(which);
    int socket = tenants[which].socket;
    union { struct cmsghdr head; char bytes[CMSG_SPACE(sizeof(int))]; } control = {0};
    struct iovec piece = {&length, sizeof length};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    control.head = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.head), &client, sizeof client);
    served = served && sendmsg(socket, &message, MSG_NOSIGNAL) == (ssize_t)sizeof length;
    for (size_t sent = 0; served && sent < length;) {
        ssize_t put = send(socket, body + sent, length - sent, MSG_NOSIGNAL);
        served = put > 0;
        sent += served ? (size_t)put : 0;
    }
    struct pollfd ready = {.fd = socket, .events = POLLIN};
    char byte;
    served = served && poll(&ready, 1, patience()) == 1 && read(socket, &byte, 1) == 1;
    if (!served)
        stop(which);
    pthread_mutex_unlock(&tenants[which].lock);
    return served;
}

void tenants_end(void) {
    for (int i = 0; i < TENANTS; i++) {
        if (tenants[i].socket >= 0)
            stop(i);
    }
    cgroups_end();
}
