//! Diagnostics as people and tools see them.

use source::render::{json, text, Style};
use source::{Applicability, Code, Diagnostic, Memory, SourceMap, Span};

const CODE: Code = Code { id: "L0301", title: "use after move" };

fn span(map: &SourceMap, what: &str) -> Span {
    let lo = map.text.find(what).unwrap_or(0) as u32;
    Span::new(lo, lo + what.len() as u32)
}

#[test]
fn the_text_shows_the_lines_that_matter() {
    let source = "int main(void) {\n\tfree(p);\n\n\n\t*p = 6;\n}\n";
    let map = SourceMap::new("none.lee", source.to_string());
    let diagnostic = Diagnostic::error(CODE, span(&map, "*p"), "`p` is used after it was moved")
        .label(span(&map, "free(p)"), "moved here")
        .note("free consumes its argument")
        .help("use `p` before the call");
    let expected = "\
none.lee:5:2: error[L0301]: `p` is used after it was moved
  |
2 |     free(p);
  |     ------- moved here
...
5 |     *p = 6;
  |     ^^
  = note: free consumes its argument
  = help: use `p` before the call
";
    assert_eq!(text(&map, &diagnostic, Style::default()), expected);
    let coloured = text(&map, &diagnostic, Style { colour: true });
    assert!(coloured.contains("\u{1b}[1;31merror[L0301]\u{1b}[0m"));
}

#[test]
fn labels_in_other_files_name_them() {
    let files = Memory::default();
    files.insert("x.lee", "#include \"h.h\"\nint f(void);\n");
    files.insert("h.h", "int f;\n");
    let preprocessed = "# 1 \"x.lee\"\n# 1 \"h.h\" 1\nint f;\n# 2 \"x.lee\" 2\nint f(void);\n";
    let map = SourceMap::new("x.lee", preprocessed.to_string()).with_files(Box::new(files));
    let diagnostic =
        Diagnostic::error(CODE, span(&map, "f(void)"), "`f` is declared twice").label(span(&map, "f;"), "first here");
    let expected = "\
x.lee:2:5: error[L0301]: `f` is declared twice
  |
2 | int f(void);
  |     ^^^^^^^
 --> h.h:1
  |
1 | int f;
  |     -- first here
";
    assert_eq!(text(&map, &diagnostic, Style::default()), expected);
}

#[test]
fn macros_and_includes_are_named() {
    let files = Memory::default();
    files.insert("h.h", "int x = BAD;\n");
    let preprocessed = "# 1 \"x.lee\"\n\n# 1 \"h.h\" 1\nint x = 1 +;\n# 3 \"x.lee\" 2\n";
    let map = SourceMap::new("x.lee", preprocessed.to_string()).with_files(Box::new(files));
    let diagnostic = Diagnostic::warning(CODE, span(&map, "+"), "odd");
    let expected = "\
in file included from x.lee:2
h.h:1:9: warning[L0301]: odd
  |
1 | int x = BAD;
  |         ^^^
  = note: in expansion of macro 'BAD'
";
    assert_eq!(text(&map, &diagnostic, Style::default()), expected);
}

#[test]
fn long_lines_are_cut_around_the_mark() {
    let source = format!("{}here{}", "a ".repeat(300), " b".repeat(300));
    let map = SourceMap::new("none.lee", source);
    let shown = text(&map, &Diagnostic::error(CODE, span(&map, "here"), "m"), Style::default());
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines.iter().all(|l| l.chars().count() < 170), "{shown}");
    let column = |l: &str, what: &str| l.find(what);
    assert_eq!(column(lines[2], "here"), column(lines[3], "^^^^"), "{shown}");
}

#[test]
fn json_has_its_keys_in_order() {
    let map = SourceMap::new("a \"b\".lee", "int x;\n".to_string());
    let diagnostic = Diagnostic::error(CODE, span(&map, "x"), "tab\there").label(span(&map, "int"), "l").note("n");
    let at = span(&map, "x");
    let diagnostic =
        diagnostic.fix(Applicability::Likely, Span::new(at.lo, at.lo), "*").fix(Applicability::Sure, at, "y");
    let expected = concat!(
        r#"{"level":"error","code":"L0301","message":"tab\there","file":"a \"b\".lee","line":1,"column":5,"end_line":1,"#,
        r#""end_column":6,"labels":[{"message":"l","file":"a \"b\".lee","line":1,"column":1,"end_line":1,"end_column":4}],"#,
        r#""notes":["n"],"help":null,"fixes":[{"applicability":"likely","edits":[{"file":"a \"b\".lee","line":1,"#,
        r#""column":5,"end_column":5,"text":"*"}]},{"applicability":"sure","edits":[{"file":"a \"b\".lee","line":1,"#,
        r#""column":5,"end_column":6,"text":"y"}]}]}"#
    );
    assert_eq!(json(&map, &diagnostic, &[]), expected);
}
