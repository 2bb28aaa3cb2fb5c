/* thread.c: see thread.h. */
#include "thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

bool lee_thread_start(void *(*run)(void *), void *argument, size_t stack) {
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    int error = errno;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    pthread_attr_setstacksize(&attributes, stack);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&thread, &attributes, run, argument) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    errno = error;
    return started;
}
