struct box { int *fat kept, *other; };
int types(void);
int syntax(void);
int across(int *fat p);
int apart(int *fat p);
