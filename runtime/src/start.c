/* start.c: what emitted `main` calls first. */
#include <lee/fault.h>

int lee_start(int argc, char **argv) {
    (void)argc;
    (void)argv;
    return 0;
}
