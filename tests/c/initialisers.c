//@ out: 3 3 tail 5
//@ out: 100 605 000 000 789 0,0,4,4,4,4,9,0,0,0,0,0,-1,-1,-1,-1,
//@ out: four 5 y 1 4
//@ out: 8 12 8 b 1.5 6
//@ out: lit 0 0.25 1.5
//@ out: 4 0 1 6 24
//@ out: 3 ab 3 3 lit 0
//@ out: 3 5 3
// Designators, ranges, elision, flexible tails, addresses, strings, unions, compound literals.
extern int printf(const char *, ...);
struct in { int a, b[3]; const char *s; };
struct out { struct in x[2]; union { int i; float f; char c[8]; } u; struct { int p, q; }; };
struct flex { int n; short tail[]; };
static struct flex flex = { 3, { 1, 2, 3 } };
static struct { int a; struct flex *f; char t[]; } text = { 1, &flex, "tail" };
static int grid[][3] = { { 1 }, { [2] = 5 }, [4] = { 7, 8, 9 }, [1][0] = 6 };
static int runs[16] = { [2 ... 5] = 4, 9, [12 ... 15] = -1 };
static char chars[4] = "four", many[] = "a" "b\0c", *list[] = { "x", [3] = "y" };
static int *inside = &grid[4][1], distance = (char *)&grid[1] - (char *)&grid[0];
static struct out all = { { { 1, 2, 3, 4, "s" }, { .b[1] = 8, .s = &many[1] } }, { .f = 1.5f }, .q = 6 };
static struct in *literal = &(struct in) { 5, { 6 }, "lit" };
static const double numbers[] = { 1, -2.5, 1e3, 0x1p-2, 3 / 2, 3 / 2. };
static void (*table[2])(void) = { [1] = (void (*)(void))0 };
int main(void) {
    int n = 3, order[] = { n, n + 1, [5] = n * 2, [3] = 1 };
    struct out local = { .x[1].b = { 1, n }, .u.c = "ab", { 4, n } }, copy = { .x[0] = *literal, local.x[1] };
    char buffer[6] = { 'a', 'b' }, word[] = { "word" };
    printf("%d %d %s %zu\n", flex.tail[2], text.f->n, text.t, sizeof grid / sizeof *grid);
    for (int i = 0; i < 5; i++) printf("%d%d%d ", grid[i][0], grid[i][1], grid[i][2]);
    for (int i = 0; i < 16; i++) printf("%d,", runs[i]);
    printf("\n%.4s %zu %s %d %zu\n", chars, sizeof many, list[3], list[1] == 0, sizeof list / sizeof *list);
    printf("%d %d %d %s %.1f %d\n", *inside, distance, all.x[1].b[1], all.x[1].s, all.u.f, all.q);
    printf("%s %d %.2f %.1f\n", literal->s, literal->b[1], numbers[3], numbers[5]);
    printf("%d %d %d %d %zu\n", order[1], order[2], order[3], order[5], sizeof order);
    printf("%d %s %d %d %s %d\n", local.x[1].b[1], local.u.c, local.q, copy.x[1].b[1], copy.x[0].s, buffer[5]);
    printf("%d %zu %d\n", ((int[]) { 1, n, 3 })[1], sizeof word, (struct in) { .a = n }.a);
    return table[1] != 0;
}
