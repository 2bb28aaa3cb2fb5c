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

#include "services.h"

static struct {
    pthread_mutex_t lock; /* one request at a time */
    int socket;
    pid_t process;
} tenants[TENANTS];

static bool has_cgroups;
static char group[64];

/* Writes `text` into a file of the tenant's group of a controller. */
static bool write_group(const char *controller, int which, const char *file, const char *text) {
    char path[200];
    snprintf(path, sizeof path, "/sys/fs/cgroup/%s/%s/t%d/%s", controller, group, which, file);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return done;
}

static const char *const controllers[] = {"memory", "pids", "cpu"};

static bool make_group(int which) {
    for (size_t i = 0; i < 3; i++) {
        char path[200];
        snprintf(path, sizeof path, "/sys/fs/cgroup/%s/%s", controllers[i], group);
        mkdir(path, 0755);
        snprintf(path, sizeof path, "/sys/fs/cgroup/%s/%s/t%d", controllers[i], group, which);
        if (mkdir(path, 0755) != 0)
            return false;
    }
    return write_group("memory", which, "memory.limit_in_bytes", "8388608") && write_group("pids", which, "pids.max", "20");
}

/* Kills all that is in the tenant's group. */
static void kill_group(int which) {
    char path[200];
    snprintf(path, sizeof path, "/sys/fs/cgroup/pids/%s/t%d/cgroup.procs", group, which);
    for (int again = 0; again < 20; again++) {
        FILE *file = fopen(path, "re");
        int pid = 0, found = 0;
        while (file && fscanf(file, "%d", &pid) == 1) {
            kill(pid, SIGKILL);
            found = 1;
        }
        if (file)
            fclose(file);
        if (!found)
            return;
        usleep(1000);
    }
}

const char *tenants_begin(void) {
    snprintf(group, sizeof group, "lee-tenants-%d", (int)getpid());
    has_cgroups = true;
    for (int i = 0; i < TENANTS; i++) {
        tenants[i].socket = -1;
        pthread_mutex_init(&tenants[i].lock, NULL);
        has_cgroups = has_cgroups && make_group(i);
    }
    signal(SIGPIPE, SIG_IGN);
    return has_cgroups ? "cgroup v1" : "setrlimit";
}

static void run_tenant(int which, int socket) {
    char me[16];
    snprintf(me, sizeof me, "%d", (int)getpid());
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    if (has_cgroups) {
        for (size_t i = 0; i < 3; i++)
            write_group(controllers[i], which, "cgroup.procs", me);
    } else {
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
    if (has_cgroups)
        kill_group(which);
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
        for (size_t k = 0; has_cgroups && k < 3; k++) {
            char path[200];
            snprintf(path, sizeof path, "/sys/fs/cgroup/%s/%s/t%d", controllers[k], group, i);
            rmdir(path);
        }
    }
    for (size_t k = 0; has_cgroups && k < 3; k++) {
        char path[200];
        snprintf(path, sizeof path, "/sys/fs/cgroup/%s/%s", controllers[k], group);
        rmdir(path);
    }
}
