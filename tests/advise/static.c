// With the whole program seen, what is too big for the stack can be static if one call of its
// function at most is active.
//@ options: --whole-program
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    printf("%d\n", caught);
    return 0;
}
