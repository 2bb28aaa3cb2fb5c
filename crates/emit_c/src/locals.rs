//! Names and declarations of a function's locals.

use crate::ctype::{suffixes, Consts};
use crate::names::NameSet;
use crate::reach::{visit, Part};
use crate::unit::Unit;
use mir::ir::*;
use rustc_hash::{FxHashMap, FxHashSet};
use source::Symbol;
use typing::types::*;

/// How a local is held.
#[derive(Clone, Debug)]
pub struct Held {
    /// Its C name; the words after the first have suffixes.
    pub name: String,
    /// A multi-word local whose address is taken is one object, so that its words lie in a row.
    pub object: bool,
    /// A variable-length array: the name is that of a pointer to its first element.
    pub variable: bool,
    /// It has no variables for its bounds: they are another's, or nothing reads them.
    pub no_bounds: bool,
    /// It has no variable at all: nothing reads it, and no debugger shows it.
    pub unread: bool,
    /// Something was written that mentions it.
    pub used: bool,
}

/// Names all locals. The first local with a name keeps it; a parameter gives it up to the variable
/// that it is copied into.
pub fn name_locals(unit: &mut Unit, body: &Body, scratch: &mut NameSet) -> Vec<Held> {
    reserve_outer_names(unit, body, scratch);
    let mut names: Vec<Option<String>> = vec![None; body.locals.len()];
    for param_turn in [false, true] {
        for (n, local) in body.locals.iter().enumerate() {
            let is_param = local.kind == LocalKind::Param;
            let Some(name) = local.name else { continue };
            let first = is_param == param_turn && (param_turn || is_copied_param(body, name, local));
            if first {
                let base = if is_param && has_copy(body, name) { format!("{name}__arg") } else { name.to_string() };
                if let Some(slot) = names.get_mut(n) {
                    *slot = Some(scratch.claim_words(&base, suffixes(unit.types.words(local.ty.ty))));
                }
            }
        }
    }
    let mut held = vec![];
    for (n, local) in body.locals.iter().enumerate() {
        let words = unit.types.words(local.ty.ty);
        let name = match names.get(n).cloned().flatten() {
            Some(name) => name,
            None => {
                let base = local.name.map_or(format!("_{n}"), |name| name.to_string());
                scratch.claim_words(&base, suffixes(words))
            }
        };
        held.push(Held {
            name,
            object: words > 1 && local.address_taken,
            variable: is_variable_array(unit, local.ty.ty),
            no_bounds: false,
            unread: false,
            used: false,
        });
    }
    held
}

/// A variable of the outermost scopes with a parameter's name is that parameter, with its bounds.
fn is_copied_param(body: &Body, name: Symbol, local: &LocalDecl) -> bool {
    local.kind == LocalKind::Var
        && local.scope == ScopeId(0)
        && body.locals.iter().take(body.params as usize).any(|l| l.kind == LocalKind::Param && l.name == Some(name))
        && body
            .locals
            .iter()
            .find(|l| l.kind == LocalKind::Var && l.name == Some(name))
            .is_some_and(|l| l.span == local.span)
        && local.scope == ScopeId(0)
}

fn has_copy(body: &Body, name: Symbol) -> bool {
    body.locals.iter().any(|l| l.name == Some(name) && is_copied_param(body, name, l))
}

fn is_variable_array(unit: &Unit, ty: Ty) -> bool {
    matches!(unit.types.kind(ty), TyKind::Array { .. }) && unit.c.has_variable(ty)
}

/// Locals stand at the top of the function, so they must not hide what the function uses from
/// outside.
fn reserve_outer_names(unit: &mut Unit, body: &Body, names: &mut NameSet) {
    let mut functions = vec![body.func.clone()];
    let mut globals = vec![];
    visit(body, &mut |part| match part {
        Part::Call(func, _) | Part::Func(func) => functions.push(func.clone()),
        Part::Global(id) => globals.push(id),
    });
    for func in functions {
        names.take(&unit.function_name(&func).ident);
    }
    for id in globals {
        names.take(&unit.global_name(id).ident);
    }
}

/// The declarations of all locals that are used, and of variables of the program in any case.
/// `addressed` are names whose address the function's text takes, if that is known, and `gone` those
/// that it does not mention any more.
///
/// In debug builds temporaries are `register`: gcc -O0 keeps all others in memory. Variables of the
/// program stay there, since registers are used again, and a debugger would show what is in them.
pub fn declarations(
    unit: &mut Unit,
    body: &Body,
    held: &[Held],
    addressed: Option<&FxHashSet<&str>>,
    gone: &FxHashSet<String>,
) -> Vec<String> {
    let mut out = vec![];
    for (n, (local, held)) in body.locals.iter().zip(held).enumerate() {
        let shown = local.kind == LocalKind::Var && local.name.is_some() && !held.unread;
        let is_param = (n as u32) < body.params;
        if (is_param && !held.object) || (!held.used && !shown) {
            continue;
        }
        if matches!(unit.types.kind(local.ty.ty), TyKind::Void | TyKind::Func(_) | TyKind::Error) {
            continue;
        }
        unit.c.need(local.ty.ty);
        if unit.options.debug {
            unit.c.need_shown(local.ty.ty);
        }
        let align = local.align.map_or(String::new(), |a| format!(" __attribute__((aligned({a})))"));
        if held.variable {
            out.push(variable_array(unit, local, held));
            continue;
        }
        let may_be = may_be_register(unit.types, local, held);
        let addressed = addressed.filter(|_| may_be);
        let register = |name: &str| match addressed {
            Some(addressed) if !addressed.contains(name) => "register ",
            _ => "",
        };
        if held.object || unit.types.words(local.ty.ty) == 1 {
            if !gone.contains(&held.name) {
                let object = unit.c.object(local.ty, &held.name, Consts::Drop);
                out.push(format!("{}{object}{align};", register(&held.name)));
            }
            continue;
        }
        let mut words = vec![];
        for (n, name) in word_names(unit.types, local, held).into_iter().enumerate() {
            if !gone.contains(&name) {
                let word = unit.c.word(local.ty, n, &name, Consts::Drop);
                words.push(format!("{}{word}{};", register(&name), if n == 0 { align.as_str() } else { "" }));
            }
        }
        if !words.is_empty() {
            out.push(words.join(" "));
        }
    }
    out
}

/// The names of a local's words.
fn word_names(types: &TypeStore, local: &LocalDecl, held: &Held) -> Vec<String> {
    let bounds = if held.no_bounds { &[] } else { suffixes(types.words(local.ty.ty)) };
    let rest = bounds.iter().map(|suffix| format!("{}{suffix}", held.name));
    [held.name.clone()].into_iter().chain(rest).collect()
}

/// Whether the words of a local are variables that a register may hold.
fn may_be_register(types: &TypeStore, local: &LocalDecl, held: &Held) -> bool {
    local.kind == LocalKind::Temp && local.align.is_none() && !held.object && fits_register(types, local.ty)
}

/// The names of temporaries that may share a variable with others of their type, and the texts of
/// these types: no name in `addressed`, nor one that stands in the `texts` around the function's.
pub fn sharing(
    unit: &mut Unit,
    body: &Body,
    held: &[Held],
    texts: &str,
    addressed: &FxHashSet<&str>,
) -> FxHashMap<String, String> {
    let around: FxHashSet<&str> = texts.split(|c: char| c != '_' && !c.is_ascii_alphanumeric()).collect();
    let mut found = FxHashMap::default();
    for (local, held) in body.locals.iter().zip(held) {
        if !held.used || !may_be_register(unit.types, local, held) {
            continue;
        }
        for (n, name) in word_names(unit.types, local, held).into_iter().enumerate() {
            if !addressed.contains(name.as_str()) && !around.contains(name.as_str()) {
                let ty = unit.c.word(local.ty, n, "", Consts::Drop);
                found.insert(name, ty);
            }
        }
    }
    found
}

/// Whether each word of a value is kept in one register.
fn fits_register(types: &TypeStore, ty: Qty) -> bool {
    let plain = !ty.quals.is_volatile && !ty.quals.is_atomic;
    plain
        && match types.kind(ty.ty) {
            TyKind::Ptr(_) | TyKind::Bool | TyKind::Enum(_) => true,
            TyKind::Int(kind) => !matches!(kind, IntKind::Int128 | IntKind::UInt128),
            TyKind::Float(kind) => matches!(kind, FloatKind::Float | FloatKind::Double),
            _ => false,
        }
}

/// The names whose address C text may take, and all in statements of assembly.
pub fn addressed(text: &str) -> FxHashSet<&str> {
    let mut found = FxHashSet::default();
    for line in text.lines() {
        let is_asm = line.contains("__asm__");
        let mut before = ' ';
        let mut rest = line;
        while let Some(first) = rest.chars().next() {
            let is_word = |c: char| c == '_' || c.is_ascii_alphanumeric();
            let end = if is_word(first) { rest.find(|c| !is_word(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
            let (word, after) = rest.split_at(end);
            if is_word(first) && (is_asm || before == '&') {
                found.insert(word);
            }
            // `&(x)` is the address of x, too. Operators with two operands have blanks around them.
            if first != '(' {
                before = first;
            }
            rest = after;
        }
    }
    found
}

/// Lists the locals that `container_of` may be asked for, from the start of the function to its
/// end.
pub fn listed(unit: &mut Unit, body: &Body, held: &[Held]) -> Vec<String> {
    let mut out = vec![];
    for (n, (local, held)) in body.locals.iter().zip(held).enumerate() {
        let shown = local.kind == LocalKind::Var && local.name.is_some();
        let is_param = (n as u32) < body.params;
        if !local.address_taken || (!is_param && !held.used && !shown) || unit.types.owns(local.ty.ty) {
            continue;
        }
        let Some(test) = unit.contained(local.ty.ty) else { continue };
        let Some(container) = unit.container(local.ty.ty) else { continue };
        let name = &held.name;
        out.push(format!(
            "__attribute__((cleanup(lee_unlist_local))) struct lee_listed {name}__listed; {name}__listed.end = 0;"
        ));
        let list = format!("lee_list(&{name}__listed, &{name}, sizeof {name}, {container});");
        out.push(if test == "1" { list } else { format!("if ({test}) {list}") });
    }
    out
}

/// The pointer that stands for a variable-length array, and how much it points to.
fn variable_array(unit: &mut Unit, local: &LocalDecl, held: &Held) -> String {
    let base = unit.c.object(Qty::plain(innermost(unit.types, local.ty.ty)), &format!("*{}", held.name), Consts::Drop);
    format!("{base} = NULL; size_t {}__room = 0;", held.name)
}

/// The element type of an array of arrays.
pub fn innermost(types: &TypeStore, ty: Ty) -> Ty {
    let mut ty = ty;
    while let TyKind::Array { elem, .. } = types.kind(ty) {
        ty = elem.ty;
    }
    ty
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found() {
        let mut found: Vec<&str> = addressed(
            "    _1 = f(&_2, _3, &(_4)); if (_5 && _6 == (_7 & _11)) g(&_8.x);\n    __asm__(\"\" : \"=m\"(_9) : \"r\"(_10));\n",
        )
        .into_iter()
        .collect();
        found.sort_unstable();
        assert_eq!(found, ["_10", "_2", "_4", "_8", "_9", "__asm__", "m", "r"]);
    }
}
