#include <stdlib.h>
static void *kept;
int c_keeps(void) { kept = malloc(1000); return kept != 0; }
