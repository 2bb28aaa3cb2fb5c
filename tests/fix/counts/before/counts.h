/* The prototype names its parameters otherwise, and one not at all. */
int sum(int *a, int n);
void fill(int *to, unsigned count, int value);
int unnamed(int *, int);
