//! The intervals that `lee advise` claims for parameters and results hold in every run: of random
//! programs of plain C, interpreted with a check of each claim at the start of its function and at
//! each return.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code)]
#[path = "../examples/differ/rng.rs"]
mod rng;

use advise::intervals::parameters::Parameters;
use advise::intervals::results::Results;
use advise::unit::{read, Preprocessor, Source};
use advise::verdict::key;
use mir::cfg::Cfg;
use mir::ir::*;
use rng::Random;
use std::fmt::Write;
use std::path::PathBuf;
use typing::types::Ty;

/// Programs.
const PROGRAMS: u64 = 150;
/// Functions of a program besides the helpers.
const FUNCTIONS: i64 = 5;

/// The program is its own preprocessed text.
struct Text(String);

impl Preprocessor for Text {
    fn preprocess(&self, _: &Source, _: &[(PathBuf, String)], _: bool) -> std::io::Result<Result<Vec<u8>, String>> {
        Ok(Ok(self.0.clone().into_bytes()))
    }
}

const HELPERS: &str = "static int width(void) { return 12; }
static int least(int a, int b) { return a < b ? a : b; }
static int clamped(int n, int low, int high) { return n < low ? low : n > high ? high : n; }
static long steps(int n) { return n <= 0 ? 3 : steps(n - 1) + 2; }
static int odd(int n);
static int even(int n) { return n <= 0 ? 8 : odd(n - 1); }
static int odd(int n) { return n <= 0 ? 5 : even(n - 1); }
";

fn constant(random: &mut Random) -> i64 {
    *random.pick(&[0, 1, 2, 3, 5, 8, 12, 40, 63, 64, 100, 255, 1000, -1, -7])
}

fn expression(random: &mut Random, deep: i64) -> String {
    if deep == 0 || random.chance(25) {
        return match random.below(4) {
            0 => constant(random).to_string(),
            1 => "a".to_string(),
            2 => "b".to_string(),
            _ => "x".to_string(),
        };
    }
    let e = expression(random, deep - 1);
    let c = constant(random).abs() + 1;
    match random.below(12) {
        0 => format!("({e} + {c})"),
        1 => format!("({e} - {c})"),
        2 => format!("({e} & {c})"),
        3 => format!("({e} % {c})"),
        4 => format!("({e} / {c})"),
        5 => format!("((unsigned char)({e}) * {c})"),
        6 => format!("({e} >> {})", random.below(5)),
        7 => format!("least({e}, {c})"),
        8 => format!("clamped({e}, {}, {c})", random.below(4)),
        9 => "width()".to_string(),
        10 => format!("(int)steps({e} & 15)"),
        _ => format!("even({e} & 15)"),
    }
}

fn statement(random: &mut Random, text: &mut String) {
    let (e, c) = (expression(random, 2), constant(random));
    let _ = match random.below(6) {
        0 => writeln!(text, "    x = {e};"),
        1 => writeln!(text, "    if (x < {c}) x = {e};"),
        2 => writeln!(text, "    for (int i = 0; i < (b & 7); i++) x = {e};"),
        3 => writeln!(text, "    if (a > {c}) return {e};"),
        _ => {
            let to = random.below(FUNCTIONS);
            let b = match random.chance(40) {
                true => "b".to_string(),
                false => expression(random, 1),
            };
            writeln!(text, "    if (deep > 0) x = f{to}({e}, {b}, deep - 1);")
        }
    };
}

fn program(seed: u64) -> String {
    let mut random = Random(seed);
    let mut text = HELPERS.to_string();
    let types = ["int", "unsigned", "long", "short", "unsigned char"];
    let heads: Vec<String> = (0..FUNCTIONS)
        .map(|n| {
            let (result, a, b) = (random.pick(&types), random.pick(&types), random.pick(&types));
            let linkage = if random.chance(80) { "static " } else { "" };
            format!("{linkage}{result} f{n}({a} a, {b} b, int deep)")
        })
        .collect();
    heads.iter().for_each(|head| writeln!(text, "{head};").unwrap());
    for head in &heads {
        writeln!(text, "{head} {{\n    {} x = {};", random.pick(&types), constant(&mut random)).unwrap();
        for _ in 0..random.between(2, 5) {
            statement(&mut random, &mut text);
        }
        writeln!(text, "    return {};\n}}", expression(&mut random, 2)).unwrap();
    }
    text.push_str("int main(void) {\n    long sum = 0;\n");
    for _ in 0..random.between(3, 6) {
        let (to, a, b) = (random.below(FUNCTIONS), constant(&mut random), constant(&mut random));
        writeln!(text, "    sum += f{to}({a}, {b}, {});", random.between(1, 4)).unwrap();
    }
    text.push_str("    return (int)(sum & 63);\n}\n");
    text
}

fn checked(kind: StmtKind, span: source::Span) -> Stmt {
    Stmt { kind, span, is_unsafe: false }
}

/// Statements that check that `what` is in `least..=most`, in numbers of 64 bits with a sign.
fn within(body: &mut Body, long: Ty, what: &Operand, least: i128, most: i128) -> Vec<Stmt> {
    let word = Local(body.locals.len() as u32);
    body.locals.push(LocalDecl::temp(long, ScopeId(0), body.span));
    let number = |n: i128| Operand::Const(Const::Int(n.clamp(i64::MIN.into(), i64::MAX.into()), long));
    let copy = StmtKind::Assign(Place::local(word), Rvalue::Numeric(what.clone(), long));
    let above = StmtKind::Check(Check::Count(Operand::local(word), number(most)));
    let below = StmtKind::Check(Check::Count(number(least), Operand::local(word)));
    [copy, above, below].into_iter().map(|kind| checked(kind, body.span)).collect()
}

/// Puts the claims into a program; how many there are.
fn claim(program: &mut Program, results: &Results, parameters: &Parameters) -> usize {
    let long = program.types.common.long;
    let mut bodies = std::mem::take(&mut program.bodies);
    let mut claims = 0;
    for body in &mut bodies {
        let own = key(program, 0, &body.func);
        if let Some(returned) = results.get(&own) {
            for n in 0..body.blocks.len() {
                let Some(result) = body.blocks[n].term.kind.returned().cloned() else { continue };
                if let Some(range) = returned.range {
                    claims += 1;
                    let stmts = within(body, long, &result, range.lo, range.hi);
                    body.blocks[n].stmts.extend(stmts);
                }
                for compared in &returned.compared {
                    claims += 1;
                    let less = Local(body.locals.len() as u32);
                    let words = [less, Local(less.0 + 1), Local(less.0 + 2)];
                    for _ in words {
                        body.locals.push(LocalDecl::temp(long, ScopeId(0), body.span));
                    }
                    let argument = Operand::local(Local(compared.param));
                    let values = [
                        Rvalue::Numeric(result.clone(), long),
                        Rvalue::Numeric(argument, long),
                        Rvalue::Binary(BinOp::Sub, Operand::local(words[0]), Operand::local(words[1]), long),
                    ];
                    let span = body.span;
                    for (word, value) in words.into_iter().zip(values) {
                        body.blocks[n].stmts.push(checked(StmtKind::Assign(Place::local(word), value), span));
                    }
                    let least = compared.below.map_or(i64::MIN.into(), |c| -c);
                    let most = compared.above.unwrap_or(i64::MAX.into());
                    let stmts = within(body, long, &Operand::local(words[2]), least, most);
                    body.blocks[n].stmts.extend(stmts);
                }
            }
        }
        let cfg = Cfg::new(body);
        let Some(with) = parameters.get(&own).filter(|_| cfg.predecessors(BlockId(0)).is_empty()) else { continue };
        let mut stmts = vec![];
        for (n, range) in with.iter().enumerate().take(body.params as usize) {
            let Some(range) = range else { continue };
            claims += 1;
            stmts.extend(within(body, long, &Operand::local(Local(n as u32)), range.lo, range.hi));
        }
        stmts.append(&mut body.blocks[0].stmts);
        body.blocks[0].stmts = stmts;
    }
    program.bodies = bodies;
    claims
}

/// Analyses a program and runs it with the claims; how many there are.
fn holds(text: &str, whole_program: bool) -> Result<usize, String> {
    let source = Source { file: "a.c".into(), flags: vec![], folder: None };
    let options = advise::options::Options { whole_program, patches: false, jobs: 1, ..Default::default() };
    let outcome = advise::run::run(std::slice::from_ref(&source), &Text(text.to_string()), &options, &|_, _| {});
    if let Some((_, why)) = outcome.errors.first() {
        return Err(why.clone());
    }
    let mut unit = read(&source, text.as_bytes().to_vec())?;
    let claims = claim(&mut unit.program, &outcome.results, &outcome.parameters);
    let limits = interp::Options { keep_output: true, steps: 2_000_000, leaks: false, ..interp::Options::default() };
    let ran = interp::run(&unit.program, limits);
    match ran.end {
        // What a run that a limit ends has done so far is checked too.
        interp::End::Exit(_) | interp::End::Limit(_) => Ok(claims),
        end => Err(format!("{end:?} {:?}", ran.reports)),
    }
}

#[test]
fn claims_hold_in_runs() {
    let (mut claims, mut wrong) = (0, String::new());
    for seed in 0..PROGRAMS {
        let text = program(seed);
        match holds(&text, seed % 2 == 0) {
            Ok(found) => claims += found,
            Err(why) => writeln!(wrong, "program {seed}: {why}\n{text}").unwrap(),
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(claims > 10 * PROGRAMS as usize, "only {claims} claims");
}

/// The checks notice a claim that is false.
#[test]
fn false_claims_are_noticed() {
    let text = "static int f(int n) { return n & 7; }\nint main(void) { return f(5); }\n";
    let source = Source { file: "a.c".into(), flags: vec![], folder: None };
    let run = |results: &Results, parameters: &Parameters| {
        let mut unit = read(&source, text.as_bytes().to_vec()).unwrap();
        assert_eq!(claim(&mut unit.program, results, parameters), 1);
        interp::run(&unit.program, interp::Options { keep_output: true, ..interp::Options::default() }).end
    };
    let range = flow::ranges::Range::new(0, 4);
    let mut results = Results::default();
    let returned = advise::intervals::results::Returned { range: Some(range), compared: vec![] };
    results.insert("0:f".to_string(), returned);
    assert!(matches!(run(&results, &Parameters::default()), interp::End::Fault { .. }));
    let mut parameters = Parameters::default();
    parameters.insert("0:f".to_string(), vec![Some(range)]);
    assert!(matches!(run(&Results::default(), &parameters), interp::End::Fault { .. }));
}
