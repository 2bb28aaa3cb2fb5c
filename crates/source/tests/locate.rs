//! Preprocessed text as gcc and clang give it, and the places in the user's file that it must lead
//! to.

use source::{Memory, SourceMap, Span};

const USER: &str = "int a;
#include \"inc/h.h\"
#include <stdio.h>
int   f(int  x,   int y) {\treturn MAX(x, y)  +   y ; }
void *p = NULL; int z = EOF   + a;
int q = MAX(a,
    z) + zz;
int w;
";

const HEADER: &str = "int from_h;\n#define MAX(a, b) ((a) > (b) ? (a) : (b))\nint bad_h;\n";

const GCC: &str = r#"# 0 "x.lee"
# 0 "<built-in>"
# 0 "<command-line>"
# 1 "/usr/include/stdc-predef.h" 1 3 4
# 0 "<command-line>" 2
# 1 "x.lee"
int a;
# 1 "inc/h.h" 1
int from_h;

int bad_h;
# 3 "x.lee" 2
# 1 "/usr/include/stdio.h" 1 3 4
# 28 "/usr/include/stdio.h" 3 4
extern int printf (const char *__restrict __format, ...);
# 4 "x.lee" 2

# 4 "x.lee"
int f(int x, int y) { return ((x) > (y) ? (x) : (y)) + y ; }
void *p = 
# 5 "x.lee" 3 4
         ((void *)0)
# 5 "x.lee"
             ; int z = 
# 5 "x.lee" 3 4
                       (-1) 
# 5 "x.lee"
                             + a;
int q = ((a) > (z) ? (a) : (z))
       + zz;
int w;
"#;

const CLANG: &str = r#"# 1 "x.lee"
# 1 "<built-in>" 1
# 1 "<built-in>" 3
# 432 "<built-in>" 3
# 1 "<command line>" 1
# 1 "<built-in>" 2
# 1 "x.lee" 2
int a;
# 1 "inc/h.h" 1
int from_h;

int bad_h;
# 3 "x.lee" 2
# 1 "/usr/include/stdio.h" 1 3 4
# 28 "/usr/include/stdio.h" 3 4
extern int printf (const char *__restrict __format, ...);
# 4 "x.lee" 2
int f(int x, int y) { return ((x) > (y) ? (x) : (y)) + y ; }
void *p = ((void*)0); int z = (-1) + a;
int q = ((a) > (z) ? (a) : (z)) + zz;

int w;
"#;

fn map(text: &str) -> SourceMap {
    let files = Memory::default();
    files.insert("x.lee", USER);
    files.insert("inc/h.h", HEADER);
    SourceMap::new("x.lee", text.to_string()).with_files(Box::new(files))
}

/// `FILE:LINE:COLUMN-ENDCOLUMN` and the macro of the `k`-th occurrence of `what` after `after`.
fn place(map: &SourceMap, after: &str, what: &str) -> String {
    let from = map.text.find(after).unwrap_or(0);
    let lo = map.text[from..].find(what).unwrap_or(0) + from;
    let at = map.locate(Span::new(lo as u32, (lo + what.len()) as u32));
    let name = at.macro_name.map_or(String::new(), |n| format!(" {n}"));
    let from: String = at.included_from.iter().map(|(f, l)| format!(" from {f}:{l}")).collect();
    format!("{}:{}:{}-{}:{}{name}{from}", at.file, at.line, at.column, at.end_line, at.end_column)
}

#[test]
fn columns_are_those_of_the_users_file() {
    for text in [GCC, CLANG] {
        let map = map(text);
        assert_eq!(place(&map, "int f(", "x"), "x.lee:4:14-4:15");
        assert_eq!(place(&map, "int f(", "return"), "x.lee:4:28-4:34");
        assert_eq!(place(&map, "+ y", "y"), "x.lee:4:50-4:51");
        assert_eq!(place(&map, "+ a;", "a"), "x.lee:5:33-5:34");
        assert_eq!(place(&map, "+ zz", "zz"), "x.lee:7:10-7:12");
        assert_eq!(place(&map, "int w", "w"), "x.lee:8:5-8:6");
    }
}

#[test]
fn expansions_point_at_the_macros_name() {
    for text in [GCC, CLANG] {
        let map = map(text);
        assert_eq!(place(&map, "int f(", "?"), "x.lee:4:35-4:38 MAX");
        assert_eq!(place(&map, "void *p", "0"), "x.lee:5:11-5:15 NULL");
        assert_eq!(place(&map, "z =", "1"), "x.lee:5:25-5:28 EOF");
        assert_eq!(place(&map, "int q", "a"), "x.lee:6:13-6:14");
    }
}

#[test]
fn headers_say_who_includes_them() {
    for text in [GCC, CLANG] {
        let map = map(text);
        assert_eq!(place(&map, "bad_h", "bad_h"), "inc/h.h:3:5-3:10 from x.lee:2");
        assert_eq!(place(&map, "printf", "printf"), "/usr/include/stdio.h:28:12-28:18 from x.lee:3");
    }
}

#[test]
fn what_is_a_system_header_is_decided_by_the_file() {
    for text in [GCC, CLANG] {
        let map = map(text);
        let system = |what: &str| map.is_system(text.find(what).unwrap_or(0) as u32);
        assert!(system("printf"));
        assert!(!system("from_h"));
        // gcc marks the expansion of a system macro as system text, in the user's own line.
        assert!(!system("void *p"));
        assert!(!system("*)0)") && !system("*)0)"));
        assert!(!system("int w"));
    }
}

#[test]
fn text_without_markers_is_its_own_original() {
    let map = SourceMap::new("no such file.lee", "int a;\n  int b;\n".to_string());
    assert_eq!(place(&map, "b", "b"), "no such file.lee:2:7-2:8");
    assert_eq!(map.source_line("no such file.lee", 2).as_deref(), Some("  int b;"));
    assert_eq!(map.source_line("no such file.lee", 9), None);
    assert_eq!(map.locate(Span::new(500, 600)).line, 3);
}

#[test]
fn bytes_that_are_not_utf8_survive_as_private_characters() {
    let map = SourceMap::from_bytes("x", vec![b'a', 0xe9, b'b']);
    assert_eq!(map.text.chars().map(|c| c as u32).collect::<Vec<_>>(), [97, source::map::INVALID_BYTE_BASE + 0xe9, 98]);
}
