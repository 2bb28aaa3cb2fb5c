//@ only: clang
//@ out: 2301 34567812 3456789abcdef012
//@ out: 3012 34567812 123456789abcdef
//@ out: 1 80000000
// clang's rotations.
extern int printf(const char *, ...);
int main(void) {
    unsigned n = 8, x = 0x12345678;
    printf("%x %x %llx\n", __builtin_rotateleft16(0x0123, 8), __builtin_rotateleft32(x, n), __builtin_rotateleft64(0x123456789abcdef0, n) );
    printf("%x %x %llx\n", __builtin_rotateright16(0x0123, 4), __builtin_rotateright32(x, 16 + n), __builtin_rotateright64(0x123456789abcdef0, 4));
    printf("%x %x\n", __builtin_rotateleft32(1, 0), __builtin_rotateright32(1, 33));
    return 0;
}
