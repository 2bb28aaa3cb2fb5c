// A machine with a stack, its registers and counters in variables of static storage, as much C has them.
#include <stdio.h>
#include <stdlib.h>

enum { PUSH, ADD, SUB, DUP, SWAP, OVER, DROP, RANDOM, LESS, JUMP_UNLESS, JUMP, HALT, OPCODES };

static unsigned state = 1;
static int stack[256];
static int top;
static int at;
static long executed[OPCODES];
static unsigned histogram[64];
static long checksum;

static unsigned random_number(void) {
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

static void push(int value) { stack[top++ & 255] = value; }
static int pop(void) { return stack[--top & 255]; }

static const int program[] = {
    PUSH, 1000, RANDOM, DUP, ADD, DROP, PUSH, 1, SUB, DUP, PUSH, 0, SWAP, LESS, JUMP_UNLESS, 2, HALT,
};

static void run(void) {
    at = 0;
    top = 0;
    for (;;) {
        int op = program[at++];
        executed[op]++;
        switch (op) {
        case PUSH: push(program[at++]); break;
        case ADD: { int b = pop(), a = pop(); push(a + b); break; }
        case SUB: { int b = pop(), a = pop(); push(a - b); break; }
        case DUP: { int a = pop(); push(a); push(a); break; }
        case SWAP: { int b = pop(), a = pop(); push(b); push(a); break; }
        case OVER: { int b = pop(), a = pop(); push(a); push(b); push(a); break; }
        case DROP: checksum += pop(); break;
        case RANDOM: { int n = (int)(random_number() & 63); histogram[n]++; push(n); break; }
        case LESS: { int b = pop(), a = pop(); push(b <= a); break; }
        case JUMP_UNLESS: { int to = program[at++]; if (!pop()) at = to; break; }
        case JUMP: at = program[at]; break;
        case HALT: return;
        }
    }
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 40000;
    for (int i = 0; i < rounds; i++) run();
    for (int i = 0; i < 64; i++) checksum = checksum * 31 + histogram[i];
    for (int i = 0; i < OPCODES; i++) checksum = checksum * 31 + executed[i];
    printf("%ld\n", checksum);
    return 0;
}
