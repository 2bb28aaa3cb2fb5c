#include "services.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

bool services_fork_processes;

struct question {
    pthread_mutex_t lock;
    pthread_cond_t answered;
    long code, rate;
    bool done;
};

/* A rate that it does not know it waits for, and so does who asked. */
static void *rate(void *of) {
    struct question *q = of;
    while (q->code < 1 || q->code > 9)
        sleep(1000);
    pthread_mutex_lock(&q->lock);
    q->rate = 100 + q->code;
    q->done = true;
    pthread_cond_signal(&q->answered);
    pthread_mutex_unlock(&q->lock);
    return NULL;
}

long host_ask(long code) {
    struct question q = {.lock = PTHREAD_MUTEX_INITIALIZER, .answered = PTHREAD_COND_INITIALIZER, .code = code};
    pthread_t thread;
    if (pthread_create(&thread, NULL, rate, &q) != 0)
        return 0;
    pthread_mutex_lock(&q.lock);
    while (!q.done)
        pthread_cond_wait(&q.answered, &q.lock);
    pthread_mutex_unlock(&q.lock);
    pthread_join(thread, NULL);
    return q.rate;
}

struct event {
    struct event *next;
    long value;
    char text[200];
};

static _Thread_local struct event *outbox;

void host_emit(long value) {
    struct event *e = malloc(sizeof *e);
    if (!e)
        return;
    memset(e->text, 0, sizeof e->text);
    e->value = value;
    e->next = outbox;
    outbox = e;
}

long audit_read(void) {
    long read = 0;
    while (outbox) {
        struct event *e = outbox;
        outbox = e->next;
        read += e->value != 0;
        free(e);
    }
    return read;
}

struct program {
    size_t length;
    char text[];
};

static void *forked(void *of) {
    struct program *p = of;
    struct reply out = {.used = 0};
    calc_answer(p->text, p->length, &out);
    audit_read();
    free(p);
    return NULL;
}

void host_fork(const char *text, size_t length) {
    struct program *copy = malloc(sizeof *copy + length);
    if (!copy)
        return;
    copy->length = length;
    memcpy(copy->text, text, length);
    if (services_fork_processes) {
        if (fork() == 0) {
            forked(copy);
            _exit(0);
        }
        free(copy);
        return;
    }
    pthread_t thread;
    if (pthread_create(&thread, NULL, forked, copy) == 0)
        pthread_detach(thread);
    else
        free(copy);
}
