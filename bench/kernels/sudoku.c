// Solves a hard sudoku n times by trying: sudoku [N].
#include <stdio.h>
#include <stdlib.h>

static long tried;

static int fits(const int *grid, int row, int column, int digit) {
    for (int i = 0; i < 9; i++)
        if (grid[row * 9 + i] == digit || grid[i * 9 + column] == digit)
            return 0;
    int top = row / 3 * 3, left = column / 3 * 3;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            if (grid[(top + r) * 9 + left + c] == digit)
                return 0;
    return 1;
}

static int solve(int *grid, int at) {
    while (at < 81 && grid[at] != 0)
        at++;
    if (at == 81)
        return 1;
    for (int digit = 1; digit <= 9; digit++) {
        if (!fits(grid, at / 9, at % 9, digit))
            continue;
        tried++;
        grid[at] = digit;
        if (solve(grid, at + 1))
            return 1;
    }
    grid[at] = 0;
    return 0;
}

int main(int argc, char **argv) {
    static const char puzzle[] = "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79";
    int n = argc > 1 ? atoi(argv[1]) : 700;
    unsigned sum = 0;
    for (int round = 0; round < n; round++) {
        int grid[81];
        for (int i = 0; i < 81; i++)
            grid[i] = puzzle[i] == '.' || i % 7 == round % 7 ? 0 : puzzle[i] - '0';
        if (!solve(grid, 0))
            return 1;
        for (int i = 0; i < 81; i++)
            sum = sum * 31 + (unsigned)grid[i];
    }
    printf("%ld %08x\n", tried, sum);
    return 0;
}
