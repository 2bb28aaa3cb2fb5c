//! Whether what a field has can be a member of the field's owner: every use of both in a unit.
//!
//! The object must live no longer than its owner and be at one address as long as it lives. So a
//! pointer to it is kept nowhere but in the field, it is released through the field only, and an
//! owner is never copied, resized, or handed on as bytes. Coarse: a variable that may hold the
//! object counts for the whole body. A program that lost the object and went on using it through
//! another variable after its owner was released is declined where one function shows it.

use crate::allocators::Role;
use crate::fields::field_of;
use crate::known::known;
use crate::program::{symbol, Context};
use crate::rules::Rule;
use crate::summary::Frees;
use crate::verdict::Owner;
use flow::framework::{points, Point};
use mir::cfg::Cfg;
use mir::effects::{rvalue_operands, stmt_places, term_places, Access};
use mir::ir::*;
use rustc_hash::{FxHashMap, FxHashSet};
use source::Span;
use std::cell::RefCell;
use typing::types::{RecordKind, Ty, TyKind};

/// What a unit does with a field.
#[derive(Debug, Default)]
pub struct Uses {
    /// Where something other than null is stored in it.
    pub stores: usize,
    /// Where what it has is released: body and call.
    pub releases: Vec<(usize, Span)>,
    /// Calls of functions that release what it has, and do more than that.
    pub ends: Vec<End>,
}

/// A call of a function that releases an argument on every path.
#[derive(Clone, Debug)]
pub struct End {
    /// The function.
    pub callee: String,
    /// The number of the argument.
    pub argument: usize,
    /// The call.
    pub span: Span,
}

/// The uses of the field, if its object can be a member of its owner.
///
/// Errors: why it cannot.
pub fn uses(cx: &Context, owner: &Owner) -> Result<Uses, String> {
    let mut uses = Uses::default();
    let containing = Containing::default();
    for (number, body) in cx.program.bodies.iter().enumerate() {
        let cfg = Cfg::new(body);
        let mut scan = Scan { cx, owner, body, cfg: &cfg, held: FxHashSet::default(), containing: &containing };
        scan.hold();
        let name = symbol(cx.program, &body.func).unwrap_or_default();
        scan.all(number, &mut uses).map_err(|why| format!("{why} in `{name}`"))?;
    }
    Ok(uses)
}

struct Scan<'a> {
    cx: &'a Context<'a>,
    owner: &'a Owner,
    body: &'a Body,
    cfg: &'a Cfg,
    /// Locals that may point to or into the object.
    held: FxHashSet<Local>,
    /// What `contains` found.
    containing: &'a Containing,
}

type Containing = RefCell<FxHashMap<Ty, bool>>;

impl Scan<'_> {
    /// Finds the locals that may point to or into the object.
    fn hold(&mut self) {
        loop {
            let before = self.held.len();
            for (at, stmt) in points(self.body) {
                let found = match (stmt.kind.as_assign(), stmt.kind.as_call()) {
                    (Some((dest, value)), _) => dest.as_local().filter(|_| self.gives(at, value)),
                    (None, Some(call)) => {
                        let dest = call.dest.as_ref().and_then(Place::as_local);
                        dest.filter(|_| self.call_gives(at, &call))
                    }
                    _ => None,
                };
                self.held.extend(found);
            }
            if self.held.len() == before {
                return;
            }
        }
    }

    fn is_field(&self, at: Point, place: &Place) -> bool {
        let elements = self.owner.name.ends_with("[]");
        place.proj.last().is_some_and(|last| last.is_field() != elements)
            && field_of(self.cx, self.body, at, place).is_some_and(|f| f == self.owner.name)
    }

    /// Whether the place is the array whose elements are the owner's field.
    fn is_array(&self, at: Point, place: &Place) -> bool {
        let array = self.owner.name.strip_suffix("[]");
        array.is_some() && field_of(self.cx, self.body, at, place).as_deref() == array
    }

    /// Whether the place has a pointer to or into the object.
    fn has(&self, at: Point, place: &Place) -> bool {
        place.as_local().is_some_and(|l| self.held.contains(&l)) || self.is_field(at, place)
    }

    fn is_object(&self, at: Point, operand: &Operand) -> bool {
        operand.place().is_some_and(|p| self.has(at, p))
    }

    /// Whether a value is a pointer to or into the object.
    fn gives(&self, at: Point, value: &Rvalue) -> bool {
        let into = |place: &Place| {
            let steps = place.proj.iter().enumerate().filter(|(_, p)| **p == Proj::Deref);
            steps
                .map(|(n, _)| Place { base: place.base, proj: place.proj.get(..n).unwrap_or_default().to_vec() })
                .any(|p| self.has(at, &p))
        };
        value.made_of().is_some_and(|(from, _)| self.is_object(at, from)) || value.as_address_of().is_some_and(into)
    }

    fn call_gives(&self, at: Point, call: &Call) -> bool {
        let name = self.cx.callee_name(self.body, at, call.callee);
        let known = name.and_then(|n| known(&n)).and_then(|k| k.returns);
        let returns = |n: usize| match self.cx.summary(call.callee) {
            Some(summary) => summary.returns(n),
            None => known == u32::try_from(n).ok(),
        };
        call.args.iter().enumerate().any(|(n, a)| self.is_object(at, a) && returns(n))
    }

    fn ty(&self, place: &Place) -> Option<Ty> {
        mir::ty::place_ty(self.cx.program, self.body, place).ok().map(|q| q.ty)
    }

    fn operand_ty(&self, operand: &Operand) -> Option<Ty> {
        mir::ty::operand_ty(self.cx.program, self.body, operand).ok()
    }

    /// Whether a type is the owner or has owners in it.
    fn contains(&self, ty: Ty) -> bool {
        let types = &self.cx.program.types;
        if ty == self.owner.ty {
            return true;
        }
        if let Some(&known) = self.containing.borrow().get(&ty) {
            return known;
        }
        let found = match types.kind(ty) {
            TyKind::Array { elem, .. } => self.contains(elem.ty),
            TyKind::Record(id) => {
                let fields = types.record(*id).fields.clone();
                fields.is_some_and(|all| all.iter().any(|f| self.contains(f.ty.ty)))
            }
            _ => false,
        };
        self.containing.borrow_mut().insert(ty, found);
        found
    }

    fn is_owner_pointer(&self, ty: Option<Ty>) -> bool {
        let target = ty.and_then(|ty| self.cx.program.types.as_pointer(ty)).map(|p| p.target.ty);
        target.is_some_and(|ty| self.contains(ty))
    }

    fn all(&self, number: usize, uses: &mut Uses) -> Result<(), String> {
        for (at, stmt) in points(self.body) {
            self.places(at, &stmt.kind)?;
            if let Some((dest, value)) = stmt.kind.as_assign() {
                self.assigned(at, dest, value, uses)?;
            } else if let Some(call) = stmt.kind.as_call() {
                self.called(at, &call, (number, stmt.span), uses)?;
            } else {
                let mut used = false;
                stmt_places(&stmt.kind, &mut |p, _| used |= self.has(at, p));
                let storage = stmt.kind.action() == Action::Storage;
                if used && !storage {
                    return Err("it is used in a way that is not followed".into());
                }
            }
        }
        for (n, block) in self.body.blocks.iter().enumerate() {
            let at = Point { block: BlockId(n as u32), stmt: block.stmts.len() };
            let Some(returned) = block.term.kind.operand().filter(|_| block.term.kind.is_return()) else { continue };
            if self.is_object(at, returned) {
                return Err("it is returned".into());
            }
            self.whole(returned)?;
        }
        Ok(())
    }

    /// An owner that is passed or returned by value is copied.
    fn whole(&self, operand: &Operand) -> Result<(), String> {
        match self.operand_ty(operand).is_some_and(|ty| self.contains(ty)) {
            true => Err("an owner is copied".into()),
            false => Ok(()),
        }
    }

    /// The field gets another value: no variable may go on using what it had.
    fn replaced(&self, at: Point) -> Result<(), String> {
        match self.is_read_after(at) && Rule::MemberReplaced.holds() {
            true => Err("a variable may have it when the field gets another object".into()),
            false => Ok(()),
        }
    }

    /// Whether a local that may have the object is read after the point before it is set again.
    fn is_read_after(&self, at: Point) -> bool {
        self.held.iter().any(|&local| {
            let reads = |place: &Place| place.base == PlaceBase::Local(local);
            let mut seen = vec![false; self.body.blocks.len()];
            let mut work = vec![(at.block, at.stmt + 1)];
            while let Some((id, first)) = work.pop() {
                let Some(block) = self.body.blocks.get(id.0 as usize) else { continue };
                let (mut read, mut set) = (false, false);
                for stmt in block.stmts.get(first..).unwrap_or_default() {
                    stmt_places(&stmt.kind, &mut |p, access| {
                        let whole = p.as_local() == Some(local) && access == Access::Write;
                        read |= reads(p) && !whole && !set && stmt.kind.action() != Action::Storage;
                        set |= whole;
                    });
                    set |= stmt.kind.storage() == Some(local);
                }
                term_places(&block.term.kind, &mut |p, _| read |= reads(p) && !set);
                if read {
                    return true;
                }
                if set {
                    continue;
                }
                for next in self.cfg.successors(id) {
                    if !std::mem::replace(seen.get_mut(next.0 as usize).unwrap_or(&mut true), true) {
                        work.push((*next, 0));
                    }
                }
            }
            false
        })
    }

    /// Whether what is passed may be an owner: it was a pointer to one, or never one to another
    /// struct.
    fn may_be_owner(&self, operand: &Operand) -> bool {
        let mut seen: Vec<Place> = operand.place().into_iter().cloned().collect();
        let mut types: Vec<Ty> = self.operand_ty(operand).into_iter().collect();
        let mut next = 0;
        while let Some(place) = seen.get(next).cloned() {
            next += 1;
            for (_, stmt) in points(self.body) {
                let Some((dest, value)) = stmt.kind.as_assign() else { continue };
                let Some(from) = value.same_bits().filter(|_| *dest == place) else { continue };
                types.extend(self.operand_ty(from));
                let new = from.place().filter(|p| !seen.contains(p)).cloned();
                seen.extend(new);
            }
        }
        let all = &self.cx.program.types;
        let target = |ty: &Ty| all.as_pointer(*ty).map(|p| p.target.ty);
        let other = |ty: &Ty| target(ty).is_some_and(|ty| all.as_record(ty).is_some());
        types.iter().any(|ty| self.is_owner_pointer(Some(*ty))) || !types.iter().any(other)
    }

    /// No owner is in a union, and none that is a variable gives its object to another one.
    fn places(&self, at: Point, kind: &StmtKind) -> Result<(), String> {
        let mut wrong = None;
        stmt_places(kind, &mut |place, _| {
            for n in 0..place.proj.len() {
                let Ok(outer) = mir::ty::prefix_ty(self.cx.program, self.body, place, n) else { continue };
                let types = &self.cx.program.types;
                let union = types.as_record(outer.ty).is_some_and(|r| types.record(r).kind == RecordKind::Union);
                if union && self.contains(outer.ty) {
                    wrong = Some("its owner is in a union");
                }
            }
            let named = |l: &Local| self.body.locals.get(l.0 as usize).is_some_and(|d| d.kind != LocalKind::Temp);
            let is_variable = matches!(place.base, PlaceBase::Local(_)) && !place.has_deref();
            if is_variable && self.is_field(at, place) && self.held.iter().any(named) {
                wrong = Some("its owner is a variable of the function");
            }
        });
        wrong.map_or(Ok(()), |why| Err(why.to_string()))
    }

    fn assigned(&self, at: Point, dest: &Place, value: &Rvalue, uses: &mut Uses) -> Result<(), String> {
        let ty = self.ty(dest);
        if ty.is_some_and(|ty| self.contains(ty)) && value.as_use().is_some() && Rule::OwnerCopied.holds() {
            return Err("an owner is copied".into());
        }
        let has_field = |p: &Place| self.is_field(at, p) || self.is_array(at, p);
        if value.as_address_of().is_some_and(has_field) && Rule::FieldAddress.holds() {
            return Err(format!("the address of `{}` is taken", self.owner.name));
        }
        if value.made_of().is_some_and(|(from, _)| self.is_owner_pointer(self.operand_ty(from))) {
            let bare = ty.is_none_or(|ty| !self.is_owner_pointer(Some(ty)));
            if bare && !self.only_ends(dest) && Rule::OwnerBytes.holds() {
                return Err("an owner is handed on as another type".into());
            }
        }
        if self.gives(at, value) {
            let types = &self.cx.program.types;
            let target = ty.and_then(|ty| types.as_pointer(ty)).ok_or("its address is used as a number")?;
            let align = types.layout(target.target.ty).map_or(1, |l| l.align);
            if align > self.owner.align {
                return Err("it is used with a stricter alignment than that of its type".into());
            }
            if dest.as_local().is_none() && Rule::MemberStored.holds() {
                return Err("a pointer to it is stored elsewhere".into());
            }
            return Ok(());
        }
        if self.is_field(at, dest) {
            let null = |o: &Operand| matches!(o, Operand::Const(Const::Null(_) | Const::Int(0, _)));
            uses.stores += usize::from(!value.same_bits().is_some_and(null));
            self.replaced(at)?;
        }
        let mut computed = false;
        rvalue_operands(value, &mut |o| computed |= self.is_object(at, o));
        let asked = value.comparison().is_some() || value.tested().is_some();
        match computed && !asked {
            true => Err("its address is used as a number".into()),
            false => Ok(()),
        }
    }

    fn called(&self, at: Point, call: &Call, place: (usize, Span), uses: &mut Uses) -> Result<(), String> {
        if let Some(dest) = &call.dest {
            if self.ty(dest).is_some_and(|ty| self.contains(ty)) {
                return Err("an owner is copied".into());
            }
            if self.is_field(at, dest) {
                uses.stores += 1;
                self.replaced(at)?;
            }
        }
        let name = self.cx.callee_name(self.body, at, call.callee);
        let role = self.cx.entry(self.body, at, call.callee, call.args).map(|e| e.role);
        let summary = self.cx.summary(call.callee);
        let known = name.as_deref().and_then(known);
        for (n, arg) in call.args.iter().enumerate() {
            self.whole(arg)?;
            let released = matches!(role, Some(Role::Release { object }) if object as usize == n);
            let param = summary.and_then(|s| s.params.get(n));
            let frees = released || role.is_none() && param.is_some_and(|p| p.frees != Frees::Never);
            if !self.is_object(at, arg) {
                let unknown = role.is_none() && summary.is_none() && known.is_none();
                let ends = (frees || unknown) && self.may_be_owner(arg);
                if ends && self.is_read_after(at) && Rule::OwnerLives.holds() {
                    return Err("a variable may have it when its owner is released".into());
                }
                continue;
            }
            let plain = released || summary.is_some_and(|s| s.only_releases);
            if frees {
                let direct = arg.place().is_some_and(|p| {
                    let temp = p.as_local().and_then(|l| self.body.locals.get(l.0 as usize));
                    temp.is_none_or(|d| d.kind == LocalKind::Temp)
                });
                let ends = param.is_some_and(|p| p.frees == Frees::Always && p.kept.is_none() && !p.returned);
                match &name {
                    _ if plain && direct => uses.releases.push(place),
                    Some(callee) if !released && direct && ends => {
                        uses.ends.push(End { callee: callee.clone(), argument: n, span: place.1 });
                    }
                    _ => return Err("it is released in a way that cannot be taken out".into()),
                }
                continue;
            }
            let lends = match (role, param, known) {
                (Some(Role::Resize { .. }), ..) => false,
                (Some(_), ..) => true,
                (None, Some(param), _) => param.kept.is_none(),
                (None, None, known) => summary.map_or(known.is_some(), |s| s.rest_kept.is_none()),
            };
            if !lends && Rule::MemberKept.holds() {
                return Err("a pointer to it is passed to what may keep it".into());
            }
        }
        Ok(())
    }

    /// Whether all that is done with a temporary is to release or to clear what it points at.
    fn only_ends(&self, temp: &Place) -> bool {
        let Some(local) = temp.as_local() else { return false };
        if self.body.locals.get(local.0 as usize).is_none_or(|d| d.kind != LocalKind::Temp) {
            return false;
        }
        let ends = |at: Point, call: &Call| {
            let name = self.cx.callee_name(self.body, at, call.callee);
            let clears = name.as_deref().is_some_and(|n| matches!(n, "memset" | "__builtin_memset"));
            let role = self.cx.entry(self.body, at, call.callee, call.args).map(|e| e.role);
            let plain = self.cx.summary(call.callee).is_some_and(|s| s.only_releases);
            clears || plain || matches!(role, Some(Role::Release { .. }))
        };
        let reads = |place: &Place| place.base == PlaceBase::Local(local);
        points(self.body).all(|(at, stmt)| {
            let mut used = false;
            stmt_places(&stmt.kind, &mut |p, access| used |= reads(p) && access != Access::Write);
            let storage = stmt.kind.action() == Action::Storage;
            !used || storage || stmt.kind.as_call().is_some_and(|call| ends(at, &call))
        })
    }
}
