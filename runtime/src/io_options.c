/* getopt, getopt_long: libc's, kept from the ways in which it can be led out of bounds. It keeps a
 * position in `argv` between calls and believes what the program assigns to optind; and a list of
 * long options ends where an empty one stands, which the program may forget. */
#define _GNU_SOURCE

#include "io_library.h"

#include <lee/fault.h>

#include <getopt.h>
#include <unistd.h>

char *lee_optarg(void) {
    return optarg;
}

int *lee_optind(void) {
    return &optind;
}

int *lee_opterr(void) {
    return &opterr;
}

int *lee_optopt(void) {
    return &optopt;
}

/* Starts over where the arguments are not those of the last call: the kept position is not one in
 * them. What the program assigned to optind is brought back to the end: libc moves words up to
 * there. */
static void prepare(int argc, char *const *argv) {
    static char *const *last_argv;
    static int last_argc;
    if (argv != last_argv || argc != last_argc || optind < 0) {
        optind = 0;
        last_argv = argv;
        last_argc = argc;
    }
    if (optind > argc)
        optind = argc > 0 ? argc : 0;
}

typedef int long_getopt(int, char *const *, const char *, const struct option *, int *);

static int get_long(long_getopt *how, int argc, char *const *argv, const char *options, const struct option *longer,
                    const struct option *lo, const struct option *hi, int *which) {
    uintptr_t have = (uintptr_t)hi - (uintptr_t)lo, at = (uintptr_t)longer - (uintptr_t)lo;
    size_t room = longer != NULL && at <= have ? (have - at) / sizeof *longer : 0, n = 0;
    while (n < room && longer[n].name != NULL)
        n++;
    if (longer != NULL && n == room)
        lee_fault_message(NULL, "bounds: getopt_long's options do not end with an empty one");
    if (argc < 1)
        return -1;
    prepare(argc, argv);
    return how(argc, argv, options, longer, which);
}

int lee_getopt(int argc, char *const *argv, const char *options) {
    if (options == NULL)
        lee_fault_null(NULL);
    if (argc < 1)
        return -1;
    prepare(argc, argv);
    return getopt(argc, argv, options);
}

int lee_getopt_long(int argc, char *const *argv, const char *options, const struct option *longer, const struct option *lo,
                    const struct option *hi, int *which) {
    return get_long(getopt_long, argc, argv, options, longer, lo, hi, which);
}

int lee_getopt_long_only(int argc, char *const *argv, const char *options, const struct option *longer,
                         const struct option *lo, const struct option *hi, int *which) {
    return get_long(getopt_long_only, argc, argv, options, longer, lo, hi, which);
}
