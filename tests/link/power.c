#include "power.h"

long power(long base, long exponent);

long power(long base, long exponent) {
    long result = 1;
    for (long i = 0; i < exponent && i < POWER_LIMIT; i++)
        result *= base;
    return result;
}
