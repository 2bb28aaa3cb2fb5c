//! The translation unit: names of its functions and globals, tables that bodies share, and the
//! order of the output.

use crate::ctype::{CTypes, Consts};
use crate::digest;
use crate::drops::Ends;
use crate::lines::{At, Lines, Locator};
use crate::names::{escape, is_builtin, is_free_in_plain, is_identifier, is_reserved, sanitize, NameSet};
use crate::prelude::{Helper, DELTA, PLAIN, PRAGMAS};
use crate::reach::{self, Reach};
use crate::{bodies, globals, layout_notes, layouts, link, records, Options};
use mir::ir::{Body, Program};
use rustc_hash::FxHashMap;
use source::{SourceMap, Span, Symbol};
use std::fmt::Write;
use std::rc::Rc;
use typing::c_library::{is_system_symbol, own_symbol};
use typing::tree::{FuncRef, Function, Global, GlobalId, Linkage, StrId, Trust};
use typing::types::*;

/// What something is called in C, and in the object file if that differs.
#[derive(Clone, Debug)]
pub struct Name {
    /// The C identifier.
    pub ident: String,
    /// The assembler name, if it is another.
    pub label: Option<String>,
}

/// Functions of C whose memory is the process's (lee/c_memory.h).
const C_MEMORY: &[&str] = &[
    "malloc",
    "calloc",
    "realloc",
    "reallocarray",
    "free",
    "aligned_alloc",
    "posix_memalign",
    "strdup",
    "strndup",
    "asprintf",
    "vasprintf",
    "getline",
    "getdelim",
];

/// Functions of C that make and close descriptors, which are the process's (lee/c_files.h).
const C_FILES: &[&str] = &[
    "open",
    "openat",
    "creat",
    "socket",
    "socketpair",
    "accept",
    "accept4",
    "pipe",
    "pipe2",
    "dup",
    "dup2",
    "dup3",
    "fcntl",
    "mkstemp",
    "mkostemp",
    "mkstemps",
    "mkostemps",
    "epoll_create",
    "epoll_create1",
    "eventfd",
    "timerfd_create",
    "inotify_init",
    "inotify_init1",
    "memfd_create",
    "posix_openpt",
    "signalfd",
    "recvmsg",
    "close",
    "fopen",
    "fdopen",
    "freopen",
    "tmpfile",
    "popen",
    "fclose",
    "pclose",
    "opendir",
    "fdopendir",
    "closedir",
];

/// What glibc's headers call some of them, with `_FILE_OFFSET_BITS` and `_FORTIFY_SOURCE`.
fn plain_name_of(name: &str) -> &str {
    let checked = name.strip_prefix("__").and_then(|name| name.strip_suffix("_2"));
    let name = checked.filter(|name| name.starts_with("open")).unwrap_or(name);
    name.strip_suffix("64").unwrap_or(name)
}

impl Name {
    /// The symbol in the object file.
    pub fn symbol(&self) -> &str {
        self.label.as_deref().unwrap_or(&self.ident)
    }

    /// ` __asm__("label")`, if there is one.
    pub fn label_text(&self) -> String {
        self.label.as_ref().map_or(String::new(), |l| format!(" __asm__(\"{}\")", escape(l.as_bytes())))
    }
}

/// A translation unit in the making.
pub struct Unit<'a> {
    /// What is emitted.
    pub program: &'a Program,
    /// Its types.
    pub types: &'a TypeStore,
    /// How.
    pub options: &'a Options,
    /// The source.
    pub map: &'a SourceMap,
    /// C types.
    pub c: CTypes<'a>,
    /// Identifiers at file scope.
    pub idents: NameSet,
    /// Places in the source.
    pub locator: Locator<'a>,
    /// Bodies by function.
    pub bodies: FxHashMap<FuncRef, &'a Body>,
    /// What is used.
    pub reach: Reach,
    /// Where collections run and which functions compute pointers.
    pub bases: crate::bases::Summary,
    /// Names of used functions.
    functions: FxHashMap<FuncRef, Name>,
    /// Names of used globals.
    globals: FxHashMap<GlobalId, Name>,
    func_types: FxHashMap<FuncRef, Rc<FuncTy>>,
    strings: FxHashMap<StrId, String>,
    string_texts: FxHashMap<(Ty, &'a [u32]), String>,
    arrays: Option<FxHashMap<(Ty, u64), Ty>>,
    /// Definitions of strings.
    pub string_definitions: String,
    /// The blocks of the labels of the function that is being emitted.
    pub labels: Vec<u32>,
    sites: Vec<At>,
    site_ids: FxHashMap<At, usize>,
    /// Digest, type, and how an object of it ends, if it owns something.
    descriptors: Vec<(u64, Ty, Option<String>)>,
    /// Helpers that are used.
    helpers: Vec<(&'static str, String)>,
    saturations: Vec<String>,
    saturation_definitions: String,
    tag_tables: FxHashMap<RecordId, String>,
    tag_definitions: String,
    /// How owned objects end.
    pub drops: crate::drops::Drops,
    /// What `container_of` asks when the program runs.
    pub containers: crate::containers::Containers,
    /// What new tasks begin with.
    pub starts: crate::starts::Starts,
    /// It calls `yield`.
    pub yields: bool,
    /// Contracts that channels are made of.
    pub channels: crate::channels::Channels,
    /// The variables that each process has its own of.
    pub variables: crate::variables::Variables,
    /// What foreign calls go through.
    pub foreign: crate::foreign::Foreign,
    /// Names of the layouts that are used.
    pub layouts: FxHashMap<Ty, String>,
    /// Of those that do not name pointers.
    pub loose_layouts: FxHashMap<(Ty, layouts::Front), String>,
    /// Their definitions.
    pub layout_definitions: String,
    /// What is said of them.
    pub described: crate::described::Described,
}

impl<'a> Unit<'a> {
    /// An empty unit.
    pub fn new(program: &'a Program, map: &'a SourceMap, options: &'a Options) -> Unit<'a> {
        let bodies = reach::bodies(program);
        let reach = reach::reach(program, &bodies);
        let bases = match options.plain || options.no_gc {
            true => Default::default(),
            false => crate::bases::Summary::new(program, &bodies),
        };
        let containers = crate::containers::Containers::new(&program.types, bodies.values().copied());
        Unit {
            containers,
            program,
            types: &program.types,
            options,
            map,
            c: CTypes::new(&program.types),
            idents: if options.plain { NameSet::plain() } else { NameSet::default() },
            locator: Locator::new(map),
            bodies,
            reach,
            bases,
            functions: FxHashMap::default(),
            globals: FxHashMap::default(),
            func_types: FxHashMap::default(),
            strings: FxHashMap::default(),
            string_texts: FxHashMap::default(),
            arrays: None,
            string_definitions: String::new(),
            labels: vec![],
            sites: vec![],
            site_ids: FxHashMap::default(),
            descriptors: vec![],
            helpers: vec![],
            saturations: vec![],
            saturation_definitions: String::new(),
            tag_tables: FxHashMap::default(),
            tag_definitions: String::new(),
            drops: crate::drops::Drops::default(),
            starts: crate::starts::Starts::default(),
            yields: false,
            channels: crate::channels::Channels::default(),
            variables: match options.processes {
                true => crate::variables::Variables::new(&program.globals, &program.types),
                false => Default::default(),
            },
            foreign: crate::foreign::Foreign::default(),
            layouts: FxHashMap::default(),
            loose_layouts: FxHashMap::default(),
            layout_definitions: String::new(),
            described: Default::default(),
        }
    }

    /// The whole text.
    pub fn emit(mut self) -> String {
        if !self.options.plain {
            self.idents.take("main");
        }
        self.name_everything();
        let mut code = Lines::default();
        let prototypes = bodies::prototypes(&mut self);
        let declarations = globals::declarations(&mut self);
        globals::definitions(&mut self, &mut code);
        bodies::definitions(&mut self, &mut code);
        let listed = if self.options.plain { String::new() } else { globals::listed(&mut self) };
        let no_table = self.options.plain || self.options.no_gc;
        let large = if no_table { String::new() } else { globals::large(&mut self) };
        let hooks = bodies::hooks(&mut self);
        let start = bodies::start(&self);
        let mut markers = if self.options.plain { String::new() } else { link::markers(&mut self) };
        markers.push_str(&layout_notes::notes(&mut self));
        let vectors = bodies::helpers(&mut self);
        let types = records::definitions(&mut self.c, &mut self.idents);
        let layouts = records::layouts(&mut self.c);
        let mut out = String::new();
        let source = self.options.source_name.replace("*/", "* /").replace('\n', " ");
        let _ = writeln!(out, "/* Emitted from {source}; docs/internals/abi.md says what the values look like. */");
        if self.options.plain {
            out.push_str(PLAIN);
        } else {
            out.push_str("#include \"lee/lee.h\"\n");
            out.push_str(match (self.drops.exchanges, self.drops.used) {
                (true, _) => "#include \"lee/exchange.h\"\n\n",
                (false, true) => "#include \"lee/owned.h\"\n\n",
                (false, false) => "\n",
            });
            if self.yields || !self.starts.is_empty() {
                out.push_str("#include \"lee/task.h\"\n");
            }
            if self.channels.used {
                out.push_str("#include \"lee/channel.h\"\n");
            } else if !self.types.contracts.is_empty() {
                // Types of parameters and fields may name it.
                out.push_str("struct lee_endpoint;\nstruct lee_set;\n");
            }
            if !self.foreign.is_empty() {
                out.push_str("#include \"lee/foreign.h\"\n");
            }
            if !large.is_empty() {
                out.push_str("#include \"lee/globals.h\"\n");
            }
            out.push_str(PRAGMAS);
        }
        if self.options.processes {
            out.push_str(DELTA);
        }
        let words = |ty| matches!(self.types.kind(ty), TyKind::Float(k) if *k != k.standard());
        if self.types.all().any(words) {
            out.push_str(FLOATS);
        }
        for asm in &self.program.asm {
            let _ = writeln!(out, "__asm__(\"{}\");", escape(asm));
        }
        out.push('\n');
        for (_, text) in &self.helpers {
            out.push_str(text);
        }
        out.push_str(&self.saturation_definitions);
        out.push_str(&self.program.c_text.headers);
        out.push_str(&types);
        out.push_str(&layouts);
        out.push_str(&vectors);
        out.push('\n');
        out.push_str(&self.site_table());
        out.push_str(&self.tag_definitions);
        out.push_str(&self.drops.text());
        out.push_str(self.channels.text());
        out.push_str(&self.descriptor_definitions());
        out.push_str(&self.containers.text());
        out.push_str(&self.described_layouts());
        if !self.options.plain && self.c.needed.iter().any(|&id| layouts::has_unaligned(self.types, id)) {
            out.push_str(UNALIGNED);
        }
        out.push_str(&self.string_definitions);
        out.push_str(&prototypes);
        out.push_str(&declarations);
        out.push_str(self.foreign.text());
        out.push_str(&self.starts.text());
        out.push('\n');
        out.push_str(&code.out);
        if !code.out.ends_with('\n') {
            out.push('\n');
        }
        out.push_str(&listed);
        out.push_str(&large);
        out.push_str(&hooks);
        out.push_str(start);
        out.push_str(&markers);
        out.push_str(&self.one_process());
        out
    }

    // ---- names

    /// External names come first, so that they keep theirs.
    fn name_everything(&mut self) {
        let functions = self.reach.functions.clone();
        let ids = self.reach.globals.clone();
        for external in [true, false] {
            for func in &functions {
                let Some(function) = self.program.functions.get(func.func.0 as usize) else { continue };
                if external != (function.linkage == Linkage::Internal) {
                    let name = self.name_function(func, function);
                    self.functions.insert(func.clone(), name);
                }
            }
            for &id in &ids {
                let Some(global) = self.program.globals.get(id.0 as usize) else { continue };
                if external != (global.linkage == Linkage::Internal) {
                    let name = self.name_global(id, global);
                    self.globals.insert(id, name);
                }
            }
        }
    }

    fn name_function(&mut self, func: &FuncRef, function: &Function) -> Name {
        let text = function.name.as_str();
        if self.is_main(func) {
            return Name { ident: "main".into(), label: None };
        }
        if !func.args.is_empty() {
            // What follows a dot in a symbol is not shown in backtraces.
            let args: Vec<String> = func.args.iter().map(|&a| self.c.mangle(a)).collect();
            let args = sanitize(&args.join("__"));
            let ident = self.idents.claim(&format!("{text}__{args}"));
            let label = match function.linkage {
                Linkage::Internal => format!("{}.{ident}", sanitize(text)),
                _ => format!("{}.{args}.{:016x}", sanitize(text), self.instance_digest(func)),
            };
            return Name { ident, label: Some(label) };
        }
        match function.linkage {
            Linkage::Internal if is_builtin(text) && !self.options.plain => {
                let ident = self.idents.claim(&format!("{text}__1"));
                let label = Some(format!("{text}.{ident}"));
                Name { ident, label }
            }
            Linkage::Internal => Name { ident: self.idents.claim(text), label: None },
            Linkage::External if self.in_processes(func, function).is_some() => {
                let label = self.in_processes(func, function);
                Name { ident: self.idents.claim(&format!("{text}__1")), label }
            }
            Linkage::Shared if function.trust == Trust::Checked && function.symbol.is_none() => {
                let ident = self.idents.claim(text);
                let label = format!("{}.{:016x}", sanitize(text), digest::link_digest(self.types, function.ty));
                Name { ident, label: Some(label) }
            }
            _ => self.external_name(function.name, function.symbol, function.trust == Trust::Checked),
        }
    }

    /// The function of the runtime that stands for one of C's in a program with processes: what
    /// ends the program ends the process, and what plain C allocates is the process's.
    fn in_processes(&self, func: &FuncRef, function: &Function) -> Option<String> {
        let c = matches!(function.trust, Trust::Trusted | Trust::Foreign) && !self.bodies.contains_key(func);
        match function.symbol.unwrap_or(function.name).as_str() {
            _ if !c || !self.options.processes => None,
            "exit" => Some("lee_exit".to_string()),
            "_exit" | "_Exit" => Some("lee_exit_now".to_string()),
            "abort" => Some("lee_abort".to_string()),
            "memalign" if self.options.plain => Some("lee_c_aligned_alloc".to_string()),
            name if self.options.plain && C_MEMORY.contains(&name) => Some(format!("lee_c_{name}")),
            name if self.options.plain && C_FILES.contains(&plain_name_of(name)) => {
                Some(format!("lee_c_{}", plain_name_of(name)))
            }
            _ => None,
        }
    }

    /// An identifier for a symbol. `own`: it is the program's, so it has nothing to do with a C
    /// function of that name.
    fn external_name(&mut self, name: Symbol, symbol: Option<Symbol>, own: bool) -> Name {
        let label = symbol;
        let symbol = symbol.unwrap_or(name).as_str();
        if self.options.plain {
            return self.plain_name(name, symbol);
        }
        if own && label.is_none() && is_system_symbol(symbol) {
            let ident = self.idents.claim(&format!("{symbol}__1"));
            return Name { ident, label: Some(own_symbol(symbol)) };
        }
        let clashes = own && is_builtin(symbol);
        let runtime = symbol.starts_with("lee_")
            && !["lee_check_", "lee_fault_", "lee_heap_", "lee_strlen", "lee_start"]
                .iter()
                .any(|p| symbol.starts_with(p));
        let usable = is_identifier(symbol) && (runtime || !is_reserved(symbol)) && !clashes;
        if usable && self.idents.take(symbol) {
            return Name { ident: symbol.to_string(), label: None };
        }
        let base = if clashes { format!("{symbol}__1") } else { name.as_str().to_string() };
        Name { ident: self.idents.claim(&base), label: Some(symbol.to_string()) }
    }

    /// The identifier that C code itself uses, so that compilers recognise `setjmp` and the like;
    /// under an assembler name the symbol that it is given.
    fn plain_name(&mut self, name: Symbol, symbol: &str) -> Name {
        let text = name.as_str();
        let ident =
            if is_free_in_plain(text) && self.idents.take(text) { text.into() } else { self.idents.claim(text) };
        let label = (ident != symbol).then(|| symbol.to_string());
        Name { ident, label }
    }

    fn name_global(&mut self, id: GlobalId, global: &Global) -> Name {
        let text = global.name.as_str();
        if let (Some(owner), None) = (global.owner, global.symbol) {
            let function = self.program.functions.get(owner.0 as usize);
            let owner_name = function.map_or("", |f| f.name.as_str());
            let ident = self.idents.claim(&format!("{owner_name}__{text}"));
            if global.linkage == Linkage::Internal {
                return Name { ident, label: None };
            }
            // Equal copies of a function share the static local: its type and number say which one
            // it is.
            let twins = self.program.globals.iter().take(id.0 as usize);
            let number = twins.filter(|g| g.owner == Some(owner) && g.name == global.name).count();
            let owner_digest = function.map_or(0, |f| digest::link_digest(self.types, f.ty));
            let own_digest = digest::digest(self.types, global.ty.ty);
            let label = format!("{}.{text}.{number}.{owner_digest:016x}{own_digest:016x}", sanitize(owner_name));
            return Name { ident, label: Some(label) };
        }
        match global.linkage {
            Linkage::Internal => Name { ident: self.idents.claim(text), label: None },
            _ => self.external_name(global.name, global.symbol, global.trust == Trust::Checked),
        }
    }

    fn instance_digest(&mut self, func: &FuncRef) -> u64 {
        let f = self.func_ty(func);
        let parts = func.args.iter().copied().chain(f.params.iter().map(|p| p.ty)).chain([f.ret]);
        digest::digest_all(self.types, parts)
    }

    /// Whether it is the function that a program starts with.
    pub fn is_main(&self, func: &FuncRef) -> bool {
        let function = self.program.functions.get(func.func.0 as usize);
        !self.options.plain
            && function.is_some_and(|f| f.name.as_str() == "main" && f.linkage != Linkage::Internal)
            && self.bodies.contains_key(func)
    }

    /// The C name of a function.
    pub fn function_name(&mut self, func: &FuncRef) -> Name {
        if let Some(name) = self.functions.get(func) {
            return name.clone();
        }
        let name = match self.program.functions.get(func.func.0 as usize) {
            Some(function) => self.name_function(func, function),
            None => Name { ident: "lee__unknown".into(), label: None },
        };
        self.functions.insert(func.clone(), name.clone());
        name
    }

    /// The C name of a global.
    pub fn global_name(&mut self, id: GlobalId) -> Name {
        if let Some(name) = self.globals.get(&id) {
            return name.clone();
        }
        let name = match self.program.globals.get(id.0 as usize) {
            Some(global) => self.name_global(id, global),
            None => Name { ident: "lee__unknown".into(), label: None },
        };
        self.globals.insert(id, name.clone());
        name
    }

    // ---- types of functions

    /// The type of a function; of an instance with the arguments in it.
    pub fn func_ty(&mut self, func: &FuncRef) -> Rc<FuncTy> {
        if let Some(f) = self.func_types.get(func) {
            return f.clone();
        }
        let f = self.find_func_ty(func);
        self.func_types.insert(func.clone(), f.clone());
        f
    }

    fn find_func_ty(&mut self, func: &FuncRef) -> Rc<FuncTy> {
        let declared = self.program.functions.get(func.func.0 as usize).and_then(|f| self.signature(f.ty));
        let declared = declared.unwrap_or_else(|| Rc::new(unknown_signature(self.types)));
        if func.args.is_empty() {
            return declared;
        }
        let called = self.reach.called_as.get(func).and_then(|&ty| self.signature(ty));
        let Some(&body) = self.bodies.get(func) else { return called.unwrap_or(declared) };
        let mut f = (*declared).clone();
        for (param, local) in f.params.iter_mut().zip(&body.locals) {
            param.ty = local.ty.ty;
        }
        f.ret = match called {
            Some(called) => called.ret,
            None => self.returned(body).unwrap_or(f.ret),
        };
        Rc::new(f)
    }

    fn returned(&self, body: &Body) -> Option<Ty> {
        let mut returned = body.blocks.iter().filter_map(|block| block.term.kind.returned());
        returned.find_map(|operand| mir::ty::operand_ty(self.program, body, operand).ok())
    }

    /// The function type behind a function or function pointer type.
    pub fn signature(&self, ty: Ty) -> Option<Rc<FuncTy>> {
        match self.types.kind(ty) {
            TyKind::Func(f) => Some(f.clone()),
            TyKind::Ptr(p) => self.types.as_func(p.target.ty),
            _ => None,
        }
    }

    /// Which `const`s the prototype of a function has: those of C if C wrote the function.
    pub fn prototype_consts(&self, func: &FuncRef) -> Consts {
        let function = self.program.functions.get(func.func.0 as usize);
        match function.map(|f| f.trust) {
            Some(Trust::Trusted | Trust::Foreign) if !self.bodies.contains_key(func) => Consts::Keep,
            _ => Consts::Drop,
        }
    }

    // ---- shared tables

    /// Notes that a helper is used; gives its name.
    pub fn helper(&mut self, helper: &Helper) -> &'static str {
        if !self.helpers.iter().any(|(name, _)| *name == helper.name) {
            self.helpers.push((helper.name, helper.text.to_string()));
        }
        helper.name
    }

    /// Defines the conversion of a floating type to an integer type that saturates.
    pub fn saturation(&mut self, name: &str, float: &str, target: IntKind) {
        if self.saturations.iter().any(|n| n == name) {
            return;
        }
        self.saturations.push(name.to_string());
        let bits = target.size() * 8;
        let (int, top) = match (bits, target.signed()) {
            (128, true) => ("__int128".to_string(), "(__int128)((unsigned __int128)-1 >> 1)".to_string()),
            (128, false) => ("unsigned __int128".into(), "(unsigned __int128)-1".into()),
            (_, true) => (format!("int{bits}_t"), format!("INT{bits}_MAX")),
            (_, false) => (format!("uint{bits}_t"), format!("UINT{bits}_MAX")),
        };
        let text = if target.signed() {
            let limit = bits - 1;
            let bottom = format!("-{top} - 1");
            format!(
                "LEE_INLINE {int} {name}({float} x) {{\n    return x >= 0x1p{limit} ? {top} : x > -0x1p{limit} ? ({int})x : \
                 x == x ? {bottom} : 0;\n}}\n"
            )
        } else {
            format!(
                "LEE_INLINE {int} {name}({float} x) {{\n    return x >= 0x1p{bits} ? {top} : x > -1 ? ({int})x : 0;\n}}\n"
            )
        };
        self.saturation_definitions.push_str(&text);
    }

    /// The type of arrays of so many elements, if the program has it.
    pub fn array_of(&mut self, elem: Ty, len: u64) -> Option<Ty> {
        let types = self.types;
        let arrays = self.arrays.get_or_insert_with(|| {
            let shape = |ty: Ty| match types.kind(ty) {
                TyKind::Array { elem, len: ArrayLen::Const(n), .. } => Some(((elem.ty, *n), ty)),
                _ => None,
            };
            types.all().filter_map(shape).collect()
        });
        arrays.get(&(elem, len)).copied()
    }

    /// The array that holds a string literal.
    pub fn string(&mut self, id: StrId) -> String {
        if let Some(name) = self.strings.get(&id) {
            return name.clone();
        }
        let Some(literal) = self.program.strings.get(id.0 as usize) else { return "\"\"".into() };
        let key = (literal.elem, literal.units.as_slice());
        let name = match self.string_texts.get(&key) {
            Some(name) => name.clone(),
            None => {
                let name = format!("lee__str_{}", self.string_texts.len());
                self.string_texts.insert(key, name.clone());
                let elem = self.c.object(Qty::plain(literal.elem).with_const(), &name, Consts::Keep);
                let value = string_value(self.types, literal.elem, &literal.units);
                let _ = writeln!(self.string_definitions, "static {elem}[{}] = {value};", literal.units.len());
                name
            }
        };
        self.strings.insert(id, name.clone());
        name
    }

    /// `&` of the constant that says where a check stands.
    pub fn site(&mut self, span: Span) -> String {
        let Some(at) = self.locator.at(span) else { return "NULL".into() };
        let next = self.sites.len();
        let number = *self.site_ids.entry(at).or_insert(next);
        if number == next {
            self.sites.push(at);
        }
        format!("&lee__sites[{number}]")
    }

    fn site_table(&self) -> String {
        let mut out = String::new();
        let mut files: Vec<u32> = self.sites.iter().map(|at| at.file).collect();
        files.sort();
        files.dedup();
        for file in files {
            let name = self.locator.files.get(file as usize).map_or("", String::as_str);
            let _ = writeln!(out, "static const char lee__file_{file}[] = \"{}\";", escape(name.as_bytes()));
        }
        if !self.sites.is_empty() {
            let _ = writeln!(out, "static const struct lee_site lee__sites[{}] = {{", self.sites.len());
            for at in &self.sites {
                let _ = writeln!(out, "    {{ lee__file_{}, {}, {} }},", at.file, at.line, at.column);
            }
            out.push_str("};\n");
        }
        out
    }

    /// The descriptor of a type, as an identifier.
    pub fn descriptor(&mut self, ty: Ty) -> String {
        let digest = digest::digest(self.types, ty);
        if !self.descriptors.iter().any(|(d, ..)| *d == digest) {
            self.c.need(ty);
            // An owned `void *` frees by what its type says.
            let owned = self.owns_something(ty, Ends::Heap).then(|| self.parts(ty, Ends::Heap));
            self.descriptors.push((digest, ty, owned));
        }
        format!("lee_type_{digest:016x}")
    }

    fn descriptor_definitions(&mut self) -> String {
        let mut out = String::new();
        for (digest, ty, owned) in self.descriptors.clone() {
            let size = match self.types.kind(ty) {
                TyKind::Func(_) | TyKind::Void => "0".to_string(),
                _ if !self.types.is_complete(ty) => "0".to_string(),
                _ => self.c.sizeof_text(ty),
            };
            let name = escape(digest::type_text(self.types, ty).as_bytes());
            let owned = owned.as_deref().unwrap_or("0");
            let _ = writeln!(
                out,
                "__attribute__((weak)) const struct lee_type lee_type_{digest:016x} = {{ 0x{digest:016x}u, {size}, \"{name}\", {owned} }};"
            );
        }
        out
    }

    /// The table of member names of a tagged union, for messages.
    pub fn tag_table(&mut self, id: RecordId) -> String {
        if let Some(name) = self.tag_tables.get(&id) {
            return name.clone();
        }
        let name = format!("lee__members_{}", self.tag_tables.len());
        let fields = self.types.records.get(id.0 as usize).and_then(|r| r.fields.clone());
        let members: Vec<String> = fields
            .iter()
            .flat_map(|f| f.iter())
            .map(|f| format!("\"{}\"", escape(f.name.map_or("", Symbol::as_str).as_bytes())))
            .collect();
        let _ = writeln!(
            self.tag_definitions,
            "static const char *const {name}[{}] = {{ {} }};",
            members.len().max(1),
            if members.is_empty() { "\"\"".into() } else { members.join(", ") }
        );
        self.tag_tables.insert(id, name.clone());
        name
    }
}

/// Makes the collector look for pointers at every byte where it has no layout.
const UNALIGNED: &str =
    "__attribute__((constructor(101))) static void lee__unaligned(void) { lee_heap_unaligned = 1; }\n";

/// Clang has no such types of its own in C; the C library makes them aliases for it.
const FLOATS: &str = "#ifdef __clang__\ntypedef float _Float32;\ntypedef double _Float32x, _Float64;\ntypedef long double _Float64x;\n#endif\n";

fn unknown_signature(types: &TypeStore) -> FuncTy {
    FuncTy { unprototyped: true, ..FuncTy::new(types.common.void, vec![], Abi::C) }
}

/// The initialiser of an array with these units; the final zero is implied where the array has room
/// for it.
pub fn string_value(types: &TypeStore, elem: Ty, units: &[u32]) -> String {
    let kind = types.as_int(elem).unwrap_or(IntKind::Char);
    if !kind.is_character() {
        let units: Vec<String> = units.iter().map(u32::to_string).collect();
        return format!("{{ {} }}", units.join(", "));
    }
    let text = units.strip_suffix(&[0]).unwrap_or(units);
    let bytes: Vec<u8> = text.iter().map(|&u| u as u8).collect();
    // Long literals are split so that no compiler's limit for one is reached.
    let parts: Vec<String> = bytes.chunks(400).map(|part| format!("\"{}\"", escape(part))).collect();
    if parts.is_empty() {
        "\"\"".into()
    } else {
        parts.join(" ")
    }
}
