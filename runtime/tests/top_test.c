/* Tests what a client of LEE_TOP's socket asks for (src/top.c). */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <lee/heap.h>
#include <lee/lee.h>
#include <lee/process.h>
#include <lee/task.h>

#include "check.h"

static struct sockaddr_un address = {.sun_family = AF_UNIX};
static char reply[1 << 16];
static atomic_bool answered;

static void *ask_line(void *line) {
    size_t length = 0;
    ssize_t got;
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) == 0 &&
        write(fd, line, strlen(line)) == (ssize_t)strlen(line)) {
        while (length < sizeof reply - 1 && (got = read(fd, reply + length, sizeof reply - 1 - length)) > 0)
            length += (size_t)got;
    }
    reply[length] = 0;
    close(fd);
    atomic_store(&answered, true);
    return NULL;
}

/* Others run meanwhile, and answer. */
static void ask(const char *line) {
    pthread_t client;
    atomic_store(&answered, false);
    CHECK(pthread_create(&client, NULL, ask_line, (void *)(uintptr_t)line) == 0);
    while (!atomic_load(&answered))
        lee_task_yield();
    pthread_join(client, NULL);
}

static int waits(void *arguments) {
    (void)arguments;
    lee_heap_alloc_plain(NULL, 100);
    for (;;)
        lee_task_yield();
    return 0;
}

static bool goes_on, is_whole;

/* Fills the stack, on which a process lay before. */
static void holds(void *arguments) {
    unsigned char held[4096];
    (void)arguments;
    memset(held, 0x5a, sizeof held);
    __asm__ volatile("" : : "r"(held) : "memory");
    while (!goes_on)
        lee_task_yield();
    is_whole = true;
    for (size_t i = 0; i < sizeof held; i++)
        is_whole = is_whole && held[i] == 0x5a;
}

/* A process that was looked at has ended when the next client comes: what lies where it lay is left alone. */
static void test_ended(void) {
    struct lee_pid *pid = lee_process_spawn(NULL, waits, NULL, 0);
    lee_task_yield();
    ask("why\tp2\n");
    check_holds("the answer", reply, "part\tstacks");
    lee_process_kill(pid);
    CHECK(lee_process_wait(pid).how == LEE_KILLED);
    struct lee_task *task = lee_task_start(NULL, holds, NULL, 0);
    lee_task_yield();
    ask("why\tp1\n");
    check_holds("the answer", reply, "part\tstacks");
    ask("list\n");
    check_holds("the answer", reply, "\nend\n");
    goes_on = true;
    lee_task_join(task);
    CHECK(is_whole);
}

int main(void) {
    snprintf(address.sun_path, sizeof address.sun_path, "/tmp/lee-top-test-%d", (int)getpid());
    setenv("LEE_TOP", address.sun_path, 1);
    test_ended();
    return check_failures != 0;
}
