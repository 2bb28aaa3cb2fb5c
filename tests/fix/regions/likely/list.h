#ifndef LIST_H
#define LIST_H
struct node { struct node *next; int value; };
void link_in(struct node *@heap n);
void add_two(struct node *@heap a, struct node *@heap b);
struct node *@n with_value(struct node *@n n, int value);
#endif
