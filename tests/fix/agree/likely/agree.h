/* The definition says more, and names its parameters otherwise. */
int sum(const int *counted_by(n) a, int n);
char *null_terminated @s skip(char *null_terminated @s s);
/* Here the header says more. */
int first(int *fat p);
/* Both say something: which is right is not known. */
int differ(int *fat p, int n);
