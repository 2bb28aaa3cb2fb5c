//! Reads types of the MIR notation (see `print_types`).

use crate::parse::{int_kind, Parser, Res};
use std::rc::Rc;
use typing::contracts::{ContractId, Side, StateId};
use typing::tree::{FuncId, FuncRef};
use typing::types::*;

/// How deep types and initialisers may nest.
const MAX_DEPTH: u32 = 200;

impl Parser<'_> {
    pub(crate) fn enter(&mut self) -> Res<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.error("nested too deeply");
        }
        Ok(())
    }

    pub(crate) fn qty(&mut self) -> Res<Qty> {
        let mut quals = Quals::default();
        loop {
            if self.take_word("const") {
                quals.is_const = true;
            } else if self.take_word("volatile") {
                quals.is_volatile = true;
            } else if self.take_word("atomic") {
                quals.is_atomic = true;
            } else {
                return Ok(Qty { ty: self.ty()?, quals });
            }
        }
    }

    pub(crate) fn ty(&mut self) -> Res<Ty> {
        self.enter()?;
        let ty = self.ty_inner();
        self.depth -= 1;
        ty
    }

    fn ty_inner(&mut self) -> Res<Ty> {
        if self.take("*") {
            return self.pointer();
        }
        if self.take("[") {
            return self.array();
        }
        if self.peek_region() {
            let region = self.region()?;
            return Ok(self.program.types.intern(TyKind::RegionArg(region)));
        }
        match self.mark_behind_word() {
            b'%' => {
                let id = self.numbered('%')?;
                return Ok(self.program.types.intern(TyKind::Record(RecordId(id))));
            }
            b'^' => {
                let id = self.numbered('^')?;
                return Ok(self.program.types.intern(TyKind::Enum(EnumId(id))));
            }
            _ => {}
        }
        let word = self.word()?;
        if let Some(kind) = int_kind(word) {
            return Ok(self.program.types.int(kind));
        }
        if let Some(kind) = float_kind(word) {
            return Ok(self.program.types.intern(TyKind::Float(kind)));
        }
        let kind = match word {
            "error" => TyKind::Error,
            "void" => TyKind::Void,
            "bool" => TyKind::Bool,
            "va_list" => TyKind::VaList,
            "nullptr" => TyKind::NullPtr,
            "fn" => self.func()?,
            "param" => self.param()?,
            "key" => TyKind::Key(KeyKind::Arena, self.region()?),
            "reap_key" => TyKind::Key(KeyKind::Reap, self.region()?),
            "rc_key" => TyKind::Key(KeyKind::RcArena, self.region()?),
            "rc_reap_key" => TyKind::Key(KeyKind::RcReap, self.region()?),
            "exchange_key" => TyKind::Key(KeyKind::Exchange, self.region()?),
            "exp" => TyKind::Endpoint(self.endpoint(Side::Exp)?),
            "imp" => TyKind::Endpoint(self.endpoint(Side::Imp)?),
            "eset" => self.end_set()?,
            "arena" => TyKind::Handle(false, self.region()?),
            "reap" => TyKind::Handle(true, self.region()?),
            "own" => {
                self.want("(")?;
                let word = self.word()?;
                let Some(own) = own_word(word) else {
                    return self.error("expected an ownership");
                };
                self.want(")")?;
                TyKind::OwnArg(own)
            }
            "complex" => {
                self.want("(")?;
                let Some(kind) = float_kind(self.word()?) else {
                    return self.error("expected a floating type");
                };
                self.want(")")?;
                TyKind::Complex(kind)
            }
            other => return self.error(format!("`{other}` is no type")),
        };
        Ok(self.program.types.intern(kind))
    }

    fn peek_region(&mut self) -> bool {
        self.skip();
        self.rest().starts_with('@')
    }

    /// `@heap`, `@r2` and so on (`print_types::region_text`).
    pub(crate) fn region(&mut self) -> Res<Region> {
        self.want("@")?;
        let word = self.word()?;
        let number = |letters: usize| word.get(letters..).and_then(|digits| digits.parse::<u32>().ok());
        let region = match (word, word.as_bytes().first(), number(1)) {
            ("heap", ..) => Region::Heap,
            ("var", ..) => Region::Var,
            ("exchange", ..) => Region::Exchange,
            (_, Some(b'p'), Some(n)) => Region::Param(n),
            (_, Some(b'r'), Some(n)) => Region::Body(n),
            (_, Some(b'i'), Some(n)) => Region::Infer(n),
            (_, Some(b'e'), Some(n)) => Region::Exists(n),
            (_, Some(b'b'), Some(level)) if level < 256 => {
                self.want(".")?;
                Region::Bound(level as u8, self.number()?)
            }
            _ => return self.error("expected a region"),
        };
        Ok(region)
    }

    /// `Ping^0`, `Ping^0:2` after `exp` or `imp`.
    fn endpoint(&mut self, side: Side) -> Res<Endpoint> {
        let contract = ContractId(self.numbered('^')?);
        let state = if self.rest().starts_with(':') {
            self.want(":")?;
            Some(StateId(self.number()?))
        } else {
            None
        };
        Ok(Endpoint { contract, side, state })
    }

    /// `eset(exp Ping^0:2)`, with the struct of a map's value after it.
    fn end_set(&mut self) -> Res<TyKind> {
        self.want("(")?;
        let side = match self.word()? {
            "exp" => Side::Exp,
            "imp" => Side::Imp,
            _ => return self.error("expected `exp` or `imp`"),
        };
        let end = self.endpoint(side)?;
        let mut value = None;
        if self.take(",") {
            let ty = self.ty()?;
            value = self.program.types.as_record(ty);
        }
        self.want(")")?;
        Ok(TyKind::EndSet(EndSet { end, value }))
    }

    fn param(&mut self) -> Res<TyKind> {
        self.want("(")?;
        let index = self.number()?;
        self.want(",")?;
        let name = self.quoted()?;
        let mut param = TypeParam::new(index, name);
        while self.take(",") {
            match self.word()? {
                "heap" => param.heap = true,
                "move" => param.moves = true,
                "exchange" => param.exchange = true,
                "frozen" => param.frozen = true,
                "nonnull" => param.nonnull = true,
                _ => return self.error("expected `heap`, `move`, `exchange`, `frozen` or `nonnull`"),
            }
        }
        self.want(")")?;
        Ok(TyKind::Param(param))
    }

    fn pointer(&mut self) -> Res<Ty> {
        let mut bounds = Bounds::Thin;
        let (mut nonnull, mut own, mut region, mut raw) = (false, Own::Shared, Region::Heap, false);
        // `*[16]char` is a pointer to an array: qualifier words never begin with a digit, `?`,
        // `flex` or `var`.
        if self.pointer_words_follow() {
            self.want("[")?;
            while !self.take("]") {
                if self.peek_region() {
                    region = self.region()?;
                    continue;
                }
                match self.word()? {
                    "fat" => bounds = Bounds::Fat,
                    "zero" => bounds = Bounds::Terminated,
                    "fatzero" => bounds = Bounds::FatTerminated,
                    "count" => bounds = Bounds::Counted(self.count()?),
                    "nonnull" => nonnull = true,
                    "region" => region = Region::Var,
                    "raw" => raw = true,
                    other => match own_word(other) {
                        Some(found) => own = found,
                        None => return self.error(format!("`{other}` says nothing about a pointer")),
                    },
                }
            }
        }
        let target = self.qty()?;
        Ok(self.program.types.pointer(Pointer { target, bounds, nonnull, own, region, raw }))
    }

    fn pointer_words_follow(&mut self) -> bool {
        let start = self.at;
        let follows = self.take("[") && (self.peek_region() || !matches!(self.peek_word(), "" | "flex" | "var"));
        self.at = start;
        follows
    }

    fn array(&mut self) -> Res<Ty> {
        let len = if self.take("?") {
            ArrayLen::Unknown
        } else if self.take_word("flex") {
            self.skip();
            let bare = self.rest().starts_with(']') || self.peek_word() == "zero";
            ArrayLen::Flexible(if bare { None } else { Some(self.count()?) })
        } else if self.take_word("var") {
            ArrayLen::Variable(self.number()?)
        } else {
            ArrayLen::Const(self.number()?)
        };
        let terminated = self.take_word("zero");
        self.want("]")?;
        let elem = self.qty()?;
        Ok(self.program.types.intern(TyKind::Array { elem, len, terminated }))
    }

    fn count(&mut self) -> Res<CountId> {
        self.enter()?;
        let count = self.count_inner();
        self.depth -= 1;
        count
    }

    fn count_inner(&mut self) -> Res<CountId> {
        let expr = if self.take("(") {
            let left = self.count()?;
            self.skip();
            let op = self.rest().as_bytes().first().copied().unwrap_or(0);
            self.at += usize::from(op.is_ascii() && op != 0);
            let expr = match op {
                b'+' => CountExpr::Add(left, self.count()?),
                b'-' => CountExpr::Sub(left, self.count()?),
                b'*' => CountExpr::Mul(left, self.count()?),
                b'/' => CountExpr::Div(left, self.number()?),
                _ => return self.error("expected an operator of a count"),
            };
            self.want(")")?;
            expr
        } else {
            let word = self.peek_word();
            let digits = word.get(1..).unwrap_or("").parse();
            match (word.as_bytes().first(), digits) {
                (Some(b'p'), Ok(n)) => {
                    self.at += word.len();
                    CountExpr::Param(n)
                }
                (Some(b'f'), Ok(n)) => {
                    self.at += word.len();
                    CountExpr::Field(n)
                }
                _ => CountExpr::Const(self.number()?),
            }
        };
        Ok(self.program.types.count(expr))
    }

    fn func(&mut self) -> Res<TyKind> {
        let mut func = FuncTy::new(self.program.types.common.void, vec![], Abi::Leeward);
        if self.take("[") {
            self.list("]", |p| p.func_word(&mut func))?;
        }
        self.want("(")?;
        if !self.take(")") {
            loop {
                if self.take("...") {
                    func.variadic = true;
                    self.want(")")?;
                    break;
                }
                let consume = self.take_word("consume");
                let optional = self.take_word("optional");
                let at_most = if self.take_word("at_most") { Some(self.number()?) } else { None };
                let ty = self.ty()?;
                let becomes = if self.take_word("becomes") { Some(StateId(self.number()?)) } else { None };
                func.params.push(ParamTy { ty, consume, optional, at_most, becomes });
                if self.take(")") {
                    break;
                }
                self.want(",")?;
            }
        }
        self.want("->")?;
        func.ret = self.ty()?;
        Ok(TyKind::Func(Rc::new(func)))
    }

    fn func_word(&mut self, func: &mut FuncTy) -> Res<()> {
        match self.peek_word() {
            "printf" | "scanf" => {
                func.format = Some(self.format()?);
                return Ok(());
            }
            _ => {}
        }
        match self.word()? {
            "c" => func.abi = Abi::C,
            "noreturn" => func.noreturn = true,
            "unprototyped" => func.unprototyped = true,
            "leaf" => func.leaf = true,
            "waits" => func.waits = true,
            "into" => func.into = Some(self.number()?),
            "end_into" => func.end_into = Some((self.number()?, self.number()?)),
            "terminates" => func.terminates = Some(self.number()?),
            "cuts" => func.cuts = Some(self.number()?),
            "fills" => {
                let pointer = self.number()?;
                func.fills = Some((pointer, if self.take("-") { None } else { Some(self.number()?) }));
            }
            "regions" => func.regions = self.number()?,
            "outlives" => func.outlives.push((self.region()?, self.region()?)),
            "owns_in" => {
                let region = self.region()?;
                func.owns_in.push((self.ty()?, region));
            }
            "keeps_string" => func.keeps_string = Some(self.number()?),
            "copies" => func.copies = Some((self.number()?, self.number()?)),
            other => return self.error(format!("`{other}` says nothing about a function type")),
        }
        Ok(())
    }

    /// `printf 0 1`, `scanf 0 -`.
    pub(crate) fn format(&mut self) -> Res<FormatTy> {
        let scanf = match self.word()? {
            "printf" => false,
            "scanf" => true,
            _ => return self.error("expected `printf` or `scanf`"),
        };
        let format = self.number()?;
        let first = if self.take("-") { None } else { Some(self.number()?) };
        Ok(FormatTy { scanf, format, first })
    }

    /// `name#3<int>`
    pub(crate) fn func_ref(&mut self) -> Res<FuncRef> {
        let func = FuncId(self.numbered('#')?);
        let args = if self.rest().starts_with('<') {
            self.want("<")?;
            self.list(">", Self::ty)?
        } else {
            vec![]
        };
        Ok(FuncRef { func, args: args.into() })
    }
}

fn own_word(word: &str) -> Option<Own> {
    Some(match word {
        "shared" => Own::Shared,
        "unique" => Own::Unique,
        "rc" => Own::Rc,
        "view" => Own::View,
        "any" => Own::Any,
        _ => Own::Param(word.strip_prefix("own")?.parse().ok()?),
    })
}

fn float_kind(word: &str) -> Option<FloatKind> {
    Some(match word {
        "f16" => FloatKind::Float16,
        "float" => FloatKind::Float,
        "double" => FloatKind::Double,
        "ldouble" => FloatKind::LongDouble,
        "f32" => FloatKind::Float32,
        "f32x" => FloatKind::Float32x,
        "f64" => FloatKind::Float64,
        "f64x" => FloatKind::Float64x,
        "f128" => FloatKind::Float128,
        _ => return None,
    })
}
