//! Damaged text: whatever comes in, the parser ends, does not panic, and reports places inside the
//! text.

mod common;

use common::on_big_stack;
use source::{render, Sink, SourceMap};
use syntax::{Dialect, ParseOptions};

/// A small generator: the same seeds give the same damage everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

const SEED: &str = r#"
generic <T: move, own q, @a outlives @b> struct list<@r> { T head; struct list<T> *q @r tail; int m[] counted_by(n); };
tagged union value { int number; const char *text; };
struct v { int kind : 3; union { int n; char *s; } u tagged_by(kind) { NUM: n, STR: s }; exists @d; key<@d> k; };
contract Nic { in message M(int n); state A { M? -> (Ok! | Bad!) -> A; } }
process void w(Nic.exp:A -> B c, int n) { }
trusted size_t strlen(const char *null_terminated s);
extern "C" { int f(int, char **, ...); } extern "C" int g(void) { return 1; }
typedef int (*fn)(int a[static const 3], void (*)(void)) __attribute__((format(printf, 1, 2)));
enum e : unsigned char { A [[deprecated("x")]] = 1, B, C = sizeof(struct v) };
static inline int old(a, b) int a; register char *b; { return a ? b[0] : -1; }
_Static_assert(1 == 1, "text" "more"); __asm__("nop");
int main(int argc, char *null_terminated *counted_by(argc + 1) argv) {
    auto x = new(r) struct node{ .next = { [0 ... 3] = 1 }, field: 2 }; int *unique p = new? int[n]; q = malloc?(4);
    for (int i = 0, *j = &i; i < 0x1Fu && j != nullptr; i++, --*j) { if (i) continue; else if (!j) break; else goto out; }
    switch (v) { case .number(n): return n; case 1 ... 4: [[fallthrough]]; default:; }
    do { a :=: b->c; x = (struct s){ 1, 2 }.a + sizeof x + (char)'\n' + L"wide"[0] + 1.5e-3f; } while (0);
    L: { defer free(p); unsafe { *(int *)0 = 1; } arena r; borrow b = p; open arena h = k; send c.M(1); receive c.N(v); }
    expose (p) { y = 1; } unpack p as {@d, k, root: mine}; channel Nic (c, d); pid t = spawn w(1); switch receive { case a.b(): }
    __asm__ volatile ("x" : "=r"(a) : [n] "i"(1) : "memory"); x = ({ __label__ z; z: 1; }); goto *&&z; x = a ?: b;
    return _Generic(x, int: 1, default: __builtin_offsetof(struct s, a.b[1])) >> 2 << 3 >= 4;
out: }
"#;

const SNIPPETS: &[&str] = &[
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    ">>",
    ";",
    ",",
    ":",
    "::",
    ":=:",
    "*",
    "&",
    "@",
    "?",
    "=",
    "...",
    "->",
    ".",
    "#",
    "\\",
    "\"",
    "'",
    "/*",
    "//",
    "\0",
    "\u{ff}",
    "\u{10fe80}",
    "é",
    "0x",
    "1e",
    "struct",
    "union",
    "enum",
    "typedef",
    "int",
    "if",
    "else",
    "for",
    "while",
    "do",
    "switch",
    "case",
    "default",
    "return",
    "new",
    "generic",
    "tagged",
    "unsafe",
    "extern \"C\"",
    "__attribute__((",
    "[[",
    "]]",
    "typeof(",
    "_Generic(",
    "sizeof",
    "(int)",
    "static",
    "auto",
    "exists @x",
    "unpack",
    "contract X {",
    "process",
    "receive",
    "x",
    "T",
    "\n# 3 \"y\" 1 3\n",
    "\n#pragma pack(1)\n",
    "counted_by(",
    "fat",
    "unique",
    "consume",
    "__extension__",
    "asm(",
    "static_assert(",
    "operator",
    "\n",
];

fn mutate(random: &mut Random, text: &str) -> String {
    let mut text = text.to_string();
    for _ in 0..1 + random.below(6) {
        let place = |random: &mut Random, text: &str| {
            let mut at = random.below(text.len() + 1);
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        let (a, b) = (place(random, &text), place(random, &text));
        let (a, b) = (a.min(b), a.max(b));
        match random.below(6) {
            0 => text.insert_str(a, SNIPPETS[random.below(SNIPPETS.len())]),
            1 => {
                let end = (a..=text.len().min(a + 12)).rev().find(|&e| text.is_char_boundary(e)).unwrap_or(a);
                text.replace_range(a..end, SNIPPETS[random.below(SNIPPETS.len())]);
            }
            2 if b - a < 200 => text.replace_range(a..b, ""),
            3 if b - a < 400 => {
                let copy = text[a..b].to_string();
                text.insert_str(b, &copy);
            }
            4 => text.truncate(b.max(20).min(text.len())),
            _ => text.insert_str(a, SNIPPETS[random.below(SNIPPETS.len())]),
        }
        while !text.is_char_boundary(text.len()) {
            text.pop();
        }
    }
    text
}

fn survives(text: String) {
    for dialect in [Dialect::Leeward, Dialect::C] {
        let map = SourceMap::new("damaged.lee", text.clone());
        let mut sink = Sink::default();
        let unit = syntax::parse(&map, ParseOptions::new(dialect), &mut sink);
        let printed = syntax::print::print(&unit);
        assert!(printed.len() <= text.len() * 400 + 1000);
        for diagnostic in sink.all.iter().take(5) {
            assert!(diagnostic.span.lo <= diagnostic.span.hi && diagnostic.span.hi as usize <= text.len(), "{text}");
            assert!(!render::text(&map, diagnostic, render::Style::default()).is_empty());
        }
    }
}

#[test]
fn the_seed_itself_is_almost_without_errors() {
    let map = SourceMap::new("seed.lee", SEED.to_string());
    let mut sink = Sink::default();
    syntax::parse(&map, ParseOptions::new(Dialect::Leeward), &mut sink);
    let messages: Vec<&str> = sink.all.iter().map(|d| d.message.as_str()).collect();
    assert_eq!(messages, ["unknown type name `size_t`"]);
}

#[test]
fn damaged_text_is_survived() {
    on_big_stack(|| {
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        for _ in 0..600 {
            let text = mutate(&mut random, SEED);
            survives(text);
        }
    });
}

#[test]
fn every_prefix_is_survived() {
    on_big_stack(|| {
        for end in (0..SEED.len()).filter(|&e| SEED.is_char_boundary(e)).step_by(7) {
            survives(SEED[..end].to_string());
        }
    });
}

#[test]
fn noise_is_survived() {
    on_big_stack(|| {
        let mut random = Random(42);
        for round in 0..300 {
            let length = random.below(400);
            let text: String = if round % 2 == 0 {
                (0..length).map(|_| char::from(random.below(256) as u8)).collect()
            } else {
                (0..length).map(|_| format!("{} ", SNIPPETS[random.below(SNIPPETS.len())])).collect()
            };
            survives(text);
        }
        let bytes: Vec<u8> = (0..200_000).map(|_| random.below(256) as u8).collect();
        let map = SourceMap::from_bytes("noise", bytes);
        let mut sink = Sink::default();
        syntax::parse(&map, ParseOptions::new(Dialect::Leeward), &mut sink);
        assert!(sink.has_errors());
    });
}

#[test]
fn huge_tokens_are_fine() {
    on_big_stack(|| {
        let long = "x".repeat(1 << 20);
        survives(format!("int {long} = 1; char *s = \"{long}\"; // {long}\n/* {long} */ int y;"));
        survives(format!("int a = {};", "9".repeat(1 << 20)));
        survives(format!("double a = 0x{}.8p1;", "f".repeat(1 << 16)));
        survives(format!("int a = '{}';", "a".repeat(1 << 16)));
    });
}
