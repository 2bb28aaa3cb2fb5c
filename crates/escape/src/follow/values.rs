//! What expressions do with the object: which values are the object, and which tests say whether a
//! pointer is null.

use super::*;
use crate::places::pointer_of;
use mir::effects::rvalue_operands;

/// Offsets from the start of an object that are distinguished, in bytes.
const NEAR: i64 = 16;

impl Follow<'_> {
    /// What an operand is; `None`: unknown, but not the object.
    pub(crate) fn value(&self, situation: &Situation, operand: &Operand) -> Option<Value> {
        match operand {
            Operand::Copy(place) | Operand::Move(place) => situation.get(self.cells.of_place(place)?),
            Operand::Const(Const::Null(_)) => Some(Value::Null),
            Operand::Const(Const::Int(n, _)) => i64::try_from(*n).ok().map(Value::Int),
            Operand::Const(Const::Addr(..) | Const::Func(_)) => Some(Value::NotNull),
            Operand::Const(_) => None,
        }
    }

    pub(super) fn number(&self, situation: &Situation, operand: &Operand) -> Option<i64> {
        match self.value(situation, operand)? {
            Value::Int(n) => Some(n),
            value @ Value::Test(..) => situation.truth(value).map(i64::from),
            _ => None,
        }
    }

    /// The situation on the edge where the operand is true or false; `None` if that cannot be.
    pub(super) fn assume(&self, situation: &Situation, operand: &Operand, holds: bool) -> Option<Situation> {
        let value = self.value(situation, operand);
        if let Some(truth) = value.and_then(|v| situation.truth(v)) {
            return (truth == holds).then(|| situation.clone());
        }
        let mut out = situation.clone();
        let cell = operand.place().and_then(|p| self.cells.of_place(p));
        match (value, cell) {
            (Some(Value::Test(of, wants)), _) => {
                out.set(of, Some(if wants == holds { Value::NotNull } else { Value::Null }));
            }
            (_, Some(cell)) if self.cells.is_pointer(cell) => {
                out.set(cell, Some(if holds { Value::NotNull } else { Value::Null }));
            }
            (_, Some(cell)) if !holds => out.set(cell, Some(Value::Int(0))),
            _ => {}
        }
        Some(out)
    }

    /// What a value is, computed.
    pub(crate) fn computed(&self, situation: &Situation, value: &Rvalue, span: Span, sink: Sink) -> Option<Value> {
        let get = |operand: &Operand| self.value(situation, operand);
        let types = &self.cx.program.types;
        match value {
            Rvalue::Use(a) | Rvalue::Part(a, Part::Ptr, _) => get(a),
            Rvalue::Bits(a, ty) => match get(a) {
                Some(Value::Int(0)) if types.as_pointer(*ty).is_some() => Some(Value::Null),
                Some(Value::Int(_)) if types.as_pointer(*ty).is_some() => None,
                other => other,
            },
            Rvalue::Numeric(a, ty) => match get(a) {
                Some(v @ (Value::At(_) | Value::Inside)) => {
                    if types.layout(*ty).is_some_and(|l| l.size == 8) && types.as_int(*ty).is_some() {
                        return Some(v);
                    }
                    if Rule::NarrowNumber.holds() {
                        sink(Event::new(Kind::Escapes, "its address is used as a number", span));
                    }
                    None
                }
                Some(Value::Int(n)) if matches!(n, 0 | 1) => Some(Value::Int(n)),
                Some(v @ Value::Test(..)) => Some(v),
                _ => None,
            },
            Rvalue::Truth(a) => match get(a) {
                Some(v @ Value::Test(..)) => Some(v),
                Some(v) => situation.truth(v).map(|t| Value::Int(i64::from(t))),
                None => a.place().and_then(|p| self.cells.of_place(p)).map(|c| Value::Test(c, true)),
            },
            Rvalue::Unary(UnOp::Not, a) => match get(a) {
                Some(Value::Test(c, wants)) => Some(Value::Test(c, !wants)),
                Some(v) => situation.truth(v).map(|t| Value::Int(i64::from(!t))),
                None => a.place().and_then(|p| self.cells.of_place(p)).map(|c| Value::Test(c, false)),
            },
            Rvalue::Binary(op, a, b, _) if mir::ty::is_comparison(*op) => self.compared(situation, *op, a, b),
            Rvalue::Offset(base, by) => match (get(base), get(by)) {
                (Some(Value::At(at)), Some(Value::Int(n))) => {
                    let size = self.element(base).unwrap_or(NEAR + 1);
                    let to = n.saturating_mul(size).saturating_add(at);
                    Some(if to.abs() <= NEAR { Value::At(to) } else { Value::Inside })
                }
                (Some(Value::At(_) | Value::Inside), _) => Some(Value::Inside),
                (Some(Value::NotNull), _) => Some(Value::NotNull),
                _ => None,
            },
            Rvalue::Difference(..) => None,
            Rvalue::AddrOf(place) => match self.through(situation, place) {
                Some(Value::At(0)) if self.is_first(place) => Some(Value::At(0)),
                Some(Value::At(_) | Value::Inside) => Some(Value::Inside),
                _ => (!place.has_deref()).then_some(Value::NotNull),
            },
            other => {
                let mut uses = false;
                rvalue_operands(other, &mut |operand| uses |= is_object(get(operand)));
                if uses && Rule::Number.holds() {
                    sink(Event::new(Kind::Escapes, "its address is used as a number", span));
                }
                None
            }
        }
    }

    fn compared(&self, situation: &Situation, op: BinOp, a: &Operand, b: &Operand) -> Option<Value> {
        let wants = match op {
            BinOp::Eq => false,
            BinOp::Ne => true,
            _ => return None,
        };
        let null = |o: &Operand| {
            matches!(o, Operand::Const(Const::Null(_) | Const::Int(0, _)))
                || self.value(situation, o) == Some(Value::Null)
        };
        let other = if null(b) {
            a
        } else if null(a) {
            b
        } else {
            let (x, y) = (self.value(situation, a), self.value(situation, b));
            return match (is_object(x), is_object(y), x, y) {
                // The object may be in two arguments, and a loan of it is not followed.
                (true, false, ..) | (false, true, ..) if self.is_param() && Rule::TwoNames.holds() => None,
                (true, false, ..) | (false, true, ..) if self.owned.is_some() => None,
                // Nothing else points to the object. (The end of another one may have its address;
                // a release that is left out for that leaks the object of the heap and does no harm
                // to a buffer.)
                (true, false, ..) | (false, true, ..) => Some(Value::Int(i64::from(wants))),
                (_, _, Some(Value::Int(x)), Some(Value::Int(y))) => Some(Value::Int(i64::from((x == y) != wants))),
                _ => None,
            };
        };
        match self.value(situation, other) {
            Some(Value::Test(c, w)) => Some(Value::Test(c, w == wants)),
            Some(v) => situation.truth(v).map(|t| Value::Int(i64::from(t == wants))),
            None => other.place().and_then(|p| self.cells.of_place(p)).map(|c| Value::Test(c, wants)),
        }
    }

    /// Bytes of what a pointer operand points at.
    fn element(&self, pointer: &Operand) -> Option<i64> {
        let ty = mir::ty::operand_ty(self.cx.program, self.body, pointer).ok()?;
        let target = self.cx.program.types.as_pointer(ty)?.target.ty;
        Some(self.cx.program.types.layout(target).map_or(1, |l| l.size as i64).max(1))
    }

    /// Whether the place is the first byte of what its pointer points at.
    fn is_first(&self, place: &Place) -> bool {
        let after = place.proj.iter().skip_while(|p| **p != Proj::Deref).skip(1);
        after.into_iter().all(|p| match p {
            Proj::Field(n) => *n == 0,
            Proj::Index(Operand::Const(Const::Int(0, _))) => true,
            Proj::Index(_) | Proj::Deref => false,
        })
    }

    /// The object, if the place lies in it: the value of the pointer that the place goes through.
    pub(super) fn through(&self, situation: &Situation, place: &Place) -> Option<Value> {
        let (base, more) = pointer_of(place, self.privacy.through())?;
        // Behind a second pointer there is another object: what is loaded from memory is never this
        // one.
        if more > 0 {
            return None;
        }
        situation.get(self.cells.of_place(&base)?)
    }
}
