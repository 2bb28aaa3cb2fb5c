// With the whole program seen, what is too big for the stack can be static if one call of its
// function at most is active.
//@ options: --whole-program
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <ucontext.h>

static int once(int n) {
    char *p = malloc(1000); // advise: static proven has:static char
    if (!p) return -1;
    memset(p, n, 1000);
    n = p[999];
    free(p);
    return n;
}

static int zeroed(int n) {
    int *v = calloc(200, sizeof(int)); // advise: static has:memset
    if (!v) return -1;
    int r = v[0] + v[199];
    for (int i = 0; i < 200; i++) v[i] = n;
    free(v);
    return r;
}

static int by_a_signal(int n) { // rule: reached
    char *p = malloc(1000); // advise: declined --max-size
    if (!p) return -1;
    memset(p, n, 1000);
    n = p[999];
    free(p);
    return n;
}

static volatile int caught;

static void handler(int signal) {
    caught += by_a_signal(signal);
}

// Other threads, coroutines and callbacks begin at a function whose address is taken.
static int by_a_thread(int n) {
    char *p = malloc(1000); // advise: declined --max-size
    if (!p) return -1;
    memset(p, n, 1000);
    n = p[999];
    free(p);
    return n;
}

static void *thread(void *n) {
    *(int *)n = by_a_thread(*(int *)n);
    return NULL;
}

static int by_a_coroutine(int n) {
    char *p = malloc(1000); // advise: declined --max-size
    if (!p) return -1;
    memset(p, n, 1000);
    n = p[999];
    free(p);
    return n;
}

static ucontext_t first, second;
static int from_coroutine;

static void coroutine(void) {
    from_coroutine = by_a_coroutine(9);
}

static int by_a_callback(int n) {
    char *p = malloc(1000); // advise: declined --max-size
    if (!p) return -1;
    memset(p, n, 1000);
    n = p[999];
    free(p);
    return n;
}

static int compare(const void *a, const void *b) {
    return by_a_callback(*(const int *)a) - *(const int *)b;
}

static int nested(int n) {
    char *p = malloc(1000); // advise: declined may call itself
    if (!p) return -1;
    memset(p, n, 1000);
    int r = n > 0 ? nested(n - 1) : 0;
    r += p[999];
    free(p);
    return r;
}

static int too_much(int n) {
    char *p = malloc(100000); // advise: declined --max-size
    if (!p) return -1;
    p[0] = (char)n;
    n = p[0];
    free(p);
    return n;
}

int main(void) {
    signal(SIGUSR1, handler);
    raise(SIGUSR1);
    for (int n = 0; n < 5; n++) printf("%d %d %d %d %d\n", once(n), zeroed(n), nested(n), too_much(n), by_a_signal(n));
    int number = 7, all[3] = { 3, 1, 2 };
    static char stack[1 << 16];
    pthread_t other;
    if (pthread_create(&other, NULL, thread, &number) == 0) pthread_join(other, NULL);
    getcontext(&second);
    second.uc_stack.ss_sp = stack;
    second.uc_stack.ss_size = sizeof stack;
    second.uc_link = &first;
    makecontext(&second, coroutine, 0);
    swapcontext(&first, &second);
    qsort(all, 3, sizeof *all, compare);
    printf("%d %d %d %d\n", caught, number, from_coroutine, all[0]);
    return 0;
}
