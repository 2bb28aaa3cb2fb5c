//! What a new task or process begins with: for each function that a `start` or `spawn` names, a
//! struct of the words of its arguments, which the runtime copies onto the new stack, and a
//! function that takes them from there and calls.

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
    /// Some of them are of processes.
    spawns: bool,
    /// What the arguments of processes own.
    owned: FxHashMap<String, String>,
}

/// Of `lee/process.h`, whose other functions have checked types of their own in `lee/process.lh`.
const SPAWNS: &str = "struct lee_owned;
struct lee_pid *lee_process_spawn_with(const struct lee_site *, int (*)(void *), const void *, size_t, const struct lee_owned *, bool);
";

impl Starts {
    /// Whether no task is started.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Their definitions, which come after the prototypes and are in no source file: what is
    /// inlined into them has lines of its own.
    pub fn text(&self) -> String {
        if self.is_empty() {
            String::new()
        } else {
            let spawns = if self.spawns { SPAWNS } else { "" };
            format!("#line 1 \"<start>\"\n{spawns}{}", self.text)
        }
    }
}

impl Emitter<'_, '_> {
    /// The call that starts a task with the words of the function's arguments.
    pub fn start(&mut self, func: &FuncRef, words: &[String]) -> String {
        let name = self.unit.start_name(func, false);
        self.begin("lee_task_start", &name, words, "")
    }

    /// The call that makes a process.
    pub fn spawn(&mut self, func: &FuncRef, question: bool, words: &[String]) -> String {
        let name = self.unit.start_name(func, true);
        let owned = self.unit.starts.owned.get(&name).map_or("NULL", String::as_str);
        self.begin("lee_process_spawn_with", &name, words, &format!(", {owned}, {question}"))
    }

    fn begin(&mut self, function: &str, name: &str, words: &[String], rest: &str) -> String {
        let site = self.unit.site(self.span);
        if words.is_empty() {
            return format!("{function}({site}, {name}, NULL, 0{rest})");
        }
        let words = words.join(", ");
        format!("{function}({site}, {name}, &(struct {name}){{ {words} }}, sizeof(struct {name}){rest})")
    }
}

impl Unit<'_> {
    /// The function that a task which calls `func` begins with; the struct of its arguments has the
    /// same name.
    fn start_name(&mut self, func: &FuncRef, spawned: bool) -> String {
        if let Some(name) = self.starts.names.get(func) {
            return name.clone();
        }
        let (signature, consts, called) = (self.func_ty(func), self.prototype_consts(func), self.function_name(func));
        // Reports take the function's name from here, when it was inlined.
        let word = if spawned { "spawn" } else { "start" };
        let name = format!("lee__{word}_{}_{}", self.starts.names.len(), called.ident);
        self.starts.spawns |= spawned;
        self.starts.names.insert(func.clone(), name.clone());
        let (mut fields, mut words, mut firsts) = (String::new(), vec![], vec![]);
        for param in &signature.params {
            self.c.need(param.ty);
            firsts.push(words.len());
            for n in 0..self.types.words(param.ty) as usize {
                let field = format!("a{}", words.len());
                let _ = write!(fields, "{}; ", self.c.word(Qty::plain(param.ty), n, &field, consts));
                words.push(format!("lee__at->{field}"));
            }
        }
        let mut results = String::new();
        for (n, suffix) in suffixes(self.types.words(signature.ret)).iter().enumerate() {
            // The names of functions are the program's: none of those here hides one.
            let result = format!("lee__result{suffix}");
            let _ = write!(results, "{}; ", self.c.word(Qty::plain(signature.ret), n + 1, &result, Consts::Drop));
            words.push(format!("&{result}"));
        }
        let arguments = if fields.is_empty() {
            String::new()
        } else {
            let _ = writeln!(self.starts.text, "struct {name} {{ {fields}}};");
            format!("const struct {name} *lee__at = lee__arguments; ")
        };
        if spawned {
            let params: Vec<_> =
                signature.params.iter().zip(firsts).map(|(p, n)| (p.ty, format!("it->a{n}"))).collect();
            if let Some((text, owned)) = self.parts_sent(&format!("struct {name}"), &name, &params) {
                self.starts.text.push_str(&text);
                self.starts.owned.insert(name.clone(), owned);
            }
        }
        let ident = called.ident;
        let words = words.join(", ");
        let (result, call) = match (spawned, self.types.kind(signature.ret)) {
            (false, _) => ("void", format!("(void){ident}({words});")),
            (true, TyKind::Void) => ("int", format!("{ident}({words}); return 0;")),
            (true, _) => ("int", format!("return {ident}({words});")),
        };
        // What is called may be inlined.
        let section = if self.options.processes { "LEE_CODE " } else { "" };
        let _ = writeln!(
            self.starts.text,
            "{section}static {result} {name}(void *lee__arguments) {{ (void)lee__arguments; {arguments}{results}{call} }}"
        );
        name
    }
}
