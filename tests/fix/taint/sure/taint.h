struct box { int *kept, *other; };
int types(void);
int syntax(void);
int across(int *p);
int apart(int *counted_by(2) p);
