void say(char *text);
char *name_of(int n);
int sum(int *values, int count);
