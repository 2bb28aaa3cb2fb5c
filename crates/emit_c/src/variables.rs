//! Mutable variables of static storage in a program of several processes: each process has its own
//! (`runtime/include/lee/delta.h`,
//! [docs/internals/processes.md](../../../docs/internals/processes.md)).
//!
//! A program of one process has nothing of this: what the linker placed is the variable.

use crate::unit::Unit;
use rustc_hash::FxHashSet;
use std::fmt::Write;
use typing::tree::{ConstAddr, ConstInit, Global, GlobalId, Trust};
use typing::types::*;

/// How code reaches a global.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reached {
    /// By its name: there is one.
    Name,
    /// It is defined here, in the sections that each process has a copy of.
    Own,
    /// It is defined elsewhere, perhaps in code that Leeward did not compile: the running program
    /// finds out.
    Found,
}

/// What a unit knows of its variables.
#[derive(Default)]
pub struct Variables {
    /// Those defined here of which each process has its own.
    own: FxHashSet<GlobalId>,
    /// The lvalue whose initialiser is being written, if addresses in it are listed.
    at: Option<String>,
    /// Words that hold addresses at first: the word and the object.
    listed: Vec<(String, String)>,
    /// Entries so far.
    entries: usize,
}

impl Variables {
    /// The variables of a unit of a program with several processes.
    pub fn new(globals: &[Global], types: &TypeStore) -> Variables {
        let defined = |g: &Global| g.init.is_some();
        let all = || (0..).map(GlobalId).zip(globals).filter(|(_, g)| defined(g));
        let mut own: FxHashSet<GlobalId> = all().filter(|(_, g)| !is_constant(types, g.ty)).map(|(id, _)| id).collect();
        // A constant that holds the address of a variable differs from process to process, too.
        loop {
            let before = own.len();
            for (id, global) in all() {
                let mut leads = false;
                if let Some(init) = &global.init {
                    addresses(init, &mut |to| {
                        let elsewhere = globals.get(to.0 as usize).is_none_or(|g| !defined(g));
                        leads |= elsewhere || own.contains(&to);
                    });
                }
                if leads {
                    own.insert(id);
                }
            }
            if own.len() == before {
                return Variables { own, ..Variables::default() };
            }
        }
    }
}

/// Whether an object is never written: constant, or an array of constants.
fn is_constant(types: &TypeStore, ty: Qty) -> bool {
    let constant = ty.quals.is_const && !ty.quals.is_volatile && !ty.quals.is_atomic;
    match types.kind(ty.ty) {
        TyKind::Array { elem, .. } => constant || is_constant(types, *elem),
        _ => constant,
    }
}

/// Shows the globals whose addresses an initialiser holds.
fn addresses(init: &ConstInit, see: &mut dyn FnMut(GlobalId)) {
    match init {
        ConstInit::Addr(..) | ConstInit::Fat(..) | ConstInit::TypedVoid(..) => {
            if let Some((id, _)) = address_words(init, 1) {
                see(id);
            }
        }
        ConstInit::Aggregate(parts) => parts.iter().for_each(|(_, part)| addresses(part, see)),
        ConstInit::Tagged(_, value) => addresses(value, see),
        ConstInit::Zero | ConstInit::Int(_) | ConstInit::Float(_) | ConstInit::Str(_) => {}
    }
}

/// The global whose address an initialiser is, and how many of the value's `count` words hold it.
fn address_words(init: &ConstInit, count: usize) -> Option<(GlobalId, usize)> {
    match init {
        ConstInit::Addr(ConstAddr::Global(id), _) => Some((*id, if count == 3 { 3 } else { 1 })),
        ConstInit::Fat(ConstAddr::Global(id), ..) => Some((*id, count)),
        ConstInit::TypedVoid(ConstAddr::Global(id), ..) => Some((*id, 1)),
        _ => None,
    }
}

impl Unit<'_> {
    /// How code reaches a global.
    pub fn reached(&self, id: GlobalId) -> Reached {
        let Some(global) = self.program.globals.get(id.0 as usize).filter(|_| self.options.processes) else {
            return Reached::Name;
        };
        if self.variables.own.contains(&id) {
            Reached::Own
        } else if global.init.is_some() || self.is_thread_local(global) {
            Reached::Name
        } else {
            Reached::Found
        }
    }

    /// Whether a variable is one of C's `thread_local`s. In a program of several processes each has
    /// its own of those that Leeward compiles.
    pub fn is_thread_local(&self, global: &Global) -> bool {
        let compiled = global.init.is_some() || global.trust == Trust::Checked;
        global.thread_local && !(self.options.processes && compiled)
    }

    /// The section that a definition goes to, as a C attribute.
    pub fn section_of(&self, id: GlobalId, zero: bool) -> &'static str {
        match (self.reached(id), zero) {
            (Reached::Own, true) => " LEE_IN_GLOBALS_ZERO",
            (Reached::Own, false) => " LEE_IN_GLOBALS",
            _ => "",
        }
    }

    /// From here on addresses in initialisers are those of the variable with this C name, if each
    /// process has its own.
    pub fn begin_initialiser(&mut self, id: GlobalId, name: &str) {
        self.variables.at = (self.reached(id) == Reached::Own).then(|| name.to_string());
    }

    /// The initialiser of a part of what is being written: `suffix` leads to it.
    pub fn inside<R>(&mut self, suffix: &str, f: impl FnOnce(&mut Self) -> R) -> R {
        let Some(at) = &mut self.variables.at else { return f(self) };
        let length = at.len();
        at.push_str(suffix);
        let out = f(self);
        if let Some(at) = &mut self.variables.at {
            at.truncate(length);
        }
        out
    }

    /// Lists the words of an initialiser that are addresses; `suffixes` lead from what is being
    /// written to its words.
    pub fn list_addresses(&mut self, init: &ConstInit, suffixes: &[String]) {
        let Some(at) = self.variables.at.clone() else { return };
        let Some((id, words)) = address_words(init, suffixes.len()) else { return };
        if self.reached(id) == Reached::Name {
            return;
        }
        let base = self.global_name(id).ident;
        let words = suffixes.iter().take(words).map(|suffix| (format!("{at}{suffix}"), base.clone()));
        self.variables.listed.extend(words);
    }

    /// The entries of the words that were listed, after the definition that holds them.
    pub fn end_initialiser(&mut self) -> String {
        self.variables.at = None;
        let mut out = String::new();
        for (word, base) in std::mem::take(&mut self.variables.listed) {
            let _ = write!(out, " LEE_VARIABLE_ADDRESS(lee__address_{}, {word}, {base});", self.variables.entries);
            self.variables.entries += 1;
        }
        out
    }

    /// Says in the object file that it has variables and was compiled for programs of one process.
    pub fn one_process(&self) -> String {
        if self.options.processes || Variables::new(&self.program.globals, self.types).own.is_empty() {
            return String::new();
        }
        let name = crate::names::escape(self.options.source_name.as_bytes());
        format!(
            "static const char lee__one_process[] __attribute__((section(\"lee_one_process\"), used, aligned(1))) = \"{name}\";\n"
        )
    }
}
