void say(const char *text);
const char *name_of(int n);
int sum(const int *counted_by(count) values, int count);
