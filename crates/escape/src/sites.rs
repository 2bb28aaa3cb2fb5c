//! Allocation sites of a body, and how many bytes each asks for.

use crate::allocators::{Entry, Role};
use crate::program::Context;
use flow::framework::{points, Point};
use flow::ranges::{Range, Ranges};
use mir::ir::*;
use source::Span;

/// How many bytes a site asks for, in the arguments of its call.
#[derive(Clone, PartialEq, Debug)]
pub enum Size {
    /// The operand.
    Bytes(Operand),
    /// The product.
    Product(Operand, Operand),
    /// The length of the string, and one.
    Text(Operand),
    /// A constant that a callee asks for.
    Fixed(u64),
    /// A callee decides.
    Unknown,
}

/// An allocation site.
#[derive(Clone, Debug)]
pub struct Site {
    /// The call.
    pub at: Point,
    /// Its place.
    pub span: Span,
    /// The name of what is called.
    pub name: String,
    /// Its entry in the table; `None`: a function that returns a fresh object.
    pub entry: Option<Entry>,
    /// Bytes.
    pub size: Size,
    /// Whether it never gives null.
    pub never_fails: bool,
    /// Of a function that returns a fresh object: whether it is zeroed.
    pub zeroed: bool,
}

impl Site {
    /// Whether the object arrives zeroed.
    pub fn is_zeroed(&self) -> bool {
        self.zeroed || matches!(self.entry, Some(Entry { role: Role::Zeroed { .. }, .. }))
    }

    /// The size, if it is written as a constant.
    pub fn constant_bytes(&self, cx: &Context) -> Option<u64> {
        match &self.size {
            Size::Bytes(n) => cx.constant(n),
            Size::Product(a, b) => cx.constant(a)?.checked_mul(cx.constant(b)?),
            Size::Fixed(n) => Some(*n),
            Size::Text(_) | Size::Unknown => None,
        }
    }

    /// The parameter that is the size, if one is.
    pub fn size_param(&self, body: &Body) -> Option<u32> {
        let Size::Bytes(operand) = &self.size else { return None };
        let local = operand.place()?.as_local()?;
        let written = body.blocks.iter().flat_map(|b| &b.stmts).any(|s| {
            let mut written = false;
            mir::effects::stmt_places(&s.kind, &mut |p, access| {
                written |= p.as_local() == Some(local) && access != mir::effects::Access::Read;
            });
            written
        });
        (local.0 < body.params && !written).then_some(local.0)
    }

    /// The bytes that it may ask for; `None`: any number.
    pub fn range(&self, cx: &Context, ranges: Option<&Ranges>) -> Option<Range> {
        if let Some(n) = self.constant_bytes(cx) {
            return Some(Range::single(i128::from(n)));
        }
        let value = |o: &Operand| match o {
            Operand::Const(Const::Int(n, _)) => Some(Range::single(*n)),
            _ => ranges?.value_at(self.at, o),
        };
        match &self.size {
            Size::Bytes(n) => value(n),
            Size::Product(a, b) => {
                let both = value(a)?.times(value(b)?);
                (both.lo >= 0).then_some(both)
            }
            Size::Text(of) => Some(match cx.literal(of) {
                Some(text) => {
                    let end = text.units.iter().position(|&u| u == 0).unwrap_or(text.units.len());
                    Range::single(end as i128 + 1)
                }
                None => Range::new(1, i128::from(i64::MAX)),
            }),
            Size::Fixed(_) | Size::Unknown => None,
        }
    }
}

/// All sites of a body, in order.
pub fn sites(cx: &Context, body: &Body) -> Vec<Site> {
    let mut all = vec![];
    for (at, s) in points(body) {
        let Some(Call { callee, args, .. }) = s.kind.as_call() else { continue };
        let Some(name) = cx.callee_name(body, at, callee) else { continue };
        let arg = |n: u32| args.get(n as usize).cloned();
        let base = |entry, size, never_fails, zeroed| Site {
            at,
            span: s.span,
            name: name.clone(),
            entry,
            size,
            never_fails,
            zeroed,
        };
        if let Some(entry) = cx.entry(body, at, callee, args) {
            let size = match entry.role {
                Role::Allocate { size } => arg(size).map(Size::Bytes),
                Role::Zeroed { count, size } if count == size => arg(size).map(Size::Bytes),
                Role::Zeroed { count, size } => arg(count).zip(arg(size)).map(|(a, b)| Size::Product(a, b)),
                Role::Duplicate { text } => arg(text).map(Size::Text),
                Role::Resize { .. } | Role::Release { .. } | Role::Hook { .. } => continue,
            };
            all.push(base(Some(entry), size.unwrap_or(Size::Unknown), entry.never_fails, false));
        } else if let Some(fresh) = cx.summary(callee).and_then(|s| s.fresh.clone()) {
            let size = match (fresh.bytes, fresh.size_param.and_then(arg)) {
                (Some(n), _) => Size::Fixed(n),
                (None, Some(operand)) => Size::Bytes(operand),
                (None, None) => Size::Unknown,
            };
            all.push(base(None, size, fresh.never_fails, fresh.zeroed));
        }
    }
    all
}
