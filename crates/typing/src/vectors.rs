//! Vectors of GNU C (`__attribute__((vector_size(16)))`), and the C compiler's own functions on
//! them (`<emmintrin.h>`, `<immintrin.h>` ...).
//!
//! A vector is a struct with one member, an array of its lanes, so that nothing behind the checker
//! has to know of it: it is copied, passed, initialised and indexed as such a struct is. Only
//! emission spells it as the C compiler's vector. What C does with whole vectors (operators, casts,
//! shuffles, builtins of the machine) becomes a call of a small function in C that emission writes:
//! its body is the operation, so it means what the C compiler takes it to mean.
//!
//! Functions of the C compiler's own headers are declared only. If one is used, the text of these
//! headers stands in emitted C as the preprocessor gave it, targets and all.

use crate::checker::Checker;
use crate::codes;
use crate::convert::Why;
use crate::ops::sign;
use crate::tree::*;
use crate::types::*;
use rustc_hash::FxHashSet;
use source::{Span, Symbol};
use syntax::ast;

/// C that stands in emitted C as it is.
#[derive(Clone, Debug, Default)]
pub struct CText {
    /// Functions that do one thing with vectors each.
    pub helpers: Vec<Helper>,
    /// Functions that are defined in `headers`.
    pub intrinsics: FxHashSet<FuncId>,
    /// Text of the C compiler's own headers, if something of them is used.
    pub headers: String,
}

/// `static inline RET name(P0 a0, P1 a1) { return (RET)(body); }`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Helper {
    /// Its name.
    pub name: Symbol,
    /// Types of its parameters.
    pub params: Vec<Ty>,
    /// What it returns.
    pub ret: Ty,
    /// The expression, in C; `RET` in it stands for the type of the result.
    pub body: String,
}

/// Vectors are this long at most, as in the compilers.
const LARGEST: u64 = 1 << 12;

impl TypeStore {
    /// The type of a vector's lanes and their number.
    pub fn as_vector(&self, ty: Ty) -> Option<(Ty, u64)> {
        let record = self.record(self.as_record(ty)?);
        let field = record.fields.as_ref()?.first().filter(|_| record.vector)?;
        match self.kind(field.ty.ty) {
            TyKind::Array { elem, len: ArrayLen::Const(n), .. } => Some((elem.ty, *n)),
            _ => None,
        }
    }
}

impl Checker<'_> {
    /// The vector of `lanes` elements. `align`: another alignment than its size.
    fn vector_type(&mut self, elem: Ty, lanes: u64, align: Option<u64>) -> Option<Ty> {
        let size = self.program.types.layout(elem)?.size.checked_mul(lanes)?;
        let align = align.unwrap_or(size);
        if let Some(&known) = self.vectors.get(&(elem, lanes, align)) {
            return Some(known);
        }
        let array = TyKind::Array { elem: Qty::plain(elem), len: ArrayLen::Const(lanes), terminated: false };
        let array = self.types().intern(array);
        let name = format!("lee__{}_{lanes}_{align}", self.show(elem).replace(' ', "_"));
        let id = self.layout_record(&name, &[(Symbol::new("lee__lanes"), array, Span::NONE)], Span::NONE);
        let record = &mut self.program.types.records[id.0 as usize];
        record.align = Some(align);
        record.foreign = true;
        record.vector = true;
        let ty = self.types().intern(TyKind::Record(id));
        self.vectors.insert((elem, lanes, align), ty);
        Some(ty)
    }

    /// The type that `vector_size` in a typedef makes. `None`: there is none.
    pub(crate) fn vector_typedef(&mut self, ty: Qty, attr: &ast::Attribute, align: Option<u64>) -> Option<Qty> {
        let size = self.try_constant_int(attr.args.first()?).and_then(|n| u64::try_from(n).ok())?;
        let number = matches!(
            self.kind(ty.ty),
            TyKind::Int(_) | TyKind::Float(FloatKind::Float16 | FloatKind::Float | FloatKind::Double)
        );
        let lane = self.program.types.layout(ty.ty).filter(|_| number)?.size;
        let lanes = size.checked_div(lane)?;
        if lane > 8 || lanes * lane != size || !lanes.is_power_of_two() || size > LARGEST {
            return None;
        }
        let vector = self.vector_type(ty.ty, lanes, align)?;
        Some(Qty { ty: vector, ..ty })
    }

    /// The vector with its own alignment: what a value has.
    fn natural(&mut self, ty: Ty) -> Option<Ty> {
        let (elem, lanes) = self.program.types.as_vector(ty)?;
        self.vector_type(elem, lanes, None)
    }

    fn is_vector(&self, ty: Ty) -> bool {
        self.program.types.as_vector(ty).is_some()
    }

    /// A call of a function that does `body` with `a0`, `a1` ...
    fn vector_call(&mut self, values: Vec<Expr>, ret: Ty, body: &str, span: Span) -> Expr {
        let params: Vec<Ty> = values.iter().map(|v| v.ty.ty).collect();
        let same = |h: &&Helper| h.ret == ret && h.params == params && h.body == body;
        let name = match self.program.c_text.helpers.iter().find(same) {
            Some(helper) => helper.name,
            None => {
                let helpers = &mut self.program.c_text.helpers;
                let name = Symbol::new(&format!("lee__vector_{}", helpers.len()));
                helpers.push(Helper { name, params, ret, body: body.to_string() });
                name
            }
        };
        self.node(ExprKind::Builtin(name, values), ret, span)
    }

    /// `a op b` if one of them is a vector.
    pub(crate) fn vector_binary(&mut self, op: ast::BinaryOp, a: &Expr, b: &Expr, span: Span) -> Option<Expr> {
        use ast::BinaryOp as B;
        let (x, y) = (self.program.types.as_vector(a.ty.ty), self.program.types.as_vector(b.ty.ty));
        let (elem, lanes) = x.or(y)?;
        let size = |this: &Self, ty: Ty| this.program.types.layout(ty).map(|l| l.size);
        let both = match (x, y) {
            (Some((p, n)), Some((q, m))) => {
                n == m && size(self, p) == size(self, q) && self.is_integer(p) == self.is_integer(q)
            }
            _ => self.is_arithmetic(if x.is_some() { b.ty.ty } else { a.ty.ty }),
        };
        let of_integers = matches!(op, B::Rem | B::Shl | B::Shr | B::BitAnd | B::BitXor | B::BitOr);
        // Of vectors whose lanes differ in more than their alignment the compilers disagree.
        let agree = x.is_none() || y.is_none() || x == y || matches!(op, B::Shl | B::Shr);
        if !both || !agree || (of_integers && !self.is_integer(elem)) {
            let (x, y) = (self.show(a.ty.ty), self.show(b.ty.ty));
            self.error(codes::OPERANDS, span, format!("`{}` does not work on `{x}` and `{y}`", sign(op)));
            return Some(self.error_node(span));
        }
        let value = |this: &mut Self, e: &Expr, vector: bool| match vector {
            true => e.clone(),
            false => this.coerce(e.clone(), elem, Why::Arg),
        };
        let (a, b) = (value(self, a, x.is_some()), value(self, b, y.is_some()));
        let ret = if matches!(op, B::Lt | B::Gt | B::Le | B::Ge | B::Eq | B::Ne) {
            let kind = match self.program.types.layout(elem)?.size {
                1 => IntKind::SChar,
                2 => IntKind::Short,
                4 => IntKind::Int,
                _ => IntKind::Long,
            };
            let lane = self.types().int(kind);
            self.vector_type(lane, lanes, None)?
        } else {
            self.vector_type(elem, lanes, None)?
        };
        Some(self.vector_call(vec![a, b], ret, &format!("a0 {} a1", sign(op)), span))
    }

    /// `-v`, `~v`, `+v`
    pub(crate) fn vector_unary(&mut self, op: ast::UnaryOp, value: &Expr, span: Span) -> Option<Expr> {
        let (elem, _) = self.program.types.as_vector(value.ty.ty)?;
        let ret = self.natural(value.ty.ty)?;
        let body = match op {
            ast::UnaryOp::Neg => "-a0",
            ast::UnaryOp::Plus => "+a0",
            ast::UnaryOp::BitNot if self.is_integer(elem) => "~a0",
            _ => return None,
        };
        Some(self.vector_call(vec![value.clone()], ret, body, span))
    }

    /// `v op= e`: the place stands twice, so it must not do anything.
    pub(crate) fn vector_assign(&mut self, op: ast::BinaryOp, place: &Expr, value: &Expr, span: Span) -> Option<Expr> {
        if !self.is_vector(place.ty.ty) {
            return None;
        }
        if !self.only_reads(place) {
            self.error(codes::LATER, span, "an assignment to a vector whose place has effects is not built");
            return Some(self.error_node(span));
        }
        let old = self.rvalue(place.clone());
        let new = self.vector_binary(op, &old, value, span)?;
        let new = self.coerce(new, place.ty.ty, Why::Store);
        let ty = self.value_type(place.ty.ty);
        Some(self.node(ExprKind::Assign(place.clone(), new), ty, span))
    }

    /// `++v`, `v++`, `--v`, `v--`
    pub(crate) fn vector_step(&mut self, place: &Expr, increment: bool, prefix: bool, span: Span) -> Option<Expr> {
        let natural = self.natural(place.ty.ty)?;
        let op = if increment { ast::BinaryOp::Add } else { ast::BinaryOp::Sub };
        let one = self.int_node(1, self.program.types.common.int, span);
        let stepped = self.vector_assign(op, place, &one, span)?;
        if prefix || self.is_error(stepped.ty.ty) {
            return Some(stepped);
        }
        // The old value goes into a local of its own first.
        let local = self.new_local(None, Qty::plain(natural), span, false);
        let kept = self.place_node(ExprKind::Local(local), Qty::plain(natural), span);
        let old = self.rvalue(place.clone());
        let old = self.coerce(old, natural, Why::Store);
        let keep = self.node(ExprKind::Assign(kept.clone(), old), natural, span);
        let value = self.rvalue(kept);
        let rest = self.node(ExprKind::Comma(stepped, value), natural, span);
        Some(self.node(ExprKind::Comma(keep, rest), natural, span))
    }

    /// `__builtin_convertvector(v, T)`: each lane as C converts it.
    pub(crate) fn vector_converted(&mut self, vector: &ast::Expr, ty: &ast::TypeName, span: Span) -> Expr {
        let value = self.value(vector);
        let to = self.type_name(ty);
        if self.is_error(value.ty.ty) || self.is_error(to.ty) {
            return self.error_node(span);
        }
        let lanes = |this: &Self, ty: Ty| this.program.types.as_vector(ty).map(|(_, n)| n);
        match self.natural(to.ty).filter(|_| lanes(self, value.ty.ty) == lanes(self, to.ty)) {
            Some(ret) => self.vector_call(vec![value], ret, "__builtin_convertvector(a0, RET)", span),
            None => {
                let (from, to) = (self.show(value.ty.ty), self.show(to.ty));
                let message = format!("`__builtin_convertvector` makes a vector of as many lanes: `{from}`, `{to}`");
                self.error(codes::OPERANDS, span, message);
                self.error_node(span)
            }
        }
    }

    /// Whether a place or value can be computed twice.
    fn only_reads(&self, e: &Expr) -> bool {
        if e.ty.quals.is_volatile || e.ty.quals.is_atomic {
            return false;
        }
        match &*e.kind {
            ExprKind::Local(_) | ExprKind::Global(_) | ExprKind::Int(_) => true,
            ExprKind::Deref(a)
            | ExprKind::Field(a, _)
            | ExprKind::Load(a)
            | ExprKind::AddrOf(a)
            | ExprKind::Decay(a)
            | ExprKind::Unary(_, a)
            | ExprKind::Convert(_, a) => self.only_reads(a),
            ExprKind::IndexArray(a, b)
            | ExprKind::IndexPointer(a, b)
            | ExprKind::Binary(_, a, b)
            | ExprKind::PtrAdd(a, b, _) => self.only_reads(a) && self.only_reads(b),
            _ => false,
        }
    }

    /// `v[i]`
    pub(crate) fn vector_lane(&mut self, base: &Expr, index: &Expr, span: Span) -> Option<Expr> {
        let (elem, lanes) = self.program.types.as_vector(base.ty.ty)?;
        if base.is_place() {
            let all = self.follow(base.clone(), &[0], span);
            let TyKind::Array { elem, len, terminated } = *self.kind(all.ty.ty) else { return Some(all) };
            return Some(self.index_array(all, index.clone(), elem, len, terminated, span));
        }
        let outside = match *index.kind {
            ExprKind::Int(n) => n < 0 || n >= i128::from(lanes),
            _ => true,
        };
        if outside && self.checked() {
            self.error_help(codes::BOUNDS, span, "a lane of a value is a constant", "put the vector into a variable");
            return Some(self.error_node(span));
        }
        Some(self.vector_call(vec![base.clone(), index.clone()], elem, "a0[a1]", span))
    }

    /// A conversion from or to a vector, as `why` allows it.
    pub(crate) fn vector_convert(&mut self, e: &Expr, to: Ty, why: Why) -> Option<Expr> {
        let (from, span) = (e.ty.ty, e.span);
        let (x, y) = (self.program.types.as_vector(from), self.program.types.as_vector(to));
        let size = |ty: Ty| self.program.types.layout(ty).map(|l| l.size);
        let fits = size(from) == size(to) && (x.or(y)).is_some();
        let allowed = match (x, y) {
            (Some(x), Some(y)) => x == y || why == Why::Cast,
            (Some(_), None) => why == Why::Cast && self.is_integer(to),
            (None, Some(_)) => why == Why::Cast && self.is_integer(from),
            (None, None) => false,
        };
        (fits && allowed).then(|| self.vector_call(vec![e.clone()], to, "a0", span))
    }

    /// `(T)__builtin_ia32_...(a, b, 8)`: what builtins of the machine take and return, the C
    /// compiler alone knows; its headers write the type around each. Constants stay constants, for
    /// they are parts of instructions.
    pub(crate) fn machine_builtin(&mut self, inner: &ast::Expr, to: Ty, span: Span) -> Option<Expr> {
        let ast::ExprKind::Call { callee, args, .. } = &inner.kind else { return None };
        let ast::ExprKind::Ident(name) = callee.kind else { return None };
        let known = self.is_vector(to) || self.is_arithmetic(to) || matches!(self.kind(to), TyKind::Void);
        let named = name.as_str().starts_with("__builtin_ia32_") && self.scopes.lookup(name).is_none();
        if !self.options.plain_c || !known || !named {
            return None;
        }
        let (mut values, mut texts) = (vec![], vec![]);
        for arg in args {
            match self.try_constant_int(arg) {
                Some(n) => texts.push(n.to_string()),
                None => {
                    let value = self.value(arg);
                    if self.is_error(value.ty.ty) {
                        return Some(value);
                    }
                    texts.push(format!("a{}", values.len()));
                    values.push(value);
                }
            }
        }
        Some(self.vector_call(values, to, &format!("{name}({})", texts.join(", ")), span))
    }

    /// `__builtin_shuffle(a, mask)`, `__builtin_shuffle(a, b, mask)`,
    /// `__builtin_shufflevector(a, b, 0, 1 ...)`
    pub(crate) fn shuffle(&mut self, name: Symbol, args: &[ast::Expr], span: Span) -> Option<Expr> {
        let constants = name.as_str() == "__builtin_shufflevector";
        let vectors = if constants { 2 } else { args.len() };
        let mut values = vec![];
        for arg in args.get(..vectors)? {
            let value = self.value(arg);
            if !self.is_vector(value.ty.ty) {
                return None;
            }
            values.push(value);
        }
        let (elem, lanes) = self.program.types.as_vector(values.first()?.ty.ty)?;
        let mut texts: Vec<String> = (0..vectors).map(|n| format!("a{n}")).collect();
        let mut lanes = lanes;
        if constants {
            let indices = args.get(vectors..)?;
            lanes = indices.len() as u64;
            for arg in indices {
                texts.push(self.try_constant_int(arg)?.to_string());
            }
        }
        let ret = self.vector_type(elem, lanes, None)?;
        Some(self.vector_call(values, ret, &format!("{name}({})", texts.join(", ")), span))
    }

    /// Whether the text at `at` is in a header of the C compiler's for the machine's instructions.
    pub(crate) fn in_intrinsics(&self, at: u32) -> bool {
        self.map.is_system(at) && is_intrinsics(self.map.file_at(at))
    }

    /// Whether a function of such a header takes or returns what is not known here (`__bf16`).
    pub(crate) fn is_unknown_intrinsic(&self, function: Ty) -> bool {
        let unknown = |ty: Ty| {
            let mut ty = ty;
            while let TyKind::Ptr(p) = self.kind(ty) {
                ty = p.target.ty;
            }
            self.is_error(ty)
        };
        let Some(f) = self.program.types.as_func(function) else { return false };
        unknown(f.ret) || f.params.iter().any(|p| unknown(p.ty))
    }

    /// Keeps the text of the headers whose functions are used.
    pub(crate) fn keep_headers(&mut self) {
        let used = |id: &FuncId| self.program.functions.get(id.0 as usize).is_some_and(|f| f.used);
        if !self.program.c_text.intrinsics.iter().any(used) {
            return;
        }
        let mut out = String::new();
        let (mut at, mut inside) = (0, false);
        let mut enter = true;
        for line in self.map.text.split_inclusive('\n') {
            let offset = at;
            at += line.len() as u32;
            if line.starts_with("# ") {
                enter = true;
                continue;
            }
            if enter {
                enter = false;
                inside = self.in_intrinsics(offset);
                if inside {
                    let (_, number) = self.map.line_at(offset);
                    out.push_str(&format!("# {number} {:?} 3\n", self.map.file_at(offset)));
                }
            }
            if inside {
                out.push_str(line);
            }
        }
        // What follows is not part of a header.
        out.push_str("\n# 1 \"emitted\"\n");
        self.program.c_text.headers = out;
    }
}

/// `<emmintrin.h>`, `<avx2intrin.h>` ... in a folder of gcc's or clang's own.
fn is_intrinsics(file: &str) -> bool {
    let Some((folder, name)) = file.rsplit_once('/') else { return false };
    let own = ["/lib/gcc/", "/lib/clang/"].iter().any(|f| folder.contains(f)) || folder.contains("/lib64/gcc/");
    own && name.ends_with(".h") && (name.contains("intrin") || name.starts_with("__wmmintrin"))
}
