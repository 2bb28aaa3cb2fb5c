//! Control flow: blocks, branches, loops, jumps, `switch`, `defer`.

use crate::body::Body;
use crate::model::{Own, Path, St, Ty};

impl Body<'_> {
    /// Some statements.
    pub fn block(&mut self, most: i64) {
        let n = self.random.between(1, most);
        for _ in 0..n {
            if self.fuel <= 0 || self.cost > 4000 {
                return;
            }
            self.statement();
        }
    }

    /// One statement of any kind.
    pub fn statement(&mut self) {
        self.fuel -= 1;
        for _ in 0..12 {
            let deep = self.scopes.len() > 5;
            let written = match self.random.below(35) {
                0 | 1 if !deep => self.branch(),
                2 if !deep => self.loops(),
                3 if !deep => self.switches(),
                4 => self.jump(),
                5 if !deep => self.again(),
                6 => self.defers(),
                7..=13 => self.unique_statement(),
                14..=17 => self.lending_statement(),
                18 | 19 => self.counted_statement(),
                20..=23 => self.region_statement(),
                24 | 25 => self.key_statement(),
                26 => self.generic_statement(),
                27 => self.slot_statement(),
                28 | 29 if !deep => self.walk_statement(),
                30..=32 => self.family_statement(),
                _ => self.call_statement(),
            };
            if written {
                return;
            }
        }
    }

    fn branch(&mut self) -> bool {
        // On what a path holds: each arm knows.
        if self.random.chance(35) {
            return self.tested();
        }
        let before = self.states();
        let condition = self.condition();
        self.open(format!("if ({condition}) {{"));
        self.block(4);
        let has_else = self.random.chance(60);
        // An arm that leaves joins nothing.
        if self.random.chance(20) && self.leave_function() {
            self.pop();
            self.line("}");
            self.set_states(&before);
            if has_else {
                self.block(2);
            }
            return true;
        }
        if !has_else {
            self.restore(&before);
            self.close("}");
            self.set_states(&before);
            return true;
        }
        // The second arm is brought to where the first one ended.
        let keep = before.len();
        let first: Vec<Own>;
        if self.random.chance(50) {
            self.restore(&before);
            first = before.clone();
            self.close("} else {");
        } else {
            self.fill_all(keep);
            first = self.states().into_iter().take(keep).collect();
            self.close("} else {");
        }
        self.set_states(&before);
        self.scope(None, false);
        self.block(4);
        self.restore(&first);
        self.close("}");
        self.settle(&first);
        true
    }

    /// What is known after a join. Objects in arenas that could not be made again count as moved.
    fn settle(&mut self, other: &[Own]) {
        for (var, own) in self.vars.iter_mut().zip(other) {
            if var.own != *own {
                var.own = if var.ty.owes() { own.clone() } else { Own::new(St::Moved) };
            }
        }
    }

    /// Makes parts whole, so that a join need not know of them.
    fn fill_all(&mut self, keep: usize) {
        for n in 0..keep.min(self.vars.len()) {
            let path = Path::var(n);
            if self.vars[n].own.st == St::Live && !self.pins.iter().any(|p| p.path.root == n) && self.random.chance(60)
            {
                self.fill(&path);
            }
        }
    }

    /// `if (path) ...`: inside it lives.
    fn tested(&mut self) -> bool {
        let found = self.some(|b, p| {
            let is_pointer = matches!(b.ty(p), Ty::Unique(_) | Ty::Rc(_));
            is_pointer && b.ty(p) != Ty::Rc(usize::MAX) && b.own(p).st == St::Maybe && b.is_free(p)
        });
        let Some(path) = found else { return false };
        let text = self.text(&path);
        let before = self.states();
        match self.random.below(4) {
            0 => {
                // What was null is made.
                let ty = self.ty(&path);
                let new = self.fresh(ty);
                self.line(format!("if (!{text}) {text} = {new};"));
                if path.steps.is_empty() {
                    self.set_st(&path, St::Live);
                }
                true
            }
            1 => {
                let word = if matches!(self.ty(&path), Ty::Unique(_)) { "free" } else { "release" };
                self.line(format!("if ({text} != nullptr) {word}({text});"));
                self.set_st(&path, St::Moved);
                true
            }
            _ => {
                self.open(format!("if ({text}) {{"));
                self.set_st(&path, St::Live);
                self.block(4);
                self.restore(&before);
                self.close("}");
                self.set_states(&before);
                true
            }
        }
    }

    fn loops(&mut self) -> bool {
        let trips = self.random.between(1, 4);
        if self.trips * trips > 16 {
            return false;
        }
        let head = self.states();
        let i = self.name("i");
        let shape = self.random.below(4);
        match shape {
            0 => self.line(format!("for (int {i} = 0; {i} < {trips}; {i}++) {{")),
            1 => self.line(format!("for (int {i} = {trips}; {i}--; ) {{")),
            2 => {
                self.line(format!("int {i} = {trips};"));
                self.line(format!("while ({i}-- > 0) {{"));
            }
            _ => {
                self.line(format!("int {i} = 0;"));
                self.line("do {");
            }
        }
        self.scope(Some(head.clone()), false);
        self.trips *= trips;
        self.block(5);
        self.restore(&head);
        self.trips /= trips;
        self.close(if shape == 3 { format!("}} while (++{i} < {trips});") } else { "}".into() });
        self.set_states(&head);
        true
    }

    /// A loop made of a label and a `goto`.
    fn again(&mut self) -> bool {
        if self.trips > 4 || self.scopes.iter().any(|s| s.is_switch) {
            return false;
        }
        let head = self.states();
        let (label, i) = (self.name("again"), self.name("i"));
        self.line(format!("int {i} = 0;"));
        self.line(format!("{label}: {{"));
        self.scope(None, false);
        self.trips *= 2;
        self.block(4);
        let jumps = self.may_leave(&head);
        if jumps {
            self.open(format!("if (++{i} < 2) {{"));
            let here = self.states();
            self.leave(&head);
            self.line(format!("goto {label};"));
            self.pop();
            self.line("}");
            self.set_states(&here);
        }
        self.trips /= 2;
        self.close("}");
        true
    }

    fn switches(&mut self) -> bool {
        let before = self.states();
        let arms = self.random.between(2, 4);
        self.line(format!("switch (fresh() % {arms}) {{"));
        let mut target: Option<Vec<Own>> = None;
        for n in 0..arms {
            self.line(if n == arms - 1 { "default: {".to_string() } else { format!("case {n}: {{") });
            self.scope(None, true);
            self.block(3);
            match &target {
                None => {
                    if self.random.chance(50) {
                        self.restore(&before);
                    } else {
                        self.fill_all(before.len());
                    }
                    target = Some(self.states().into_iter().take(before.len()).collect());
                }
                Some(target) => self.restore(&target.clone()),
            }
            let joined = target.clone().unwrap_or_default();
            self.settle(&joined);
            self.close("}");
            let end = self.states();
            self.line("break;");
            if n < arms - 1 {
                self.set_states(&before);
            } else {
                self.set_states(&end);
            }
        }
        self.line("}");
        true
    }

    /// A way out of a loop or the function.
    fn jump(&mut self) -> bool {
        if self.random.chance(40) {
            let before = self.states();
            let condition = self.condition();
            if !self.may_leave(&[]) {
                return false;
            }
            self.open(format!("if ({condition}) {{"));
            self.write_return();
            self.pop();
            self.line("}");
            self.set_states(&before);
            return true;
        }
        // The nearest loop; a switch in between takes `break` for itself.
        let Some(at) = self.scopes.iter().rposition(|s| s.head.is_some()) else { return false };
        if self.scopes[at..].iter().any(|s| s.is_closed) {
            return false;
        }
        let has_switch = self.scopes[at..].iter().any(|s| s.is_switch);
        let Some(head) = self.scopes[at].head.clone() else { return false };
        if !self.may_leave(&head) {
            return false;
        }
        let before = self.states();
        let condition = self.condition();
        self.open(format!("if ({condition}) {{"));
        self.leave(&head);
        let word = if has_switch || self.random.chance(50) { "continue;" } else { "break;" };
        self.line(word);
        self.pop();
        self.line("}");
        self.set_states(&before);
        true
    }

    /// A return at the end of an arm, if that can be.
    fn leave_function(&mut self) -> bool {
        if !self.may_leave(&[]) {
            return false;
        }
        self.write_return();
        true
    }

    fn defers(&mut self) -> bool {
        let depth = self.scopes.len();
        let found = self.some(|b, p| {
            let var = &b.vars[p.root];
            let own = b.own(p);
            // A loop's jumps go by the states at its head: what is deferred here is declared here.
            p.steps.is_empty()
                && var.depth == depth
                && !var.is_lent
                && !var.is_place
                && own.st == St::Live
                && own.is_whole()
                && matches!(var.ty, Ty::Unique(_) | Ty::Rc(_))
                && b.is_free(p)
        });
        let Some(path) = found else { return false };
        let text = self.text(&path);
        let word = if matches!(self.ty(&path), Ty::Unique(_)) { "free" } else { "release" };
        self.line(format!("defer {word}({text});"));
        self.vars[path.root].is_deferred = true;
        true
    }
}
