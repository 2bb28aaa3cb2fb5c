//! Initialisers: C's braces, designators, elision.

use crate::checker::Checker;
use crate::codes;
use crate::convert::Why;
use crate::tree::*;
use crate::types::*;
use source::Span;
use syntax::ast;

/// A range designator over more elements than this is kept as a run.
const MAX_RUN: i128 = 1 << 28;

/// Where in a braced list the walk is.
struct Cursor<'i> {
    items: &'i [ast::InitItem],
    at: usize,
}

/// The list of the member that the steps lead to.
fn list_at<'a>(list: &'a mut Vec<(u64, Init)>, steps: &[u64]) -> Option<&'a mut Vec<(u64, Init)>> {
    let mut list = list;
    for step in steps {
        let (_, init) = list.iter_mut().rev().find(|(at, _)| at == step)?;
        list = match init {
            Init::List(inner) => inner,
            _ => return None,
        };
    }
    Some(list)
}

impl<'i> Cursor<'i> {
    fn peek(&self) -> Option<&'i ast::InitItem> {
        self.items.get(self.at)
    }
}

impl Checker<'_> {
    /// An initialiser for an object of type `ty`; the type with an array's length filled in.
    pub(crate) fn initialiser(&mut self, init: &ast::Initializer, ty: Ty, span: Span) -> (Init, Ty) {
        if let Some(scalar) = self.program.types.as_underaligned(ty) {
            let (init, _) = self.initialiser(init, scalar, span);
            return (Init::List(vec![(0, init)]), ty);
        }
        match init {
            ast::Initializer::Expr(e) => self.expr_initialiser(e, ty),
            ast::Initializer::List(items, at) => {
                let span = if *at == Span::NONE { span } else { *at };
                self.list_initialiser(items, ty, span)
            }
        }
    }

    /// Whether an expression initialises what is in an object of the type, and not the whole.
    pub(crate) fn has_members_to_fill(&self, ty: Ty) -> bool {
        matches!(self.kind(ty), TyKind::Array { .. }) || self.program.types.as_underaligned(ty).is_some()
    }

    fn expr_initialiser(&mut self, e: &ast::Expr, ty: Ty) -> (Init, Ty) {
        if let TyKind::Array { elem, .. } = *self.kind(ty) {
            if let Some(out) = self.string_initialiser(e, ty, elem) {
                return out;
            }
            let value = self.expr(e);
            if self.program.types.same_modulo_regions(value.ty.ty, ty)
                && matches!(&*value.kind, ExprKind::CompoundLit(..))
            {
                if let ExprKind::CompoundLit(_, init) = *value.kind {
                    return (init, ty);
                }
            }
            if !self.is_error(value.ty.ty) {
                self.error_help(
                    codes::INITIALISER,
                    e.span,
                    "an array is initialised by a list in braces, or a string literal",
                    "write `{ ... }`",
                );
            }
            return (Init::List(vec![]), self.sized(ty, 1));
        }
        let value = self.expr_expecting(e, Some(ty));
        (Init::Expr(self.coerce(value, ty, Why::Store)), ty)
    }

    /// `char a[] = "text"`
    fn string_initialiser(&mut self, e: &ast::Expr, ty: Ty, elem: Qty) -> Option<(Init, Ty)> {
        let ast::ExprKind::Str(lit) = &e.kind else { return None };
        let place = self.expr(e);
        let ExprKind::StrLit(id) = *place.kind else { return None };
        let TyKind::Array { elem: own, len: ArrayLen::Const(units), .. } = *self.kind(place.ty.ty) else { return None };
        let fits = match lit.encoding {
            ast::Encoding::None | ast::Encoding::Utf8 => self.program.types.is_character(elem.ty),
            _ => {
                self.program.types.as_int(own.ty).map(|k| k.size())
                    == self.program.types.as_int(elem.ty).map(|k| k.size())
            }
        };
        if !fits {
            let text = self.show(elem.ty);
            self.error(
                codes::INITIALISER,
                e.span,
                format!("a string literal does not initialise an array of `{text}`"),
            );
            return Some((Init::List(vec![]), self.sized(ty, 1)));
        }
        let whole = self.sized(ty, units);
        if let TyKind::Array { len: ArrayLen::Const(n), terminated, .. } = *self.kind(whole) {
            let needed = if terminated { units } else { units.saturating_sub(1) };
            if n < needed {
                self.error(
                    codes::INITIALISER,
                    e.span,
                    format!("the literal has {} characters, and the array holds {n}", units.saturating_sub(1)),
                );
            }
        }
        Some((Init::Str(id), whole))
    }

    /// An array of unknown length as one of `n` elements.
    fn sized(&mut self, ty: Ty, n: u64) -> Ty {
        match *self.kind(ty) {
            TyKind::Array { elem, len: ArrayLen::Unknown, terminated } => {
                self.types().intern(TyKind::Array { elem, len: ArrayLen::Const(n), terminated })
            }
            _ => ty,
        }
    }

    fn list_initialiser(&mut self, items: &[ast::InitItem], ty: Ty, span: Span) -> (Init, Ty) {
        match *self.kind(ty) {
            TyKind::Array { elem, .. } => {
                if let [ast::InitItem { designators, init: ast::Initializer::Expr(e) }] = items {
                    if designators.is_empty() {
                        if let Some(out) = self.string_initialiser_if_character(e, ty, elem) {
                            return out;
                        }
                    }
                }
                self.braced(items, ty, span)
            }
            TyKind::Record(id) if self.program.types.record(id).kind == RecordKind::Tagged => {
                (self.tagged_initialiser(items, id, ty, span), ty)
            }
            TyKind::Record(_) => match self.begin_packing(ty) {
                Some(regions) => {
                    let (init, ty) = self.braced(items, ty, span);
                    (self.end_packing(regions, init, ty, span), ty)
                }
                None => self.braced(items, ty, span),
            },
            _ => self.scalar_list(items, ty, span),
        }
    }

    fn string_initialiser_if_character(&mut self, e: &ast::Expr, ty: Ty, elem: Qty) -> Option<(Init, Ty)> {
        if !matches!(self.kind(elem.ty), TyKind::Int(_)) {
            return None;
        }
        self.string_initialiser(e, ty, elem)
    }

    fn scalar_list(&mut self, items: &[ast::InitItem], ty: Ty, span: Span) -> (Init, Ty) {
        if items.len() > 1 || items.iter().any(|i| !i.designators.is_empty()) {
            self.error(codes::INITIALISER, span, "one value initialises this, not a list");
        }
        match items.first().map(|i| &i.init) {
            Some(ast::Initializer::Expr(e)) => {
                let value = self.expr_expecting(e, Some(ty));
                (Init::Expr(self.coerce(value, ty, Why::Store)), ty)
            }
            Some(ast::Initializer::List(inner, at)) => self.scalar_list(inner, ty, *at),
            None if self.program.types.needs_init(ty) && matches!(self.kind(ty), TyKind::Param(_)) => {
                let text = self.show(ty);
                self.error(codes::NULL, span, format!("`{text}` may hold a nonnull pointer: it needs a value"));
                (Init::Expr(self.error_node(span)), ty)
            }
            // Lowering zeroes what a list leaves out: no constant is a key, and what stands for the
            // parameter later has a zero.
            None if matches!(self.kind(ty), TyKind::Param(_) | TyKind::Key(..)) => (Init::List(vec![]), ty),
            None => (Init::Expr(self.zero_value(ty, span)), ty),
        }
    }

    /// Zero or null of a scalar type.
    fn zero_value(&mut self, ty: Ty, span: Span) -> Expr {
        let c = self.program.types.common;
        match self.kind(ty) {
            TyKind::Ptr(p) if p.nonnull => {
                self.error(codes::NULL, span, format!("`{}` is nonnull: it needs a value", self.show(ty)));
                self.error_node(span)
            }
            TyKind::Ptr(_) | TyKind::NullPtr | TyKind::Endpoint(_) | TyKind::EndSet(_) => {
                self.node(ExprKind::Null, ty, span)
            }
            TyKind::Float(_) | TyKind::Complex(_) => {
                let zero = self.int_node(0, c.int, span);
                self.convert(Conv::Numeric, zero, ty)
            }
            _ => self.int_node(0, ty, span),
        }
    }

    fn tagged_initialiser(&mut self, items: &[ast::InitItem], id: RecordId, ty: Ty, span: Span) -> Init {
        let (n, item) = match items {
            [] => {
                if self.program.types.needs_init(ty) {
                    self.error(codes::NULL, span, "the first member of this tagged union is nonnull: it needs a value");
                }
                return Init::List(vec![]);
            }
            [item] => match item.designators.as_slice() {
                [] => (0, item),
                [ast::Designator::Field(member)] => match self.own_field(id, member.name) {
                    Some(n) => (n, item),
                    None => {
                        let text = self.show(ty);
                        self.error(codes::MEMBER, member.span, format!("`{text}` has no member `{}`", member.name));
                        return Init::List(vec![]);
                    }
                },
                _ => {
                    self.error(codes::INITIALISER, span, "a tagged union is initialised as `{ .member = value }`");
                    return Init::List(vec![]);
                }
            },
            _ => {
                self.error(codes::INITIALISER, span, "a tagged union holds one member: initialise one");
                return Init::List(vec![]);
            }
        };
        let member = self.member_type(ty, u64::from(n));
        let (inner, _) = self.initialiser(&item.init, member, span);
        Init::Tagged(n, Box::new(inner))
    }

    /// A list in braces for an array or record.
    fn braced(&mut self, items: &[ast::InitItem], ty: Ty, span: Span) -> (Init, Ty) {
        let mut cursor = Cursor { items, at: 0 };
        let (list, highest) = self.aggregate(ty, &mut cursor, true);
        let whole = match *self.kind(ty) {
            TyKind::Array { terminated, .. } => self.sized(ty, highest + u64::from(terminated)),
            _ => ty,
        };
        self.check_missing(&list, whole, span);
        self.check_tag_fields(&list, whole, span);
        (Init::List(list), whole)
    }

    /// How many members can be initialised.
    fn member_count(&self, ty: Ty) -> u64 {
        match self.kind(ty) {
            TyKind::Array { len: ArrayLen::Const(n), terminated, .. } => n.saturating_sub(u64::from(*terminated)),
            // GNU C gives a flexible member of a static object as many elements as it has values.
            TyKind::Array { len: ArrayLen::Flexible(_), .. } if self.options.plain_c => u64::MAX,
            TyKind::Array { len: ArrayLen::Flexible(_), .. } => 0,
            TyKind::Array { .. } => u64::MAX,
            TyKind::Record(id) => self.program.types.record(*id).fields.as_ref().map_or(0, |f| f.len() as u64),
            _ => 1,
        }
    }

    /// Fills the members of an aggregate from the list; without braces of its own it stops when it
    /// is full or a designator comes. Gives also one past the highest element.
    fn aggregate(&mut self, ty: Ty, cursor: &mut Cursor, braced: bool) -> (Vec<(u64, Init)>, u64) {
        let count = self.member_count(ty);
        let union =
            self.program.types.as_record(ty).is_some_and(|id| self.program.types.record(id).kind == RecordKind::Union);
        let mut out: Vec<(u64, Init)> = vec![];
        let mut next = 0;
        let mut highest = 0;
        while let Some(item) = cursor.peek() {
            if item.designators.is_empty() {
                next = self.skip_padding(ty, next);
                if next >= count || (union && next > 0) {
                    if !braced {
                        break;
                    }
                    self.excess(item, ty);
                    cursor.at += 1;
                    continue;
                }
                let member = self.member_type(ty, next);
                let init = self.member_initialiser(member, cursor);
                put(&mut out, next, init);
                next += 1;
            } else {
                if !braced {
                    break;
                }
                cursor.at += 1;
                if let Some(after) = self.designated(ty, item, &mut out, count) {
                    next = after;
                }
                self.go_on_inside(ty, item, cursor, &mut out);
            }
            highest = highest.max(next);
        }
        (out, highest)
    }

    /// After `.a.b = x` the next value is for what follows `b` in `a`, as long as there is
    /// something.
    fn go_on_inside(&mut self, ty: Ty, item: &ast::InitItem, cursor: &mut Cursor, out: &mut Vec<(u64, Init)>) {
        if cursor.peek().is_none_or(|next| !next.designators.is_empty()) {
            return;
        }
        let Some(path) = self.designator_path(ty, &item.designators) else { return };
        let steps: Vec<u64> = path.iter().map(|(_, at)| *at).collect();
        for (level, &(container, at)) in path.iter().enumerate().skip(1).rev() {
            let id = self.program.types.as_record(container);
            if id.is_some_and(|id| self.program.types.record(id).kind != RecordKind::Struct) {
                continue;
            }
            let count = self.member_count(container);
            let mut next = self.skip_padding(container, at + 1);
            while next < count && cursor.peek().is_some_and(|item| item.designators.is_empty()) {
                let member = self.member_type(container, next);
                let init = self.member_initialiser(member, cursor);
                let Some(list) = list_at(out, steps.get(..level).unwrap_or(&[])) else { return };
                put(list, next, init);
                next = self.skip_padding(container, next + 1);
            }
        }
    }

    /// The members that designators name one after the other, each with the type that it is a
    /// member of. `None` if a range is among them, or something that is reported elsewhere.
    fn designator_path(&mut self, ty: Ty, designators: &[ast::Designator]) -> Option<Vec<(Ty, u64)>> {
        let mut path = vec![];
        let mut ty = ty;
        for step in designators {
            let steps = match step {
                ast::Designator::Field(name) => {
                    let id = self.program.types.as_record(ty)?;
                    self.find_member(id, name.name)?.into_iter().map(u64::from).collect()
                }
                ast::Designator::Index(e) => vec![u64::try_from(self.try_constant_int(e)?).ok()?],
                ast::Designator::Range(..) => return None,
            };
            for at in steps {
                path.push((ty, at));
                ty = self.member_type(ty, at);
            }
        }
        Some(path)
    }

    fn excess(&mut self, item: &ast::InitItem, ty: Ty) {
        let span = match &item.init {
            ast::Initializer::Expr(e) => e.span,
            ast::Initializer::List(_, span) => *span,
        };
        if !self.is_error(ty) {
            let text = self.show(ty);
            self.error(codes::INITIALISER, span, format!("there are more values than `{text}` has members"));
        }
    }

    fn skip_padding(&self, ty: Ty, mut next: u64) -> u64 {
        let Some(id) = self.program.types.as_record(ty) else { return next };
        let Some(fields) = &self.program.types.record(id).fields else { return next };
        while fields.get(next as usize).is_some_and(|f| f.name.is_none() && f.width.is_some()) {
            next += 1;
        }
        next
    }

    /// The initialiser of the next member, whose own braces may be missing.
    fn member_initialiser(&mut self, member: Ty, cursor: &mut Cursor) -> Init {
        let Some(item) = cursor.peek() else { return Init::List(vec![]) };
        let e = match &item.init {
            ast::Initializer::List(inner, at) => {
                cursor.at += 1;
                return self.list_initialiser(inner, member, *at).0;
            }
            ast::Initializer::Expr(e) => e,
        };
        match *self.kind(member) {
            TyKind::Array { elem, .. } => {
                if matches!(e.kind, ast::ExprKind::Str(_)) && matches!(self.kind(elem.ty), TyKind::Int(_)) {
                    cursor.at += 1;
                    return self.expr_initialiser(e, member).0;
                }
                self.elided(member, cursor)
            }
            TyKind::Record(id) => {
                if self.is_whole(e, member) {
                    cursor.at += 1;
                    return self.expr_initialiser(e, member).0;
                }
                if self.program.types.record(id).kind == RecordKind::Tagged {
                    let first = self.member_type(member, 0);
                    return Init::Tagged(0, Box::new(self.member_initialiser(first, cursor)));
                }
                self.elided(member, cursor)
            }
            _ => {
                cursor.at += 1;
                self.expr_initialiser(e, member).0
            }
        }
    }

    /// A struct with hidden regions is packed when it is initialised: the regions, to be found out.
    fn begin_packing(&mut self, ty: Ty) -> Option<Vec<Region>> {
        let id = self.program.types.as_record(ty)?;
        let exists = self.program.types.record(id).exists.len();
        if exists == 0 || !self.tracked() {
            return None;
        }
        let regions: Vec<Region> = (0..exists).map(|_| self.fresh_region()).collect();
        self.packing.push((ty, regions.clone()));
        Some(regions)
    }

    fn end_packing(&mut self, regions: Vec<Region>, init: Init, ty: Ty, span: Span) -> Init {
        self.packing.pop();
        Init::Expr(self.node(ExprKind::Pack(regions, init), ty, span))
    }

    fn elided(&mut self, member: Ty, cursor: &mut Cursor) -> Init {
        let before = cursor.at;
        let packing = self.begin_packing(member);
        let (list, _) = self.aggregate(member, cursor, false);
        if let Some(regions) = packing {
            if cursor.at == before {
                cursor.at += 1;
            }
            return self.end_packing(regions, Init::List(list), member, Span::NONE);
        }
        if cursor.at == before {
            // A member without room (an empty struct): step over nothing, but never stand still.
            cursor.at += 1;
        }
        self.check_missing(&list, member, Span::NONE);
        Init::List(list)
    }

    /// Whether the expression is a whole value of the record type.
    fn is_whole(&mut self, e: &ast::Expr, member: Ty) -> bool {
        self.muted += 1;
        let value = self.expr_expecting(e, Some(member));
        self.muted -= 1;
        self.program.types.same_modulo_regions(value.ty.ty, member) || self.is_error(value.ty.ty)
    }

    /// `.m[i].n = value`: the position after it.
    fn designated(&mut self, ty: Ty, item: &ast::InitItem, out: &mut Vec<(u64, Init)>, count: u64) -> Option<u64> {
        let (first, rest) = item.designators.split_first()?;
        match first {
            ast::Designator::Field(name) => {
                let Some(id) = self.program.types.as_record(ty) else {
                    let text = self.show(ty);
                    self.error(codes::INITIALISER, name.span, format!("`{text}` has no members"));
                    return None;
                };
                let Some(path) = self.find_member(id, name.name) else {
                    let text = self.show(ty);
                    self.error(codes::MEMBER, name.span, format!("`{text}` has no member `{}`", name.name));
                    return None;
                };
                let (&at, inner) = path.split_first()?;
                self.place_designated(ty, u64::from(at), inner, rest, &item.init, out);
                Some(u64::from(at) + 1)
            }
            ast::Designator::Index(e) => {
                let at = self.element_index(ty, e, count)?;
                self.place_designated(ty, at, &[], rest, &item.init, out);
                Some(at + 1)
            }
            ast::Designator::Range(low, high) => {
                let low = self.element_index(ty, low, count)?;
                let high_span = high.span;
                let high = self.element_index(ty, high, count)?;
                if high < low || i128::from(high - low) > MAX_RUN {
                    self.error(codes::INITIALISER, high_span, "this range of elements is empty or too long");
                    return None;
                }
                let member = self.member_type(ty, low);
                let value = self.nested(member, &[], rest, &item.init, None);
                out.retain(|(n, i)| !(*n >= low && *n <= high) || matches!(i, Init::Repeat(..)));
                out.push((low, Init::Repeat(low, high, Box::new(value))));
                Some(high + 1)
            }
        }
    }

    fn element_index(&mut self, ty: Ty, e: &ast::Expr, count: u64) -> Option<u64> {
        if !matches!(self.kind(ty), TyKind::Array { .. }) {
            let text = self.show(ty);
            self.error(codes::INITIALISER, e.span, format!("`{text}` has no elements"));
            return None;
        }
        let n = self.constant_int(e)?;
        match u64::try_from(n) {
            Ok(n) if n < count && n < MAX_RUN as u64 => Some(n),
            _ => {
                self.error(codes::BOUNDS, e.span, format!("element {n} is out of bounds for this array"));
                None
            }
        }
    }

    fn place_designated(
        &mut self,
        ty: Ty,
        at: u64,
        path: &[u32],
        rest: &[ast::Designator],
        init: &ast::Initializer,
        out: &mut Vec<(u64, Init)>,
    ) {
        let member = self.member_type(ty, at);
        let old = out.iter().position(|(n, _)| *n == at).map(|p| out.remove(p).1);
        if self.program.types.as_record(ty).is_some_and(|id| self.program.types.record(id).kind == RecordKind::Union) {
            out.clear();
        }
        let value = self.nested(member, path, rest, init, old);
        out.push((at, value));
    }

    /// The initialiser of a member that further steps go into; what was there before stays beside
    /// it.
    fn nested(
        &mut self,
        member: Ty,
        path: &[u32],
        rest: &[ast::Designator],
        init: &ast::Initializer,
        old: Option<Init>,
    ) -> Init {
        let mut list = match old {
            Some(Init::List(list)) => list,
            _ => vec![],
        };
        if let Some((&at, path)) = path.split_first() {
            self.place_designated(member, u64::from(at), path, rest, init, &mut list);
            return Init::List(list);
        }
        if rest.is_empty() {
            return self.initialiser(init, member, Span::NONE).0;
        }
        let item = ast::InitItem { designators: rest.to_vec(), init: init.clone() };
        let count = self.member_count(member);
        if let Some(id) = self.program.types.as_record(member) {
            if self.program.types.record(id).kind == RecordKind::Tagged {
                return self.tagged_initialiser(std::slice::from_ref(&item), id, member, Span::NONE);
            }
        }
        self.designated(member, &item, &mut list, count);
        Init::List(list)
    }

    /// Members that must not be zero are all there.
    fn check_missing(&mut self, list: &[(u64, Init)], ty: Ty, span: Span) {
        if !self.checked() || !self.program.types.needs_init(ty) {
            return;
        }
        let given = |n: u64| {
            list.iter().any(|(at, init)| match init {
                Init::Repeat(lo, hi, _) => (*lo..=*hi).contains(&n),
                _ => *at == n,
            })
        };
        match *self.kind(ty) {
            TyKind::Record(id) => {
                let record = self.program.types.record(id);
                let fields = record.fields.clone().unwrap_or_default();
                let union = record.kind == RecordKind::Union;
                for (n, field) in fields.iter().enumerate() {
                    let missing =
                        !given(n as u64) && self.program.types.needs_init(field.ty.ty) && (!union || list.is_empty());
                    if missing {
                        let name = field.name.map_or(String::new(), |n| n.to_string());
                        self.error(codes::NULL, span, format!("the field `{name}` is nonnull and must be initialised"));
                        return;
                    }
                    if union {
                        return;
                    }
                }
            }
            TyKind::Array { len: ArrayLen::Const(n), .. } => {
                let mut runs: Vec<(u64, u64)> = list
                    .iter()
                    .map(|(at, init)| match init {
                        Init::Repeat(lo, hi, _) => (*lo, *hi),
                        _ => (*at, *at),
                    })
                    .collect();
                runs.sort_unstable();
                let next = runs.iter().fold(0, |next, &(lo, hi)| if lo <= next { next.max(hi + 1) } else { next });
                if next < n {
                    self.error(codes::NULL, span, format!("element {next} is nonnull and must be initialised"));
                }
            }
            _ => {}
        }
    }

    /// A `tagged_by` union is initialised at the member that its tag, a constant here, selects.
    fn check_tag_fields(&mut self, list: &[(u64, Init)], ty: Ty, span: Span) {
        let Some(id) = self.program.types.as_record(ty) else { return };
        let Some(fields) = self.program.types.record(id).fields.clone() else { return };
        for (n, field) in fields.iter().enumerate() {
            let Some(binding) = &field.tagged_by else { continue };
            let Some((_, given)) = list.iter().find(|(at, _)| *at == n as u64) else { continue };
            let Init::List(members) = given else {
                if self.checked() {
                    self.error_help(
                        codes::TAGGED,
                        span,
                        "a union that is `tagged_by` a field is initialised by member, or with its whole struct",
                        "write `{ .member = value }`",
                    );
                }
                continue;
            };
            let Some((member, _)) = members.first() else { continue };
            let tag = list.iter().find(|(at, _)| *at == u64::from(binding.tag)).map(|(_, i)| i);
            let value = match tag {
                None => Some(0),
                Some(Init::Expr(e)) => self.int_of(e),
                Some(_) => None,
            };
            let fits = value.is_some_and(|v| binding.arms.iter().any(|&(arm, m)| arm == v && u64::from(m) == *member));
            if !fits && self.checked() {
                self.error_help(
                    codes::TAGGED,
                    span,
                    "the member that is initialised is not the one that the tag selects",
                    "initialise the tag with a constant that stands for this member, or assign the member afterwards",
                );
            }
        }
    }
}

/// Sets a member, replacing what an earlier designator put there.
fn put(out: &mut Vec<(u64, Init)>, at: u64, init: Init) {
    if out.last().is_some_and(|(n, _)| *n >= at) {
        out.retain(|(n, _)| *n != at);
    }
    out.push((at, init));
}
