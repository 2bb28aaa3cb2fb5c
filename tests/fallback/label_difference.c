//@ out: 42
// Differences of labels as constants: a table of a threaded interpreter.
#include <stdio.h>
static int run(const unsigned char *code) {
    static const int table[] = { &&push - &&push, &&add - &&push, &&end - &&push };
    int stack[8], *top = stack;
    goto *(&&push + table[*code]);
push:
    *top++ = code[1];
    code += 2;
    goto *(&&push + table[*code]);
add:
    top--;
    top[-1] += *top;
    code++;
    goto *(&&push + table[*code]);
end:
    return top[-1];
}
int main(void) {
    static const unsigned char code[] = { 0, 40, 0, 2, 1, 2 };
    printf("%d\n", run(code));
    return 0;
}
