/* The words of text.rs, for C: what Leeward checks is checked by hand, what C leaves open is put in order. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdarg.h>
#include <string.h>

typedef int8_t i8;
typedef uint8_t u8;
typedef int16_t i16;
typedef uint16_t u16;
typedef int32_t i32;
typedef uint32_t u32;
typedef long i64;
typedef unsigned long u64;
typedef __int128 i128;

/* The fault that Leeward should report; `~` in front of a text that its message only contains. */
__attribute__((noreturn, noinline, cold, format(printf, 2, 3))) static void fault(int line, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout);
    fprintf(stderr, "%d: ", line);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    _Exit(134);
}

static i64 clamped(i128 i) { return i > INT64_MAX ? INT64_MAX : i < INT64_MIN ? INT64_MIN : (i64)i; }

static inline i64 index_in(i128 i, i64 n, int line) {
    if (i < 0 || i >= n)
        fault(line, "index %ld out of bounds for length %ld", clamped(i), n);
    return (i64)i;
}

/* A fat pointer: first element, position, length. */
#define FATTYPE(T, N) typedef struct { T *lo; i64 at, n; } F_##N;
FATTYPE(i8, i8) FATTYPE(u8, u8) FATTYPE(i16, i16) FATTYPE(u16, u16)
FATTYPE(i32, i32) FATTYPE(u32, u32) FATTYPE(i64, i64) FATTYPE(u64, u64)

static inline i64 fat_in(const void *lo, i64 at, i64 n, i64 i, int line) {
    i128 where = (i128)at + i;
    if (lo == NULL)
        fault(line, "null pointer");
    if (where < 0 || where >= n) {
        if (where > (1l << 40) || where < -(1l << 40))
            fault(line, "~out of bounds for length %ld", n);
        fault(line, "~%ld out of bounds for length %ld", (i64)where, n);
    }
    return (i64)where;
}

static inline i64 counted_in(const void *p, i64 n, i64 i, int line) {
    if (p == NULL)
        fault(line, "null pointer");
    if (i < 0 || i >= n)
        fault(line, "~%ld out of bounds for length %ld", i, n < 0 ? 0 : n);
    return (i64)i;
}

#define AT(a, i) \
    (*({ __auto_type i_ = (i); __auto_type a_ = (a); a_ + index_in(i_, sizeof(a) / sizeof(*a_), __LINE__); }))
#define ATM(a, i, j) \
    (*({ __auto_type i_ = (i); __auto_type j_ = (j); \
         __auto_type r_ = (a) + index_in(i_, sizeof(a) / sizeof((a)[0]), __LINE__); \
         *r_ + index_in(j_, sizeof(*r_) / sizeof((*r_)[0]), __LINE__); }))
#define PAT(p, i) \
    (*({ __auto_type i_ = (i); __auto_type p_ = (p); p_.lo + fat_in(p_.lo, p_.at, p_.n, (i64)i_, __LINE__); }))
#define CAT(v, m, c, i) \
    (*({ __auto_type i_ = (i); __auto_type v_ = NN(v); v_->m + counted_in(v_->m, v_->c, (i64)i_, __LINE__); }))
#define CATS(s, m, c, i) \
    (*({ __auto_type i_ = (i); __auto_type v_ = &(s); v_->m + counted_in(v_->m, v_->c, (i64)i_, __LINE__); }))

static inline const char *string_at(const char *s, i128 i, int line) {
    if (i != 0) {
        i64 n = (i64)strlen(s);
        if (i < 0 || i > n)
            fault(line, "~out of bounds");
    }
    return s + (i64)i;
}
static inline const char *string_step(const char *s, int line) {
    if (*s == 0)
        fault(line, "~out of bounds");
    return s;
}
#define SAT(s, i) (*({ __auto_type i_ = (i); string_at((s), i_, __LINE__); }))
#define SINC(s) (string_step((s), __LINE__), (s)++)

#define LEAST(T) ((T)((T)1 << (sizeof(T) * 8 - 1)))
#define CHECKED_DIVISION(op, a, b) \
    ({ __auto_type x_ = (a); __auto_type y_ = (b); typedef typeof(x_ + y_) t_; \
       if (y_ == 0) fault(__LINE__, "division by zero"); \
       if ((t_)-1 < 0 && (t_)y_ == (t_)-1 && (t_)x_ == LEAST(t_)) fault(__LINE__, "~division overflow"); \
       x_ op y_; })
#define DIV(a, b) CHECKED_DIVISION(/, a, b)
#define REM(a, b) CHECKED_DIVISION(%, a, b)
#define SHL(a, b) ({ __auto_type x_ = (a); __auto_type y_ = (b); (x_ + 0) << (y_ & (sizeof(x_ + 0) * 8 - 1)); })
#define SHR(a, b) ({ __auto_type x_ = (a); __auto_type y_ = (b); (x_ + 0) >> (y_ & (sizeof(x_ + 0) * 8 - 1)); })
#define ORD(op, a, b) ({ __auto_type x_ = (a); __auto_type y_ = (b); x_ op y_; })
#define ASG(p, e) ({ __auto_type v_ = (e); (p) = v_; })
#define SET(p, e) ({ __auto_type v_ = (e); (p) = v_; })
#define OPSET(p, op, e) ({ __auto_type v_ = (e); __auto_type q_ = &(p); *q_ = *q_ op v_; })
#define FNSET(p, f, op, e) ({ __auto_type v_ = (e); __auto_type q_ = &(p); *q_ = f(*q_, v_); })
#define EXCHANGE(a, b) \
    ({ __auto_type p_ = &(a); __auto_type q_ = &(b); __auto_type t_ = *p_; *p_ = *q_; *q_ = t_; })
#define NN(p) ({ __auto_type n_ = (p); if (n_ == NULL) fault(__LINE__, "null pointer"); n_; })

#define COUNT_OF(v, m, c) ((v)->m != NULL && (v)->c > 0 ? (i64)(v)->c : 0)
#define LEN(p) ({ __auto_type p_ = (p); (u64)(p_.at >= 0 && p_.at <= p_.n ? p_.n - p_.at : 0); })
#define LENA(a) (sizeof(a) / sizeof((a)[0]))
#define LENC(v, m, c) ((u64)COUNT_OF(NN(v), m, c))
#define OFARR(N, a) ((F_##N){ (a), 0, LENA(a) })
#define OFCNT(N, v, m, c) ({ __auto_type v_ = NN(v); (F_##N){ v_->m, 0, COUNT_OF(v_, m, c) }; })
#define ADD(p, k) ({ __auto_type p_ = (p); p_.at += (i64)(k); p_; })
#define MOVE(p, k) ((p).at += (i64)(k))
#define STAR(p) PAT(p, 0)
#define STARINC(p) (*({ __auto_type q_ = &(p); __auto_type o_ = *q_; q_->at++; &PAT(o_, 0); }))
#define STARDEC(p) (*({ __auto_type q_ = &(p); q_->at--; &PAT(*q_, 0); }))
#define PCMP(op, p, q) ({ __auto_type x_ = (p); __auto_type y_ = (q); x_.lo + x_.at op y_.lo + y_.at; })
#define PDIFF(p, q) ({ __auto_type x_ = (p); __auto_type y_ = (q); (x_.lo + x_.at) - (y_.lo + y_.at); })
#define CNTARG(p, k) \
    ({ __auto_type p_ = (p); i64 k_ = (k); i64 have_ = LEN(p_); if (p_.lo == NULL) have_ = 0; \
       if (k_ > 0 && k_ > have_) fault(__LINE__, "%ld elements wanted, out of bounds for length %ld", k_, have_); \
       (typeof(p_)){ p_.lo == NULL ? NULL : p_.lo + p_.at, 0, k_ > 0 && p_.lo != NULL ? k_ : 0 }; })

/* Counted fields: C keeps how many elements the block has. A pointer and its count are assigned on two lines, and Leeward
 * reports what does not fit at the first. */
#define GROW(T, v, m, k) \
    ({ __auto_type v_ = NN(v); i64 k_ = (k); T *new_ = calloc(k_ + 1, sizeof(T)); \
       if (v_->m != NULL) memcpy(new_, v_->m, (k_ < v_->room ? k_ : v_->room) * sizeof(T)); \
       v_->m = new_; v_->room = k_; })
#define TOO_MANY(line, k, have) \
    if ((k) > (have) && (k) > 0) \
        fault(line, "count %ld is larger than the %ld element%s there", (i64)(k), (i64)(have), \
              (have) == 1 ? " that is" : "s that are")
#define SETROOM(v, m, c, k) ({ i64 k_ = (k); __auto_type v_ = NN(v); TOO_MANY(__LINE__ - 1, k_, v_->room); v_->c = k_; })
#define SETN(v, m, c, k) \
    ({ i64 k_ = (k); __auto_type v_ = NN(v); i64 have_ = COUNT_OF(v_, m, c); TOO_MANY(__LINE__, k_, have_); v_->c = k_; })

#define CALL1(f, a) f(a)
#define CALL2(f, a, b) ({ __auto_type a_ = (a); __auto_type b_ = (b); f(a_, b_); })
#define CALL3(f, a, b, c) ({ __auto_type a_ = (a); __auto_type b_ = (b); __auto_type c_ = (c); f(a_, b_, c_); })
#define CALL4(f, a, b, c, d) \
    ({ __auto_type a_ = (a); __auto_type b_ = (b); __auto_type c_ = (c); __auto_type d_ = (d); f(a_, b_, c_, d_); })

#define TGET(u, m, k) (*({ __auto_type u_ = &(u); if (u_->tag != (k)) fault(__LINE__, "~tag: "); &u_->m; }))
#define TSET(u, m, k, e) ({ __auto_type v_ = (e); __auto_type u_ = &(u); u_->tag = (k); u_->m = v_; })
#define BGET(s, m, k) (*({ __auto_type s_ = &(s); if (s_->kind != (k)) fault(__LINE__, "~tag: "); &s_->u.m; }))
#define BSET(s, m, k, e) ({ __auto_type v_ = (e); BGET(s, m, k) = v_; })
#define BTAG(s, k) \
    ({ __auto_type k_ = (k); __auto_type s_ = &(s); if (s_->kind != k_) memset(&s_->u, 0, sizeof s_->u); s_->kind = k_; })

/* Floating point to integer: the nearest value that there is. */
#define CONVERT(T, e) \
    ({ double x_ = (e); T t_; T least_ = (T)-1 < 0 ? LEAST(T) : 0, most_ = (T)-1 < 0 ? (T)~LEAST(T) : (T)-1; \
       if (x_ != x_) t_ = 0; \
       else if (x_ <= (double)least_) t_ = least_; \
       else if (x_ >= (double)most_) t_ = most_; \
       else t_ = (T)x_; \
       t_; })

#define FATOF(T) F_##T
#define FATPARAM(T) F_##T
#define COUNTED(T, n) F_##T
#define HEAP(T, k) ({ i64 k_ = (k); (F_##T){ calloc(k_ + 1, sizeof(T)), 0, k_ }; })
#define FRESH(T, k) HEAP(T, k)
#define ZEROED() = { 0 }
#define NULLFAT(T) ((F_##T){ NULL, 0, 0 })
#define NULLPTR() NULL

static void say(int tag, i64 value) { printf("%d %ld\n", tag, value); }
