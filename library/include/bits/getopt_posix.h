/* What glibc's <unistd.h> includes for getopt: the library's, whose `optarg` is no variable. */
#include <getopt.h>
