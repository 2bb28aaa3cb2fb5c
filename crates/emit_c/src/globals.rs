//! Globals and static locals: declarations and definitions.

use crate::bodies::inside_functions;
use crate::ctype::Consts;
use crate::inits;
use crate::lines::Lines;
use crate::unit::Unit;
use crate::variables::Reached;
use std::fmt::Write;
use typing::tree::{ConstInit, Global, GlobalId, Linkage};
use typing::types::*;

/// Bytes of a variable that is worth an entry in the table of those that need not be read word by
/// word. C compilers know less of a variable whose address is in a table.
const LARGE: u64 = 16 << 10;

/// Declarations of all used globals, so that initialisers and functions can name them in any order.
pub fn declarations(unit: &mut Unit) -> String {
    let mut out = String::new();
    let inside = inside_functions(unit);
    for id in unit.reach.globals.clone() {
        let Some(global) = unit.program.globals.get(id.0 as usize).filter(|_| !inside.contains(&id)) else { continue };
        if global.init.is_none() || global.linkage != Linkage::Internal {
            let text = object_text(unit, id, global);
            let label = unit.global_name(id).label_text();
            let attributes = attributes(global, unit.reached(id) == Reached::Own);
            let _ = writeln!(out, "extern {text}{label}{attributes};");
        } else if completes(unit, global) {
            let text = object_text(unit, id, global);
            let zero = matches!(global.init, None | Some(ConstInit::Zero));
            let section = unit.section_of(id, zero);
            let attributes = attributes(global, !section.is_empty());
            let _ = writeln!(out, "static {text}{section}{attributes};");
        }
    }
    out
}

/// Definitions of all used globals that are defined here.
pub fn definitions(unit: &mut Unit, lines: &mut Lines) {
    let inside = inside_functions(unit);
    for id in unit.reach.globals.clone() {
        let Some(global) = unit.program.globals.get(id.0 as usize) else { continue };
        if global.init.is_some() && !inside.contains(&id) {
            let text = definition_text(unit, id, global);
            let at = unit.locator.at(global.span);
            lines.push(&unit.locator.files, at, 0, &text);
        }
    }
}

/// Lists the globals that `container_of` may be asked for before the program starts.
pub fn listed(unit: &mut Unit) -> String {
    let mut out = String::new();
    let mut calls = String::new();
    for (n, id) in unit.reach.globals.clone().into_iter().enumerate() {
        let Some(global) = unit.program.globals.get(id.0 as usize) else { continue };
        if global.init.is_none() || global.thread_local {
            continue;
        }
        let Some(test) = unit.contained(global.ty.ty) else { continue };
        let Some(container) = unit.container(global.ty.ty) else { continue };
        let name = unit.global_name(id).ident;
        let _ = writeln!(out, "static struct lee_listed lee__listed_{n};");
        let _ = writeln!(
            calls,
            "    if ({test}) lee_list_variable(&lee__listed_{n}, &{name}, sizeof {name}, {container});"
        );
    }
    if !calls.is_empty() {
        let _ = writeln!(out, "__attribute__((constructor(101))) static void lee__list_globals(void) {{\n{calls}}}");
    }
    out
}

/// Lists large variables that hold no pointers, or few, so that the collector need not read all of
/// their words.
pub fn large(unit: &mut Unit) -> String {
    let inside = inside_functions(unit);
    let mut entries = vec![];
    for id in unit.reach.globals.clone() {
        let Some(global) = unit.program.globals.get(id.0 as usize) else { continue };
        if global.init.is_some() && !global.thread_local && !inside.contains(&id) {
            let name = unit.global_name(id).ident;
            large_parts(unit, &name, global.ty, &mut entries);
        }
    }
    if entries.is_empty() {
        return String::new();
    }
    let count = entries.len();
    format!(
        "static const struct lee_global lee__large[{count}] = {{\n{}}};\n\
         static struct lee_globals lee__large_here = {{ lee__large, {count}, 0 }};\n\
         __attribute__((constructor(101))) static void lee__add_large(void) {{ lee_globals_add(&lee__large_here); }}\n\
         __attribute__((destructor)) static void lee__remove_large(void) {{ lee_globals_remove(&lee__large_here); }}\n",
        entries.concat()
    )
}

/// The same of a place in a variable: all of it, or members.
fn large_parts(unit: &mut Unit, place: &str, ty: Qty, entries: &mut Vec<String>) {
    if unit.types.layout(ty.ty).is_none_or(|layout| layout.size < LARGE) {
        return;
    }
    if let Some(layout) = unit.sparse_layout(ty) {
        entries.push(format!("    {{ &{place}, sizeof {place}, {layout} }},\n"));
        return;
    }
    let TyKind::Record(id) = *unit.types.kind(ty.ty) else { return };
    let record = unit.types.record(id);
    let Some(fields) = record.fields.clone().filter(|_| record.kind == RecordKind::Struct && !ty.quals.is_const) else {
        return;
    };
    let names = unit.c.field_names(id);
    for (field, name) in fields.iter().zip(names.iter()).filter(|(_, name)| !name.is_empty()) {
        large_parts(unit, &format!("{place}.{name}"), field.ty, entries);
    }
}

/// A definition with its initialiser.
pub fn definition_text(unit: &mut Unit, id: GlobalId, global: &Global) -> String {
    let storage = match global.linkage {
        Linkage::Internal => "static ",
        Linkage::External => "",
        Linkage::Shared => "__attribute__((weak)) ",
    };
    let object = object_text(unit, id, global);
    unit.c.need(global.ty.ty);
    if unit.options.debug {
        unit.c.need_shown(global.ty.ty);
    }
    let zero = matches!(global.init, None | Some(ConstInit::Zero));
    let section = unit.section_of(id, zero);
    let attributes = attributes(global, !section.is_empty());
    let name = unit.global_name(id).ident;
    unit.begin_initialiser(id, &name);
    let value = match &global.init {
        Some(init) if !zero => format!(" = {}", inits::object(unit, init, global.ty.ty)),
        _ => String::new(),
    };
    let listed = unit.end_initialiser();
    format!("{storage}{object}{section}{attributes}{value};{listed}")
}

/// A tentative definition needs a complete type; one inside a function has no declaration.
fn completes(unit: &Unit, global: &Global) -> bool {
    unit.types.is_complete(global.ty.ty)
}

fn object_text(unit: &mut Unit, id: GlobalId, global: &Global) -> String {
    let name = unit.global_name(id).ident;
    // The definition of a constant goes to read-only memory; what is volatile or atomic stays
    // writable.
    let constant = !global.ty.quals.is_volatile
        && !global.ty.quals.is_atomic
        && global.init.is_some()
        && unit.reached(id) == Reached::Name;
    let text = unit.c.object(global.ty, &name, if constant { Consts::Outer } else { Consts::Drop });
    unit.c.need(global.ty.ty);
    if unit.is_thread_local(global) {
        format!("__thread {text}")
    } else {
        text
    }
}

/// `moved`: it lies in a section that was chosen for it.
fn attributes(global: &Global, moved: bool) -> String {
    let mut out = String::new();
    if let Some(align) = global.align {
        let _ = write!(out, " __attribute__((aligned({align})))");
    }
    for attr in global.attrs.iter().filter(|attr| !(moved && attr.contains("section"))) {
        let _ = if attr.starts_with("__attribute__") {
            write!(out, " {attr}")
        } else {
            write!(out, " __attribute__(({attr}))")
        };
    }
    out
}
