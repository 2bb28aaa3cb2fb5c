/* Not named on the command line: it sees a.h, so what is written there is not sure. */
#include "a.h"
int other(int *p) { return total(p, 3); }
