//! Tasks: what is owned goes to a `consume` parameter, or becomes shared; nothing is lent.

use crate::body::Body;
use crate::model::{St, Ty};
use crate::program::{Param, Ret};

impl Body<'_> {
    /// One statement with tasks.
    pub fn task_statement(&mut self) -> bool {
        if self.slot_cursors > 0 {
            return false;
        }
        if self.random.chance(35) {
            self.line("yield();");
            return true;
        }
        if self.trips > 4 {
            return false;
        }
        let given = |p: &Param| {
            matches!(p, Param::Consume(_) | Param::Release(_) | Param::Whole(_) | Param::GivePack | Param::Heap(_))
        };
        let fits: Vec<usize> = (0..self.funs.len())
            .filter(|&n| self.funs[n].ret == Ret::None && self.funs[n].params.iter().all(given))
            .collect();
        let known = if fits.is_empty() || self.random.chance(50) { None } else { Some(*self.random.pick(&fits)) };
        let call = match known {
            Some(n) => {
                let fun = self.funs[n].clone();
                if self.cost + self.trips * fun.cost > 5000 {
                    return false;
                }
                let mut words = vec![];
                for param in &fun.params {
                    let ty = match *param {
                        Param::Consume(p) => Ty::Unique(p),
                        Param::Release(p) => Ty::Rc(p),
                        Param::Whole(p) => Ty::Val(p),
                        Param::GivePack => Ty::Pack,
                        Param::Heap(p) => {
                            let Some(n) = self.some_var(|_, v| v.ty == Ty::Heap(p)) else { return false };
                            words.push(self.vars[n].name.clone());
                            continue;
                        }
                        _ => return false,
                    };
                    words.push(self.given(ty));
                }
                self.cost += self.trips * fun.cost;
                format!("{}({})", fun.name, words.join(", "))
            }
            None => {
                let p = self.some_record();
                let (of, turns) = (self.types.name(p).to_string(), self.random.between(0, 3));
                let value = self.given(Ty::Unique(p));
                self.cost += self.trips * 20;
                format!("work_{of}({value}, {turns})")
            }
        };
        let t = self.types.tag.clone();
        if self.random.chance(50) {
            self.line(format!("{t}_keep(start {call});"));
        } else {
            let x = self.name("task");
            self.line(format!("task *{x} = start {call};"));
            if self.random.chance(50) {
                self.block(2);
            }
            self.line(format!("if (!join({x})) bad(__LINE__);"));
        }
        true
    }

    /// Something owned that is there, or new.
    pub fn given(&mut self, ty: Ty) -> String {
        match self.movable(|t| t == ty).filter(|p| ty != Ty::Pack || p.steps.is_empty()) {
            Some(path) if self.random.chance(60) => {
                self.set_st(&path, St::Moved);
                self.text(&path)
            }
            _ => self.fresh(ty),
        }
    }
}
