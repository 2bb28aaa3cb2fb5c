struct box { int *fat kept, *other; };
int types(void);
int syntax(void);
int across(int *fat p);
int apart(int *counted_by(2) p);
