//! Indices that grow with the counter, and what a loop must be tested for so that they stay within
//! their bounds.

use super::walk::Reach;
use crate::loops::{self, Loop, Turns};
use crate::steady::Steady;
use crate::uses::{self, At, Writes};
use flow::ranges::terms::int_range;
use mir::cfg::Dominators;
use mir::ir::*;
use typing::types::{RecordKind, Ty, TypeStore};

/// Expressions are followed so deep.
const DEPTH: u32 = 12;

/// An expression that can be computed before the loop, for the first turn or the last.
#[derive(Clone, Debug)]
pub enum Node {
    /// A constant or an unwritten local.
    Leaf(Operand),
    /// A place in memory that nothing in the loop changes. If it is behind a pointer, the local,
    /// which must not be null.
    Load(Place, Option<Local>),
    /// An element `base[index]` of this type, one that nothing in the loop changes: of so many, or
    /// if the head reads it, where its check was proven, of enough.
    Element(Box<[Node; 2]>, Option<Box<Node>>, Ty),
    /// The counter at the start of a turn.
    Counter,
    /// The counter after it has changed in a turn: a number of its type.
    Changed,
    /// Arithmetic in a type.
    Binary(BinOp, Box<Node>, Box<Node>, Ty),
    /// Arithmetic of counts, of operands that are narrower than the result if so flagged.
    Count(BinOp, Box<Node>, Box<Node>, bool),
    /// A conversion.
    Numeric(Box<Node>, Ty),
}

impl Node {
    /// Without conversions around it: numbers that grow keep their values in these.
    pub fn inner(&self) -> &Node {
        match self {
            Node::Numeric(a, _) => a.inner(),
            other => other,
        }
    }

    /// The sum that it is in a type, as the text of its terms and a constant, if it is of that type
    /// modulo the numbers that this has.
    pub fn sum(&self, ty: Ty) -> (String, i128) {
        let (mut terms, mut constant) = (vec![], 0);
        self.add_to(ty, 1, &mut terms, &mut constant);
        terms.sort();
        (terms.join(" "), constant)
    }

    fn add_to(&self, ty: Ty, sign: i128, terms: &mut Vec<String>, constant: &mut i128) {
        match self {
            Node::Binary(BinOp::Add, a, b, of) if *of == ty => {
                a.add_to(ty, sign, terms, constant);
                b.add_to(ty, sign, terms, constant);
            }
            Node::Binary(BinOp::Sub, a, b, of) if *of == ty => {
                a.add_to(ty, sign, terms, constant);
                b.add_to(ty, -sign, terms, constant);
            }
            Node::Leaf(Operand::Const(Const::Int(n, _))) => *constant += sign * n,
            other => terms.push(format!("{sign} {other:?}")),
        }
    }

    /// The pointers that are dereferenced.
    pub fn pointers(&self, found: &mut Vec<Local>) {
        match self {
            Node::Leaf(_) | Node::Counter | Node::Changed => {}
            Node::Load(_, pointer) => found.extend(pointer),
            Node::Element(parts, count, _) => {
                parts.iter().chain(count.as_deref()).for_each(|part| part.pointers(found));
            }
            Node::Binary(_, a, b, _) | Node::Count(_, a, b, _) => {
                a.pointers(found);
                b.pointers(found);
            }
            Node::Numeric(a, _) => a.pointers(found),
        }
    }

    /// Whether it is arithmetic on constants and locals that nothing changes.
    pub fn is_arithmetic(&self) -> bool {
        match self {
            Node::Leaf(_) => true,
            Node::Counter | Node::Changed | Node::Load(..) | Node::Element(..) | Node::Count(..) => false,
            Node::Binary(_, a, b, _) => a.is_arithmetic() && b.is_arithmetic(),
            Node::Numeric(a, _) => a.is_arithmetic(),
        }
    }

    /// Whether it reads memory.
    pub fn loads(&self) -> bool {
        match self {
            Node::Leaf(_) | Node::Counter | Node::Changed => false,
            Node::Load(..) | Node::Element(..) => true,
            Node::Binary(_, a, b, _) | Node::Count(_, a, b, _) => a.loads() || b.loads(),
            Node::Numeric(a, _) => a.loads(),
        }
    }
}

/// By how much an expression grows when the counter grows by 1.
#[derive(Clone, Debug)]
pub enum Slope {
    /// Not at all.
    None,
    /// By a small number other than 0. Below 0 it falls: its least value is that of the greatest
    /// counter.
    Small(i128),
    /// By a value that is not known to be small.
    Factor(Box<Node>),
}

impl Slope {
    /// Whether it is the same in all turns.
    pub fn is_none(&self) -> bool {
        matches!(self, Slope::None)
    }

    /// Whether it falls when the counter grows.
    pub fn falls(&self) -> bool {
        matches!(self, Slope::Small(n) if *n < 0)
    }

    /// Of the negative of the expression, if that is followed.
    fn negated(self) -> Option<Slope> {
        match self {
            Slope::None => Some(Slope::None),
            Slope::Small(n) => Some(Slope::Small(-n)),
            Slope::Factor(_) => None,
        }
    }
}

/// Something that must hold before the loop.
#[derive(Clone, Debug)]
pub enum Test {
    /// At the counter where the index should be least it is at most what it is at the other end, in
    /// its own type.
    InOrder(Index, Ty),
    /// The least value is at least 0.
    Positive(Index, Ty),
    /// The greatest value, as a number of the unsigned type of 64 bits, is less than the count.
    Less(Index, Ty, Node),
    /// The least value is at least 0, and with all steps added to it less than the count and no
    /// more than its type has; of a counter of at most 32 bits.
    Range(Index, Ty, Node),
    /// Turns are few enough for factors.
    FewTurns,
    /// The factor is small.
    SmallFactor(Node),
    /// The steps add up to less than a type of 32 bits has numbers.
    Span(Slope),
    /// The pointer is not null.
    NotNull(Node),
    /// The count is not negative.
    Count(Node),
    /// What the pointer climbs to, with all that it moves, lies within its bounds.
    Reach(Reach),
}

/// An index that the tests keep from wrapping, and how it grows.
#[derive(Clone, Debug)]
pub struct Index {
    /// The index.
    pub node: Node,
    /// How it grows.
    pub slope: Slope,
}

/// Looks at one loop.
pub struct Planner<'a> {
    /// The program without the body.
    pub program: &'a Program,
    /// The body.
    pub body: &'a Body,
    /// Its writes.
    pub writes: &'a Writes,
    /// Its dominators.
    pub dominators: &'a Dominators,
    /// The loop.
    pub l: &'a Loop,
    /// What the loop does to memory.
    pub steady: Steady<'a>,
    /// Arithmetic of counts on the way to what was followed.
    pub counted: std::cell::RefCell<Vec<At>>,
}

impl Planner<'_> {
    fn types(&self) -> &TypeStore {
        &self.program.types
    }

    /// What a check compares.
    pub fn bounds_of<'b>(&'b self, kind: &'b StmtKind) -> Option<IndexBounds<'b>> {
        let check = kind.as_check()?;
        if let Some((element, left)) = check.as_near() {
            let (_, value) = self.writes.single(self.body, uses::whole(element)?)?;
            let (_, index) = value.as_offset()?;
            return Some(IndexBounds { index, count: left, element: None });
        }
        check.bounds()
    }

    /// What the counter runs to.
    pub fn end(&self) -> Option<Node> {
        let end = match &self.l.turns {
            Turns::Up(counter) => &counter.end,
            Turns::Down(down) => &down.end,
            _ => return None,
        };
        let head = At { block: self.l.head, stmt: self.body.blocks.get(self.l.head)?.stmts.len() };
        let (node, slope) = self.follow(end, head, DEPTH, &mut vec![])?;
        (slope.is_none()).then_some(node)
    }

    /// The value of an operand that is the same in all turns.
    pub fn fixed(&self, operand: &Operand, at: At) -> Option<Node> {
        let (node, slope) = self.follow(operand, at, DEPTH, &mut vec![])?;
        (slope.is_none()).then_some(node)
    }

    /// What must hold so that the check at the statement passes in all turns.
    pub fn tests(&self, bounds: &IndexBounds, at: At) -> Option<(Vec<Test>, Index)> {
        let mut tests = vec![];
        let count = self.fixed(bounds.count, at)?;
        let narrow = |ty: Ty| int_range(self.types(), ty).is_some_and(|r| r.hi - r.lo <= u32::MAX.into());
        let small = self.l.counter().is_some_and(|c| narrow(c.ty));
        let (index, index_at) = if small { self.unwidened(bounds.index, at) } else { (bounds.index.clone(), at) };
        let (node, slope) = self.follow(&index, index_at, DEPTH, &mut tests)?;
        let ty = mir::ty::operand_ty(self.program, self.body, &index).ok()?;
        let range = int_range(self.types(), ty)?;
        if small && !slope.is_none() {
            if let Slope::Factor(by) = &slope {
                tests.push(Test::SmallFactor(by.as_ref().clone()));
            }
            if let Slope::Small(n) = slope {
                (n.abs() < 1 << 16).then_some(())?;
            }
            tests.push(Test::Range(Index { node: node.clone(), slope: slope.clone() }, ty, count.clone()));
        } else {
            let index = Index { node: node.clone(), slope: slope.clone() };
            self.level(&index, ty, &mut tests)?;
            if range.lo < 0 {
                // A conversion to a signed number of the same bits keeps the order if what is
                // converted ends below the count.
                tests.push(Test::Positive(index.clone(), ty));
            }
            tests.push(Test::Less(index, ty, count.clone()));
        }
        if let Some(e) = bounds.element {
            if e.may_be_null {
                tests.push(Test::NotNull(self.fixed(&e.base, at)?));
            }
            if e.may_be_negative {
                tests.push(Test::Count(count.clone()));
            }
        }
        Some((tests, Index { node, slope }))
    }

    /// What an index was before it was converted to types that have all its values from 0 up.
    fn unwidened(&self, operand: &Operand, at: At) -> (Operand, At) {
        let inner = || {
            let local = uses::whole(operand)?;
            let def = loops::computed_before(self.body, self.writes, self.dominators, self.l, local, at)?;
            let (from, to) = self.writes.single(self.body, local)?.1.as_numeric()?;
            let ty = mir::ty::operand_ty(self.program, self.body, from).ok()?;
            let wider = int_range(self.types(), to)?.hi >= int_range(self.types(), ty)?.hi;
            wider.then(|| (from.clone(), def))
        };
        match inner() {
            Some((from, def)) => self.unwidened(&from, def),
            None => (operand.clone(), at),
        }
    }

    /// Base and count of a check that stays, if they are the same in all turns, lie in memory, and
    /// need more than a comparison.
    pub fn eased(&self, e: &ElementCheck, at: At) -> Option<(Node, Node)> {
        if !e.may_be_null && !e.may_be_negative {
            return None;
        }
        let (base, count) = (self.fixed(&e.base, at)?, self.fixed(&e.count, at)?);
        (base.loads() && count.loads()).then_some((base, count))
    }

    /// The index that an operand is, if it grows and fewer than 64 bits may wrap around on the way
    /// to it.
    pub fn narrow(&self, operand: &Operand, at: At) -> Option<Index> {
        let (node, slope) = self.follow(operand, at, DEPTH, &mut vec![])?;
        (!slope.is_none() && self.may_wrap(&node)).then_some(Index { node, slope })
    }

    fn may_wrap(&self, node: &Node) -> bool {
        match node {
            Node::Binary(_, a, b, ty) => {
                let narrow = int_range(self.types(), *ty).is_some_and(|r| r.hi - r.lo <= u32::MAX.into());
                narrow || self.may_wrap(a) || self.may_wrap(b)
            }
            Node::Numeric(a, _) => self.may_wrap(a),
            // C compilers do not conclude from a test in another type that the counter does not wrap.
            Node::Counter | Node::Changed => {
                let counter = self.l.counter().and_then(|c| int_range(self.types(), c.ty));
                self.l.is_compared_wider() && counter.is_some_and(|r| r.hi - r.lo <= u32::MAX.into())
            }
            _ => false,
        }
    }

    /// The expression that an operand holds at a statement, and how it grows. `tests`: what
    /// conversions on the way ask for.
    fn follow(&self, operand: &Operand, at: At, depth: u32, tests: &mut Vec<Test>) -> Option<(Node, Slope)> {
        if depth == 0 {
            return None;
        }
        if matches!(operand, Operand::Const(_)) {
            return Some((Node::Leaf(operand.clone()), Slope::None));
        }
        let Some(local) = uses::whole(operand) else {
            return Some((self.load(operand.place()?, at, depth)?, Slope::None));
        };
        if let Some(counter) = self.l.counter().filter(|c| c.local == local) {
            let changed = counter.has_changed(self.dominators, at);
            return Some((if changed { Node::Changed } else { Node::Counter }, Slope::Small(1)));
        }
        if loops::is_unwritten(self.body, &self.l.blocks, local) {
            return Some((Node::Leaf(operand.clone()), Slope::None));
        }
        let def = loops::computed_before(self.body, self.writes, self.dominators, self.l, local, at)?;
        let (_, value) = self.writes.single(self.body, local)?;
        if let Some(a) = value.as_use() {
            return self.follow(a, def, depth - 1, tests);
        }
        if let Some((a, ty)) = value.as_numeric() {
            let from = mir::ty::operand_ty(self.program, self.body, a).ok()?;
            let (node, slope) = self.follow(a, def, depth - 1, tests)?;
            int_range(self.types(), ty)?;
            let index = Index { node, slope };
            self.convert(&index, from, ty, tests)?;
            return Some((Node::Numeric(Box::new(index.node), ty), index.slope));
        }
        if let Some((op @ (BinOp::Add | BinOp::Sub | BinOp::Mul), a, b, ty)) = value.as_binary() {
            int_range(self.types(), ty)?;
            let (x, sx) = self.follow(a, def, depth - 1, tests)?;
            let (y, sy) = self.follow(b, def, depth - 1, tests)?;
            let slope = combined(op, (&x, sx), (&y, sy), ty)?;
            return Some((Node::Binary(op, Box::new(x), Box::new(y), ty), slope));
        }
        let (op @ (BinOp::Add | BinOp::Sub | BinOp::Mul), a, b) = value.as_count_arith()? else { return None };
        let (x, y) = (self.fixed_at(a, def, depth)?, self.fixed_at(b, def, depth)?);
        let narrow = self.is_narrow(&x) && self.is_narrow(&y);
        self.counted.borrow_mut().push(def);
        Some((Node::Count(op, Box::new(x), Box::new(y), narrow), Slope::None))
    }

    fn fixed_at(&self, operand: &Operand, at: At, depth: u32) -> Option<Node> {
        let (node, slope) = self.follow(operand, at, depth - 1, &mut vec![])?;
        (slope.is_none()).then_some(node)
    }

    /// Whether a count is a number that `int` has: a product of two is one of 64 bits.
    fn is_narrow(&self, node: &Node) -> bool {
        let int = flow::ranges::Range::new(i32::MIN.into(), i32::MAX.into());
        let small = |ty: Ty| int_range(self.types(), ty).is_some_and(|r| int.covers(r));
        match node {
            Node::Leaf(Operand::Const(Const::Int(n, _))) => n.unsigned_abs() < 1 << 31,
            Node::Leaf(operand) => mir::ty::operand_ty(self.program, self.body, operand).is_ok_and(small),
            Node::Load(place, _) => mir::ty::place_ty(self.program, self.body, place).is_ok_and(|q| small(q.ty)),
            Node::Numeric(from, ty) => small(*ty) || self.is_narrow(from),
            _ => false,
        }
    }

    /// A place that is read before the loop instead: nothing in the loop changes it, and it is
    /// behind one pointer at most.
    fn load(&self, place: &Place, at: At, depth: u32) -> Option<Node> {
        let qty = mir::ty::place_ty(self.program, self.body, place).ok()?;
        let one_word = int_range(self.types(), qty.ty).is_some() || self.types().as_pointer(qty.ty).is_some();
        if !one_word || self.types().words(qty.ty) != 1 || qty.quals.is_volatile || qty.quals.is_atomic {
            return None;
        }
        let stmt = self.body.blocks.get(at.block)?.stmts.get(at.stmt)?;
        if stmt.is_unsafe || matches!(place.base, PlaceBase::Str(_)) {
            return None;
        }
        if place.proj.as_slice() == [Proj::Deref] {
            if let Some(element) = self.element(place, qty.ty, at, depth) {
                return Some(element);
            }
        }
        for (n, step) in place.proj.iter().enumerate() {
            let record = mir::ty::prefix_ty(self.program, self.body, place, n).ok()?.ty;
            match step {
                Proj::Deref if n == 0 => {}
                Proj::Field(field) => {
                    let record = self.types().record(self.types().as_record(record)?);
                    let plain = record.fields.as_ref()?.get(*field as usize)?.width.is_none();
                    (record.kind == RecordKind::Struct && plain).then_some(())?;
                }
                Proj::Deref | Proj::Index(_) => return None,
            }
        }
        let behind = place.proj.first() == Some(&Proj::Deref);
        match place.base {
            PlaceBase::Local(local) => {
                let decl = self.body.locals.get(local.0 as usize)?;
                if behind {
                    // A pointer whose bounds say nothing is not an address to begin with.
                    let thin = self.types().words(decl.ty.ty) == 1;
                    (thin && loops::is_unwritten(self.body, &self.l.blocks, local)).then_some(())?;
                }
            }
            _ if behind => return None,
            _ => {}
        }
        let begins = |s: &Stmt| s.kind.storage().is_some_and(|l| Some(l) == place.base_local());
        if self.l.blocks.iter().filter_map(|&b| self.body.blocks.get(b)).any(|b| b.stmts.iter().any(begins)) {
            return None;
        }
        let null = place.base_local().filter(|_| behind);
        self.steady.holds(place).then(|| Node::Load(place.clone(), null))
    }

    /// What a statement reads behind one of the pointers, none of them null, if it is the same in
    /// all turns.
    pub fn steady_read(&self, kind: &StmtKind, at: At, pointers: &[Local]) -> Option<Node> {
        let Operand::Copy(place) = kind.value()?.same_number()? else { return None };
        let node = self.load(place, at, DEPTH)?;
        matches!(&node, Node::Load(_, Some(pointer)) if pointers.contains(pointer)).then_some(node)
    }

    /// An element whose check stands in the loop, too.
    fn element(&self, place: &Place, ty: Ty, at: At, depth: u32) -> Option<Node> {
        let address = place.base_local()?;
        let def = loops::computed_before(self.body, self.writes, self.dominators, self.l, address, at)?;
        let (base, index) = self.writes.single(self.body, address)?.1.as_offset()?;
        // Only what the loop stores nowhere: this is not a field.
        self.steady.holds(place).then_some(())?;
        let stmts = &self.body.blocks.get(def.block)?.stmts;
        let check = stmts.iter().enumerate().find_map(|(n, s)| {
            let e = s.kind.as_check()?.as_element()?;
            (e.base == *base && e.index == *index).then_some((n, e))
        });
        let count = match check {
            Some((stmt, e)) => Some(Box::new(self.fixed_at(&e.count, At { block: def.block, stmt }, depth)?)),
            // The head runs next in any case, but only up to what may fault: another check may have
            // proven this one.
            None if def.block == self.l.head
                && at.block == self.l.head
                && !stmts.iter().take(at.stmt).any(|s| may_fault(&s.kind)) =>
            {
                None
            }
            None => return None,
        };
        let base = self.fixed_at(base, def, depth)?;
        let index = self.fixed_at(index, def, depth)?;
        Some(Node::Element(Box::new([base, index]), count, ty))
    }

    /// What a conversion of something that grows asks for: that it goes up and passes no end of its
    /// own type, and that the new type has its values.
    fn convert(&self, index: &Index, from: Ty, to: Ty, tests: &mut Vec<Test>) -> Option<()> {
        let (have, want) = (int_range(self.types(), from)?, int_range(self.types(), to)?);
        if index.slope.is_none() {
            return Some(());
        }
        self.level(index, from, tests)?;
        if want.covers(have) {
            return Some(());
        }
        let bits = |r: flow::ranges::Range| r.hi - r.lo;
        if have.lo < 0 && want.lo == 0 && bits(have) <= bits(want) {
            // From a signed type to an unsigned one that is not smaller.
            tests.push(Test::Positive(index.clone(), from));
            return Some(());
        }
        // From an unsigned type of 64 bits to the signed one: the sequence stays in order as long
        // as it ends below the count, which is a signed number; that its first number is not
        // negative is required of the result.
        (have.lo == 0 && bits(have) == bits(want)).then_some(())
    }

    /// The sequence of values passes no end of its type.
    fn level(&self, index: &Index, ty: Ty, tests: &mut Vec<Test>) -> Option<()> {
        let Index { node, slope } = index;
        if slope.is_none() {
            return Some(());
        }
        let counter = self.l.counter()?.ty;
        let (range, counter) = (int_range(self.types(), ty)?, int_range(self.types(), counter)?);
        let is_wide = range.hi - range.lo > u32::MAX.into();
        let is_32 = range.hi - range.lo == u32::MAX.into();
        match slope {
            Slope::Small(1 | -1) if range.hi - range.lo >= counter.hi - counter.lo => {}
            Slope::Small(n) if is_wide && n.abs() < 1 << 16 => {
                if counter.hi - counter.lo > u32::MAX.into() {
                    tests.push(Test::FewTurns);
                }
            }
            Slope::Factor(by) if is_wide || is_32 => {
                tests.push(Test::FewTurns);
                tests.push(Test::SmallFactor(by.as_ref().clone()));
                if is_32 {
                    tests.push(Test::Span(slope.clone()));
                }
            }
            Slope::Small(n) if is_32 && n.abs() < 1 << 16 => {
                tests.push(Test::FewTurns);
                tests.push(Test::Span(slope.clone()));
            }
            _ => return None,
        }
        if !matches!(node, Node::Counter | Node::Changed) {
            tests.push(Test::InOrder(index.clone(), ty));
        }
        Some(())
    }
}

/// Whether what stands behind the statement may rely on what it tested.
fn may_fault(kind: &StmtKind) -> bool {
    kind.as_check().is_some() || kind.value().is_some_and(|value| value.as_count_arith().is_some())
}

fn combined(op: BinOp, (x, sx): (&Node, Slope), (y, sy): (&Node, Slope), ty: Ty) -> Option<Slope> {
    match (op, sx, sy) {
        (_, Slope::None, Slope::None) => Some(Slope::None),
        (BinOp::Add | BinOp::Sub, s, Slope::None) | (BinOp::Add, Slope::None, s) => Some(s),
        (BinOp::Sub, Slope::None, s) => s.negated(),
        (BinOp::Add, Slope::Small(a), Slope::Small(b)) if a + b != 0 => Some(Slope::Small(a + b)),
        (BinOp::Mul, Slope::Small(n), Slope::None) => scaled(n, y, ty),
        (BinOp::Mul, Slope::None, Slope::Small(n)) => scaled(n, x, ty),
        _ => None,
    }
}

/// How a product in the type `ty` grows, if one factor grows by `n` and the other is the same.
fn scaled(n: i128, by: &Node, ty: Ty) -> Option<Slope> {
    match by {
        Node::Leaf(Operand::Const(Const::Int(k, _))) if (1..1 << 16).contains(k) => Some(Slope::Small(n * k)),
        Node::Leaf(Operand::Const(_)) => None,
        by if n == 1 => Some(Slope::Factor(Box::new(by.clone()))),
        // Where this product wraps, so does the growth, by the same number.
        by if (1..1 << 16).contains(&n) => {
            let n = Node::Leaf(Operand::Const(Const::Int(n, ty)));
            Some(Slope::Factor(Box::new(Node::Binary(BinOp::Mul, Box::new(n), Box::new(by.clone()), ty))))
        }
        _ => None,
    }
}
