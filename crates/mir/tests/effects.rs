//! The table of `mir::effects`, statement by statement: `effects.mir` has every form, each with what
//! the table says of it after `//=`. `MIR_BLESS=1` writes those; read them before you commit.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use mir::effects::{accesses, flags, parts, term_accesses, term_parts, without, Code, Kind, Line, Part, LINES};
use mir::ir::{Body, Place, Program};

/// What the table says of every statement and terminator, in order.
fn told(program: &Program) -> Vec<String> {
    let body = program.bodies.first().unwrap();
    let mut out = vec![];
    for block in &body.blocks {
        for stmt in &block.stmts {
            let mut text = vec![];
            accesses(&stmt.kind, &mut |place, kind, _| text.push(access(program, body, place, kind)));
            parts(&stmt.kind, &mut |p| text.extend(part(&p)));
            let flags = flags(&stmt.kind);
            text.extend(flags.memory.then(|| "memory".to_string()));
            text.extend(flags.collects.then(|| "collects".to_string()));
            text.extend(flags.waits.then(|| "waits".to_string()));
            text.extend(match flags.code {
                Code::Own => None,
                Code::Function(func) => Some(format!("runs {}", mir::print::func_name(program, func))),
                Code::Pointer => Some("runs what a pointer points to".into()),
                Code::Assembly => Some("runs assembly".into()),
            });
            out.push(text.join("; "));
        }
        let mut text = vec![];
        term_accesses(&block.term.kind, &mut |place, kind, _| text.push(access(program, body, place, kind)));
        term_parts(&block.term.kind, &mut |p| text.extend(part(&p)));
        out.push(text.join("; "));
    }
    out
}

fn access(program: &Program, body: &Body, place: &Place, kind: Kind) -> String {
    format!("{kind:?} {}", mir::print::place(program, body, place)).to_lowercase()
}

fn part(part: &Part) -> Option<String> {
    match part {
        Part::Type(_) => Some("names a type".into()),
        Part::Function(_, named) => {
            Some(format!("names a function, {named:?}").split('(').next().unwrap().to_lowercase())
        }
        Part::Operand(mir::ir::Operand::Const(_), kind) => Some(format!("{kind:?} a constant").to_lowercase()),
        Part::Operand(..) | Part::Place(..) | Part::Local(..) => None,
    }
}

/// The lines of the file that are statements and terminators.
fn is_statement(line: &str) -> bool {
    let text = line.trim_start();
    let declares = ["scope ", "region ", "param ", "var ", "label ", "\"", "message ", "state "];
    line.starts_with("  ") && !declares.iter().any(|word| text.starts_with(word))
}

#[test]
fn the_table_says_what_each_statement_does() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/effects.mir");
    let text = std::fs::read_to_string(path).unwrap();
    let program = mir::parse::program(&text).unwrap();
    let mut told = told(&program).into_iter();
    let (mut wrong, mut new) = (vec![], String::new());
    for line in text.lines() {
        let stmt = line.split(" //=").next().unwrap();
        new.push_str(stmt);
        if is_statement(line) {
            let now = told.next().unwrap();
            let want = line.split_once("//=").map_or("", |(_, want)| want.trim());
            if now != want {
                wrong.push(format!("{stmt}\n    is said to be: {want}\n    the table has: {now}"));
            }
            if !now.is_empty() {
                new.push_str(&format!(" //= {now}"));
            }
        }
        new.push('\n');
    }
    assert_eq!(told.next(), None);
    if std::env::var_os("MIR_BLESS").is_some() {
        std::fs::write(path, new).unwrap();
    } else {
        assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    }
}

/// The comparison above fails if any one line of the table is left out.
#[test]
fn every_line_is_missed() {
    let program = mir::parse::program(include_str!("effects.mir")).unwrap();
    let whole = told(&program);
    let unseen: Vec<Line> = LINES.iter().copied().filter(|&line| without(line, || told(&program)) == whole).collect();
    assert!(unseen.is_empty(), "nothing notices when these are left out: {unseen:?}");
    assert_eq!(told(&program), whole);
}
