//! Source next to the tree that it must give.

mod common;

use common::parse;
use syntax::{print, Dialect};

#[track_caller]
fn check(dialect: Dialect, source: &str, expected: &str) {
    let (unit, errors) = parse(dialect, source);
    assert_eq!(errors, Vec::<String>::new(), "{source}");
    let printed = print::print(&unit).replace("foreign ", "");
    let lines = |text: &str| -> Vec<String> {
        let indent = text.lines().find(|l| !l.trim().is_empty()).map_or(0, |l| l.len() - l.trim_start().len());
        text.lines().filter(|l| !l.trim().is_empty()).map(|l| l.get(indent..).unwrap_or(l.trim()).to_string()).collect()
    };
    assert_eq!(lines(&printed), lines(expected), "{source}");
}

#[track_caller]
fn c(source: &str, expected: &str) {
    check(Dialect::C, source, expected);
}

#[track_caller]
fn lee(source: &str, expected: &str) {
    check(Dialect::Leeward, source, expected);
}

/// One expression statement in a function.
#[track_caller]
fn expression(source: &str, expected: &str) {
    let text = format!("typedef int T; void f(void) {{ {source}; }}");
    let (unit, errors) = parse(Dialect::Leeward, &text);
    assert_eq!(errors, Vec::<String>::new(), "{source}");
    let printed = print::print(&unit);
    assert_eq!(printed.lines().last().unwrap_or("").trim(), expected, "{source}");
}

#[test]
fn operators_bind_as_in_c() {
    expression("a + b * c - d", "(- (+ a (* b c)) d)");
    expression("a = b = c, d", "(, (= a (= b c)) d)");
    expression("a += b ? c : d ? e : f", "(+= a (? b c (? d e f)))");
    expression("a ?: b", "(?: a b)");
    expression("a || b && c | d ^ e & f == g < h << i", "(|| a (&& b (| c (^ d (& e (== f (< g (<< h i))))))))");
    expression("-a[1].b->c++ * ~!d", "(* (- (_++ (-> (. (index a 1) b) c))) (~ (! d)))");
    expression("*p++ = &*q", "(= (* (_++ p)) (& (* q)))");
    expression("a - - b + + c", "(+ (- a (- b)) (+ c))");
    expression("a---b", "(- (_-- a) b)");
    expression("(a, b)(c, (d, e))", "(call (, a b) c (, d e))");
    expression("a ? b, c : d", "(? a (, b c) d)");
}

#[test]
fn casts_and_sizes() {
    expression("(T)a + (b)", "(+ (cast <T> a) b)");
    expression("(T)(T)-a", "(cast <T> (cast <T> (- a)))");
    expression("sizeof(T) * sizeof a[1] + sizeof(a)", "(+ (* (sizeof <T>) (sizeof (index a 1))) (sizeof a))");
    expression("sizeof(T){1}", "(sizeof (literal <T> {1}))");
    expression("(T[]){1, [2] = 3, [4 ... 5] = 6}[0]", "(index (literal <array[] of T> {1, [2] = 3, [4 ... 5] = 6}) 0)");
    expression("(static const T){1}", "(literal static <const T> {1})");
    expression("(struct s){.a.b[1] = 1, c: 2, {}}", "(literal <struct s> {.a.b[1] = 1, .c = 2, {}})");
    expression(
        "_Alignof(T) + __alignof__ a + alignof(int *)",
        "(+ (+ (alignof <T>) (alignof a)) (alignof <pointer to int>))",
    );
    expression(
        "(void (*)(T, char **))a",
        "(cast <pointer to function(_: T, _: pointer to pointer to char) returning void> a)",
    );
}

#[test]
fn gnu_expressions() {
    expression("({ int x = 1; x; })", "{declare x: int = 1; x}");
    expression("&&label", "(&& label)");
    expression("__builtin_va_arg(ap, T *)", "(va_arg ap <pointer to T>)");
    expression("__builtin_offsetof(struct s, a.b[2].c)", "(offsetof <struct s> .a.b[2].c)");
    expression("__builtin_types_compatible_p(T, int)", "(types_compatible <T> <int>)");
    expression("__builtin_convertvector(a + b, T)", "(convertvector (+ a b) <T>)");
    expression("__builtin_choose_expr(1, a, b)", "(choose 1 a b)");
    expression("__extension__ __real__ a + __imag__ b", "(+ (__extension__ (__real__ a)) (__imag__ b))");
    expression("_Generic(a, T: 1, default: 2, char *: 3)", "(_Generic a <T>: 1 default: 2 <pointer to char>: 3)");
}

#[test]
fn literals() {
    expression("0x1F + 0b101 + 017 + 1'000'000", "(+ (+ (+ 31 5) 15) 1000000)");
    expression("1u + 2L + 3uLL + 4llu", "(+ (+ (+ 1u 2l) 3ull) 4ull)");
    expression("0xffffffffffffffff", "18446744073709551615");
    expression("1.5f + .5 + 1e3L + 0x1.8p1 + 2.", "(+ (+ (+ (+ 1.5:Float .5) 1e3:LongDouble) 0x1.8p1) 2.)");
    expression("1.0f16 + 1.0f128 + 1.0iF + 2i", "(+ (+ (+ 1.0:Float16 1.0:Float128) 1.0:Floati) 2i)");
    expression(
        r"'a' + '\n' + '\x41' + '\101' + L'\u00e9' + u8'x' + 'ab'",
        r"(+ (+ (+ (+ (+ (+ 'a' '\xa') 'A') 'A') L'\xe9') u8'x') '\x6162')",
    );
    expression(r#""a" "b\n" "\x41\0""#, r#""ab\nA\u{0}""#);
    expression(r#"u"é" "x""#, r#"u"\xe9x""#);
    expression(r#""é""#, r#""\xc3\xa9""#);
    expression("nullptr == true", "(== nullptr true)");
}

#[test]
fn declarators_read_from_the_name_outwards() {
    c("int *(*f)(int);", "declare f: pointer to function(_: int) returning pointer to int");
    c(
        "char *(*(*a[3])(void))[5];",
        "declare a: array[3] of pointer to function() returning pointer to array[5] of pointer to char",
    );
    c(
        "void (*signal(int sig, void (*func)(int)))(int);",
        "declare signal: function(sig: int, func: pointer to function(_: int) returning void) returning \
         pointer to function(_: int) returning void",
    );
    c("int a[static const 3];", "declare a: array[static const 3] of int");
    c(
        "void f(int n, int a[n][*], ...);",
        "declare f: function(n: int, a: array[n] of array[*] of int, ...) returning void",
    );
    c(
        "const char *const p, *volatile q;",
        "declare p: const pointer to const char\ndeclare q: volatile pointer to const char",
    );
}

#[test]
fn types_of_many_words() {
    c("long unsigned int long x;", "declare x: unsigned long long");
    c("short y; signed char z; unsigned w;", "declare y: short\ndeclare z: signed char\ndeclare w: unsigned int");
    c("double long _Complex a; _Complex b;", "declare a: _Complex long double\ndeclare b: _Complex double");
    c(
        "unsigned __int128 a; _Float64 b; __int128_t c;",
        "declare a: unsigned __int128\ndeclare b: _Float64\ndeclare c: __int128",
    );
    c("_Atomic(int) a; _Atomic int b;", "declare a: _Atomic(int)\ndeclare b: _Atomic int");
    c("typeof(1 + 1) a; __typeof__(int *) b;", "declare a: typeof((+ 1 1))\ndeclare b: typeof(<pointer to int>)");
}

#[test]
fn names_of_types_follow_scopes() {
    c("typedef int T; typedef T U; U x;", "typedef T: int\ntypedef U: T\ndeclare x: U");
    c(
        "typedef int T; void f(void) { T T = 1; T * 2; { typedef char T; T *x; } }",
        "typedef T: int
         function f: function() returning void
           declare T: T = 1
           (* T 2)
           block
             typedef T: char
             declare x: pointer to T"
            .replace("\n         ", "\n")
            .as_str(),
    );
    c(
        "typedef int T; int f(T), g(int T), h(int (T));",
        "typedef T: int
declare f: function(_: T) returning int
declare g: function(T: int) returning int
declare h: function(_: function(_: T) returning int) returning int",
    );
    c(
        "typedef int T; struct T { T T; }; enum { A, T2 = sizeof(T) };",
        "typedef T: int
declare struct T {...}
  field T: T
declare enum {...}
  enumerator A
  enumerator T2 = (sizeof <T>)",
    );
    // A parameter hides a type until its function ends.
    c(
        "typedef int T; void f(int T) { T = 1; } T x;",
        "typedef T: int
function f: function(T: int) returning void
  (= T 1)
declare x: T",
    );
    c(
        "typedef int T; void f(void) { for (int T = 0; T < 1;) T++; T y; T: y = 1; }",
        "typedef T: int
function f: function() returning void
  for
    declare T: int = 0
    test (< T 1)
    (_++ T)
  declare y: T
  label T
    (= y 1)",
    );
}

#[test]
fn old_c() {
    c("main() { return 0; }", "function main: function(old-style ) returning (no type)\n  return 0");
    c(
        "int f(a, b) int a; char *b; { return a; }",
        "function f: function(old-style a: (no type), b: (no type)) returning int
  old-style declare a: int
  old-style declare b: pointer to char
  return a",
    );
    c("static x; const y = 1;", "declare static x: (no type)\ndeclare y: const (no type) = 1");
    c(
        "typedef unsigned char bool; bool b; typedef enum { false, true } boolean;",
        "typedef bool: unsigned char
declare b: bool
typedef boolean: enum {...}
  enumerator false
  enumerator true",
    );
    c(
        "int byte, view, unsafe, new, generic; int defer(int fat);",
        "declare byte: int
declare view: int
declare unsafe: int
declare new: int
declare generic: int
declare defer: function(fat: int) returning int",
    );
}

#[test]
fn c23() {
    c(
        "[[deprecated(\"x\"), gnu::pure]] int f(void) [[gnu::cold]];",
        "declare f: function() returning int [[deprecated(\"x\"), gnu::pure]] [[gnu::cold]]",
    );
    lee(
        "auto x = 1; constexpr auto y = 2; static auto z = 3;",
        "declare x: auto = 1
declare constexpr y: auto = 2
declare static z: auto = 3",
    );
    lee(
        "enum e : unsigned char { A [[deprecated]] = 1, B, };",
        "declare enum e : unsigned char {...}
  enumerator A [[deprecated]] = 1
  enumerator B",
    );
    lee(
        "thread_local static alignas(16) alignas(long) int x; bool b = true; int a[] = {};",
        "declare static thread_local alignas(16) alignas(<long>) x: int
declare b: bool = true
declare a: array[] of int = {}",
    );
    lee(
        "static_assert(sizeof(int) == 4); static_assert(1, \"no\");",
        "static_assert (== (sizeof <int>) 4)\nstatic_assert 1 \"no\"",
    );
    lee(
        "void f(int, char *) { goto l; l: int x; m: }",
        "function f: function(_: int, _: pointer to char) returning void
  goto l
  label l
    declare x: int
  label m
    empty",
    );
    lee(
        "typeof_unqual(const int) x; int f(...);",
        "declare x: typeof_unqual(<const int>)\ndeclare f: function(...) returning int",
    );
    lee(
        "void f(void) { switch (1) { case 1: [[fallthrough]]; case 2 ... 4: default: break; } }",
        "function f: function() returning void
  switch 1
    block
      case 1
        [[fallthrough]]
        empty
      case 2 ... 4
      default
        break",
    );
}

#[test]
fn gnu_declarations() {
    c(
        "extern int f(void) __asm__(\"g\" \"h\") __attribute__((__noreturn__, format(printf, 1, 2)));",
        "declare extern f: function() returning int asm \"gh\" [[noreturn, format(printf, 1, 2)]]",
    );
    c("struct __attribute__((packed)) s { int a : 3, : 4, b; struct { int c; }; union { int d; } u; } __attribute__((aligned(8))) x;", "declare x: struct s {...} [[packed, aligned(8)]]
  field a: int : 3
  field _: int : 4
  field b: int
  anonymous struct {...}
    field c: int
  field u: union {...}
    field d: int");
    c(
        "#pragma pack(push, 1)\nstruct s { char c; int i; };\n#pragma pack(pop)\nstruct t { int i; };",
        "declare struct s {...} [[pack(1)]]
  field c: char
  field i: int
declare struct t {...}
  field i: int",
    );
    c(
        "__extension__ typedef struct { } empty; __auto_type x = 1; __thread int y;",
        "typedef empty: struct {...}
declare x: auto = 1
declare thread_local y: int",
    );
    c(
        "int *_Nonnull p; int *_Nullable q; char * __restrict__ r;",
        "declare p: pointer nonnull to int
declare q: pointer to int
declare r: restrict pointer to char",
    );
    c("void f(void) { __label__ a; int g(int x) { return x; } a: goto *p; asm volatile(\"nop\" : \"=r\"(x) : [n] \"i\"(1) : \"memory\"); }", "function f: function() returning void
  nested function g: function(x: int) returning int
    return x
  label a
    goto * p
  asm \"nop\"");
    c(
        "struct s { int n; int m[] __attribute__((counted_by(n))); };",
        "declare struct s {...}
  field n: int
  field m: array[] of int [[counted_by(n)]]",
    );
}

#[test]
fn pointer_qualifiers() {
    lee(
        "int *fat p; char *null_terminated fat nonnull unique @heap q;",
        "declare p: pointer fat to int
declare q: pointer fat null_terminated nonnull unique @heap to char",
    );
    lee(
        "int sum(const int *counted_by(n) a, int n, int b[n]);",
        "declare sum: function(a: pointer counted_by(n) to const int, n: int, b: array[n] of int) returning int",
    );
    lee("void f(consume struct conn *unique c, char *null_terminated *counted_by(2) argv);", "declare f: function(consume c: pointer unique to struct conn, argv: pointer counted_by(2) to pointer null_terminated to char) returning void");
    lee(
        "char buf[16] null_terminated; struct m { int n; int t[] counted_by(n); };",
        "declare buf: array[16] null_terminated of char
declare struct m {...}
  field n: int
  field t: array[] counted_by(n) of int",
    );
    lee(
        "struct view { int offset; struct data *rc data; }; struct view *(view)(struct view *any view2);",
        "declare struct view {...}
  field offset: int
  field data: pointer rc to struct data
declare view: function(view2: pointer any to struct view) returning pointer to struct view",
    );
}

#[test]
fn generic_declarations() {
    lee(
        "generic <T> struct list { T head; struct list<T> *tail; };",
        "generic <T> declare struct list {...}
  field head: T
  field tail: pointer to struct list<T>",
    );
    lee("generic <T: move @a + heap, own q, @a outlives @b> T *q @a f(struct list<struct list<T>> *l) { T x; return l; }", "generic <T: move @a + heap, own q, @a outlives @b> function f: function(l: pointer to struct list<struct list<T>>) returning pointer q @a to T
  declare x: T
  return l");
    lee(
        "generic <T> typedef struct list<T> *list_t; list_t<int> a; void f(list_t<list_t<char *>> x);",
        "generic <T> typedef list_t: pointer to struct list<T>
declare a: list_t<int>
declare f: function(x: list_t<list_t<pointer to char>>) returning void",
    );
    lee(
        "struct tree<@r> { struct tree<@r> *@r left, *@r right; }; int T; int g(void) { return T < 3; }",
        "declare struct tree<@r> {...}
  field left: pointer @r to struct tree<@r>
  field right: pointer @r to struct tree<@r>
declare T: int
function g: function() returning int
  return (< T 3)",
    );
    lee(
        "generic <own q> struct databuf { unsigned offset; byte *fat q bytes; }; struct databuf<unique> d;",
        "generic <own q> declare struct databuf {...}
  field offset: unsigned int
  field bytes: pointer fat q to byte
declare d: struct databuf<own unique>",
    );
}

#[test]
fn leeward_statements() {
    lee(
        "void f(void) { defer free(p); unsafe { g(); } a :=: b->c; L: { int x; int *@L p = &x; } }",
        "function f: function() returning void
  defer
    (call free p)
  unsafe
    (call g)
  (:=: a (-> b c))
  label L
    block
      declare x: int
      declare p: pointer @L to int = (& x)",
    );
    lee("tagged union value { int number; const char *text; }; int f(union value v) { switch (v) { case .number(n): return n; case .text: return 0; } }", "declare tagged union value {...}
  field number: int
  field text: pointer to const char
function f: function(v: union value) returning int
  switch v
    block
      case .number(n)
        return n
      case .text
        return 0");
    lee(
        "struct v { int kind; union { int n; char *s; } u tagged_by(kind) { NUM: n, STR: s }; };",
        "declare struct v {...}
  field kind: int
  field u: union {...} tagged_by(kind) {NUM: n, STR: s}
    field n: int
    field s: pointer to char",
    );
}

#[test]
fn leeward_expressions() {
    expression("new struct node{ .next = all }", "(new <struct node> {.next = all})");
    expression("new(r) int[n + 1]", "(new in r <int> [(+ n 1)])");
    expression("new int[n][4]", "(new <array[4] of int> [n])");
    expression("new? struct s *[4]", "(new? <pointer to struct s> [4])");
    expression("new(exchange) unsigned char[32]", "(new in exchange <unsigned char> [32])");
    expression("new rc struct data{ 1 }", "(new rc <struct data> {1})");
    expression("new struct msg[.len = n]", "(new <struct msg> [.len = n])");
    expression("new T", "(new <T>)");
    expression("malloc?(n) ? a : b", "(? (call? malloc n) a b)");
    expression("lengthof(p) + unsafe(*q)", "(+ (lengthof p) (unsafe (* q)))");
    expression("container_of(p, struct s, m)->n", "(-> (container_of p <struct s> m) n)");
    expression("x = spawn worker(s)", "(= x (spawn (call worker s)))");
    expression("x = spawn? worker(s)", "(= x (spawn? (call worker s)))");
}

#[test]
fn trust_and_foreign() {
    let (unit, errors) = parse(
        Dialect::Leeward,
        "trusted size_t *strlen(const char *s); int a; extern \"C\" { int b; extern \"C\" int c; } extern \"C\" int d(void) { return 1; } \
         trusted generic <T> void qsort2(T *fat p);",
    );
    assert_eq!(errors, ["test.lee:1:9: unknown type name `size_t`"]);
    let origins: Vec<bool> = unit.items.iter().map(|i| i.origin == syntax::ast::Origin::Foreign).collect();
    assert_eq!(origins, [false, false, true, true, true, false]);
}

#[test]
fn declared_names_hide_words() {
    lee(
        "int new, view, byte, unsafe; void f(void) { new = view + byte; unsafe(1); int open; open(x, y); }",
        "declare new: int
declare view: int
declare byte: int
declare unsafe: int
function f: function() returning void
  (= new (+ view byte))
  (call unsafe 1)
  declare open: int
  (call open x y)",
    );
    lee(
        "int send(int, int); void f(void) { send(1, 2); send c.Reply(3); }",
        "declare send: function(_: int, _: int) returning int
function f: function() returning void
  (call send 1 2)
  send c Reply 3",
    );
}

#[test]
fn regions_and_ownership() {
    lee(
        "void f(void) { arena r; reap a, b; borrow p = q->m; cursor pp = &h; open reap h = *k; unpack *x as {@d, k, root: mine}; }",
        "function f: function() returning void
  arena r
  reap a, b
  borrow p = (-> q m)
  cursor pp = (& h)
  open reap h = (* k)
  unpack (* x) as {@d, k: k, root: mine}",
    );
    lee(
        "struct fn<@x> { exists @e outlived by @x; void *@e env; }; void g(arena r, consume rc_reap_key<@d> k, int *unique @r p);",
        "declare struct fn<@x> {...}
  exists @e outlived by @x
  field env: pointer @e to void
declare g: function(r: arena, consume k: rc_reap_key<@d>, p: pointer unique @r to int) returning void",
    );
    lee(
        "int open(const char *, int); void f(void) { int n = open(s, 1); open(s, n); int arena = 1, borrow; borrow = arena; }",
        "declare open: function(_: pointer to const char, _: int) returning int
function f: function() returning void
  declare n: int = (call open s 1)
  (call open s n)
  declare arena: int = 1
  declare borrow: int
  (= borrow arena)",
    );
}

#[test]
fn contracts() {
    lee("local contract Nic extends Base { in message M(int n, Nic.exp:A e); message Ok(); out message No(); state A { M? -> (Ok! | No! -> B) -> A; } state B { } } struct s { Nic.exp:A d; };", "local contract Nic extends Base
  in message M(n: int, e: Nic.exp:A)
  message Ok()
  out message No()
  state A
    M? -> (Ok! | No! -> B) -> A
  state B
declare struct s {...}
  field d: Nic.exp:A");
    // The words mean something in a contract only.
    lee("int state, message, in, out, exp, imp, after, closed, extends; contract C { state state { message! -> state; } out message message(int in); }", "declare state: int
declare message: int
declare in: int
declare out: int
declare exp: int
declare imp: int
declare after: int
declare closed: int
declare extends: int
contract C
  out message message(in: int)
  state state
    message! -> state");
    lee(
        "void f(Nic.exp:START -> RUNNING d, Nic.imp e); int g(int n, struct t u) { return n ? u.exp : 1; }",
        "declare f: function(d: Nic.exp:START -> RUNNING, e: Nic.imp) returning void
function g: function(n: int, u: struct t) returning int
  return (? n (. u exp) 1)",
    );
}

#[test]
fn statements_about_channels() {
    lee("contract C { } void f(void) { channel C:S (c, d); send c.M(1, a[2]); receive s->e[1].M(v, w); v = w; switch receive { case c.M(x) && (e, y in m).N(): use(x, y); break; case (e in s).closed(): case after (250): default: return; } }", "contract C
function f: function() returning void
  channel C:S c d
  send c M 1 (index a 2)
  receive (index (-> s e) 1) M v w
  (= v w)
  switch receive
    case c M x && (e, y in m) N
      (call use x y)
      break
    case (e in s) closed
    case after 250
    default
      return");
    lee(
        "void g(void) { switch (state d) { case A: break; } switch (state) { case 1: break; } }",
        "function g: function() returning void
  switch state d
    block
      case A
        break
  switch state
    block
      case 1
        break",
    );
}

#[test]
fn expose_has_a_name_or_none() {
    lee(
        "void f(void) { expose (p) { p = 1; } expose (s = &v[2]) { s = 1; } expose (q); }",
        "function f: function() returning void
  expose p
    block
      (= p 1)
  expose s = (& (index v 2))
    block
      (= s 1)
  (call expose q)",
    );
}

#[test]
fn later_constructs_are_one_node_each() {
    lee(
        "process void w(int c) { } void f(void) { pid t = start g(1); }",
        "function process w: function(c: int) returning void
function f: function() returning void
  declare t: unsupported pid = (start (call g 1))",
    );
    lee("generic <T> void f(weak<T> *w, cell<struct list<T>> *c, task *t);", "generic <T> declare f: function(w: pointer to unsupported weak, c: pointer to unsupported cell, t: pointer to unsupported task) returning void");
}

#[test]
fn floating_types_of_gnu_c_may_be_declared_by_headers() {
    c(
        "typedef float _Float32; _Float32 a; extern _Float64x b(int);",
        "typedef _Float32: float
declare a: _Float32
declare extern b: function(_: int) returning _Float64x",
    );
    c(
        "_Complex _Float128 a; __bf16 b;",
        "declare a: _Complex _Float128
declare b: unsupported __bf16",
    );
    expression("__builtin_bit_cast(T, (T)a) + 1", "(+ (unsupported __builtin_bit_cast) 1)");
}

#[test]
fn attributes_before_trusted_and_generic() {
    lee(
        "[[lee::into(s)]] trusted char *f(char *counted_by(n) s, [[lee::optional]] int *n) __asm__(\"g\"); [[noreturn]] generic <T> void h(T x);",
        "trusted declare f: function(s: pointer counted_by(n) to char, n: pointer to int [[lee::optional]]) returning pointer to char [[lee::into(s)]] asm \"g\"
generic <T> declare noreturn h: function(x: T) returning void [[noreturn]]",
    );
    lee(
        "[[deprecated]] int a; __attribute__((unused)) static int b;",
        "declare a: int [[deprecated]]\ndeclare static b: int [[unused]]",
    );
}
