/* The prototype names its parameters otherwise, and one not at all. */
int sum(int *counted_by(n) a, int n);
void fill(int *counted_by(count) to, unsigned count, int value);
int unnamed(int *fat, int);
