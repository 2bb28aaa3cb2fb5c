// A library without `main`: the functions that nothing calls may be called with anything, those
// that they call with what they pass.
//@ options: --whole-program --max-size 128
#include <stdlib.h>

unsigned count(unsigned most) {
    unsigned *seen = malloc(sizeof *seen * (most + 1)); // advise: stack proven
    if (!seen) return 0;
    for (unsigned i = 0; i <= most; i++) seen[i] = i;
    unsigned last = seen[most];
    free(seen);
    return last;
}

static unsigned few(int all) { return all ? count(15) : count(7); }

unsigned entry(int all) { return few(all) + count(19); }

unsigned alone(unsigned most) {
    unsigned *seen = malloc(sizeof *seen * (most + 1)); // advise: hybrid
    if (!seen) return 0;
    seen[0] = most;
    unsigned first = seen[0];
    free(seen);
    return first;
}

unsigned held(unsigned n) {
    unsigned *seen = malloc(n + sizeof *seen); // advise: hybrid
    if (!seen) return 0;
    *seen = n;
    unsigned first = *seen;
    free(seen);
    return first;
}

// Only each other call these two.
unsigned even(unsigned n);
unsigned odd(unsigned n) { return n ? even(n - 1) + held(n) : 0; }
unsigned even(unsigned n) { return n ? odd(n - 1) : 1; }
