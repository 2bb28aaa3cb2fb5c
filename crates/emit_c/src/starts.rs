//! What a new task begins with: for each function that a `start` names, a struct of the words of its arguments, which the runtime
//! copies onto the task's stack, and a function that takes them from there and calls.

use crate::body::Emitter;
use crate::ctype::{suffixes, Consts};
use crate::unit::Unit;
use rustc_hash::FxHashMap;
use std::fmt::Write;
use typing::tree::FuncRef;
use typing::types::*;

/// The structs and functions of a unit.
#[derive(Default)]
pub struct Starts {
    names: FxHashMap<FuncRef, String>,
    text: String,
}

impl Starts {
    /// Whether no task is started.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Their definitions, which stand behind the prototypes, and in no source file: what is inlined into them has lines of its own.
    pub fn text(&self) -> String {
        if self.is_empty() {
            String::new()
        } else {
            format!("#line 1 \"<start>\"\n{}", self.text)
        }
    }
}

impl Emitter<'_, '_> {
    /// The call that starts a task with the words of the function's arguments.
    pub fn start(&mut self, func: &FuncRef, words: &[String]) -> String {
        let name = self.unit.start_name(func);
        let site = self.unit.site(self.span);
        if words.is_empty() {
            return format!("lee_task_start({site}, {name}, NULL, 0)");
        }
        let words = words.join(", ");
        format!("lee_task_start({site}, {name}, &(struct {name}){{ {words} }}, sizeof(struct {name}))")
    }
}

impl Unit<'_> {
    /// The function that a task which calls `func` begins with; the struct of its arguments has the same name.
    fn start_name(&mut self, func: &FuncRef) -> String {
        if let Some(name) = self.starts.names.get(func) {
            return name.clone();
        }
        let (signature, consts, called) = (self.func_ty(func), self.prototype_consts(func), self.function_name(func));
        // Reports take the function's name from here, when it was inlined.
        let name = format!("lee__start_{}_{}", self.starts.names.len(), called.ident);
        self.starts.names.insert(func.clone(), name.clone());
        let (mut fields, mut words) = (String::new(), vec![]);
        for param in &signature.params {
            self.c.need(param.ty);
            for n in 0..self.types.words(param.ty) as usize {
                let field = format!("a{}", words.len());
                let _ = write!(fields, "{}; ", self.c.word(Qty::plain(param.ty), n, &field, consts));
                words.push(format!("at->{field}"));
            }
        }
        let mut results = String::new();
        for (n, suffix) in suffixes(self.types.words(signature.ret)).iter().enumerate() {
            let result = format!("result{suffix}");
            let _ = write!(results, "{}; ", self.c.word(Qty::plain(signature.ret), n + 1, &result, Consts::Drop));
            words.push(format!("&{result}"));
        }
        let arguments = if fields.is_empty() {
            String::new()
        } else {
            let _ = writeln!(self.starts.text, "struct {name} {{ {fields}}};");
            format!("const struct {name} *at = arguments; ")
        };
        let ident = called.ident;
        let words = words.join(", ");
        let _ = writeln!(
            self.starts.text,
            "static void {name}(void *arguments) {{ (void)arguments; {arguments}{results}(void){ident}({words}); }}"
        );
        name
    }
}
