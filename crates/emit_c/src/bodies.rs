//! Functions: prototypes, definitions, and what runs before `main`.

use crate::body::Emitter;
use crate::ctype::{members, suffixes, Consts};
use crate::globals;
use crate::lines::Lines;
use crate::locals::{self, Held};
use crate::names::NameSet;
use crate::shared;
use crate::unit::Unit;
use mir::ir::*;
use rustc_hash::FxHashSet;
use std::fmt::Write;
use typing::tree::{ConstInit, FuncRef, Function, GlobalId, Linkage, Trust};
use typing::types::*;

/// A shared function of at most this many statements, checks aside, is copied into each object, so
/// that it can be inlined there, and made for the callbacks that it is called with. Compilers do
/// neither to what the linker may replace. The library's containers and sorting are below it.
const SMALL: usize = 80;

/// A static function of at most this many statements, checks aside, is offered to the C compiler
/// for inlining.
const SHORT: usize = 60;

/// The prototypes of all used functions.
pub fn prototypes(unit: &mut Unit) -> String {
    let mut out = String::new();
    for func in unit.reach.functions.clone() {
        let Some(function) = unit.program.functions.get(func.func.0 as usize) else { continue };
        // Its definition stands above.
        if unit.program.c_text.intrinsics.contains(&func.func) {
            continue;
        }
        let name = unit.function_name(&func);
        let consts = unit.prototype_consts(&func);
        let f = unit.func_ty(&func);
        let params = unit.c.params(&f, None, consts);
        let head = unit.c.word(Qty::plain(f.ret), 0, &format!("{}({params})", name.ident), consts);
        let storage = storage(unit, &func, function);
        let mut attributes = attribute_text(&function.attrs, storage.contains("static"), unit.options.plain);
        if f.noreturn {
            attributes.push_str(" __attribute__((noreturn))");
        }
        let section = code_section(unit, &func);
        let _ = writeln!(out, "{section}{storage}{head}{}{attributes};", name.label_text());
    }
    out
}

/// The functions that do one thing with vectors each.
pub fn helpers(unit: &mut Unit) -> String {
    let mut out = String::new();
    let program = unit.program;
    for helper in &program.c_text.helpers {
        let params: Vec<String> = helper
            .params
            .iter()
            .enumerate()
            .map(|(n, &ty)| unit.c.object(Qty::plain(ty), &format!("a{n}"), Consts::Drop))
            .collect();
        let params = if params.is_empty() { "void".to_string() } else { params.join(", ") };
        let ret = unit.c.cast(helper.ret);
        let word = if *unit.types.kind(helper.ret) == TyKind::Void { "" } else { "return " };
        let head = unit.c.word(Qty::plain(helper.ret), 0, &format!("{}({params})", helper.name), Consts::Drop);
        let body = helper.body.replace("RET", &ret);
        let _ =
            writeln!(out, "static inline __attribute__((always_inline, unused)) {head} {{ {word}({ret})({body}); }}");
    }
    out
}

/// In a program of several processes, functions of the program lie in a section of their own: a
/// process can be preempted wherever it stands in it (`runtime/src/preempt.c`). What the runtime
/// calls while its own state is not whole (drop functions, layouts) is not among them.
fn code_section(unit: &Unit, func: &FuncRef) -> &'static str {
    match unit.options.processes && unit.bodies.contains_key(func) {
        true => "LEE_CODE ",
        false => "",
    }
}

/// `static`, `weak` and so on, followed by a blank.
fn storage(unit: &Unit, func: &FuncRef, function: &Function) -> &'static str {
    if unit.options.plain {
        return plain_storage(unit, func, function);
    }
    match function.linkage {
        // Fault calls make a function look large to gcc: say what is small without them.
        Linkage::Internal if is_short(unit, func) => "static inline ",
        Linkage::Internal => "static ",
        Linkage::External if func.args.is_empty() => "",
        _ if !unit.bodies.contains_key(func) => "",
        _ if is_small(unit, func) => "static inline ",
        _ => "__attribute__((weak)) ",
    }
}

/// Storage as C's own declarations say it. A definition for inlining only is marked so by GNU's
/// rules, which no option changes.
fn plain_storage(unit: &Unit, func: &FuncRef, function: &Function) -> &'static str {
    match (function.linkage, function.inline.word) {
        (Linkage::Internal, true) => "static inline ",
        (Linkage::Internal, false) => "static ",
        (_, true) if !unit.bodies.contains_key(func) => "",
        (_, true) if function.inline.only() => "extern inline __attribute__((__gnu_inline__)) ",
        (_, true) => "extern inline ",
        _ => "",
    }
}

/// Whether a static function is short without its checks.
fn is_short(unit: &Unit, func: &FuncRef) -> bool {
    unit.bodies.get(func).is_some_and(|body| statements(body) <= SHORT)
}

/// How many statements there are without checks.
fn statements(body: &Body) -> usize {
    let counts = |s: &&Stmt| match s.kind.action() {
        Action::Check | Action::Storage => false,
        Action::None => s.kind.as_proof().is_some(),
        Action::Assign
        | Action::Fill
        | Action::Call
        | Action::Assembly
        | Action::Copy
        | Action::Arguments
        | Action::Owner
        | Action::Region
        | Action::Send
        | Action::Channel => true,
    };
    body.blocks.iter().map(|b| b.stmts.iter().filter(counts).count()).sum()
}

/// Whether a shared function is copied instead of shared: nothing but its speed tells the
/// difference.
fn is_small(unit: &Unit, func: &FuncRef) -> bool {
    let Some(body) = unit.bodies.get(func) else { return false };
    let has_statics = unit.program.globals.iter().any(|g| g.owner == Some(func.func));
    let function = unit.program.functions.get(func.func.0 as usize);
    let checked = function.is_some_and(|f| f.trust == Trust::Checked);
    checked && statements(body) <= SMALL && !has_statics && !unit.reach.address_taken.contains(func)
}

fn attribute_text(attrs: &[String], is_static: bool, plain: bool) -> String {
    let mut out = String::new();
    for attr in attrs {
        if (is_static && attr.contains("weak")) || (!plain && hook(attr).is_some()) {
            continue;
        }
        let _ = if attr.starts_with("__attribute__") {
            write!(out, " {attr}")
        } else {
            write!(out, " __attribute__(({attr}))")
        };
    }
    out
}

/// Whether an attribute of checked code makes its function run before `main` or after it: (before,
/// priority).
fn hook(attr: &str) -> Option<(bool, u32)> {
    let (word, rest) = attr.split_once('(').unwrap_or((attr, ""));
    let priority = rest.trim_end_matches(')').parse().unwrap_or(u32::from(u16::MAX));
    match word {
        "constructor" => Some((true, priority)),
        "destructor" => Some((false, priority)),
        _ => None,
    }
}

/// What runs constructors and destructors. The runtime's own constructors have the priority 101;
/// what checked code needs of it (faults that are reported, stacks that may overflow) is there
/// after `lee_start`. A destructor is run by `exit`, before the files are flushed; its place in the
/// order is that of its registration.
pub fn hooks(unit: &mut Unit) -> String {
    let mut out = String::new();
    for func in unit.reach.functions.clone() {
        let Some(function) = unit.program.functions.get(func.func.0 as usize) else { continue };
        if unit.options.plain || !unit.bodies.contains_key(&func) {
            continue;
        }
        let name = unit.function_name(&func).ident;
        for (before, priority) in function.attrs.iter().filter_map(|a| hook(a)) {
            let priority = priority.max(102);
            let start = if unit.options.single { "" } else { "lee_start(0, NULL); " };
            let (word, action) = match before {
                true => ("construct", format!("{start}{name}();")),
                false => ("destruct", format!("{start}atexit({name});")),
            };
            if !before {
                out.push_str("extern int atexit(void (*)(void));\n");
            }
            let _ = writeln!(
                out,
                "__attribute__((constructor({priority}))) static void lee__{word}_{}(void) {{ {action} }}",
                func.func.0
            );
        }
    }
    out
}

/// The definitions of all used functions that have a body.
pub fn definitions(unit: &mut Unit, lines: &mut Lines) {
    for func in unit.reach.functions.clone() {
        let Some(&body) = unit.bodies.get(&func) else { continue };
        let Some(function) = unit.program.functions.get(func.func.0 as usize) else { continue };
        if function.type_params > 0 && func.args.is_empty() {
            continue;
        }
        definition(unit, function, body, lines);
    }
}

fn definition<'a>(unit: &mut Unit<'a>, function: &Function, body: &'a Body, lines: &mut Lines) {
    let mut scratch = NameSet::default();
    for suffix in ["ret__lo", "ret__hi", "ret__ty"] {
        scratch.take(suffix);
    }
    let held = locals::name_locals(unit, body, &mut scratch);
    let f = unit.func_ty(&body.func);
    let names = param_names(unit, &f, &held);
    let name = unit.function_name(&body.func);
    let storage = storage(unit, &body.func, function);
    let mut emitter = Emitter::new(unit, body, held, scratch);
    let mut entry = objects_at_entry(&mut emitter, &f);
    emitter.blocks();
    entry.extend(emitter.bases_at_entry());
    let Emitter { held, declarations: own, lines: code, .. } = emitter;
    let listed = locals::listed(unit, body, &held);
    for param in &f.params {
        unit.c.need(param.ty);
    }
    unit.c.need(f.ret);
    let params = match function.old_style {
        true => old_style_params(unit, body, &held),
        false => format!("({})", unit.c.params(&f, Some(&names), Consts::Drop)),
    };
    let head = unit.c.word(Qty::plain(f.ret), 0, &format!("{}{params}", name.ident), Consts::Drop);
    let at = unit.locator.at(body.span);
    let section = code_section(unit, &body.func);
    lines.push(&unit.locator.files, at, 0, &format!("{section}{storage}{head} {{"));
    let texts = unit.options.debug.then(|| [entry.as_slice(), listed.as_slice(), own.as_slice()].concat().join("\n"));
    let (mut addressed, mut gone, mut shorter) = (None, FxHashSet::default(), None);
    if let Some(texts) = &texts {
        let mut found = locals::addressed(&code.out);
        found.extend(locals::addressed(texts));
        if !mir::twice::returns_twice(unit.program, body) {
            let types = locals::sharing(unit, body, &held, texts, &found);
            let (text, unnamed) = shared::share(&code.out, &types);
            (shorter, gone) = (Some(text), unnamed);
        }
        addressed = Some(found);
    }
    let declared = locals::declarations(unit, body, &held, addressed.as_ref(), &gone);
    let mut code = code;
    if let Some(text) = shorter {
        code.out = text;
    }
    for declaration in declared.into_iter().chain(own) {
        lines.plain(&format!("    {declaration}"));
    }
    unit.labels = body.address_labels.iter().map(|(_, block)| block.0).collect();
    for text in label_tables(unit, &body.func) {
        lines.plain(&format!("    {text}"));
    }
    for text in entry.into_iter().chain(listed) {
        lines.plain(&format!("    {text}"));
    }
    lines.splice(code);
    let end = unit.locator.at(body.end);
    lines.push(&unit.locator.files, end, 0, "}");
    unit.c.locals.clear();
}

/// `(a, b) int a; char b;`: parameters arrive as promotions leave them, which C itself knows how to
/// undo.
fn old_style_params(unit: &mut Unit, body: &Body, held: &[Held]) -> String {
    let params = body.locals.iter().zip(held).take(body.params as usize);
    let names: Vec<&str> = params.clone().map(|(_, h)| h.name.as_str()).collect();
    let mut out = format!("({})", names.join(", "));
    for (local, held) in params {
        unit.c.need(local.ty.ty);
        let _ = write!(out, " {};", unit.c.object(Qty::plain(local.ty.ty), &held.name, Consts::Drop));
    }
    out
}

/// The C names of each parameter's words.
fn param_names(unit: &Unit, f: &FuncTy, held: &[Held]) -> Vec<Vec<String>> {
    let mut out = vec![];
    for (param, held) in f.params.iter().zip(held) {
        let base = if held.object { format!("{}__in", held.name) } else { held.name.clone() };
        let rest = suffixes(unit.types.words(param.ty)).iter().map(|s| format!("{base}{s}"));
        out.push([base.clone()].into_iter().chain(rest).collect());
    }
    out
}

/// Multi-word parameters whose address is taken are put together.
fn objects_at_entry(emitter: &mut Emitter, f: &FuncTy) -> Vec<String> {
    let mut out = vec![];
    for (n, param) in f.params.iter().enumerate() {
        let Some(held) = emitter.held.get(n).filter(|h| h.object).cloned() else { continue };
        let words = emitter.unit.types.words(param.ty);
        let sources = [""].into_iter().chain(suffixes(words).iter().copied());
        let line: Vec<String> = members(words)
            .iter()
            .zip(sources)
            .map(|(member, suffix)| format!("{0}.{member} = {0}__in{suffix};", held.name))
            .collect();
        emitter.mark_used(Local(n as u32));
        out.push(line.join(" "));
    }
    out
}

/// Static locals whose initialisers hold addresses of the function's labels are declared inside it.
fn label_tables(unit: &mut Unit, func: &FuncRef) -> Vec<String> {
    let mut out = vec![];
    for id in unit.reach.globals.clone() {
        if let Some(global) = unit.program.globals.get(id.0 as usize) {
            let here = global.owner == Some(func.func) && global.init.as_ref().is_some_and(crate::reach::has_label);
            if here {
                out.push(globals::definition_text(unit, id, global));
            }
        }
    }
    out
}

/// What prepares the runtime before the program's `main`, which is C's: faults are reported, stacks
/// may overflow from its first instruction on.
pub fn start(unit: &Unit) -> &'static str {
    match unit.reach.functions.iter().any(|f| unit.is_main(f)) {
        true => "\n__attribute__((constructor(102))) static void lee__start(void) { lee_start(0, NULL); }\n",
        false => "",
    }
}

/// The globals that are declared inside functions.
pub fn inside_functions(unit: &Unit) -> FxHashSet<GlobalId> {
    let inside = |id: &&GlobalId| {
        let global = unit.program.globals.get(id.0 as usize);
        let init: Option<&ConstInit> = global.filter(|g| g.owner.is_some()).and_then(|g| g.init.as_ref());
        init.is_some_and(crate::reach::has_label)
    };
    unit.reach.globals.iter().filter(inside).copied().collect()
}
