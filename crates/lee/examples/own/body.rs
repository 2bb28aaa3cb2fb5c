//! Writing a function's body: text, scopes, joins. What statements there are is in the other files.

use crate::model::{Kind, Lending, Own, Path, Pin, Region, St, Ty, Var, HEAP};
use crate::program::{Fun, Ret};
use crate::rng::Random;
use crate::types::{Holds, Types};

/// What is written of a body, and what is known at this point of it.
pub struct Body<'a> {
    /// Choices.
    pub random: &'a mut Random,
    /// Records.
    pub types: &'a Types,
    /// Functions that may be called.
    pub funs: &'a [Fun],
    /// Lines.
    pub lines: Vec<String>,
    /// Variables in scope, innermost last.
    pub vars: Vec<Var>,
    /// What is lent.
    pub pins: Vec<Pin>,
    /// Regions in scope; the first is the heap.
    pub regions: Vec<Region>,
    /// Scopes, innermost last.
    pub scopes: Vec<Scope>,
    /// What it returns.
    pub ret: Ret,
    /// Statements that may still be written.
    pub fuel: i64,
    /// Facts of the prototype: the first region outlives the second.
    pub facts: Vec<(usize, usize)>,
    /// How often what is written now runs.
    pub trips: i64,
    /// What a run costs, about.
    pub cost: i64,
    /// Cursors on slots that are open: no statement that may let other tasks run is written.
    pub slot_cursors: u32,
    names: u32,
}

/// A scope that is open.
pub struct Scope {
    vars: usize,
    pins: usize,
    regions: usize,
    /// If it is a loop's body: the state that its jumps must restore.
    pub head: Option<Vec<Own>>,
    /// Whether `break` and `continue` stop here without a loop to restore for.
    pub is_switch: bool,
    /// Whether no jump to a loop leads out of here.
    pub is_closed: bool,
}

impl<'a> Body<'a> {
    /// An empty body.
    pub fn new(random: &'a mut Random, types: &'a Types, funs: &'a [Fun], ret: Ret) -> Body<'a> {
        let heap = Region { name: "heap".into(), kind: Kind::Heap, handle: None, depth: 0, order: 0 };
        let fuel = random.between(6, 20);
        Body {
            random,
            types,
            funs,
            lines: vec![],
            vars: vec![],
            pins: vec![],
            regions: vec![heap],
            scopes: vec![],
            ret,
            fuel,
            facts: vec![],
            trips: 1,
            cost: 1,
            slot_cursors: 0,
            names: 0,
        }
    }

    /// A line.
    pub fn line(&mut self, text: impl AsRef<str>) {
        let text = text.as_ref();
        self.lines.push(format!("{}{text}", "    ".repeat(self.scopes.len())));
        self.cost += self.trips;
    }

    /// A fresh name.
    pub fn name(&mut self, stem: &str) -> String {
        self.names += 1;
        format!("{stem}{}", self.names)
    }

    /// A number of little consequence.
    pub fn small(&mut self, most: i64) -> i64 {
        self.random.below(most)
    }

    /// A condition that is sometimes true, without effects on what is owned.
    pub fn condition(&mut self) -> String {
        match self.random.below(6) {
            0 => "fresh() % 3 == 0".into(),
            1 => "fresh() % 2".into(),
            2 => "hash & 4".into(),
            3 => "ids % 5 > 1".into(),
            4 => "hash % 3 != 1 && fresh() % 4".into(),
            _ => "!(fresh() % 3) || hash & 1".into(),
        }
    }

    // ---- scopes

    /// Writes `text`, which ends with a brace, and opens a scope.
    pub fn open(&mut self, text: impl AsRef<str>) {
        self.line(text);
        self.scope(None, false);
    }

    /// A scope without text.
    pub fn scope(&mut self, head: Option<Vec<Own>>, is_switch: bool) {
        let scope = Scope {
            vars: self.vars.len(),
            pins: self.pins.len(),
            regions: self.regions.len(),
            head,
            is_switch,
            is_closed: false,
        };
        self.scopes.push(scope);
    }

    /// Gives up what the scope's variables own, and closes it. `text` begins with a brace.
    pub fn close(&mut self, text: impl AsRef<str>) {
        self.give_up_scope();
        self.pop();
        self.lines.push(format!("{}{}", "    ".repeat(self.scopes.len()), text.as_ref()));
    }

    /// Forgets the innermost scope, whose end is not reached, or where nothing is owned.
    pub fn pop(&mut self) {
        if let Some(scope) = self.scopes.pop() {
            self.vars.truncate(scope.vars);
            self.pins.truncate(scope.pins);
            self.regions.truncate(scope.regions);
        }
    }

    /// Drops what the innermost scope's variables own. What is lent, is lent in scopes of their
    /// own, inside.
    pub fn give_up_scope(&mut self) {
        let Some(first) = self.scopes.last().map(|s| s.vars) else { return };
        for n in (first..self.vars.len()).rev() {
            self.drop_variable(n);
        }
    }

    /// Declares a variable.
    pub fn declare(&mut self, name: String, ty: Ty, st: St) -> usize {
        let depth = self.scopes.len();
        let own = Own::new(st);
        self.vars.push(Var { name, ty, own, is_lent: false, is_deferred: false, is_place: false, depth });
        self.vars.len() - 1
    }

    /// States of all variables.
    pub fn states(&self) -> Vec<Own> {
        self.vars.iter().map(|v| v.own.clone()).collect()
    }

    /// Goes back to states that were remembered.
    pub fn set_states(&mut self, states: &[Own]) {
        for (var, own) in self.vars.iter_mut().zip(states) {
            var.own = own.clone();
        }
    }

    // ---- paths

    /// The state of a path.
    pub fn own(&self, path: &Path) -> Own {
        let mut ty = self.vars[path.root].ty;
        let mut own = self.vars[path.root].own.clone();
        for &step in &path.steps {
            ty = self.step(ty, step);
            own = own.kids.remove(&step).unwrap_or_else(|| Own::new(default_state(ty)));
        }
        own
    }

    /// Changes the state of a path.
    pub fn set(&mut self, path: &Path, new: Own) {
        let mut ty = self.vars[path.root].ty;
        let types = self.types;
        let mut own = &mut self.vars[path.root].own;
        for &step in &path.steps {
            ty = stepped(types, ty, step);
            own = own.kids.entry(step).or_insert_with(|| Own::new(default_state(ty)));
        }
        *own = new;
    }

    /// Changes it to something whole.
    pub fn set_st(&mut self, path: &Path, st: St) {
        self.set(path, Own::new(st));
    }

    /// The type of a path.
    pub fn ty(&self, path: &Path) -> Ty {
        path.steps.iter().fold(self.vars[path.root].ty, |ty, &step| self.step(ty, step))
    }

    fn step(&self, ty: Ty, step: usize) -> Ty {
        stepped(self.types, ty, step)
    }

    /// How the path is written.
    pub fn text(&self, path: &Path) -> String {
        let mut ty = self.vars[path.root].ty;
        let mut out = self.vars[path.root].name.clone();
        for &step in &path.steps {
            let arrow = if matches!(ty, Ty::Val(_) | Ty::Boxed(_) | Ty::Hold(_)) { "." } else { "->" };
            out.push_str(arrow);
            out.push_str(&self.field_name(ty, step));
            ty = self.step(ty, step);
        }
        out
    }

    fn field_name(&self, ty: Ty, step: usize) -> String {
        match ty {
            Ty::Queue(_) => ["next", "side"][step % 2].into(),
            Ty::Boxed(_) => "value".into(),
            Ty::Hold(_) => "p".into(),
            Ty::Bound => "next".into(),
            Ty::Unique(p) | Ty::Val(p) | Ty::Rc(p) | Ty::Borrow(p) | Ty::Heap(p) => {
                self.types.records[p].fields[step].name.clone()
            }
            _ => "id".into(),
        }
    }

    /// The fields of what a type leads to that are owned paths.
    pub fn kids(&self, ty: Ty) -> Vec<usize> {
        match ty {
            Ty::Queue(_) => vec![0, 1],
            Ty::Boxed(_) | Ty::Bound => vec![0],
            Ty::Unique(p) | Ty::Val(p) => {
                let fields = self.types.records[p].fields.iter().enumerate();
                fields
                    .filter(|(_, f)| {
                        matches!(
                            f.holds,
                            Holds::Unique(_)
                                | Holds::Rc(_)
                                | Holds::Held(_)
                                | Holds::Witness
                                | Holds::Pack
                                | Holds::Variant
                        )
                    })
                    .map(|(n, _)| n)
                    .collect()
            }
            _ => vec![],
        }
    }

    /// All owned paths that can be reached without a test, with their states.
    pub fn paths(&self) -> Vec<Path> {
        let mut out = vec![];
        for (n, var) in self.vars.iter().enumerate() {
            if var.ty.is_owned() {
                self.add_paths(Path::var(n), &mut out);
            }
        }
        out
    }

    fn add_paths(&self, path: Path, out: &mut Vec<Path>) {
        let (ty, own) = (self.ty(&path), self.own(&path));
        let live = own.st == St::Live && self.region_is_live(ty);
        if live && path.steps.len() < 3 {
            for step in self.kids(ty) {
                self.add_paths(path.field(step), out);
            }
        }
        out.push(path);
    }

    /// Whether what the type points to may be touched.
    pub fn region_is_live(&self, ty: Ty) -> bool {
        match ty {
            Ty::List(r)
            | Ty::Plain(r)
            | Ty::Queue(r)
            | Ty::Stored(r)
            | Ty::Row(r)
            | Ty::Sure(r)
            | Ty::Env(r)
            | Ty::Counted(r)
            | Ty::Low(r) => self.regions[r].is_live(),
            _ => true,
        }
    }

    /// Whether the path may be moved, assigned or exchanged as far as lending goes.
    pub fn is_free(&self, path: &Path) -> bool {
        let var = &self.vars[path.root];
        if var.is_deferred || self.pins.iter().any(|p| p.path.is_related(path)) {
            return false;
        }
        // Of what is lent to us: parts behind its pointers only.
        !var.is_lent || self.is_behind_pointer(path)
    }

    /// Whether a pointer is followed on the way.
    fn is_behind_pointer(&self, path: &Path) -> bool {
        let mut ty = self.vars[path.root].ty;
        for &step in &path.steps {
            if matches!(ty, Ty::Unique(_) | Ty::Queue(_) | Ty::Stored(_) | Ty::Bound) {
                return true;
            }
            ty = self.step(ty, step);
        }
        false
    }

    /// Whether the path may be lent so.
    pub fn may_lend(&self, path: &Path, how: Lending) -> bool {
        self.pins.iter().filter(|p| p.path.is_related(path)).all(|p| match how {
            Lending::View => p.how == Lending::View,
            Lending::Borrow => p.how == Lending::Borrow && p.path == *path,
            Lending::Exclusive => false,
        })
    }

    /// Whether scalars may be read through the path.
    pub fn may_look(&self, path: &Path) -> bool {
        !self.pins.iter().any(|p| p.path.is_related(path) && p.how == Lending::Exclusive)
    }

    /// Lends until the innermost scope ends.
    pub fn pin(&mut self, path: Path, how: Lending) {
        self.pins.push(Pin { path, how });
    }

    /// One of those that fit.
    pub fn some(&mut self, fits: impl Fn(&Body, &Path) -> bool) -> Option<Path> {
        let mut found = self.paths();
        found.retain(|p| fits(self, p));
        if found.is_empty() {
            return None;
        }
        let near = found.len().saturating_sub(6) as i64;
        let low = if self.random.chance(60) { near } else { 0 };
        let n = self.random.between(low, found.len() as i64 - 1) as usize;
        Some(found.swap_remove(n))
    }

    /// Something whole that lives and can be moved.
    pub fn movable(&mut self, fits: impl Fn(Ty) -> bool) -> Option<Path> {
        self.some(|b, p| {
            let own = b.own(p);
            own.st == St::Live && own.is_whole() && b.is_free(p) && fits(b.ty(p)) && b.region_is_live(b.ty(p))
        })
    }

    /// Something whole that lives and can be lent.
    pub fn lendable(&mut self, how: Lending, fits: impl Fn(Ty) -> bool) -> Option<Path> {
        self.some(|b, p| {
            let own = b.own(p);
            own.st == St::Live && own.is_whole() && b.may_lend(p, how) && fits(b.ty(p)) && b.region_is_live(b.ty(p))
        })
    }

    /// The variables of a type that is not owned.
    pub fn some_var(&mut self, fits: impl Fn(&Body, &Var) -> bool) -> Option<usize> {
        let found: Vec<usize> = (0..self.vars.len()).filter(|&n| fits(self, &self.vars[n])).collect();
        if found.is_empty() {
            return None;
        }
        Some(*self.random.pick(&found))
    }

    /// The handle of a region, if something can be allocated there.
    pub fn handle(&self, region: usize) -> Option<String> {
        if region == HEAP {
            return None;
        }
        self.regions[region].handle.clone()
    }

    /// A record by number.
    pub fn some_record(&mut self) -> usize {
        self.random.below(self.types.records.len() as i64) as usize
    }
}

/// The type of a field.
fn stepped(types: &Types, ty: Ty, step: usize) -> Ty {
    match ty {
        Ty::Queue(r) => Ty::Queue(r),
        Ty::Boxed(p) => Ty::Unique(p),
        Ty::Bound => Ty::Bound,
        Ty::Unique(p) | Ty::Val(p) | Ty::Rc(p) | Ty::Borrow(p) | Ty::Heap(p) => {
            match types.records[p].fields[step].holds {
                Holds::Unique(k) => Ty::Unique(k),
                Holds::Rc(k) => Ty::Rc(k),
                Holds::Held(k) => Ty::Val(k),
                Holds::Pack => Ty::Pack,
                Holds::Variant => Ty::Variant,
                // The witness is never taken out.
                _ => Ty::Rc(usize::MAX),
            }
        }
        other => other,
    }
}

/// What a field holds that nothing is known about.
pub fn default_state(ty: Ty) -> St {
    match ty {
        Ty::Val(_) | Ty::Pack | Ty::Boxed(_) | Ty::Key(_) | Ty::Variant | Ty::Rc(usize::MAX) => St::Live,
        _ => St::Maybe,
    }
}
