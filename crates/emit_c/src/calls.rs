//! Calls and returns: multi-word values are split into scalars.

use crate::body::Emitter;
use crate::ctype::{suffixes, Consts};
use crate::exprs::{Ex, Level};
use crate::pending::Effect;
use mir::ir::*;
use std::rc::Rc;
use typing::types::*;

/// C's operator of a builtin that updates a place in one step, which its first argument points to.
/// `ty` is what the place holds: clang has no `+=` for pointers, and a wrong one for `_Bool`.
fn update(operator: &str, ty: &TyKind, words: &[String]) -> Option<String> {
    let [place, value @ ..] = words else { return None };
    let (binary, value, after) = match (operator.strip_suffix('='), value) {
        (Some(binary), [value]) => (binary, value.as_str(), true),
        (None, []) if operator == "++" => ("+", "1", false),
        (None, []) if operator == "--" => ("-", "1", false),
        _ => return None,
    };
    // 5 is `__ATOMIC_SEQ_CST`.
    Some(match ty {
        TyKind::Ptr(_) => {
            let name = if after { "add_fetch" } else { "fetch_add" };
            let sign = if binary == "-" { "-" } else { "" };
            let bytes = format!("{sign}(unsigned long)({value}) * sizeof(**({place}))");
            format!("(void *)__atomic_{name}((unsigned long *)({place}), {bytes}, 5)")
        }
        TyKind::Bool => {
            let swap = format!("__atomic_compare_exchange_n((_Bool *)({place}), &lee__old, lee__new, 0, 5, 5)");
            let result = if after { "lee__new" } else { "lee__old" };
            let first = "_Bool lee__old = 0, lee__new;";
            format!("({{ {first} do lee__new = lee__old {binary} {value}; while (!{swap}); {result}; }})")
        }
        _ if after => format!("(*{place} {operator} {value})"),
        _ => format!("(*{place}){operator}"),
    })
}

impl Emitter<'_, '_> {
    /// A call statement.
    pub fn call(&mut self, dest: Option<&Place>, callee: &Callee, args: &[Operand], ty: Ty) {
        let signature = self.unit.signature(ty);
        let consts = match callee {
            Callee::Direct(func) | Callee::Start(func) | Callee::Spawn(func, _) => self.unit.prototype_consts(func),
            _ => Consts::Drop,
        };
        let function = match callee {
            Callee::Direct(func) => self.unit.function_name(func).ident,
            Callee::Builtin(name) => name.to_string(),
            Callee::Start(_) => "lee_task_start".into(),
            Callee::Spawn(..) => "lee_process_spawn".into(),
            Callee::Pointer(operand) => {
                let value = self.value(operand);
                let cast = self.unit.c.cast(self.operand_ty(operand));
                let value = if value.pointer.is_none() { value.cast(&cast) } else { value };
                value.at(Level::Primary)
            }
        };
        let (mut words, named) = self.arguments(args, signature.as_deref(), consts);
        if let (Callee::Builtin(name), Some(last), Some(word)) = (callee, args.last(), words.last_mut()) {
            // What counts is the last one's type, and C has no constants that are smaller than
            // `int`.
            if name.as_str().ends_with("_overflow_p") {
                *word = format!("({})({word})", self.unit.c.cast(self.operand_ty(last)));
            }
        }
        let ret = signature.as_ref().map_or(self.unit.types.common.void, |s| s.ret);
        // C wants the definition also where nothing takes the result.
        self.unit.c.need(ret);
        let outs = self.result_words(ret);
        // After the named parameters, as prototypes have them: what goes through `...` is last.
        words.splice(named..named, outs.iter().map(|name| format!("&{name}")));
        let text = match callee {
            Callee::Start(func) => self.start(func, &words),
            Callee::Spawn(func, question) => self.spawn(func, *question, &words),
            Callee::Builtin(_) => update(&function, self.unit.types.kind(ret), &words)
                .unwrap_or_else(|| format!("{function}({})", words.join(", "))),
            Callee::Direct(_) if function == "lee_task_yield" => {
                self.unit.yields = true;
                "lee_yield()".to_string()
            }
            Callee::Direct(_) | Callee::Pointer(_) => {
                // What is defined in headers of the C compiler's is one instruction or a few.
                let intrinsics = &self.unit.program.c_text.intrinsics;
                let near = matches!(callee, Callee::Direct(func) if intrinsics.contains(&func.func));
                let through =
                    signature.as_ref().filter(|_| !near).and_then(|s| self.foreign(callee, &function, args, s, consts));
                let words = words.join(", ");
                match through {
                    // Here, not in a function: a trap in C code is reported at the line of the
                    // call.
                    Some((far, by_pointer)) => {
                        let lead = if by_pointer { function.as_str() } else { "" };
                        let comma = if by_pointer && !words.is_empty() { ", " } else { "" };
                        let near = format!("{function}({words})");
                        format!("(LEE_LIKELY(!lee_on_task_stack) ? {near} : {far}({lead}{comma}{words}))")
                    }
                    None => format!("{function}({words})"),
                }
            }
        };
        let local = dest.and_then(Place::as_local);
        self.settle(Effect { memory: true, local: local.map(|l| l.0) });
        let is_void = matches!(self.unit.types.kind(ret), TyKind::Void);
        let result = match dest {
            Some(place) if !is_void => place,
            _ => {
                self.push(&format!("{text};"));
                return;
            }
        };
        let pointer = matches!(self.unit.types.kind(ret), TyKind::Ptr(_)).then(|| self.unit.c.cast_as(ret, consts));
        let first = Ex { pointer, ..Ex::new(text, Level::Primary) };
        let mut values = vec![first];
        values.extend(outs.into_iter().map(|name| Ex::atom(name).of_pointer(Rc::from("void *"))));
        self.store_result(result, values);
    }

    /// The result's first word is the call itself, so it is stored first, and the place must not be
    /// touched before.
    fn store_result(&mut self, dest: &Place, values: Vec<Ex>) {
        let loc = self.place(dest, values.len() > 1);
        let texts = self.word_texts(&loc);
        let is_pointer = matches!(self.unit.types.kind(loc.ty.ty), TyKind::Ptr(_));
        let cast = self.unit.c.cast(loc.ty.ty);
        let three = self.unit.types.words(loc.ty.ty) == 3;
        let mut line = String::new();
        for (n, (text, value)) in texts.iter().zip(values).enumerate() {
            let value =
                if is_pointer && (n == 0 || (three && value.pointer.is_none())) { value.coerce(&cast) } else { value };
            line.push_str(&format!("{}{text} = {};", if n > 0 { " " } else { "" }, value.text));
        }
        self.push(&line);
    }

    /// Variables that receive the words after the first one of a result. They are copied from at
    /// once, so that no variable of the program has its address taken by a call.
    fn result_words(&mut self, ret: Ty) -> Vec<String> {
        let words = self.unit.types.words(ret);
        let mut names = vec![];
        for (n, suffix) in suffixes(words).iter().enumerate() {
            let declaration = self.unit.c.word(Qty::plain(ret), n + 1, "", Consts::Drop);
            let key = format!("{declaration}{suffix}");
            let name = match self.results.get(&key) {
                Some(name) => name.clone(),
                None => {
                    let name = self.scratch.claim(&format!("result{suffix}"));
                    let text = self.unit.c.word(Qty::plain(ret), n + 1, &name, Consts::Drop);
                    self.declarations.push(format!("{text};"));
                    self.results.insert(key, name.clone());
                    name
                }
            };
            names.push(name);
        }
        names
    }

    /// The words of the arguments, and how many of them belong to named parameters.
    pub fn arguments(&mut self, args: &[Operand], signature: Option<&FuncTy>, consts: Consts) -> (Vec<String>, usize) {
        let mut out = vec![];
        let mut named = 0;
        for (n, arg) in args.iter().enumerate() {
            let words = self.operand(arg, false);
            let Some(param) = signature.and_then(|s| s.params.get(n)) else {
                // Through `...` only the address is passed.
                out.extend(words.into_iter().next().map(|w| w.text));
                continue;
            };
            let is_pointer = matches!(self.unit.types.kind(param.ty), TyKind::Ptr(_));
            let cast = self.unit.c.cast_as(param.ty, consts);
            let plain = self.unit.c.cast(param.ty);
            let count = self.unit.types.words(param.ty) as usize;
            self.unit.c.need(param.ty);
            for (n, word) in words.into_iter().take(count).enumerate() {
                let fits = word.pointer.as_ref() == Some(&plain) && simple_const(&plain, &cast);
                let keep = !is_pointer || fits || (count == 2 && n == 1);
                out.push(if keep { word.text } else { word.coerce(&cast).text });
            }
            named = out.len();
        }
        (out, named)
    }

    /// `return`
    pub fn give_back(&mut self, operand: Option<&Operand>) {
        let ret = self.signature.ret;
        if self.signature.noreturn && !self.body.unchecked {
            // Callers take it that nothing comes back.
            let site = self.unit.site(self.span);
            self.push(&format!("lee_fault_unreachable({site});"));
            return;
        }
        let is_void = matches!(self.unit.types.kind(ret), TyKind::Void);
        let Some(operand) = operand.filter(|_| !is_void) else {
            self.settle(Effect::default());
            self.push("return;");
            return;
        };
        let words = self.operand(operand, false);
        let is_pointer = matches!(self.unit.types.kind(ret), TyKind::Ptr(_));
        let cast = self.unit.c.cast(ret);
        let mut line = String::new();
        let count = self.unit.types.words(ret) as usize;
        let mut texts =
            words.into_iter().take(count).enumerate().map(|(n, word)| match is_pointer && (n == 0 || count == 3) {
                true => word.coerce(&cast).text,
                false => word.text,
            });
        let first = texts.next().unwrap_or_else(|| "0".into());
        for (text, suffix) in texts.zip(suffixes(self.unit.types.words(ret))) {
            line.push_str(&format!("*ret{suffix} = {text}; "));
        }
        self.push(&format!("{line}return {first};"));
    }
}

/// Whether the types differ at most in a `const` of what the pointer points to, which C adds by
/// itself.
fn simple_const(plain: &str, with: &str) -> bool {
    plain == with || (with.strip_prefix("const ") == Some(plain) && plain.matches('*').count() == 1)
}
