/* The definition says more, and names its parameters otherwise. */
int sum(const int *a, int n);
char *skip(char *s);
/* Here the header says more. */
int first(int *fat p);
/* Both say something: which is right is not known. */
int differ(int *fat p, int n);
