/* Options of a command line. The state is the runtime's; `optarg` and its kin are macros over functions, so they are
 * read and (optind, opterr) assigned as in C. The words of `argv` live as long as the program: main's do. */
#ifndef LEE_GETOPT_H
#define LEE_GETOPT_H

#define no_argument 0
#define required_argument 1
#define optional_argument 2

struct option {
    const char *name;
    int has_arg;
    int *flag;
    int val;
};

trusted char *lee_optarg(void);
trusted int *nonnull lee_optind(void);
trusted int *nonnull lee_opterr(void);
trusted int *nonnull lee_optopt(void);
#define optarg lee_optarg()
#define optind (*lee_optind())
#define opterr (*lee_opterr())
#define optopt (*lee_optopt())

trusted int getopt(int argc, char *@heap null_terminated const *counted_by(argc) argv, const char *options)
    __asm__("lee_getopt");
trusted int getopt_long(int argc, char *@heap null_terminated const *counted_by(argc) argv, const char *options,
                        const struct option *fat longer, int *which) __asm__("lee_getopt_long");
trusted int getopt_long_only(int argc, char *@heap null_terminated const *counted_by(argc) argv, const char *options,
                             const struct option *fat longer, int *which) __asm__("lee_getopt_long_only");

#endif
