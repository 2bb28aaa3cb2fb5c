//! Places as C lvalues, and operands as C expressions.

use crate::body::Emitter;
use crate::ctype::{members, suffixes};
use crate::exprs::{float_text, int_text, Deps, Ex, Level};
use crate::variables::Reached;
use mir::ir::*;
use std::rc::Rc;
use typing::types::*;

/// How an lvalue is written.
#[derive(Clone, Debug)]
enum Form {
    /// A primary expression.
    Direct(String),
    /// What a pointer (a primary expression) points to.
    Behind(String),
}

/// How the words of a multi-word place are named.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Split {
    /// `name`, `name__lo`, `name__hi`
    Suffixes,
    /// `object.p`, `object.lo`, `object.hi`
    Members,
}

/// An lvalue.
#[derive(Clone, Debug)]
pub struct Loc {
    form: Form,
    split: Split,
    /// Its type.
    pub ty: Qty,
    /// What its value depends on.
    pub deps: Deps,
    /// What its address depends on.
    located: Deps,
    /// It is the whole of a local whose address is not taken.
    pub simple: Option<u32>,
    /// The address goes through a pointer that lies in memory.
    pub through_memory: bool,
    /// It lies in constant memory, or its C type is not what its type says.
    odd: bool,
    /// An anonymous member record that is written in place.
    anonymous: Option<RecordId>,
    /// A bit-field of fewer bits than its type has: C computes in an `int`, or, gcc, in its bits.
    narrow: bool,
}

impl<'a> Emitter<'_, 'a> {
    /// The names of a local's words, not looking at what waits.
    pub fn local_words(&mut self, local: Local) -> Vec<Ex> {
        match self.local_place(local) {
            Some(loc) => self.names(&loc),
            None => vec![Ex::atom("0")],
        }
    }

    /// The declaration of this local will be wanted.
    pub fn mark_used(&mut self, local: Local) {
        if let Some(held) = self.held.get_mut(local.0 as usize) {
            held.used = true;
        }
    }

    fn local_place(&mut self, local: Local) -> Option<Loc> {
        let decl = self.body.locals.get(local.0 as usize)?;
        let held = self.held.get(local.0 as usize)?.clone();
        self.mark_used(local);
        let mut deps = Deps { locals: vec![local.0], memory: decl.address_taken, trap: false };
        let form = if held.variable {
            deps.memory = true;
            let cast = self.unit.c.cast_to_pointer(decl.ty);
            Form::Behind(format!("(({cast}){})", held.name))
        } else {
            Form::Direct(held.name)
        };
        Some(Loc {
            form,
            split: if held.object { Split::Members } else { Split::Suffixes },
            ty: decl.ty,
            located: Deps { locals: if held.variable { deps.locals.clone() } else { vec![] }, ..Deps::default() },
            deps,
            simple: (!decl.address_taken && !held.variable).then_some(local.0),
            through_memory: false,
            odd: false,
            anonymous: None,
            narrow: false,
        })
    }

    /// The lvalue of a place. `twice`: it will be written more than once.
    pub fn place(&mut self, place: &Place, twice: bool) -> Loc {
        let mut steps = place.proj.iter();
        let mut loc = match place.base {
            PlaceBase::Local(local) => {
                let behind = place.proj.first() == Some(&Proj::Deref);
                let constant = self.constant_of(local).filter(|_| behind);
                let waiting = match constant {
                    Some(constant) => Some(self.constant_as(constant, local_ty(self.body, &Place::local(local)))),
                    None if behind => self.take(local, twice),
                    None => None,
                };
                match waiting {
                    Some(words) => {
                        steps.next();
                        let ty = self.body.locals.get(local.0 as usize).map_or(self.error_ty(), |l| l.ty.ty);
                        self.behind(words, ty)
                    }
                    None => self.local_place(local).unwrap_or_else(|| self.nowhere()),
                }
            }
            PlaceBase::Global(id) => self.global_place(id),
            PlaceBase::Str(id) => self.string_place(id),
        };
        for step in steps {
            loc = self.step(loc, step, twice);
        }
        self.settle_anonymous(loc)
    }

    fn error_ty(&self) -> Ty {
        self.unit.types.common.error
    }

    /// What stands for a place that a broken program names.
    fn nowhere(&self) -> Loc {
        Loc {
            form: Form::Behind("((int *)0)".into()),
            split: Split::Members,
            ty: Qty::plain(self.unit.types.common.int),
            deps: Deps { memory: true, trap: true, locals: vec![] },
            located: Deps::default(),
            simple: None,
            through_memory: false,
            odd: true,
            anonymous: None,
            narrow: false,
        }
    }

    fn global_place(&mut self, id: typing::tree::GlobalId) -> Loc {
        let Some(global) = self.unit.program.globals.get(id.0 as usize) else { return self.nowhere() };
        let name = self.unit.global_name(id).ident;
        let form = match self.unit.reached(id) {
            Reached::Name => Form::Direct(name),
            Reached::Own => Form::Behind(format!("LEE_VARIABLE_AT({name})")),
            Reached::Found => Form::Behind(format!("LEE_VARIABLE_FOUND({name})")),
        };
        Loc {
            form,
            split: Split::Members,
            ty: global.ty,
            deps: Deps { memory: true, trap: false, locals: vec![] },
            located: Deps::default(),
            simple: None,
            through_memory: false,
            odd: true,
            anonymous: None,
            narrow: false,
        }
    }

    fn string_place(&mut self, id: typing::tree::StrId) -> Loc {
        let Some(literal) = self.unit.program.strings.get(id.0 as usize) else { return self.nowhere() };
        let name = self.unit.string(id);
        let array = self.unit.array_of(literal.elem, literal.units.len() as u64);
        Loc {
            form: Form::Direct(name),
            split: Split::Members,
            // Without an array type in the table the element's type still says what an index gives.
            ty: Qty::plain(array.unwrap_or(literal.elem)),
            deps: Deps { memory: true, trap: false, locals: vec![] },
            located: Deps::default(),
            simple: None,
            through_memory: false,
            odd: true,
            anonymous: None,
            narrow: false,
        }
    }

    fn step(&mut self, loc: Loc, step: &Proj, twice: bool) -> Loc {
        match step {
            Proj::Deref => {
                let loc = self.settle_anonymous(loc);
                let ty = loc.ty.ty;
                let from_memory = loc.deps.memory;
                let words = self.read(&loc);
                let mut behind = self.behind(words, ty);
                behind.through_memory |= from_memory;
                behind
            }
            Proj::Field(n) => self.field(loc, *n),
            Proj::Index(index) => self.index(loc, index, twice),
        }
    }

    /// What the pointer value points to.
    fn behind(&mut self, words: Vec<Ex>, ty: Ty) -> Loc {
        let types = self.unit.types;
        let want = self.unit.c.cast(ty);
        let address = match words.into_iter().next() {
            Some(word) if word.pointer.as_ref() == Some(&want) => word,
            Some(word) => word.cast(&want),
            None => Ex::atom("0"),
        };
        let target = types.as_pointer(ty).map_or(Qty::plain(types.common.error), |p| p.target);
        self.unit.c.need(target.ty);
        let mut deps = address.deps.clone();
        deps.memory = true;
        deps.trap = true;
        let variable = self.unit.c.has_variable(target.ty);
        let form = match &address.element {
            Some(text) if !variable => Some(Form::Direct(text.clone())),
            _ => None,
        };
        let text = if variable {
            format!("(({}){})", self.unit.c.cast_to_pointer(target), address.at(Level::Unary))
        } else {
            address.at(Level::Primary)
        };
        Loc {
            form: form.unwrap_or(Form::Behind(text)),
            split: Split::Members,
            ty: target,
            through_memory: address.deps.memory,
            located: address.deps,
            deps,
            simple: None,
            odd: false,
            anonymous: None,
            narrow: false,
        }
    }

    fn field(&mut self, loc: Loc, n: u32) -> Loc {
        let types = self.unit.types;
        let Some(id) = types.as_record(loc.ty.ty) else { return self.nowhere() };
        self.unit.c.need(loc.ty.ty);
        let record = types.record(id);
        let Some(field) = record.fields.as_ref().and_then(|f| f.get(n as usize)).cloned() else {
            return self.nowhere();
        };
        let name = self.unit.c.field_names(id).get(n as usize).cloned().unwrap_or_default();
        let mut out = Loc {
            split: Split::Suffixes,
            ty: Qty {
                ty: field.ty.ty,
                quals: Quals {
                    is_const: field.ty.quals.is_const || loc.ty.quals.is_const,
                    is_volatile: field.ty.quals.is_volatile || loc.ty.quals.is_volatile,
                    is_atomic: field.ty.quals.is_atomic,
                },
            },
            simple: None,
            anonymous: None,
            narrow: types.narrow(&field).is_some(),
            ..loc
        };
        if name.is_empty() {
            out.anonymous = types.as_record(field.ty.ty);
            return out;
        }
        // A vector is indexed itself.
        if record.vector {
            return out;
        }
        let payload = if record.kind == RecordKind::Tagged { "u." } else { "" };
        out.form = Form::Direct(match &out.form {
            Form::Direct(text) => format!("{text}.{payload}{name}"),
            Form::Behind(pointer) => format!("{pointer}->{payload}{name}"),
        });
        out
    }

    fn index(&mut self, loc: Loc, index: &Operand, twice: bool) -> Loc {
        let loc = self.settle_anonymous(loc);
        let types = self.unit.types;
        let elem = match types.kind(loc.ty.ty) {
            TyKind::Array { elem, .. } => *elem,
            _ => Qty::plain(loc.ty.ty),
        };
        let index_ty = self.operand_ty(index);
        let value = self.operand(index, twice).into_iter().next().unwrap_or_else(|| Ex::atom("0"));
        let character = types.is_character(index_ty);
        let text = if character { value.cast("int").text } else { value.text.clone() };
        let (mut deps, mut located) = (loc.deps.clone(), loc.located.clone());
        deps.add(&value.deps);
        located.add(&value.deps);
        Loc {
            form: Form::Direct(format!("{}[{text}]", self.primary(&loc))),
            split: Split::Members,
            ty: Qty {
                ty: elem.ty,
                quals: Quals {
                    is_const: elem.quals.is_const || loc.ty.quals.is_const,
                    is_volatile: elem.quals.is_volatile || loc.ty.quals.is_volatile,
                    is_atomic: elem.quals.is_atomic,
                },
            },
            deps,
            located,
            simple: None,
            through_memory: loc.through_memory || value.deps.memory,
            ..loc
        }
    }

    /// An anonymous member record as a whole is reached through the address of its first member.
    fn settle_anonymous(&mut self, loc: Loc) -> Loc {
        let Some(id) = loc.anonymous else { return loc };
        let first = self.unit.c.field_names(id).first().cloned().unwrap_or_default();
        let member = match &loc.form {
            Form::Direct(text) => format!("{text}.{first}"),
            Form::Behind(pointer) => format!("{pointer}->{first}"),
        };
        self.unit.c.need(loc.ty.ty);
        let cast = self.unit.c.cast_to_pointer(loc.ty);
        Loc { form: Form::Behind(format!("(({cast})&{member})")), anonymous: None, ..loc }
    }

    fn primary(&self, loc: &Loc) -> String {
        match &loc.form {
            Form::Direct(text) => text.clone(),
            Form::Behind(pointer) => format!("(*{pointer})"),
        }
    }

    /// The lvalue's text, as one object.
    pub fn lvalue(&self, loc: &Loc) -> String {
        match &loc.form {
            Form::Direct(text) => text.clone(),
            Form::Behind(pointer) => format!("*{pointer}"),
        }
    }

    /// The tag of a tagged union.
    pub fn tag_text(&self, loc: &Loc) -> String {
        match &loc.form {
            Form::Direct(text) => format!("{text}.tag"),
            Form::Behind(pointer) => format!("{pointer}->tag"),
        }
    }

    /// The lvalues of a place's words.
    pub fn word_texts(&self, loc: &Loc) -> Vec<String> {
        let words = self.unit.types.words(loc.ty.ty);
        if words == 1 {
            return vec![self.lvalue(loc)];
        }
        if loc.split == Split::Members {
            return members(words)
                .iter()
                .map(|m| match &loc.form {
                    Form::Direct(text) => format!("{text}.{m}"),
                    Form::Behind(pointer) => format!("{pointer}->{m}"),
                })
                .collect();
        }
        let text = self.primary(loc);
        let rest = suffixes(words).iter().map(|s| format!("{text}{s}"));
        [text.clone()].into_iter().chain(rest).collect()
    }

    /// The values of a place's words. A pointer that owns its target stands at its first element
    /// (I2): its lower bound is itself.
    pub fn read(&mut self, loc: &Loc) -> Vec<Ex> {
        let mut words = self.names(loc);
        let owns = is_owner(self.unit.types, loc.ty) || loc.simple.is_some_and(|l| self.stands_at_start(l));
        if let ([first, lower, _], true) = (words.as_mut_slice(), owns) {
            *lower = first.clone();
        }
        if loc.narrow {
            let ty = self.unit.c.cast(loc.ty.ty);
            words = words.iter().map(|word| word.cast(&ty)).collect();
        }
        words
    }

    /// Whether a local is a copy of a pointer that owns its target. It has no variable for its
    /// lower bound.
    pub fn stands_at_start(&self, local: u32) -> bool {
        self.at_start.get(local as usize) == Some(&true)
    }

    /// Whether there is a variable for a word of the local.
    pub fn has_word(&self, local: u32, word: usize) -> bool {
        let none = self.held.get(local as usize).is_some_and(|h| h.no_bounds);
        word == 0 || !(none || word == 1 && self.stands_at_start(local))
    }

    /// A place's words as they lie in memory, or in the variable that has the same bounds.
    fn names(&mut self, loc: &Loc) -> Vec<Ex> {
        let mut words = self.own_names(loc);
        let kept = loc.simple.and_then(|l| self.kept_bounds.get(l as usize).copied().flatten());
        if let Some(variable) = kept {
            let bounds = self.local_words(variable).into_iter().skip(1);
            for (word, bound) in words.iter_mut().skip(1).zip(bounds) {
                *word = bound;
            }
        }
        words
    }

    fn own_names(&mut self, loc: &Loc) -> Vec<Ex> {
        let is_pointer = matches!(self.unit.types.kind(loc.ty.ty), TyKind::Ptr(_));
        let cast = is_pointer.then(|| self.unit.c.cast(loc.ty.ty));
        let split = self.unit.types.words(loc.ty.ty) > 1;
        let plain = matches!(loc.form, Form::Direct(_)) || split;
        let texts = self.word_texts(loc);
        let words = texts.into_iter().enumerate().map(|(n, text)| {
            let mut word = Ex::new(text, if plain { Level::Primary } else { Level::Unary }).with(&loc.deps);
            word.atom = loc.simple.is_some();
            if n < 1 || self.unit.types.words(loc.ty.ty) == 3 {
                word.pointer = cast.clone();
            }
            word
        });
        words.collect()
    }

    /// The address of a place.
    pub fn address(&mut self, loc: &Loc) -> Ex {
        let split = self.unit.types.words(loc.ty.ty) > 1 && loc.split == Split::Suffixes;
        let mut out = match &loc.form {
            Form::Direct(text) => Ex::new(format!("&{text}"), Level::Unary),
            Form::Behind(pointer) => Ex::new(pointer.clone(), Level::Primary),
        };
        out.deps = loc.located.clone();
        // As cheap as a name, and of no effect on what it names.
        out.atom =
            !loc.deps.trap && out.deps.locals.is_empty() && !out.deps.memory && matches!(&loc.form, Form::Direct(_));
        // Plain C may ask whether something weak is there.
        out.solid = matches!(&loc.form, Form::Direct(_)) && !loc.deps.trap && !self.body.unchecked;
        out.pointer = Some(if split || loc.odd { Rc::from("") } else { self.unit.c.cast_to_pointer(loc.ty) });
        out
    }

    // ---- operands

    /// The type of an operand.
    pub fn operand_ty(&self, operand: &Operand) -> Ty {
        if let Operand::Const(Const::Func(_)) = operand {
            return self.unit.types.common.error;
        }
        mir::ty::operand_ty(self.unit.program, self.body, operand).unwrap_or(self.error_ty())
    }

    /// The words of an operand. `twice`: some will be written more than once.
    pub fn operand(&mut self, operand: &Operand, twice: bool) -> Vec<Ex> {
        match operand {
            Operand::Copy(place) | Operand::Move(place) => {
                if let Some(constant) = place.as_local().and_then(|local| self.constant_of(local)) {
                    return self.constant_as(constant, local_ty(self.body, place));
                }
                if let Some(words) = place.as_local().and_then(|local| self.take(local, twice)) {
                    return words;
                }
                let loc = self.place(place, twice || self.unit.types.words(self.operand_ty(operand)) > 1);
                let words = self.read(&loc);
                if loc.ty.quals.is_volatile && twice {
                    return self.once(words, loc.ty);
                }
                words
            }
            Operand::Const(constant) => self.constant(constant),
        }
    }

    /// The first word of an operand.
    pub fn value(&mut self, operand: &Operand) -> Ex {
        self.operand(operand, false).into_iter().next().unwrap_or_else(|| Ex::atom("0"))
    }

    /// The first word of an operand that will be written more than once.
    pub fn value_twice(&mut self, operand: &Operand) -> Ex {
        self.operand(operand, true).into_iter().next().unwrap_or_else(|| Ex::atom("0"))
    }

    /// Reads a volatile value once, into a variable of its own.
    pub fn once(&mut self, words: Vec<Ex>, ty: Qty) -> Vec<Ex> {
        let mut out = vec![];
        for (n, word) in words.into_iter().enumerate() {
            let name = self.scratch.claim("once__");
            let declaration = self.unit.c.word(Qty::plain(ty.ty), n, &name, crate::ctype::Consts::Drop);
            self.declarations.push(format!("{declaration};"));
            self.push(&format!("{name} = {};", word.text));
            out.push(Ex { pointer: word.pointer, ..Ex::atom(name) });
        }
        out
    }

    /// The constant that is all that a temporary ever holds.
    fn constant_of(&self, local: Local) -> Option<&'a Const> {
        self.constants.get(local.0 as usize).copied().flatten()
    }

    fn constant_as(&mut self, constant: &Const, ty: Option<Ty>) -> Vec<Ex> {
        let words = self.constant(constant);
        match ty {
            Some(ty) => self.converted(words, ty),
            None => words,
        }
    }

    fn constant(&mut self, constant: &Const) -> Vec<Ex> {
        match constant {
            Const::Int(value, ty) => vec![self.int(*value, *ty)],
            Const::Float(text, ty) => {
                let kind = match self.unit.types.kind(*ty) {
                    TyKind::Float(k) | TyKind::Complex(k) => *k,
                    _ => FloatKind::Double,
                };
                vec![float_text(text.as_str(), kind)]
            }
            Const::Null(ty) => {
                let words = self.unit.types.words(*ty) as usize;
                vec![Ex::atom("NULL"); words]
            }
            Const::Func(func) => {
                let name = self.unit.function_name(func);
                // Plain C may ask whether a weak function is there.
                vec![Ex { solid: !self.body.unchecked, ..Ex::atom(name.ident).of_pointer("".into()) }]
            }
            Const::SizeOf(ty) => vec![self.sized("sizeof", *ty)],
            Const::AlignOf(ty) => vec![self.sized("_Alignof", *ty)],
            Const::OffsetOf(ty, path) => vec![self.offset_of(*ty, path)],
            Const::Addr(key, offset, ty) => self.const_address(key, *offset, *ty),
        }
    }

    fn sized(&mut self, operator: &str, ty: Ty) -> Ex {
        let text = self.unit.c.sizeof_text(ty);
        let text = match text.strip_prefix("sizeof") {
            Some(rest) => format!("{operator}{rest}"),
            None => text,
        };
        let mut out = Ex { level: Level::Unary, ..Ex::atom(text) };
        // A variable length reads the local that holds it.
        if self.unit.c.has_variable(ty) {
            out.deps.locals = (0..self.body.locals.len() as u32).collect();
        }
        out
    }

    /// An integer constant of a type.
    pub fn int(&mut self, value: i128, ty: Ty) -> Ex {
        match self.unit.types.kind(ty) {
            TyKind::Ptr(_) => {
                let cast = self.unit.c.cast(ty);
                int_text(value, IntKind::ULong).cast(&cast)
            }
            TyKind::Float(kind) => float_text(&value.to_string(), *kind),
            _ => int_text(value, self.unit.types.as_int(ty).unwrap_or(IntKind::Int)),
        }
    }

    fn offset_of(&mut self, ty: Ty, path: &[u32]) -> Ex {
        let mut names: Vec<String> = vec![];
        let mut at = ty;
        for &n in path {
            let Some(id) = self.unit.types.as_record(at) else { break };
            let Some(field) = self.unit.types.record(id).fields.as_ref().and_then(|f| f.get(n as usize)) else { break };
            let name = self.unit.c.field_names(id).get(n as usize).cloned().unwrap_or_default();
            at = field.ty.ty;
            if !name.is_empty() {
                let payload = if self.unit.types.record(id).kind == RecordKind::Tagged { "u." } else { "" };
                names.push(format!("{payload}{name}"));
            }
        }
        self.unit.c.need(ty);
        let cast = self.unit.c.object(Qty::plain(ty), "", crate::ctype::Consts::Drop);
        Ex::atom(if names.is_empty() {
            "0ul".into()
        } else {
            format!("__builtin_offsetof({cast}, {})", names.join("."))
        })
    }

    fn const_address(&mut self, key: &ConstAddrKey, offset: i64, ty: Ty) -> Vec<Ex> {
        let place = match key {
            ConstAddrKey::Global(id) => Place::global(*id),
            ConstAddrKey::Str(id) => Place { base: PlaceBase::Str(*id), proj: vec![] },
        };
        let base = self.place(&place, true);
        let address = self.address(&base);
        let cast = self.unit.c.cast(ty);
        let solid = !self.body.unchecked;
        let word = |offset: i64| {
            let mut out = if offset == 0 {
                address.cast(&cast)
            } else {
                Ex::new(format!("((char *){} + {offset})", address.at(Level::Unary)), Level::Primary).cast(&cast)
            };
            out.atom = true;
            out.pointer = Some(cast.clone());
            out.solid = solid;
            out
        };
        if self.unit.types.words(ty) != 3 {
            return vec![word(offset)];
        }
        // The object is the bounds; of a string object, what stands before its zero.
        let size = match key {
            ConstAddrKey::Global(_) => self.unit.types.layout(base.ty.ty).map_or(0, |l| l.size),
            ConstAddrKey::Str(id) => self.string_size(*id),
        };
        let elem =
            self.unit.types.as_pointer(ty).and_then(|p| self.unit.types.layout(p.target.ty)).map_or(1, |l| l.size);
        let terminated = self.unit.types.as_pointer(ty).is_some_and(|p| p.bounds.is_terminated());
        let end = if terminated { size.saturating_sub(elem) } else { size };
        vec![word(offset), word(0), word(end as i64)]
    }

    fn string_size(&self, id: typing::tree::StrId) -> u64 {
        let literal = self.unit.program.strings.get(id.0 as usize);
        literal.map_or(0, |l| {
            let elem = self.unit.types.as_int(l.elem).map_or(1, IntKind::size);
            l.units.len() as u64 * elem
        })
    }
}

/// Whether a place holds a pointer that owns its target, and is not volatile: reading it twice is
/// reading it once.
pub fn is_owner(types: &TypeStore, ty: Qty) -> bool {
    types.as_pointer(ty.ty).is_some_and(|p| p.own.is_owned()) && !ty.quals.is_volatile && !ty.quals.is_atomic
}

fn local_ty(body: &Body, place: &Place) -> Option<Ty> {
    place.as_local().and_then(|local| body.locals.get(local.0 as usize)).map(|l| l.ty.ty)
}
