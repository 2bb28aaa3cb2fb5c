//! Mistakes next to what must be said about them: one mistake, one error, and parsing continues.

mod common;

use common::{on_big_stack, parse};
use syntax::Dialect;

#[track_caller]
fn check(dialect: Dialect, source: &str, expected: &[&str]) {
    let (_, errors) = parse(dialect, source);
    let errors: Vec<&str> = errors.iter().map(|e| e.strip_prefix("test.lee:").unwrap_or(e)).collect();
    assert_eq!(errors, expected, "{source}");
}

#[track_caller]
fn lee(source: &str, expected: &[&str]) {
    check(Dialect::Leeward, source, expected);
}

#[test]
fn several_independent_mistakes_are_found() {
    lee(
        "int a = ;
int b
int c;
struct s { int x int y; int z; };
int f(void) {
    int x = 1 + ;
    y = (x + 2;
    if (x { g(); }
    for (int i = 0; i < 3, i++) h();
    return 1
}
int h(int x, ) { return x; }
enum { A, B = , C };
}
int ok;
",
        &[
            "1:9: expected an expression, found `;`",
            "2:5: expected `;` after a declaration, found `int`",
            "4:18: expected `;` after a member, found `int`",
            "6:17: expected an expression, found `;`",
            "7:15: expected `)`, found `;`",
            "8:11: expected `)`, found `{`",
            "9:31: expected `;`, found `)`",
            "10:12: expected `;` after `return`, found `}`",
            "12:14: expected a parameter, found `)`",
            "13:15: expected an expression, found `,`",
            "14:1: unexpected `}`: no `{` is open here",
        ],
    );
}

#[test]
fn a_missing_semicolon_does_not_hide_the_next_statement() {
    lee(
        "void f(void) {\n  x = 1\n  y = ;\n}\n",
        &["2:7: expected `;` after an expression, found `y`", "3:7: expected an expression, found `;`"],
    );
    lee(
        "void f(void) { a b c; d = ; }",
        &["1:18: expected `;` after an expression, found `b`", "1:27: expected an expression, found `;`"],
    );
}

#[test]
fn a_declaration_with_a_broken_initialiser_still_declares() {
    lee("typedef int T; void f(void) { int T = (; T * 2; }", &["1:40: expected an expression, found `;`"]);
    lee(
        "int a = 1 +, b = 2 2, c;",
        &["1:12: expected an expression, found `,`", "1:20: expected `;` after a declaration, found `2`"],
    );
}

#[test]
fn unknown_types_are_reported_once() {
    lee(
        "foo_t a; foo_t *f(foo_t x); void g(void) { foo_t y; bar_t *z = a; }",
        &["1:1: unknown type name `foo_t`", "1:53: unknown type name `bar_t`"],
    );
    lee(
        "EXPORT int f(void);\nint g(unknown x, int y);",
        &["1:1: unknown type name `EXPORT`", "2:7: unknown type name `unknown`"],
    );
    // A statement that only looks like one of C's oldest declarations stays an expression.
    lee("void f(int a, int b) { a * b; }", &[]);
}

#[test]
fn qualifiers_of_one_kind() {
    lee("int *fat fat p;", &["1:10: a pointer has at most one bounds qualifier"]);
    lee("int *counted_by(1) null_terminated p;", &["1:20: a pointer has at most one bounds qualifier"]);
    lee("char *fat null_terminated p;", &[]);
    lee("int *unique rc p;", &["1:13: a pointer has at most one ownership word"]);
    lee("int *@a @b p;", &["1:9: a pointer has at most one region"]);
    lee("int *nonnull _Nullable p;", &["1:14: a pointer has at most one null qualifier"]);
    lee("int *view;", &["1:6: `view` after `*` is a qualifier of the pointer; the declared name is missing"]);
}

#[test]
fn specifiers_that_do_not_go_together() {
    lee("static extern int a;", &["1:8: a declaration has one storage class"]);
    lee("unsigned float a;", &["1:1: these type words do not go together"]);
    lee("int struct s a;", &["1:5: `struct` after a type: a declaration has one type"]);
    lee("struct s { int a; } int f(void);", &["1:21: `int` after a type that is already complete"]);
    lee("long long long a;", &["1:1: these type words do not go together"]);
}

#[test]
fn malformed_literals() {
    lee(
        "int w = 0x, v = 1.5z, o = 089, b = 0b12;",
        &[
            "1:9: `0x` has no digits",
            "1:17: `z` is no suffix of a floating constant",
            "1:27: `8` is no digit of an octal number",
            "1:36: `2` is no digit of a binary number",
        ],
    );
    lee(
        "int a = 99999999999999999999, c = 1wb, d = 0x1.8;",
        &[
            "1:9: `99999999999999999999` is too large for any integer type",
            "1:35: `1wb`: bit-precise integers (`_BitInt`) are not supported",
            "1:44: `0x1.8`: a hexadecimal floating constant needs an exponent: `p0`",
        ],
    );
    lee(
        r#"char a = '', *b = "\q", *c = "\x", d = u8'é', *e = u"a" U"b";"#,
        &[
            "1:10: this character constant is empty",
            "1:19: `\\q` is no escape sequence",
            "1:30: `\\x` needs hexadecimal digits",
            "1:40: this character constant has more than one character",
            "1:53: adjacent string literals have different prefixes",
        ],
    );
    lee("char *a = \"abc\n;int b;", &["1:11: this string literal has no end"]);
    lee("char a = 'x\n;", &["1:10: this character constant has no end"]);
    lee("int a; /* never", &["1:8: this comment has no end"]);
}

#[test]
fn strange_bytes_are_reported_once() {
    lee("int a\u{1}\u{2}\u{3};\u{0}\u{0}", &["1:6: byte 0x01 outside of a literal"]);
    lee("int `a; int \\b;", &["1:5: character ``` begins no token", "1:13: character `\\` begins no token"]);
    lee("int é = 1; int \\u00e9t\\u00e9;", &[]);
    lee("int a → b;", &["1:7: character `→` begins no token"]);
}

#[test]
fn misplaced_statements() {
    lee("void f(void) { else x; }", &["1:16: `else` without an `if` before it"]);
    lee("void f(void) { if (1) int a; }", &["1:23: a declaration may not stand here"]);
    lee("typedef int T = 3;", &["1:15: a typedef has no initialiser"]);
    lee("void f(void) { T: }", &[]);
    lee("void f(void) { if (1) {", &["1:24: expected `}`, found the end of the file"]);
}

#[test]
fn words_of_leeward_mean_nothing_in_plain_c() {
    check(
        Dialect::C,
        "int *fat; char *view, *unique; void *unsafe(int *any); int x = 1 @ 2;",
        &["1:66: expected `;` after a declaration, found `@`"],
    );
    check(Dialect::C, "struct list<int> a;", &["1:12: expected a name, found `<`"]);
}

fn nested(open: &str, middle: &str, close: &str, levels: usize) -> String {
    format!("{}{middle}{}", open.repeat(levels), close.repeat(levels))
}

#[test]
fn nesting_has_a_limit_and_one_error() {
    let cases = [
        ("int a = ".to_string(), "(", "1", ")", ";"),
        ("void f(void) ".to_string(), "{", ";", "}", ""),
        ("int a[] = ".to_string(), "{", "1", "}", ";"),
        ("int ".to_string(), "(", "a", ")", ";"),
        ("".to_string(), "struct s {", "int a;", "} b;", ""),
        ("int a = ".to_string(), "-", "1", "", ";"),
        ("int a = ".to_string(), "- ", "1", "", ";"),
        ("int a = ".to_string(), "f(", "1", ")", ";"),
        ("int a = ".to_string(), "a[", "1", "]", ";"),
        ("int a = ".to_string(), "a ? ", "1", " : 1", ";"),
        ("int a = ".to_string(), "sizeof(int[", "1", "])", ";"),
        ("int a = ".to_string(), "({", "1;", ";})", ";"),
        ("void f(".to_string(), "int (*)(", "int", ")", ");"),
        ("typeof(".to_string(), "typeof(", "int", ")", ") a;"),
        ("struct list<".to_string(), "struct list<", "int", ">", "> a;"),
        ("void f(void) { ".to_string(), "if (1) ", ";", "", "}"),
        ("void f(void) { ".to_string(), "for (;;) ", ";", "", "}"),
        ("void f(void) { ".to_string(), "switch (1) { case 1: ", ";", "}", "}"),
        ("int a ".to_string(), "__attribute__((x(", "1", ")))", ";"),
        ("int a = ".to_string(), "(int)", "1", "", ";"),
        ("int a = ".to_string(), "_Generic(", "1", ", int: 1)", ";"),
        ("int a = ".to_string(), "new int[", "1", "]", ";"),
        ("void f(void) { ".to_string(), "defer ", ";", "", "}"),
        ("extern \"C\" { ".to_string(), "extern \"C\" { ", "", "}", "}"),
    ];
    on_big_stack(move || {
        for (before, open, middle, close, after) in cases {
            for levels in [900, 20_000] {
                let text = format!("{before}{}{after}\n", nested(open, middle, close, levels));
                let (_, errors) = parse(Dialect::Leeward, &text);
                if levels == 900 && !open.starts_with("__attribute__") {
                    assert!(errors.iter().all(|e| e.contains("levels of nesting")), "{open}: {errors:?}");
                }
                assert!(errors.len() <= 1, "{open} {levels}: {errors:?}");
            }
        }
    });
}

#[test]
fn chains_may_be_long() {
    let many = 15_000;
    let texts = [
        format!("int a = {}1;", "b + ".repeat(many)),
        format!("int a = {}1;", "b = ".repeat(many)),
        format!("int a = {}1;", "b ? c : ".repeat(many)),
        format!("void f(void) {{ {} 1; }}", "a, ".repeat(many)),
        format!("void f(void) {{ a{}; }}", ".b".repeat(many)),
        format!("void f(void) {{ a{}; }}", "(1)".repeat(many)),
        format!("void f(void) {{ {} }}", "a = 1; ".repeat(many * 10)),
        format!("void f(void) {{ if (1) ; {} }}", "else if (2) ; ".repeat(many)),
        format!("void f(void) {{ switch (1) {{ {} ; }} }}", "case 1: ".repeat(many)),
        format!("int {} a;", "*".repeat(many)),
        format!("int a{};", "[1]".repeat(900)),
        format!("int a[] = {{ {} }};", "1, ".repeat(many * 10)),
        format!("char *a = {};", "\"x\" ".repeat(many)),
    ];
    on_big_stack(move || {
        for text in texts {
            let (unit, errors) = parse(Dialect::Leeward, &text);
            assert_eq!(errors, Vec::<String>::new(), "{}", &text[..40]);
            assert!(!unit.items.is_empty());
        }
        let (_, errors) = parse(Dialect::Leeward, &format!("int a = {}1;", "b + ".repeat(200_000)));
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(errors[0].contains("more than 20000 operands"));
    });
}
