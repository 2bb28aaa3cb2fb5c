//! Types as a programmer would write them.

use source::Symbol;

use crate::types::*;

/// What the runtime's structs, into which no program can look, are called in programs.
const NAMES: &[(&str, &str)] =
    &[("lee_file", "FILE"), ("lee_dir", "DIR"), ("lee_task", "task"), ("lee_custodian", "custodian")];

impl IntKind {
    /// C's name.
    pub fn name(self) -> &'static str {
        use IntKind::*;
        match self {
            Char => "char",
            SChar => "signed char",
            UChar => "unsigned char",
            Short => "short",
            UShort => "unsigned short",
            Int => "int",
            UInt => "unsigned",
            Long => "long",
            ULong => "unsigned long",
            LongLong => "long long",
            ULongLong => "unsigned long long",
            Int128 => "__int128",
            UInt128 => "unsigned __int128",
        }
    }
}

impl FloatKind {
    /// C's name.
    pub fn name(self) -> &'static str {
        match self {
            FloatKind::Float16 => "_Float16",
            FloatKind::Float => "float",
            FloatKind::Double => "double",
            FloatKind::LongDouble => "long double",
            FloatKind::Float32 => "_Float32",
            FloatKind::Float32x => "_Float32x",
            FloatKind::Float64 => "_Float64",
            FloatKind::Float64x => "_Float64x",
            FloatKind::Float128 => "_Float128",
        }
    }
}

impl TypeStore {
    /// The type as text: `const char *null_terminated`, `int[4]`, `struct list<int>`.
    pub fn show(&self, ty: Ty) -> String {
        self.show_qty(Qty::plain(ty))
    }

    /// The type with its qualifiers.
    pub fn show_qty(&self, qty: Qty) -> String {
        self.declare(qty, String::new())
    }

    /// A declaration of `name` with this type.
    pub fn show_declaration(&self, qty: Qty, name: &str) -> String {
        self.declare(qty, name.to_string())
    }

    /// A declaration of `inner` with this type.
    fn declare(&self, qty: Qty, inner: String) -> String {
        let quals = self.quals(qty.quals);
        match self.kind(qty.ty) {
            // Its pointer is what the language calls by a name.
            TyKind::Ptr(p) if self.is_pid(qty.ty) => {
                let words = if p.nonnull { "pid nonnull" } else { "pid" };
                format!("{quals}{words}{}", if inner.is_empty() { String::new() } else { format!(" {inner}") })
            }
            TyKind::Ptr(p) => {
                let mut words = String::from("*");
                for word in self.pointer_words(p) {
                    if words.len() > 1 {
                        words.push(' ');
                    }
                    words.push_str(&word);
                }
                if !quals.is_empty() {
                    if words.len() > 1 {
                        words.push(' ');
                    }
                    words.push_str(quals.trim_end());
                }
                let space = if words.len() > 1 && !inner.is_empty() { " " } else { "" };
                let inner = format!("{words}{space}{inner}");
                match self.kind(p.target.ty) {
                    TyKind::Func(_) | TyKind::Array { .. } => self.declare(p.target, format!("({inner})")),
                    _ => self.declare(p.target, inner),
                }
            }
            TyKind::Array { elem, len, terminated } => {
                let size = match len {
                    ArrayLen::Const(n) => n.to_string(),
                    ArrayLen::Unknown | ArrayLen::Flexible(_) => String::new(),
                    ArrayLen::Variable(_) => "*".into(),
                };
                let word = if *terminated { " null_terminated" } else { "" };
                self.declare(*elem, format!("{inner}[{size}]{word}"))
            }
            TyKind::Func(f) => self.declare_function(f, &inner, &[]),
            kind => {
                let base = format!("{quals}{}", self.base_name(kind));
                if inner.is_empty() {
                    base
                } else {
                    format!("{base} {inner}")
                }
            }
        }
    }

    /// A parameter's type, with the state that an endpoint comes back in:
    /// `Nic.exp:START -> RUNNING`.
    fn show_becoming(&self, param: &ParamTy) -> String {
        let text = self.show(param.ty);
        let endpoint = self.as_endpoint(param.ty);
        match (param.becomes, endpoint.and_then(|e| self.contract(e.contract))) {
            (Some(state), Some(contract)) => format!("{text} -> {}", contract.state_text(state)),
            _ => text,
        }
    }

    /// `Nic.exp:RUNNING`
    fn show_endpoint(&self, endpoint: &Endpoint) -> String {
        let Some(contract) = self.contract(endpoint.contract) else { return "endpoint".into() };
        let state = endpoint.state.map_or(String::new(), |state| format!(":{}", contract.state_text(state)));
        format!("{}.{}{state}", contract.name, endpoint.side.word())
    }

    /// The type of a function whose prototype gives its region variables these names.
    pub fn show_function(&self, ty: Ty, regions: &[Option<Symbol>]) -> String {
        match self.kind(ty) {
            TyKind::Func(f) => self.declare_function(f, "", regions),
            _ => self.show(ty),
        }
    }

    fn declare_function(&self, f: &FuncTy, inner: &str, regions: &[Option<Symbol>]) -> String {
        let param = |p: &ParamTy| {
            let at_most = p.at_most.map_or(String::new(), |n| format!("[[lee::at_most(parameter {})]] ", n + 1));
            let consume = if p.consume { "consume " } else { "" };
            format!("{at_most}{consume}{}{}", self.show_becoming(p), self.heap_word(p.ty))
        };
        let mut params: Vec<String> = f.params.iter().map(param).collect();
        if f.variadic {
            params.push("...".into());
        }
        let params = if params.is_empty() { "void".into() } else { params.join(", ") };
        let whole = self.declare(Qty::plain(f.ret), format!("{inner}({params})"));
        name_variables(whole, f.regions, regions)
    }

    /// ` @heap` after a parameter that takes heap pointers only.
    fn heap_word(&self, ty: Ty) -> &'static str {
        match self.kind(ty) {
            TyKind::Ptr(p) if p.region == Region::Heap && !matches!(self.kind(p.target.ty), TyKind::Func(_)) => {
                " @heap"
            }
            _ => "",
        }
    }

    fn base_name(&self, kind: &TyKind) -> String {
        match kind {
            TyKind::Error => "?".into(),
            TyKind::Void => "void".into(),
            TyKind::Bool => "bool".into(),
            TyKind::Int(k) => k.name().into(),
            TyKind::Float(k) => k.name().into(),
            TyKind::Complex(k) => format!("_Complex {}", k.name()),
            TyKind::Enum(e) => self.enumeration(*e).tag.map_or("enum <unnamed>".into(), |t| format!("enum {t}")),
            TyKind::Record(id) => {
                let record = self.record(*id);
                if let Some([member]) = record.fields.as_deref().map(Vec::as_slice).filter(|_| record.underaligned) {
                    return self.show(member.ty.ty);
                }
                let word = match record.kind {
                    RecordKind::Struct => "struct",
                    RecordKind::Union => "union",
                    RecordKind::Tagged => "tagged union",
                };
                let tag = record.tag.map_or("<unnamed>".to_string(), |t| t.to_string());
                if let Some((_, name)) = NAMES.iter().find(|(of, _)| record.fields.is_none() && tag == *of) {
                    return name.to_string();
                }
                if record.args.is_empty() {
                    format!("{word} {tag}")
                } else {
                    let args: Vec<String> = record.args.iter().map(|&a| self.show(a)).collect();
                    format!("{word} {tag}<{}>", args.join(", "))
                }
            }
            TyKind::Param(p) => p.name.to_string(),
            TyKind::VaList => "va_list".into(),
            TyKind::NullPtr => "nullptr_t".into(),
            TyKind::Key(kind, region) => format!("{}<{}>", kind.word(), region_name(*region)),
            TyKind::Endpoint(endpoint) => self.show_endpoint(endpoint),
            TyKind::EndSet(set) => {
                let end = self.show_endpoint(&set.end);
                match self.map_value(set) {
                    Some(value) => format!("emap<{end}, {}>", self.show(value)),
                    None => format!("eset<{end}>"),
                }
            }
            TyKind::Handle(reap, _) => if *reap { "reap" } else { "arena" }.into(),
            TyKind::RegionArg(region) => region_name(*region),
            TyKind::OwnArg(own) => own_word(*own).unwrap_or_else(|| "shared".into()),
            TyKind::Ptr(_) | TyKind::Array { .. } | TyKind::Func(_) => String::new(),
        }
    }

    fn quals(&self, quals: Quals) -> String {
        let mut text = String::new();
        if quals.is_const {
            text.push_str("const ");
        }
        if quals.is_volatile {
            text.push_str("volatile ");
        }
        if quals.is_atomic {
            text.push_str("_Atomic ");
        }
        text
    }

    fn pointer_words(&self, p: &Pointer) -> Vec<String> {
        let mut words = vec![];
        match p.bounds {
            Bounds::Thin => {}
            Bounds::Fat => words.push("fat".into()),
            Bounds::Terminated => words.push("null_terminated".into()),
            Bounds::FatTerminated => words.push("fat null_terminated".into()),
            Bounds::Counted(e) => words.push(format!("counted_by({})", self.show_count(e))),
        }
        if p.nonnull {
            words.push("nonnull".into());
        }
        // A block of the exchange heap has one owner, whatever is written.
        let implied = p.own == Own::Unique && p.region == Region::Exchange;
        words.extend(own_word(p.own).filter(|_| !implied));
        // One that a prototype has not numbered yet has no name.
        let free = matches!(p.region, Region::Bound(crate::regions::FREE, _));
        if !free
            && matches!(
                p.region,
                Region::Bound(..) | Region::Body(_) | Region::Exchange | Region::Param(_) | Region::Exists(_)
            )
        {
            words.push(region_name(p.region));
        }
        words
    }

    /// A count expression; parameters and fields by number.
    pub fn show_count(&self, id: CountId) -> String {
        match *self.count_expr(id) {
            CountExpr::Const(n) => n.to_string(),
            CountExpr::Param(n) => format!("parameter {}", n + 1),
            CountExpr::Field(n) => format!("field {}", n + 1),
            CountExpr::Add(a, b) => format!("{} + {}", self.show_count(a), self.show_count(b)),
            CountExpr::Sub(a, b) => format!("{} - {}", self.show_count(a), self.show_count(b)),
            CountExpr::Mul(a, b) => format!("{} * {}", self.show_count(a), self.show_count(b)),
            CountExpr::Div(a, n) => format!("{} / {n}", self.show_count(a)),
        }
    }
}

/// Writes the region variables of a function type: by their names, and as letters where they have
/// none and stand in several places. Others are not written.
fn name_variables(mut text: String, regions: u32, names: &[Option<Symbol>]) -> String {
    let named = |n: u32| names.get(n as usize).copied().flatten();
    let taken = |c: &char| (0..regions).any(|n| named(n).is_some_and(|name| name.as_str() == c.to_string()));
    let letters: Vec<char> = ('a'..='z').filter(|c| !taken(c)).collect();
    for n in (0..regions).rev() {
        let spelled = format!("@bound0.{n}");
        let letter = letters.get(n as usize % letters.len().max(1)).filter(|_| text.matches(&spelled).count() > 1);
        text = match (named(n), letter) {
            (Some(name), _) => text.replace(&spelled, &format!("@{name}")),
            (None, Some(letter)) => text.replace(&spelled, &format!("@{letter}")),
            (None, None) => text.replace(&format!(" {spelled}"), "").replace(&spelled, ""),
        };
    }
    // What is left belongs to the function type around.
    text.replace("@bound1.", "@bound0.")
}

/// The word of an ownership; none for shared pointers.
fn own_word(own: Own) -> Option<String> {
    match own {
        Own::Shared => None,
        Own::Unique => Some("unique".into()),
        Own::Rc => Some("rc".into()),
        Own::View => Some("view".into()),
        Own::Any => Some("any".into()),
        Own::Param(n) => Some(format!("own{n}")),
    }
}

/// A region where its declaration is not at hand: `Checker` shows the names that the source gives.
fn region_name(region: Region) -> String {
    match region {
        Region::Heap => "@heap".into(),
        Region::Exchange => "@exchange".into(),
        Region::Var | Region::Infer(_) => "@_".into(),
        Region::Param(n) => format!("@param{n}"),
        Region::Bound(level, n) => format!("@bound{level}.{n}"),
        Region::Body(n) => format!("@body{n}"),
        Region::Exists(n) => format!("@exists{n}"),
    }
}

/// The text of a type without regions that have a number only (`@bound1.2`): they have no name that
/// a reader could know.
pub fn without_numbers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('@') {
        let (before, word) = rest.split_at(at);
        out.push_str(before);
        let end = word[1..].find(|c: char| !c.is_alphanumeric() && c != '_' && c != '.').map_or(word.len(), |n| n + 1);
        let (word, behind) = word.split_at(end);
        if is_number(word) {
            // Its blank, or its comma in a list.
            if out.ends_with(", ") {
                out.truncate(out.len() - 2);
                rest = behind;
            } else {
                rest = behind.strip_prefix(", ").unwrap_or(behind);
                if out.ends_with(' ') && !behind.starts_with(|c: char| c.is_alphanumeric()) {
                    out.pop();
                }
            }
        } else {
            out.push_str(word);
            rest = behind;
        }
    }
    out.push_str(rest);
    out.replace("<>", "")
}

fn is_number(word: &str) -> bool {
    let digits = |prefix: &str| {
        word.strip_prefix(prefix)
            .is_some_and(|rest| !rest.is_empty() && rest.chars().all(|c| c.is_ascii_digit() || c == '.'))
    };
    word == "@_" || ["@param", "@bound", "@body", "@exists"].into_iter().any(digits)
}

#[cfg(test)]
mod tests {
    use super::without_numbers;

    #[test]
    fn regions_without_a_name_are_not_shown() {
        assert_eq!(without_numbers("struct parser<@_> *"), "struct parser *");
        assert_eq!(without_numbers("struct pair<@bound0.1, int> *nonnull @body3"), "struct pair<int> *nonnull");
        assert_eq!(without_numbers("struct pair<int, @param0> *unique @a"), "struct pair<int> *unique @a");
        assert_eq!(without_numbers("int *@bound1.2"), "int *");
        assert_eq!(without_numbers("key<@exists0>"), "key");
        assert_eq!(without_numbers("int *@body_parts"), "int *@body_parts");
        assert_eq!(without_numbers("int *@heap"), "int *@heap");
    }
}
