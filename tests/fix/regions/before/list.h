#ifndef LIST_H
#define LIST_H
struct node { struct node *next; int value; };
void link_in(struct node *n);
void add_two(struct node *a, struct node *b);
struct node *with_value(struct node *n, int value);
#endif
