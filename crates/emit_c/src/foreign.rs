//! Calls of C functions from code that may run in a task.
//!
//! A task's stack is small and has a guard of a few pages, and C code is compiled without stack
//! probes: one frame of it can reach beyond the guard. So each such call goes through a function of
//! its own for its signature: where the thread stands on a task's stack, that packs the arguments
//! and has the call made on a large one (`runtime/include/lee/foreign.h`); elsewhere it is the call
//! itself behind a test.

use crate::body::Emitter;
use crate::ctype::Consts;
use mir::ir::*;
use rustc_hash::FxHashMap;
use std::fmt::Write;
use typing::tree::Trust;
use typing::types::*;

/// Functions that take a few hundred bytes of stack: calls of the kernel and what hardly does more.
/// `mir::leaves` has more of them.
const SMALL: &[&str] = &[
    "_Exit",
    "_exit",
    "accept",
    "access",
    "alarm",
    "bind",
    "chmod",
    "chown",
    "clock_getres",
    "clock_nanosleep",
    "clock_settime",
    "close",
    "connect",
    "creat",
    "dup",
    "dup2",
    "drand48",
    "faccessat",
    "fchmod",
    "fchmodat",
    "fchown",
    "fdatasync",
    "fork",
    "fstat",
    "fstatat",
    "fsync",
    "ftruncate",
    "futimens",
    "getegid",
    "geteuid",
    "getgid",
    "getgroups",
    "getpgid",
    "getpgrp",
    "getppid",
    "getpriority",
    "getrandom",
    "getrlimit",
    "getrusage",
    "getsid",
    "getuid",
    "isatty",
    "kill",
    "killpg",
    "lchown",
    "link",
    "listen",
    "lockf",
    "lrand48",
    "lseek",
    "lstat",
    "mkdir",
    "mkdirat",
    "mkfifo",
    "mrand48",
    "nanosleep",
    "pause",
    "pipe",
    "poll",
    "pread",
    "pwrite",
    "raise",
    "random",
    "read",
    "readlink",
    "readlinkat",
    "recv",
    "rmdir",
    "sched_yield",
    "send",
    "sendto",
    "setgid",
    "setitimer",
    "setpgid",
    "setpriority",
    "setrlimit",
    "setsid",
    "setuid",
    "shutdown",
    "sleep",
    "socket",
    "socketpair",
    "srand48",
    "srandom",
    "stat",
    "symlink",
    "sync",
    "time",
    "truncate",
    "unlink",
    "unlinkat",
    "usleep",
    "utimensat",
    "utimes",
    "wait",
    "waitpid",
    "write",
];

/// Functions that are not themselves behind another call.
const RETURNS_TWICE: &[&str] =
    &["setjmp", "_setjmp", "sigsetjmp", "__sigsetjmp", "vfork", "getcontext", "swapcontext", "setcontext", "alloca"];

/// The functions that a unit's foreign calls go through.
#[derive(Default)]
pub struct Foreign {
    /// By what is called and with which types.
    names: FxHashMap<String, String>,
    text: String,
}

impl Foreign {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Their definitions.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl Emitter<'_, '_> {
    /// The function that makes the call on a large stack, and whether that takes `function` as its
    /// first argument; `None` if the function needs no such call. `args` are the operands of the
    /// call.
    pub fn foreign(
        &mut self,
        callee: &Callee,
        function: &str,
        args: &[Operand],
        signature: &FuncTy,
        consts: Consts,
    ) -> Option<(String, bool)> {
        if self.unit.options.plain
            || self.unit.options.no_gc
            || signature.noreturn
            || !self.is_foreign(callee, signature)
        {
            return None;
        }
        let mut types = vec![];
        let by_pointer = match callee {
            Callee::Pointer(operand) => Some(self.operand_ty(operand)),
            Callee::Direct(_) | Callee::Builtin(_) | Callee::Start(_) | Callee::Spawn(..) => None,
        };
        let mut add = |emitter: &mut Self, ty: Ty, word: usize, star: &str, consts| {
            let name = format!("{star}a{}", types.len());
            types.push(emitter.unit.c.word(Qty::plain(ty), word, &name, consts));
        };
        for param in &signature.params {
            if matches!(self.unit.types.kind(param.ty), TyKind::VaList) {
                // An array in C, which is not copied; functions that take one are the runtime's.
                return None;
            }
            for word in 0..self.unit.types.words(param.ty) as usize {
                add(self, param.ty, word, "", consts);
            }
        }
        for word in 1..self.unit.types.words(signature.ret) as usize {
            add(self, signature.ret, word, "*", consts);
        }
        for arg in args.iter().skip(signature.params.len()) {
            let ty = self.operand_ty(arg);
            if matches!(self.unit.types.kind(ty), TyKind::Error | TyKind::VaList) {
                return None;
            }
            add(self, ty, 0, "", Consts::Drop);
        }
        let result = match self.unit.types.kind(signature.ret) {
            TyKind::Void => None,
            _ => Some(signature.ret),
        };
        let pointer = by_pointer.map(|ty| self.unit.c.word(Qty::plain(ty), 0, "f", Consts::Drop));
        let returned = result.map(|ty| self.unit.c.word(Qty::plain(ty), 0, "r", consts));
        let what = if by_pointer.is_some() { "" } else { function };
        let key = format!("{what}|{pointer:?}|{returned:?}|{}", types.join("|"));
        if let Some(name) = self.unit.foreign.names.get(&key) {
            return Some((name.clone(), by_pointer.is_some()));
        }
        let number = self.unit.foreign.names.len();
        let name = format!("lee__foreign_{number}");
        let members: Vec<&String> = pointer.iter().chain(&types).collect();
        let names: Vec<String> = (0..types.len()).map(|n| format!("a{n}")).collect();
        let called = |lead: &str| {
            let callee = if by_pointer.is_some() { format!("{lead}f") } else { function.to_string() };
            let args: Vec<String> = names.iter().map(|n| format!("{lead}{n}")).collect();
            format!("{callee}({})", args.join(", "))
        };
        let fields: String = returned.iter().chain(members.iter().copied()).map(|m| format!(" {m};")).collect();
        let params = members.iter().map(|m| m.as_str()).collect::<Vec<_>>().join(", ");
        let params = if params.is_empty() { "void".to_string() } else { params };
        let given: Vec<String> = pointer
            .iter()
            .map(|_| "f".to_string())
            .chain(names.iter().cloned())
            .map(|n| format!(".{n} = {n}"))
            .collect();
        let (store, give) = if result.is_some() { ("s->r = ", " return s.r;") } else { ("", "") };
        let head = match result {
            Some(ty) => self.unit.c.word(Qty::plain(ty), 0, &format!("{name}({params})"), consts),
            None => format!("void {name}({params})"),
        };
        let text = &mut self.unit.foreign.text;
        let _ = writeln!(
            text,
            "struct {name} {{{fields} char end; }};\n\
             static void {name}_run(void *a) {{ struct {name} *s = a; {store}{}; (void)s; }}\n\
             __attribute__((noinline)) static {head} {{ struct {name} s = {{ {} }}; \
             lee_foreign_call({name}_run, &s);{give} }}",
            called("s->"),
            if given.is_empty() { "0".to_string() } else { given.join(", ") },
        );
        self.unit.foreign.names.insert(key, name.clone());
        Some((name, by_pointer.is_some()))
    }

    /// Whether C's code is behind the call, and not known to be small.
    fn is_foreign(&self, callee: &Callee, signature: &FuncTy) -> bool {
        match callee {
            Callee::Direct(func) => {
                let Some(function) = self.unit.program.functions.get(func.func.0 as usize) else { return false };
                let symbol = function.symbol.unwrap_or(function.name);
                let symbol = symbol.as_str();
                let small = symbol.starts_with("lee_")
                    || symbol.starts_with("__builtin")
                    || mir::leaves::is_leaf(symbol)
                    || SMALL.contains(&symbol)
                    || RETURNS_TWICE.contains(&symbol);
                matches!(function.trust, Trust::Foreign | Trust::Trusted)
                    && !self.unit.bodies.contains_key(func)
                    && !small
            }
            Callee::Pointer(_) => signature.abi == Abi::C,
            Callee::Builtin(_) | Callee::Start(_) | Callee::Spawn(..) => false,
        }
    }
}
