struct box { int *kept, *other; };
int types(void);
int syntax(void);
int across(int *p);
int apart(int *fat p);
