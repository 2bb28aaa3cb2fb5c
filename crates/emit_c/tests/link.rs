//! Two files that mean one symbol link if they mean the same type, and do not if they differ: also
//! when unused sections are dropped.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::path::Path;
use std::process::Command;

/// Compiles each text and links all; the linker's output and status.
fn link(compiler: &str, flags: &[&str], dir: &Path, texts: &[&str]) -> (String, Option<i32>) {
    let mut objects = vec![];
    for (n, text) in texts.iter().enumerate() {
        let (source, object) = (dir.join(format!("part{n}.c")), dir.join(format!("part{n}.o")));
        let emitted = if text.contains("scope 0") { support::emit(text) } else { (*text).to_string() };
        std::fs::write(&source, emitted).unwrap();
        let (errors, status) = support::run(
            support::cc(compiler)
                .args(flags)
                .args(["-Qunused-arguments"].iter().filter(|_| support::is_clang(compiler)))
                .arg("-c")
                .arg(&source)
                .arg("-o")
                .arg(&object),
        );
        assert_eq!(status, Some(0), "{errors}");
        objects.push(object);
    }
    let runtime = support::runtime();
    support::run(Command::new(compiler).args(flags).args(&objects).arg(runtime).arg("-o").arg(dir.join("linked")))
}

/// A file that defines `add` with a parameter of the type, and one that calls it with such a
/// parameter.
fn pair(records: &str, defined: &str, records_of_user: &str, used: &str) -> (String, String) {
    let definition = format!(
        "{records}function add#0: fn({defined}, int) -> int
body add#0 params 2 {{
  scope 0
  param p_0: {defined} scope 0
  param n_1: int scope 0
bb0:
  return n_1
}}
"
    );
    let user = format!(
        "{records_of_user}function add#0: fn({used}, int) -> int
function main#1: fn() -> int
body main#1 params 0 {{
  scope 0
  temp _0: int scope 0
bb0:
  _0 = call add#0(null:{used}, 0:int): fn({used}, int) -> int
  return _0
}}
"
    );
    (definition, user)
}

const FLAGS: &[&[&str]] = &[&["-O0"], &["-O2", "-g", "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"]];

fn links(definition: &str, user: &str) -> Vec<(String, Option<i32>)> {
    let dir = support::directory();
    let mut out = vec![];
    for compiler in support::compilers() {
        for flags in FLAGS {
            out.push(link(compiler, flags, &dir, &[definition, user]));
            out.push(link(compiler, flags, &dir, &[user, definition]));
        }
    }
    std::fs::remove_dir_all(dir).unwrap();
    out
}

#[test]
fn equal_types_link() {
    let (definition, user) = pair("", "*[fat]int", "", "*[fat]int");
    for (errors, status) in links(&definition, &user) {
        assert_eq!(status, Some(0), "{errors}");
    }
}

#[test]
fn other_qualifiers_do_not_link() {
    let (definition, user) = pair("", "*[zero]const char", "", "*const char");
    for (errors, status) in links(&definition, &user) {
        assert_ne!(status, Some(0));
        assert!(errors.contains("lee.type.add."), "{errors}");
    }
}

#[test]
fn plain_c_does_not_define_what_leeward_declares() {
    let (_, user) = pair("", "*int", "", "*int");
    for (errors, status) in links("int add(int *p, int n) { return p ? *p : n; }\n", &user) {
        assert_ne!(status, Some(0));
        assert!(errors.contains("lee.type.add."), "{errors}");
    }
}

const NODE: &str = "struct node%0 {\n  \"value\": int\n  \"next\": *node%0\n}\n";
const OTHER_NODE: &str = "struct node%0 {\n  \"next\": *node%0\n  \"value\": int\n}\n";
const OPAQUE_NODE: &str = "struct node%0\n";

#[test]
fn opaque_records_link_with_complete_ones() {
    for user_records in [NODE, OPAQUE_NODE] {
        let (definition, user) = pair(NODE, "*node%0", user_records, "*node%0");
        for (errors, status) in links(&definition, &user) {
            assert_eq!(status, Some(0), "{errors}");
        }
    }
}

#[test]
fn other_fields_do_not_link() {
    let (definition, user) = pair(NODE, "*node%0", OTHER_NODE, "*node%0");
    for (errors, status) in links(&definition, &user) {
        assert_ne!(status, Some(0));
        assert!(errors.contains("lee.record.node."), "{errors}");
    }
}

#[test]
fn notes_name_types_and_places() {
    let (definition, user) = pair("", "*[fat]int", "", "*[fat]int");
    let dir = support::directory();
    let compiler = &support::compilers()[0];
    let (errors, status) = link(compiler, &["-O1"], &dir, &[&definition, &user]);
    assert_eq!(status, Some(0), "{errors}");
    let dump = ["--dump-section", ".lee.types=notes", "part1.o"];
    let (errors, status) = support::run(Command::new("objcopy").args(dump).current_dir(&dir));
    assert_eq!(status, Some(0), "{errors}");
    let notes = std::fs::read_to_string(dir.join("notes")).unwrap();
    let (digest, layout) = notes.split_once('\n').unwrap();
    assert_eq!(layout, "lay\tadd\tref\tlee\ti4|p|p|p|i4\tint (int *fat @heap, int)\ttest.mir:1\t\n");
    let fields: Vec<&str> = digest.split('\t').collect();
    assert_eq!(fields.len(), 5, "{notes}");
    assert_eq!((fields[0], fields[1]), ("ref", "add"));
    let program = mir::parse::program(&user).unwrap();
    assert_eq!(fields[3], emit_c::type_text(&program.types, program.functions[0].ty));
    assert_eq!(fields[2], format!("{:016x}", emit_c::digest::link_digest(&program.types, program.functions[0].ty)));
    assert!(fields[4].starts_with("test.mir:1"), "{notes}");
    let (sections, _) = support::run(Command::new("objdump").arg("-h").arg(dir.join("linked")));
    assert!(!sections.contains(".lee.types"), "{sections}");
    std::fs::remove_dir_all(dir).unwrap();
}

/// Equal instances of generics and type descriptors in two files become one.
#[test]
fn shared_things_are_one() {
    let shared = "function id#0: fn(param(0, \"T\")) -> param(0, \"T\") generic 1 shared
function keep#1: fn(*[raw]void) -> int foreign
function NAME#2: fn(*int) -> int
body id#0 params 1 {
  scope 0
  param x_0: param(0, \"T\") scope 0
bb0:
  return x_0
}
instance id#0<int> params 1 {
  scope 0
  param x_0: int scope 0
  temp _1: int scope 0
bb0:
  _1 = call keep#1(null:*[raw]void): fn(*[raw]void) -> int
";
    let mut shared = shared.to_string();
    for _ in 0..100 {
        shared.push_str("  _1 = add(_1, x_0, int)\n");
    }
    shared.push_str(
        "  return _1
}
body NAME#2 params 1 {
  scope 0
  param p_0: *int scope 0
  var v_1: *void scope 0
  temp _2: int scope 0
bb0:
  v_1 = typed(p_0, int, *void)
  check type(v_1, int)
  _2 = call id#0<int>(1:int): fn(int) -> int
  return _2
}
",
    );
    let (first, second) = (shared.replace("NAME", "first"), shared.replace("NAME", "second"));
    let main = "int first(int *); int second(int *);
int keep(void *p) { return p != 0; }
int main(void) { int n = 0; return first(&n) - second(&n); }\n";
    let dir = support::directory();
    for compiler in support::compilers() {
        let (errors, status) = link(compiler, &["-O2"], &dir, &[&first, &second, main]);
        assert_eq!(status, Some(0), "{errors}");
        let (symbols, _) = support::run(Command::new("nm").arg(dir.join("linked")));
        let count = |part: &str| symbols.lines().filter(|l| l.contains(part)).count();
        assert_eq!((count(" id.int."), count(" lee_type_")), (1, 1), "{symbols}");
        assert_eq!(support::run(&mut Command::new(dir.join("linked"))).1, Some(0));
    }
    std::fs::remove_dir_all(dir).unwrap();
}
