//@ out: 34 51 7
// Rows whose size is no power of two, behind a parameter and of a local array.
#include <stdio.h>
#include <string.h>
typedef unsigned rows[3][17];
static unsigned pick(rows r, int n) {
    unsigned row[17];
    memcpy(row, r[n], sizeof row);
    return row[n];
}
int main(void) {
    rows r;
    for (unsigned i = 0; i < 3; i++)
        for (unsigned j = 0; j < 17; j++)
            r[i][j] = 17 * (i + 1) + j * 0;
    rows *all = &r;
    r[2][2] = 51;
    int n = 2;
    unsigned copy[17];
    memcpy(copy, (*all)[n - 1], sizeof copy);
    r[n][n - 2] = 7;
    printf("%u %u %u\n", copy[0], pick(r, n), (r + n)[0][0]);
    return 0;
}
