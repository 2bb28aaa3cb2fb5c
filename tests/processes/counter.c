#include <stdlib.h>
#include <unistd.h>
extern int shared_name;
extern char **environ;
static int counter;
static struct { int n; int *to[2]; } table[2] = { { 1, { 0, &counter } }, { 2, { &table[0].n, &table[1].n } } };
int *const pointer = &counter;
int c_next(void) { static int *const to = &counter; if (table[0].to[1] != &counter || environ == 0) abort(); return ++*to; }
int c_through(void) { return *pointer + *table[1].to[0] + *table[1].to[1] + shared_name; }
void c_leave(int n) { exit(n); }
