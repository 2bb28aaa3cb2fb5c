/* Mathematics. A full replacement of the system's header, which declares each function for ten types. */
#ifndef LEE_MATH_H
#define LEE_MATH_H

typedef float float_t;
typedef double double_t;

#define HUGE_VAL (__builtin_huge_val())
#define HUGE_VALF (__builtin_huge_valf())
#define HUGE_VALL (__builtin_huge_vall())
#define INFINITY (__builtin_inff())
#define NAN (__builtin_nanf(""))

#define FP_NAN 0
#define FP_INFINITE 1
#define FP_ZERO 2
#define FP_SUBNORMAL 3
#define FP_NORMAL 4
#define FP_ILOGB0 (-2147483647 - 1)
#define FP_ILOGBNAN (-2147483647 - 1)
#define MATH_ERRNO 1
#define MATH_ERREXCEPT 2
#define math_errhandling (MATH_ERRNO | MATH_ERREXCEPT)

#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440

#define fpclassify(x) __builtin_fpclassify(FP_NAN, FP_INFINITE, FP_NORMAL, FP_SUBNORMAL, FP_ZERO, x)
#define isfinite(x) __builtin_isfinite(x)
#define isinf(x) __builtin_isinf_sign(x)
#define isnan(x) __builtin_isnan(x)
#define isnormal(x) __builtin_isnormal(x)
#define signbit(x) __builtin_signbit(x)
#define isgreater(x, y) __builtin_isgreater(x, y)
#define isgreaterequal(x, y) __builtin_isgreaterequal(x, y)
#define isless(x, y) __builtin_isless(x, y)
#define islessequal(x, y) __builtin_islessequal(x, y)
#define islessgreater(x, y) __builtin_islessgreater(x, y)
#define isunordered(x, y) __builtin_isunordered(x, y)

/* double */
trusted double acos(double x);
trusted double asin(double x);
trusted double atan(double x);
trusted double cos(double x);
trusted double sin(double x);
trusted double tan(double x);
trusted double acosh(double x);
trusted double asinh(double x);
trusted double atanh(double x);
trusted double cosh(double x);
trusted double sinh(double x);
trusted double tanh(double x);
trusted double exp(double x);
trusted double exp2(double x);
trusted double expm1(double x);
trusted double log(double x);
trusted double log10(double x);
trusted double log1p(double x);
trusted double log2(double x);
trusted double logb(double x);
trusted double cbrt(double x);
trusted double fabs(double x);
trusted double sqrt(double x);
trusted double erf(double x);
trusted double erfc(double x);
trusted double lgamma(double x);
trusted double tgamma(double x);
trusted double ceil(double x);
trusted double floor(double x);
trusted double nearbyint(double x);
trusted double rint(double x);
trusted double round(double x);
trusted double trunc(double x);
trusted double atan2(double x, double y);
trusted double copysign(double x, double y);
trusted double fdim(double x, double y);
trusted double fmax(double x, double y);
trusted double fmin(double x, double y);
trusted double fmod(double x, double y);
trusted double hypot(double x, double y);
trusted double nextafter(double x, double y);
trusted double pow(double x, double y);
trusted double remainder(double x, double y);
trusted double fma(double x, double y, double z);
trusted double frexp(double x, int *exponent);
trusted double ldexp(double x, int exponent);
trusted double scalbn(double x, int exponent);
trusted double scalbln(double x, long exponent);
trusted double modf(double x, double *whole);
trusted double remquo(double x, double y, int *quotient);
trusted double nexttoward(double x, long double y);
trusted double nan(const char *tag);
trusted int ilogb(double x);
trusted long lrint(double x);
trusted long lround(double x);
trusted long long llrint(double x);
trusted long long llround(double x);
trusted double j0(double x);
trusted double j1(double x);
trusted double y0(double x);
trusted double y1(double x);
trusted double jn(int n, double x);
trusted double yn(int n, double x);

/* float */
trusted float acosf(float x);
trusted float asinf(float x);
trusted float atanf(float x);
trusted float cosf(float x);
trusted float sinf(float x);
trusted float tanf(float x);
trusted float acoshf(float x);
trusted float asinhf(float x);
trusted float atanhf(float x);
trusted float coshf(float x);
trusted float sinhf(float x);
trusted float tanhf(float x);
trusted float expf(float x);
trusted float exp2f(float x);
trusted float expm1f(float x);
trusted float logf(float x);
trusted float log10f(float x);
trusted float log1pf(float x);
trusted float log2f(float x);
trusted float logbf(float x);
trusted float cbrtf(float x);
trusted float fabsf(float x);
trusted float sqrtf(float x);
trusted float erff(float x);
trusted float erfcf(float x);
trusted float lgammaf(float x);
trusted float tgammaf(float x);
trusted float ceilf(float x);
trusted float floorf(float x);
trusted float nearbyintf(float x);
trusted float rintf(float x);
trusted float roundf(float x);
trusted float truncf(float x);
trusted float atan2f(float x, float y);
trusted float copysignf(float x, float y);
trusted float fdimf(float x, float y);
trusted float fmaxf(float x, float y);
trusted float fminf(float x, float y);
trusted float fmodf(float x, float y);
trusted float hypotf(float x, float y);
trusted float nextafterf(float x, float y);
trusted float powf(float x, float y);
trusted float remainderf(float x, float y);
trusted float fmaf(float x, float y, float z);
trusted float frexpf(float x, int *exponent);
trusted float ldexpf(float x, int exponent);
trusted float scalbnf(float x, int exponent);
trusted float scalblnf(float x, long exponent);
trusted float modff(float x, float *whole);
trusted float remquof(float x, float y, int *quotient);
trusted float nexttowardf(float x, long double y);
trusted float nanf(const char *tag);
trusted int ilogbf(float x);
trusted long lrintf(float x);
trusted long lroundf(float x);
trusted long long llrintf(float x);
trusted long long llroundf(float x);

/* long double */
trusted long double acosl(long double x);
trusted long double asinl(long double x);
trusted long double atanl(long double x);
trusted long double cosl(long double x);
trusted long double sinl(long double x);
trusted long double tanl(long double x);
trusted long double acoshl(long double x);
trusted long double asinhl(long double x);
trusted long double atanhl(long double x);
trusted long double coshl(long double x);
trusted long double sinhl(long double x);
trusted long double tanhl(long double x);
trusted long double expl(long double x);
trusted long double exp2l(long double x);
trusted long double expm1l(long double x);
trusted long double logl(long double x);
trusted long double log10l(long double x);
trusted long double log1pl(long double x);
trusted long double log2l(long double x);
trusted long double logbl(long double x);
trusted long double cbrtl(long double x);
trusted long double fabsl(long double x);
trusted long double sqrtl(long double x);
trusted long double erfl(long double x);
trusted long double erfcl(long double x);
trusted long double lgammal(long double x);
trusted long double tgammal(long double x);
trusted long double ceill(long double x);
trusted long double floorl(long double x);
trusted long double nearbyintl(long double x);
trusted long double rintl(long double x);
trusted long double roundl(long double x);
trusted long double truncl(long double x);
trusted long double atan2l(long double x, long double y);
trusted long double copysignl(long double x, long double y);
trusted long double fdiml(long double x, long double y);
trusted long double fmaxl(long double x, long double y);
trusted long double fminl(long double x, long double y);
trusted long double fmodl(long double x, long double y);
trusted long double hypotl(long double x, long double y);
trusted long double nextafterl(long double x, long double y);
trusted long double powl(long double x, long double y);
trusted long double remainderl(long double x, long double y);
trusted long double fmal(long double x, long double y, long double z);
trusted long double frexpl(long double x, int *exponent);
trusted long double ldexpl(long double x, int exponent);
trusted long double scalbnl(long double x, int exponent);
trusted long double scalblnl(long double x, long exponent);
trusted long double modfl(long double x, long double *whole);
trusted long double remquol(long double x, long double y, int *quotient);
trusted long double nexttowardl(long double x, long double y);
trusted long double nanl(const char *tag);
trusted int ilogbl(long double x);
trusted long lrintl(long double x);
trusted long lroundl(long double x);
trusted long long llrintl(long double x);
trusted long long llroundl(long double x);

/* glibc's */
trusted void sincos(double x, double *sine, double *cosine);
trusted void sincosf(float x, float *sine, float *cosine);
trusted double exp10(double x);
trusted float exp10f(float x);
trusted double drem(double x, double y) __asm__("remainder");
trusted double significand(double x);
trusted double lgamma_r(double x, int *sign);
static inline int finite(double x) {
    return isfinite(x);
}

#endif
