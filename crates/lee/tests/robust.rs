//! Input that no one would write: the command must answer with an error or accept it, quickly, and
//! never die of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::fs;
use std::process::Command;
use support::{fresh, lee, run_limited, Ran};

/// Checks a file with this content; any status but 0 and 1 is a failure.
fn check(name: &str, content: impl AsRef<[u8]>) -> Ran {
    let folder = fresh(&format!("robust-{name}"));
    fs::write(folder.join("x.lee"), content).expect("written");
    let mut command = Command::new(lee());
    command.args(["check", "x.lee"]).current_dir(&folder).env("LEE_VERIFY", "1");
    let ran = run_limited(&mut command, "", 30);
    assert!(ran.status == 0 || ran.status == 1, "{name}: status {}: {}", ran.status, ran.err);
    // Not in lines of the file, which a report shows after their number.
    let mut said = ran.err.lines().filter(|line| !line.contains(" | "));
    assert!(!said.any(|line| line.contains("internal error")), "{name}: {}", ran.err);
    if ran.status == 1 {
        assert!(ran.err.contains("error"), "{name}: no reason given: {}", ran.err);
    }
    ran
}

fn rejected(name: &str, content: impl AsRef<[u8]>) -> Ran {
    check(name, content).expect(1)
}

#[test]
fn empty_file() {
    check("empty", "").expect(0);
}

#[test]
fn blanks_and_comments_only() {
    check("blank", " \n\t\r\n/* nothing */ // here\n").expect(0);
}

#[test]
fn deep_nesting() {
    // A command without optimisation takes long to say so much.
    let deep = if cfg!(debug_assertions) && std::env::var_os("LEE").is_none() { 10_000 } else { 100_000 };
    let nests = [
        ("parentheses", format!("int x = {}1{};", "(".repeat(deep), ")".repeat(deep))),
        ("blocks", format!("void f(void) {}{}", "{".repeat(deep), "}".repeat(deep))),
        ("brackets", format!("int a{};", "[1]".repeat(deep))),
        ("initialisers", format!("int a[] = {}1{};", "{".repeat(deep), "}".repeat(deep))),
        ("pointers", format!("int {}p;", "*".repeat(deep))),
        ("declarators", format!("int {}p{};", "(*".repeat(deep), ")".repeat(deep))),
        ("functions", format!("int f{};", "(int g".repeat(deep))),
        ("unary", format!("int f(int x) {{ return {}x; }}", "-~!".repeat(deep))),
        ("sums", format!("int f(int x) {{ return x{}; }}", " + x".repeat(deep))),
        ("conditions", format!("int f(int x) {{ return {}x; }}", "x ? x : ".repeat(deep))),
        ("assignments", format!("int f(int x) {{ return {}x; }}", "x = ".repeat(deep))),
        ("commas", format!("int f(int x) {{ return {}x; }}", "x, ".repeat(deep))),
        ("ifs", format!("void f(int x) {{ {} ; }}", "if (x) ".repeat(deep))),
        ("elses", format!("void f(int x) {{ {} ; }}", "if (x) ; else ".repeat(deep))),
        ("loops", format!("void f(int x) {{ {} ; }}", "while (x) ".repeat(deep))),
        ("structs", format!("struct s {{ {} int x; {} }};", "struct { ".repeat(deep), "};".repeat(deep))),
        ("members", format!("int f(int x) {{ return x{}; }}", ".m".repeat(deep))),
        ("calls", format!("int f(int x) {{ return {}x{}; }}", "f(".repeat(deep), ")".repeat(deep))),
        ("casts", format!("int f(int x) {{ return {}x; }}", "(int)".repeat(deep))),
        ("sizeofs", format!("int f(int x) {{ return {}x; }}", "sizeof ".repeat(deep))),
        ("generics", format!("{} int x;", "generic <T> ".repeat(deep))),
        (
            "arguments",
            format!("generic <T> struct l {{ T v; }}; struct l{}int{} x;", "<struct l".repeat(deep), ">".repeat(deep)),
        ),
        ("typeofs", format!("{}int{} x;", "typeof(".repeat(deep), ")".repeat(deep))),
        ("attributes", format!("{} int x;", "[[lee::x]]".repeat(deep))),
        ("statement expressions", format!("int f(int x) {{ return {}x{}; }}", "({ ".repeat(deep), "; })".repeat(deep))),
        ("labels", format!("void f(void) {{ {} ; }}", (0..deep).map(|n| format!("l{n}: ")).collect::<String>())),
        ("unsafes", format!("void f(void) {{ {}{} }}", "unsafe {".repeat(deep), "}".repeat(deep))),
        ("defers", format!("void f(void) {{ {} ; }}", "defer ".repeat(deep))),
        ("extern blocks", format!("{}{}", "extern \"C\" {".repeat(deep), "}".repeat(deep))),
    ];
    for (name, text) in nests {
        check(&name.replace(' ', "-"), text);
    }
}

#[test]
fn many_things_of_one_kind() {
    let many = 20_000;
    let lists = [
        ("functions", (0..many).map(|n| format!("int f{n}(int x) {{ return x + {n}; }}\n")).collect::<String>()),
        ("globals", (0..many).map(|n| format!("int g{n} = {n};\n")).collect()),
        (
            "locals",
            format!("void f(void) {{ {} }}", (0..many).map(|n| format!("int v{n} = {n};\n")).collect::<String>()),
        ),
        (
            "cases",
            format!(
                "int f(int x) {{ switch (x) {{ {} }} return 0; }}",
                (0..many).map(|n| format!("case {n}: return {n};\n")).collect::<String>()
            ),
        ),
        (
            "members",
            format!("struct s {{ {} }}; struct s v;", (0..many).map(|n| format!("int m{n};\n")).collect::<String>()),
        ),
        ("parameters", format!("int f({} int last);", (0..many).map(|n| format!("int p{n}, ")).collect::<String>())),
        ("elements", format!("int a[] = {{ {} }};", "1, ".repeat(many * 5))),
        ("strings", format!("const char *s = {};", "\"ab\" ".repeat(many))),
        ("errors", "int x = ;\n".repeat(many)),
        (
            "undeclared",
            format!("int f(void) {{ {} return 0; }}", (0..many).map(|n| format!("u{n} = 1;\n")).collect::<String>()),
        ),
    ];
    for (name, text) in lists {
        check(&format!("many-{name}"), text);
    }
}

#[test]
fn huge_tokens() {
    let huge = 3_000_000;
    check("identifier", format!("int {};", "x".repeat(huge)));
    rejected("number", format!("int x = {};", "9".repeat(huge)));
    check("fraction", format!("double x = 0.{};", "9".repeat(huge)));
    check("string", format!("const char s[] = \"{}\";", "s".repeat(huge)));
    rejected("character", format!("int c = '{}';", "c".repeat(huge)));
    rejected("operators", "<".repeat(huge));
    check("comment", format!("/*{}*/", "*".repeat(huge)));
    check("line", format!("int x;{}int y;", " ".repeat(huge)));
}

#[test]
fn huge_sizes() {
    rejected("array", "char a[0xffffffffffffffff];");
    rejected("nested-array", "char a[1 << 30][1 << 30][1 << 30];");
    check("offset", "struct s { char a[0x7fffffff]; int b; }; int f(struct s *p) { return p->b; }");
    check("enum", "enum e { A = 0x7fffffffffffffff }; enum e x = A;");
    check("shift", "int x = 1 << 4000; int y = 1 << -1;");
    check("range", "int f(int x) { switch (x) { case 0 ... 0x7fffffff: return 1; } return 0; }");
    check("designator", "int a[] = { [0x7ffffff0] = 1 };");
}

#[test]
fn binary_input() {
    check("zeros", [0u8; 4096]);
    rejected("bytes", (0..=255u8).cycle().take(1 << 16).collect::<Vec<u8>>());
    let program = fs::read(support::lee()).expect("the command");
    rejected("elf", &program[..program.len().min(1 << 20)]);
    check("latin1", b"const char *s = \"caf\xe9\"; // \xff\xfe\n");
    check("crlf", "int x;\r\nint y;\r\n");
    check("bom", "\u{feff}int x;\n");
}

#[test]
fn unterminated() {
    for (name, text) in [
        ("string", "const char *s = \"abc"),
        ("comment", "int x; /* abc"),
        ("character", "int c = 'a"),
        ("block", "void f(void) { if (1) {"),
        ("struct", "struct s { int x"),
        ("parameter", "int f(int"),
        ("condition", "#if 1\nint x;"),
        ("macro", "#define F(x) x\nint y = F(1"),
    ] {
        rejected(&format!("unterminated-{name}"), text);
    }
}

#[test]
fn preprocessor_trouble() {
    let ran = rejected("include", "#include \"nowhere.h\"\nint x;\n");
    assert!(ran.err.contains("nowhere.h") && ran.err.contains("x.lee:1"), "{}", ran.err);
    let ran = rejected("self", "#include \"x.lee\"\n");
    assert!(ran.err.contains("nested"), "{}", ran.err);
    let ran = rejected("error", "int x;\n#error not today\n");
    assert!(ran.err.contains("not today") && ran.err.contains("x.lee:2"), "{}", ran.err);
    rejected("directive", "#frobnicate\n");
    check("line-directive", "#line 4294967295 \"other.lee\"\nint x = ;\n");
    check("marker", "# 1 \"a\" 1\n# 99999999999999999999 \"b\"\n# 0 \"\"\nint x;\n");
}

#[test]
fn recursive_types() {
    rejected("self-struct", "struct s { struct s inner; }; struct s x;");
    rejected("two-structs", "struct a { struct b { struct a x; } y; }; struct a z;");
    check("endless-generic", "generic <T> struct l { struct l<struct l<T> *> *next; }; struct l<int> *p;");
    check("growing-instance", "generic <T> struct b { T v; }; generic <T> void f(T x) { struct b<T> y = { x }; f(y); } int main(void) { f(1); return 0; }");
    check("self-typeof", "typeof(x) x;");
    check("self-enum", "enum { A = A };");
    check("self-constant", "constexpr int x = x;");
}
