/* assert(): a condition that does not hold is a fault. May be included again with another NDEBUG, as in C. */
#ifndef LEE_ASSERT_H
#define LEE_ASSERT_H

trusted void lee_assert_failed(const char *text, const char *file, unsigned line) __attribute__((noreturn));

#endif

#undef assert
#ifdef NDEBUG
#define assert(...) ((void)0)
#else
#define assert(...) ((__VA_ARGS__) ? (void)0 : lee_assert_failed(#__VA_ARGS__, __FILE__, __LINE__))
#endif
