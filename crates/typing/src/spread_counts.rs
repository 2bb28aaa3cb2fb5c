//! Assignments of a `counted_by` pointer and of its count with other statements between them.
//!
//! C tests the pointer first, lets the count grow before the pointer, or fills the new block before
//! it counts what is there:
//!
//! ```c
//! b->capacity *= 2;
//! char *p = realloc(b->data, b->capacity);
//! if (!p)
//!     return -1;
//! b->data = p;
//! ```
//!
//! Stored one by one the two would not fit together meanwhile. So each waits in a local from its
//! first assignment on until all are known, and what stands between uses the locals:
//!
//! ```c
//! size_t capacity = b->capacity * 2;
//! char *p = realloc(b->data, capacity);
//! if (!p) { b->capacity = capacity; return -1; }
//! b->data = p; b->capacity = capacity;
//! ```
//!
//! The last two are adjacent ([`crate::counts`]). That is the same program, since no other code sees
//! the fields meanwhile: what stands between names them as fields of the same base only, assigns no
//! struct that could be the one they are in, does not change the base, and runs no code of the
//! program but that of allocator wrappers. Before control leaves, the fields get what they wait for,
//! except before `exit` and `abort`. If one of these does not hold, everything is left as it is
//! written, and each assignment is checked by itself. Only how C's order is read depends on
//! this: what it is turned into is checked like everything else.

use crate::checker::Checker;
use crate::counts::{assignment, is_pure, Store};
use crate::scope::Entity;
use crate::specs::{Place, Role};
use crate::tree::ExprKind as TypedKind;
use crate::types::{RecordId, RecordKind, Ty, TyKind, TypeStore};
use source::{Span, Symbol};
use std::borrow::Cow;
use syntax::ast::{self, BinaryOp, ExprKind, UnaryOp};
use syntax::visit::{self, is_null};

/// How many statements a group may have.
pub(crate) const MOST: usize = 12;

/// How deep statements may be nested in those of a group.
const DEPTH: usize = 8;

/// A field that waits.
struct Wait {
    store: Store<'static>,
    place: ast::Expr,
    name: Symbol,
    /// Where its value is meanwhile.
    local: Symbol,
}

/// A group as far as it was read.
struct Group {
    /// The text of what the fields are fields of.
    base: String,
    /// Names that say what that is.
    of: Vec<Symbol>,
    /// That is a variable whose address is not taken, so only its name leads there.
    by_name: bool,
    record: RecordId,
    waits: Vec<Wait>,
    /// What the statements became.
    out: Vec<ast::Stmt>,
    /// Variables that they declare.
    declared: Vec<(Symbol, ast::DeclSpecs)>,
}

/// A group as it was found.
pub(crate) struct Spread {
    /// What its statements became.
    pub stmts: Vec<ast::Stmt>,
    /// How many of those written they stand for.
    pub used: usize,
    /// It is of adjacent assignments only.
    pub adjacent: bool,
}

/// A statement of a group cannot be read: it ends before.
struct Ends;

type Step<T = ()> = Result<T, Ends>;

impl Checker<'_> {
    /// The group that begins here, if one does.
    pub(crate) fn spread_group(&mut self, stmts: &[ast::Stmt]) -> Option<Spread> {
        if !self.checked() || self.options.plain_c {
            return None;
        }
        let group = self.group(stmts).or_else(|| self.moved_group(stmts));
        self.forget_probes();
        group
    }

    /// Whether something in the statement assigns a field that may be a counted pointer or a count.
    /// Asked of each statement in each round, for all that stands in it.
    fn stores_fields(&mut self, stmt: &ast::Stmt) -> bool {
        if let Some(&known) = self.stores_fields.get(&stmt.span) {
            return known;
        }
        let mut found = vec![];
        let found = !self.counted_fields.is_empty()
            && stored_fields(stmt, 0, &mut found).is_some()
            && found.iter().any(|place| self.may_be_counted(place));
        if stmt.span != Span::NONE {
            self.stores_fields.insert(stmt.span, found);
        }
        found
    }

    /// Whether a struct with counted pointers has a field of the name.
    pub(crate) fn may_be_counted(&self, place: &ast::Expr) -> bool {
        field_of(place).is_some_and(|name| self.counted_fields.contains(&name))
    }

    fn group(&mut self, stmts: &[ast::Stmt]) -> Option<Spread> {
        // Most assignments are no such group; types are looked at only where two fields of one base
        // are assigned.
        if !self.stores_fields(stmts.first()?) {
            return None;
        }
        let mut first = vec![];
        stored_fields(stmts.first()?, 0, &mut first)?;
        if let Some((place, _, value)) = assignment(stmts.first()?) {
            // What a field waited for does not begin a group again; and null has whatever count there is.
            if is_local(value) || (is_null(value) && self.is_pointer_field(place)) {
                return None;
            }
        }
        let place = self.first_of_pair(&first, stmts)?.clone();
        let base = base_of(&place)?;
        let store = self.counted_store((&place, None, &place))?;
        let record = self.store_record(&store)?;
        // A bit-field has a width that no local has.
        let fields = self.program.types.record(record).fields.clone()?;
        let counters = self.counters_of(&fields);
        if counters.iter().any(|n| fields.get(*n as usize).is_none_or(|field| field.width.is_some())) {
            return None;
        }
        let mut of = vec![];
        if !names_of_base(base, &mut of) {
            return None;
        }
        let by_name =
            matches!(base.kind, ExprKind::Ident(name) if self.is_local_variable(name) && !self.is_addressed(name));
        let base = self.map.snippet(base.span).to_string();
        let mut group = Group { base, of, by_name, record, waits: vec![], out: vec![], declared: vec![] };
        // What the group was when it was complete last: statements out, fields, statements read.
        let mut whole = None;
        for (n, stmt) in stmts.iter().enumerate().take(MOST) {
            let waits = group.waits.len();
            let Ok(last) = self.add(&mut group, stmt) else { break };
            if group.waits.is_empty() {
                return None;
            }
            let stores: Vec<&Store> = group.waits.iter().map(|wait| &wait.store).collect();
            let mut places = vec![];
            if stored_fields(stmt, 0, &mut places).is_none() {
                break;
            }
            let again = places.iter().any(|place| self.local_of(&group, place).is_some());
            if (group.waits.len() > waits || again) && self.is_complete(record, &stores) {
                whole = Some((group.out.len(), group.waits.len(), n + 1, last));
            }
        }
        let (out, waits, used, last) = whole?;
        let adjacent = stmts.get(..used)?.iter().all(|stmt| assignment(stmt).is_some());
        group.out.truncate(out);
        group.waits.truncate(waits);
        let span = group.waits.last()?.place.span;
        let mut direct = None;
        if let Some(value) = last {
            group.out.pop();
            direct = group.waits.pop().map(|wait| (wait.store.pointer, assign(&wait.place, value, wait.place.span)));
        }
        // Pointers first: what they are assigned may free what was there.
        let mut out = std::mem::take(&mut group.out);
        let mut stores: Vec<_> = group.stores(span).chain(direct).collect();
        stores.sort_by_key(|(pointer, _)| !pointer);
        out.extend(stores.into_iter().map(|(_, store)| store));
        Some(Spread { stmts: out, used, adjacent })
    }

    /// Whether the place is a counted pointer.
    fn is_pointer_field(&mut self, place: &ast::Expr) -> bool {
        self.counted_store((place, None, place)).is_some_and(|store| store.pointer)
    }

    /// The first of these places with whose base another field is assigned in what follows.
    fn first_of_pair<'a>(&self, first: &[&'a ast::Expr], stmts: &[ast::Stmt]) -> Option<&'a ast::Expr> {
        let mut others = vec![];
        for stmt in stmts.iter().take(MOST) {
            if stored_fields(stmt, 0, &mut others).is_none() {
                break;
            }
        }
        first.iter().copied().find(|place| {
            let (Some(base), Some(field)) = (base_of(place), field_of(place)) else { return false };
            let base = self.map.snippet(base.span);
            others.iter().any(|other| {
                field_of(other) != Some(field) && base_of(other).is_some_and(|b| self.map.snippet(b.span) == base)
            })
        })
    }

    /// Adds a statement. If all that it does is to assign a field that waits from now on, and the value
    /// may as well be computed between the others' assignments: that value.
    fn add(&mut self, group: &mut Group, stmt: &ast::Stmt) -> Step<Option<ast::Expr>> {
        // `if (!(b->data = malloc(n))) return -1;`
        if let ast::StmtKind::If { cond, then, other } = &stmt.kind {
            if let Some((test, parts)) = tested_store(cond) {
                if let Some(store) = self.store_in(group, parts)? {
                    self.wait(group, store, parts.0)?;
                    let kind = ast::StmtKind::If { cond: test, then: then.clone(), other: other.clone() };
                    let mut rest = ast::Stmt { kind, ..stmt.clone() };
                    self.wait_inside(group, &rest)?;
                    self.statement(group, &mut rest, false, 0)?;
                    group.out.push(rest);
                    return Ok(None);
                }
            }
        }
        if self.both_branches(group, stmt)? {
            return Ok(None);
        }
        if let Some(parts) = assignment(stmt) {
            if let Some(store) = self.store_in(group, parts)? {
                let others = self.calls_others(&store.value);
                let mut named = vec![];
                let value = self.wait(group, store, parts.0)?;
                names_in(&value, &mut named);
                // What it reads must not be given away before.
                let apart = !group.waits.iter().any(|wait| named.contains(&wait.local));
                return Ok((!others && apart).then_some(value));
            }
        }
        self.wait_inside(group, stmt)?;
        if group.waits.is_empty() {
            return Err(Ends);
        }
        let mut stmt = stmt.clone();
        self.statement(group, &mut stmt, false, 0)?;
        group.out.push(stmt);
        Ok(None)
    }

    /// `if (!b->data) b->data = malloc(n); else b->data = realloc(b->data, n);`: until then the pointer is
    /// read from its field.
    fn both_branches(&mut self, group: &mut Group, stmt: &ast::Stmt) -> Step<bool> {
        let ast::StmtKind::If { cond, then, other: Some(other) } = &stmt.kind else { return Ok(false) };
        let (Some(a), Some(b)) = (assignment(only(then)), assignment(only(other))) else { return Ok(false) };
        if field_of(a.0) != field_of(b.0) {
            return Ok(false);
        }
        let mut places = vec![];
        stored_in(cond, &mut places);
        self.wait_before(group, &places)?;
        let (Some(first), Some(second)) = (self.store_in(group, a)?, self.store_in(group, b)?) else {
            return Ok(false);
        };
        if !first.pointer {
            return Ok(false);
        }
        let mut cond = cond.clone();
        let (mut then, mut other) = (first.value.clone().into_owned(), second.value.clone().into_owned());
        if !group.waits.is_empty() {
            for e in [&mut cond, &mut then, &mut other] {
                self.expression(group, e)?;
            }
        }
        let local = self.local_for(a.0);
        group.begin(first, a.0, local, None)?;
        let gets = |value: ast::Expr| {
            let kind = ExprKind::Assign(None, Box::new(ident(local, value.span)), Box::new(value));
            Box::new(statement(ast::StmtKind::Expr(ast::Expr { span: stmt.span, kind }), stmt.span))
        };
        let kind = ast::StmtKind::If { cond, then: gets(then), other: Some(gets(other)) };
        group.out.push(statement(kind, stmt.span));
        Ok(true)
    }

    /// The assignment as one of a field of the group that does not wait yet; fields that are assigned in
    /// its value do so from before it.
    fn store_in<'a>(&mut self, group: &mut Group, parts: Parts<'a>) -> Step<Option<Store<'a>>> {
        let base = base_of(parts.0).filter(|base| self.map.snippet(base.span) == group.base);
        if base.is_none() || self.local_of(group, parts.0).is_some() {
            return Ok(None);
        }
        let Some(store) = self.counted_store(parts) else { return Ok(None) };
        if self.store_record(&store) != Some(group.record) {
            return Ok(None);
        }
        let mut places = vec![];
        stored_in(parts.2, &mut places);
        self.wait_before(group, &places)?;
        // `b->n = b->n++;`
        Ok(self.local_of(group, parts.0).is_none().then_some(store))
    }

    /// From now on the field waits. Gives its value.
    fn wait(&mut self, group: &mut Group, store: Store, place: &ast::Expr) -> Step<ast::Expr> {
        let mut value = Cow::clone(&store.value).into_owned();
        // Before anything waits, any code may run.
        if !group.waits.is_empty() {
            self.expression(group, &mut value)?;
        }
        let local = self.local_for(place);
        group.begin(store, place, local, Some(value.clone()))?;
        Ok(value)
    }

    /// Fields that are assigned inside of a statement wait from before it.
    fn wait_inside(&mut self, group: &mut Group, stmt: &ast::Stmt) -> Step {
        let mut places = vec![];
        stored_fields(stmt, 0, &mut places).ok_or(Ends)?;
        let mut blocks = vec![];
        blocks_in(stmt, &mut blocks);
        if blocks.iter().any(|block| self.is_group(group, block)) {
            return Err(Ends);
        }
        self.wait_before(group, &places)
    }

    /// Whether a block assigns a pointer and a count of the base: it is complete by itself.
    fn is_group(&mut self, group: &Group, block: &ast::Block) -> bool {
        let mut places = vec![];
        block.stmts.iter().for_each(|stmt| _ = stored_fields(stmt, 0, &mut places));
        let mut seen = [false; 2];
        for place in places {
            if base_of(place).is_some_and(|base| self.map.snippet(base.span) == group.base) {
                if let Some(store) = self.counted_store((place, None, place)) {
                    seen[usize::from(store.pointer)] = true;
                }
            }
        }
        seen == [true; 2]
    }

    /// These places wait with the values that they have, if they are fields of the group.
    fn wait_before(&mut self, group: &mut Group, places: &[&ast::Expr]) -> Step {
        for &place in places {
            let base = base_of(place).filter(|base| self.map.snippet(base.span) == group.base);
            let Some(name) = field_of(place).filter(|_| base.is_some()) else { continue };
            if group.waits.iter().any(|wait| wait.name == name) {
                continue;
            }
            let parts = (place, None, place);
            let Some(store) = self.counted_store(parts) else { continue };
            if self.store_record(&store) != Some(group.record) || (store.pointer && self.is_kept_by(&store)) {
                return Err(Ends);
            }
            let local = self.local_for(place);
            group.begin(store, place, local, Some(place.clone()))?;
        }
        Ok(())
    }

    /// Whether a copy of the pointer would take it out of its field, or is not what the field asks for.
    fn is_kept_by(&self, store: &Store) -> bool {
        let ty = store.ty();
        self.program.types.owns(ty) || self.program.types.as_pointer(ty).is_none_or(|p| p.nonnull)
    }

    fn statement(&mut self, group: &mut Group, stmt: &mut ast::Stmt, in_loop: bool, depth: usize) -> Step {
        if depth > DEPTH {
            return Err(Ends);
        }
        let declared = group.declared.len();
        match &mut stmt.kind {
            ast::StmtKind::Empty => {}
            ast::StmtKind::Expr(e) => self.expression(group, e)?,
            ast::StmtKind::Decl(decl) => self.declaration(group, decl)?,
            ast::StmtKind::Block(block) => {
                for stmt in &mut block.stmts {
                    self.statement(group, stmt, in_loop, depth + 1)?;
                }
                group.declared.truncate(declared);
            }
            ast::StmtKind::If { cond, then, other } => {
                self.expression(group, cond)?;
                self.branch(group, then, in_loop, depth)?;
                if let Some(other) = other {
                    self.branch(group, other, in_loop, depth)?;
                }
            }
            ast::StmtKind::While(cond, body) | ast::StmtKind::DoWhile(body, cond) => {
                self.expression(group, cond)?;
                self.statement(group, body, true, depth + 1)?;
            }
            ast::StmtKind::For { init, cond, step, body } => {
                if let Some(init) = init {
                    self.statement(group, init, in_loop, depth + 1)?;
                }
                for e in cond.iter_mut().chain(step) {
                    self.expression(group, e)?;
                }
                self.statement(group, body, true, depth + 1)?;
                group.declared.truncate(declared);
            }
            ast::StmtKind::Break | ast::StmtKind::Continue if in_loop => {}
            ast::StmtKind::Break | ast::StmtKind::Continue | ast::StmtKind::Return(_) | ast::StmtKind::Goto(_)
                if depth > 0 =>
            {
                group.leave(stmt);
            }
            _ => return Err(Ends),
        }
        Ok(())
    }

    /// A branch. If it always leaves, all is as it is written from its beginning on.
    fn branch(&mut self, group: &mut Group, stmt: &mut ast::Stmt, in_loop: bool, depth: usize) -> Step {
        if self.leaves(stmt) && !(in_loop && jumps_in_loop(stmt)) {
            let mut inside = stmt.clone();
            let declared = group.declared.len();
            if self.dies(stmt) && self.statement(group, &mut inside, in_loop, depth + 1).is_ok() {
                *stmt = inside;
            } else {
                group.leave(stmt);
            }
            group.declared.truncate(declared);
            return Ok(());
        }
        self.statement(group, stmt, in_loop, depth + 1)
    }

    fn declaration(&mut self, group: &mut Group, decl: &mut ast::Decl) -> Step {
        let specs = &decl.specs;
        let defines = match &specs.ty {
            ast::TypeSpec::Builtin(_) | ast::TypeSpec::Named(..) => false,
            ast::TypeSpec::Record(spec) => spec.fields.is_some(),
            _ => true,
        };
        if defines || specs.storage.is_some() || decl.generics.is_some() {
            return Err(Ends);
        }
        for d in &mut decl.declarators {
            let pointers = d.declarator.derived.iter().all(|d| matches!(d, ast::Derived::Pointer(_)));
            if d.declarator.derived.is_empty() && self.holds(&decl.specs, group.record) {
                return Err(Ends);
            }
            let name = d.declarator.name.filter(|name| pointers && !group.of.contains(&name.name)).ok_or(Ends)?;
            match &mut d.init {
                Some(ast::Initializer::Expr(e)) => self.expression(group, e)?,
                Some(ast::Initializer::List(..)) => return Err(Ends),
                None => {}
            }
            group.declared.push((name.name, decl.specs.clone()));
        }
        Ok(())
    }

    /// Puts the locals into an expression for the fields that wait.
    fn expression(&mut self, group: &mut Group, e: &mut ast::Expr) -> Step {
        if let Some(local) = self.local_of(group, e) {
            e.kind = ExprKind::Ident(local);
            return Ok(());
        }
        if visit::is_simple(e) {
            return Ok(());
        }
        match &mut e.kind {
            ExprKind::Call { callee, args, .. } => {
                let ExprKind::Ident(name) = &callee.kind else { return Err(Ends) };
                let allocates = self.is_allocator(*name) || self.is_blind_wrapper(group, *name);
                let known = allocates || (group.by_name && self.is_library(*name)) || ends_program(*name);
                let own = !known && group.by_name && matches!(self.scopes.lookup(*name), Some(Entity::Func(_)));
                let shown = match own && self.is_blind(*name, group.record) {
                    true => args.iter().any(|arg| self.leads_there(group, arg)),
                    false => !known || args.iter().any(|arg| self.shows(group, arg)),
                };
                if shown {
                    return Err(Ends);
                }
                for arg in args {
                    self.expression(group, arg)?;
                }
            }
            ExprKind::Index(a, b) | ExprKind::Binary(_, a, b) | ExprKind::Comma(a, b) => {
                self.expression(group, a)?;
                self.expression(group, b)?;
            }
            ExprKind::Dot(base, name) | ExprKind::Arrow(base, name) => {
                // Of another struct, which may be the same one.
                if group.waits.iter().any(|wait| wait.name == name.name) {
                    return Err(Ends);
                }
                self.expression(group, base)?;
            }
            ExprKind::Unary(op, inner) => {
                if (is_step(*op) && !self.may_be_stored(group, inner))
                    || (*op == UnaryOp::AddrOf && self.local_of(group, inner).is_some())
                {
                    return Err(Ends);
                }
                self.expression(group, inner)?;
            }
            ExprKind::Assign(_, place, value) => {
                if !self.may_be_stored(group, place) {
                    return Err(Ends);
                }
                self.expression(group, place)?;
                self.expression(group, value)?;
            }
            ExprKind::Cond(c, a, b) => {
                self.expression(group, c)?;
                if let Some(a) = a {
                    self.expression(group, a)?;
                }
                self.expression(group, b)?;
            }
            ExprKind::Cast(_, inner) => self.expression(group, inner)?,
            _ => return Err(Ends),
        }
        Ok(())
    }

    /// A name for the local that stands for a place: its text, which reports show.
    fn local_for(&self, place: &ast::Expr) -> Symbol {
        Symbol::new(self.map.snippet(place.span))
    }

    /// The local that stands for a place.
    fn local_of(&self, group: &Group, e: &ast::Expr) -> Option<Symbol> {
        let name = field_of(e)?;
        let wait = group.waits.iter().find(|wait| wait.name == name)?;
        (self.map.snippet(base_of(e)?.span) == group.base).then_some(wait.local)
    }

    /// Whether an argument lets a function see the fields, or is a function that may be called.
    fn shows(&mut self, group: &Group, arg: &ast::Expr) -> bool {
        if self.local_of(group, arg).is_some() {
            return false;
        }
        let ty = match declared_root(group, arg) {
            Some(specs) => return self.holds(specs, group.record),
            None => self.tried_place(arg).ty.ty,
        };
        match *self.kind(ty) {
            TyKind::Func(_) => true,
            TyKind::Ptr(p) => match self.kind(p.target.ty) {
                TyKind::Func(_) => true,
                TyKind::Void => !matches!(arg.kind, ExprKind::Call { .. } | ExprKind::Cast(..)),
                _ => self.has_record(p.target.ty, group.record),
            },
            _ => self.has_record(ty, group.record),
        }
    }

    /// Whether a function of the program may get at the struct, or at code, by the argument.
    fn leads_there(&mut self, group: &Group, arg: &ast::Expr) -> bool {
        let ty = match declared_root(group, arg) {
            Some(specs) => {
                self.muted += 1;
                let base = self.base_type(specs, Place { role: Role::TypeName, foreign: false, trusted: false });
                self.muted -= 1;
                base.ty
            }
            None => self.tried_place(arg).ty.ty,
        };
        self.leads_to(ty, group.record)
    }

    /// Whether the name is a local variable or a parameter.
    fn is_local_variable(&self, name: Symbol) -> bool {
        matches!(self.scopes.lookup(name), Some(Entity::Local(_)))
    }

    /// Whether the function takes the variable's address somewhere, by its text.
    fn is_addressed(&self, name: Symbol) -> bool {
        let text = self.f.as_ref().map_or("", |f| self.map.snippet(f.text));
        words(text).filter(|&(_, word)| word == name.as_str()).any(|(at, _)| {
            let before = text.get(..at).unwrap_or("").trim_end_matches([' ', '\t', '\n', '(']);
            before.ends_with('&') && !before.ends_with("&&")
        })
    }

    /// Whether the name is an allocator wrapper of this file that has nothing to do with what waits: it
    /// names no such field, no part of the base, and calls the C library only.
    fn is_blind_wrapper(&self, group: &Group, name: Symbol) -> bool {
        let Some(def) = self.wrappers.get(&name) else { return false };
        let text = self.map.snippet(*def);
        let own = |word: &str| group.waits.iter().any(|wait| wait.name.as_str() == word);
        let base = |word: &str| group.of.iter().any(|name| name.as_str() == word);
        words(text).all(|(at, word)| {
            let other = is_called(text, at, word)
                && word != name.as_str()
                && !matches!(word, "if" | "while" | "for" | "switch" | "return" | "sizeof")
                && !self.is_library(Symbol::new(word));
            let seen = base(word) && !self.is_local_variable(Symbol::new(word));
            !(own(word) || seen || other)
        })
    }

    /// Whether what waits and its base are as before after a store to the place.
    fn may_be_stored(&mut self, group: &Group, place: &ast::Expr) -> bool {
        if self.local_of(group, place).is_some() {
            return true;
        }
        match &place.kind {
            ExprKind::Ident(name) if group.of.contains(name) => return false,
            ExprKind::Dot(_, name) | ExprKind::Arrow(_, name) if group.of.contains(&name.name) => return false,
            _ => {}
        }
        let holds = match declared_root(group, place) {
            Some(specs) => self.holds(specs, group.record),
            // What is stored through a pointer may be what the base goes by.
            None if !group.by_name
                && !matches!(place.kind, ExprKind::Ident(_) | ExprKind::Dot(..) | ExprKind::Arrow(..)) =>
            {
                return false;
            }
            None => {
                let typed = self.tried_place(place);
                if self.is_error(typed.ty.ty) || is_in_union(&self.program.types, &typed) {
                    return false;
                }
                self.has_record(typed.ty.ty, group.record)
            }
        };
        !holds
    }

    /// A place, whatever its indices are, without reports.
    fn tried_place(&mut self, place: &ast::Expr) -> crate::tree::Expr {
        let typed = self.tried(&without_indices(place));
        self.forget_probes();
        typed
    }

    /// Whether a value of the declared type, or what it points to, holds such a record.
    fn holds(&mut self, specs: &ast::DeclSpecs, record: RecordId) -> bool {
        self.muted += 1;
        let base = self.base_type(specs, Place { role: Role::TypeName, foreign: false, trusted: false });
        self.muted -= 1;
        self.is_error(base.ty) || self.has_record(base.ty, record)
    }

    /// Whether a value of the type has such a record in it.
    fn has_record(&self, ty: Ty, record: RecordId) -> bool {
        let types = &self.program.types;
        match *types.kind(ty) {
            TyKind::Array { elem, .. } => self.has_record(elem.ty, record),
            TyKind::Record(id) if id == record => true,
            TyKind::Record(id) => {
                let mut fields = types.record(id).fields.iter().flat_map(|fields| fields.iter());
                fields.any(|field| self.has_record(field.ty.ty, record))
            }
            _ => false,
        }
    }

    /// Whether control never comes out at the end of the statement.
    fn leaves(&self, stmt: &ast::Stmt) -> bool {
        match &stmt.kind {
            ast::StmtKind::Block(block) => block.stmts.last().is_some_and(|last| self.leaves(last)),
            ast::StmtKind::Return(_) | ast::StmtKind::Goto(_) | ast::StmtKind::Break | ast::StmtKind::Continue => true,
            _ => self.dies(stmt),
        }
    }

    /// Whether the program ends there.
    fn dies(&self, stmt: &ast::Stmt) -> bool {
        match &stmt.kind {
            ast::StmtKind::Block(block) => block.stmts.last().is_some_and(|last| self.dies(last)),
            ast::StmtKind::Expr(e) => match &e.kind {
                ExprKind::Call { callee, .. } => {
                    let ExprKind::Ident(name) = &callee.kind else { return false };
                    ends_program(*name) && self.is_library(*name)
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether the expression calls a function other than the library's own allocation.
    fn calls_others(&self, e: &ast::Expr) -> bool {
        let mut called = vec![];
        !is_calm(e, &mut called) || called.iter().any(|name| !self.is_library(*name))
    }

    /// Whether the name is a function that the library declares.
    fn is_library(&self, name: Symbol) -> bool {
        let trusted = match self.scopes.lookup(name) {
            Some(&Entity::Func(id)) => self.is_of_library(id),
            _ => false,
        };
        trusted || self.is_allocator(name)
    }

    /// Whether the name is an allocator wrapper of this file.
    pub(crate) fn is_wrapper(&self, name: Symbol) -> bool {
        self.scopes.lookup(syntax::wrappers::of_characters(name)).is_some()
    }
}

impl Group {
    /// From now on the field waits in the local, which begins with the value.
    fn begin(&mut self, store: Store, place: &ast::Expr, local: Symbol, value: Option<ast::Expr>) -> Step {
        let name = field_of(place).ok_or(Ends)?;
        self.out.push(declare(local, place, value, store.pointer));
        self.waits.push(Wait { store: store.without_value(), place: place.clone(), name, local });
        Ok(())
    }

    /// The fields get what they wait for; pointers are marked. Where the count is known, it is checked:
    /// at `span`.
    fn stores(&self, span: Span) -> impl Iterator<Item = (bool, ast::Stmt)> + '_ {
        let store = move |wait: &Wait| assign(&wait.place, ident(wait.local, span), span);
        self.waits.iter().map(move |wait| (wait.store.pointer, store(wait)))
    }

    /// The same before a statement that leaves.
    fn leave(&self, stmt: &mut ast::Stmt) {
        let span = stmt.span;
        let mut stmts: Vec<ast::Stmt> = self.stores(span).map(|(_, store)| store).collect();
        stmts.push(stmt.clone());
        *stmt = statement(ast::StmtKind::Block(ast::Block { stmts, span }), span);
    }
}

/// Whether the place lies in a union: another of its members may be what the base goes by.
pub(crate) fn is_in_union(types: &TypeStore, typed: &crate::tree::Expr) -> bool {
    let mut at = typed;
    while let TypedKind::Field(base, _) = &*at.kind {
        if types.as_record(base.ty.ty).is_some_and(|r| types.record(r).kind != RecordKind::Struct) {
            return true;
        }
        at = base;
    }
    false
}

/// The place, the operator and the value of an assignment.
type Parts<'a> = (&'a ast::Expr, Option<BinaryOp>, &'a ast::Expr);

/// `!(place = value)` or a comparison of it with null, as the assignment and the test of the place.
fn tested_store(cond: &ast::Expr) -> Option<(ast::Expr, Parts<'_>)> {
    let (tested, with): (_, &dyn Fn(ast::Expr) -> ExprKind) = match &cond.kind {
        ExprKind::Unary(UnaryOp::Not, e) => (e, &|e| ExprKind::Unary(UnaryOp::Not, Box::new(e))),
        ExprKind::Binary(op @ (BinaryOp::Eq | BinaryOp::Ne), a, b) if is_null(b) => {
            (a, &move |e| ExprKind::Binary(*op, Box::new(e), b.clone()))
        }
        ExprKind::Binary(op @ (BinaryOp::Eq | BinaryOp::Ne), a, b) if is_null(a) => {
            (b, &move |e| ExprKind::Binary(*op, a.clone(), Box::new(e)))
        }
        _ => return None,
    };
    let ExprKind::Assign(None, place, value) = &tested.kind else { return None };
    let kind = with(ast::Expr { span: tested.span, kind: place.kind.clone() });
    Some((ast::Expr { span: cond.span, kind }, (place, None, value)))
}

/// Whether a `break` or `continue` of the loop around the statement is in it.
fn jumps_in_loop(stmt: &ast::Stmt) -> bool {
    match &stmt.kind {
        ast::StmtKind::Break | ast::StmtKind::Continue => true,
        ast::StmtKind::While(..) | ast::StmtKind::DoWhile(..) | ast::StmtKind::For { .. } => false,
        _ => visit::statements(stmt).into_iter().any(jumps_in_loop),
    }
}

/// Whether the program ends with a call of the function.
fn ends_program(name: Symbol) -> bool {
    ["exit", "_exit", "abort"].contains(&name.as_str())
}

/// Whether brackets follow the word that is there in a text.
pub(crate) fn is_called(text: &str, at: usize, word: &str) -> bool {
    text.get(at + word.len()..).unwrap_or("").trim_start().starts_with('(')
}

/// The words of a preprocessed text, with where they begin; those of line markers are left out.
pub(crate) fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut at = 0;
    std::iter::from_fn(move || loop {
        let rest = text.get(at..)?;
        let from = at + rest.find(|c: char| is_word(c) || c == '#')?;
        let word = text.get(from..)?;
        if word.starts_with('#') {
            at = from + word.find('\n').unwrap_or(word.len());
            continue;
        }
        let length = word.find(|c| !is_word(c)).unwrap_or(word.len());
        at = from + length;
        return Some((from, word.get(..length)?));
    })
}

/// The place with other indices: those may name variables that are not declared yet.
fn without_indices(place: &ast::Expr) -> ast::Expr {
    let mut place = place.clone();
    let mut at = &mut place;
    loop {
        at = match &mut at.kind {
            ExprKind::Index(base, index) => {
                let zero = ast::IntLit { value: 0, unsigned: false, longs: 0, non_decimal: false };
                index.kind = ExprKind::Int(zero);
                base
            }
            ExprKind::Dot(base, _) | ExprKind::Arrow(base, _) => base,
            ExprKind::Unary(_, base) | ExprKind::Cast(_, base) | ExprKind::Binary(_, base, _) => base,
            _ => return place,
        }
    }
}

/// The declaration of the variable that a place begins with, if a statement of the group declares it
/// and the place is more than that variable.
fn declared_root<'g>(group: &'g Group, place: &ast::Expr) -> Option<&'g ast::DeclSpecs> {
    match &place.kind {
        ExprKind::Ident(name) => {
            group.declared.iter().rev().find(|(declared, _)| declared == name).map(|(_, specs)| specs)
        }
        ExprKind::Dot(base, _) | ExprKind::Arrow(base, _) | ExprKind::Index(base, _) => declared_root(group, base),
        ExprKind::Unary(_, base) | ExprKind::Cast(_, base) | ExprKind::Binary(_, base, _) => declared_root(group, base),
        _ => None,
    }
}

/// The fields that a statement assigns, those in branches that leave excepted. `None` if it is nested
/// too deep.
fn stored_fields<'a>(stmt: &'a ast::Stmt, depth: usize, found: &mut Vec<&'a ast::Expr>) -> Option<()> {
    if depth > DEPTH {
        return None;
    }
    visit::expressions(stmt).into_iter().for_each(|e| stored_in(e, found));
    let branches = matches!(stmt.kind, ast::StmtKind::If { .. });
    for inner in visit::statements(stmt).into_iter().filter(|inner| !(branches && leaves_at_end(inner))) {
        stored_fields(inner, depth + 1, found)?;
    }
    Some(())
}

/// The blocks in a statement.
fn blocks_in<'a>(stmt: &'a ast::Stmt, found: &mut Vec<&'a ast::Block>) {
    if let ast::StmtKind::Block(block) = &stmt.kind {
        found.push(block);
    }
    visit::statements(stmt).into_iter().for_each(|stmt| blocks_in(stmt, found));
}

fn leaves_at_end(stmt: &ast::Stmt) -> bool {
    match &stmt.kind {
        ast::StmtKind::Block(block) => block.stmts.last().is_some_and(leaves_at_end),
        kind => matches!(kind, ast::StmtKind::Return(_) | ast::StmtKind::Goto(_)),
    }
}

/// The fields that an expression assigns.
fn stored_in<'a>(e: &'a ast::Expr, found: &mut Vec<&'a ast::Expr>) {
    let changed = match &e.kind {
        ExprKind::Assign(_, place, _) => Some(place),
        ExprKind::Unary(op, inner) if is_step(*op) => Some(inner),
        _ => None,
    };
    found.extend(changed.map(|place| &**place).filter(|place| field_of(place).is_some()));
    visit::each_operand(e, &mut |e| stored_in(e, found));
}

/// `++` and `--`
fn is_step(op: UnaryOp) -> bool {
    matches!(op, UnaryOp::PreInc | UnaryOp::PreDec | UnaryOp::PostInc | UnaryOp::PostDec)
}

/// Whether the expression changes nothing and runs no code but an allocation's; the functions that it
/// calls.
fn is_calm(e: &ast::Expr, called: &mut Vec<Symbol>) -> bool {
    let calm = match &e.kind {
        ExprKind::Call { callee, .. } => {
            let ExprKind::Ident(name) = callee.kind else { return false };
            called.push(name);
            ["malloc", "calloc", "realloc"].contains(&name.as_str())
        }
        ExprKind::Unary(op, _) => !is_step(*op),
        ExprKind::Index(..)
        | ExprKind::Binary(..)
        | ExprKind::Dot(..)
        | ExprKind::Arrow(..)
        | ExprKind::Cast(..)
        | ExprKind::Cond(..) => true,
        _ => visit::is_simple(e),
    };
    calm && visit::operands(e).into_iter().all(|operand| is_calm(operand, called))
}

/// The names of a base: variables and fields. `false` if a pointer to a pointer is in it, which may
/// lead to any variable.
fn names_of_base(e: &ast::Expr, names: &mut Vec<Symbol>) -> bool {
    match &e.kind {
        ExprKind::Unary(op, base) => *op == UnaryOp::AddrOf && names_of_base(base, names),
        ExprKind::Arrow(base, name) | ExprKind::Dot(base, name) => {
            names.push(name.name);
            names_of_base(base, names)
        }
        ExprKind::Index(a, b) => names_of_base(a, names) && names_of_base(b, names),
        ExprKind::Ident(name) => {
            names.push(*name);
            true
        }
        _ => true,
    }
}

/// The variables of an expression.
fn names_in(e: &ast::Expr, names: &mut Vec<Symbol>) {
    if let ExprKind::Ident(name) = e.kind {
        names.push(name);
    }
    visit::each_operand(e, &mut |e| names_in(e, names));
}

fn base_of(place: &ast::Expr) -> Option<&ast::Expr> {
    match &place.kind {
        ExprKind::Arrow(base, _) | ExprKind::Dot(base, _) if is_pure(base) => Some(base),
        _ => None,
    }
}

pub(crate) fn field_of(place: &ast::Expr) -> Option<Symbol> {
    match &place.kind {
        ExprKind::Arrow(_, name) | ExprKind::Dot(_, name) => Some(name.name),
        _ => None,
    }
}

/// The statement, or the only one of a block.
fn only(stmt: &ast::Stmt) -> &ast::Stmt {
    match &stmt.kind {
        ast::StmtKind::Block(block) => match block.stmts.as_slice() {
            [stmt] => only(stmt),
            _ => stmt,
        },
        _ => stmt,
    }
}

fn is_local(e: &ast::Expr) -> bool {
    matches!(&e.kind, ExprKind::Ident(name) if is_place(*name))
}

/// Whether a name is the text of a place, as no program has it.
pub(crate) fn is_place(name: Symbol) -> bool {
    name.as_str().contains(['.', '>'])
}

pub(crate) fn statement(kind: ast::StmtKind, span: Span) -> ast::Stmt {
    ast::Stmt { span, kind, attrs: vec![] }
}

fn ident(name: Symbol, span: Span) -> ast::Expr {
    ast::Expr { span, kind: ExprKind::Ident(name) }
}

fn assign(place: &ast::Expr, value: ast::Expr, span: Span) -> ast::Stmt {
    let place = ast::Expr { span, kind: place.kind.clone() };
    let kind = ExprKind::Assign(None, Box::new(place), Box::new(value));
    statement(ast::StmtKind::Expr(ast::Expr { span, kind }), span)
}

/// `typeof(*place) *name = value;`, or `typeof(place) name = value;` of a count.
fn declare(name: Symbol, place: &ast::Expr, value: Option<ast::Expr>, pointer: bool) -> ast::Stmt {
    let span = place.span;
    let whole = value.as_ref().map_or(span, |value| span.to(value.span));
    let (typed, derived) = match pointer {
        true => {
            let target = ExprKind::Unary(UnaryOp::Deref, Box::new(place.clone()));
            let quals = ast::PointerQuals { span, ..ast::PointerQuals::default() };
            (ast::Expr { span, kind: target }, vec![ast::Derived::Pointer(quals)])
        }
        false => (place.clone(), vec![]),
    };
    let ty = ast::TypeSpec::TypeofExpr(Box::new(typed), !pointer);
    let specs = ast::DeclSpecs { ty, ..ast::DeclSpecs::missing(span) };
    let name = Some(ast::Ident { name, span });
    let declarator = ast::Declarator { span, name, derived, asm_label: None, attrs: vec![] };
    let declarators = vec![ast::InitDeclarator { declarator, init: value.map(ast::Initializer::Expr) }];
    let decl = ast::Decl { span: whole, generics: None, trusted: false, specs, declarators };
    statement(ast::StmtKind::Decl(decl), whole)
}
