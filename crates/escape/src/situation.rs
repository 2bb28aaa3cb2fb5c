//! The lattice of `follow`: what is known of the object at a point.

use crate::places::Cell;
use crate::rules::Rule;

/// Situations at one point of a body, at most.
pub(crate) const MOST_SITUATIONS: usize = 160;

/// Whether the object is there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Status {
    /// Not made yet, or it could not be made.
    Absent,
    /// There.
    Live,
    /// Released.
    Freed,
}

/// What a followed place holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Value {
    /// A null pointer.
    Null,
    /// A pointer that is not null and not to the object.
    NotNull,
    /// So many bytes from the start of the object.
    At(i64),
    /// Somewhere in the object.
    Inside,
    /// Another object that is followed in the same body, by its number. Only in `owners`.
    Sibling(u32),
    /// A number.
    Int(i64),
    /// One if the place is not null (`true`) or null (`false`), else zero.
    Test(Cell, bool),
}

/// One situation.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Situation {
    pub(crate) status: Status,
    /// Sorted by place.
    pub(crate) values: Vec<(Cell, Value)>,
    /// Whether the object certainly has a string from its start, with its end inside: if all
    /// accesses before were inside, too.
    pub(crate) text: bool,
}

impl Situation {
    /// Whether it differs from another one in nothing but what is known of a string.
    fn is_like(&self, other: &Situation) -> bool {
        self.status == other.status && self.values == other.values
    }

    pub(crate) fn get(&self, cell: Cell) -> Option<Value> {
        let at = self.values.binary_search_by_key(&cell, |v| v.0).ok()?;
        self.values.get(at).map(|v| v.1)
    }

    pub(crate) fn set(&mut self, cell: Cell, value: Option<Value>) {
        // A test of what changes says nothing any more.
        let stale = |v: &Value| matches!(v, Value::Test(of, _) if *of == cell) && Rule::StaleTest.holds();
        self.values.retain(|v| v.0 != cell && !stale(&v.1));
        if let Some(value) = value.filter(|v| !matches!(v, Value::Test(of, _) if *of == cell)) {
            let at = self.values.partition_point(|v| v.0 < cell);
            self.values.insert(at, (cell, value));
        }
    }

    /// No place has the object any more.
    pub(crate) fn forget_object(&mut self) {
        let old: Vec<Cell> = self.values.iter().filter(|v| is_object(Some(v.1))).map(|v| v.0).collect();
        for cell in old {
            self.set(cell, None);
        }
    }

    /// Whether a value is true, if that is known.
    pub(crate) fn truth(&self, value: Value) -> Option<bool> {
        match value {
            Value::Null | Value::Int(0) => Some(false),
            Value::NotNull | Value::At(_) | Value::Inside | Value::Sibling(_) | Value::Int(_) => Some(true),
            Value::Test(cell, wants) => Some(self.truth(self.get(cell)?)? == wants),
        }
    }
}

/// Whether a value is a pointer to or into the object.
pub(crate) fn is_object(value: Option<Value>) -> bool {
    matches!(value, Some(Value::At(_) | Value::Inside))
}

/// All situations at a point, sorted; of two that differ in what is known of a string alone the one
/// that knows less.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct State {
    pub(crate) all: Vec<Situation>,
}

impl State {
    pub(crate) fn normalise(&mut self) {
        // The one that knows less is sorted first.
        self.all.sort_unstable();
        self.all.dedup_by(|b, a| a.is_like(b));
    }

    /// Adds a situation, if there is room; whether that changes the state, `None`: no room.
    pub(crate) fn add(&mut self, situation: &Situation) -> Option<bool> {
        let at = match self.all.binary_search(situation) {
            Ok(_) => return Some(false),
            Err(at) => at,
        };
        if at.checked_sub(1).and_then(|n| self.all.get(n)).is_some_and(|s| s.is_like(situation)) {
            return Some(false);
        }
        if let Some(same) = self.all.get_mut(at).filter(|s| s.is_like(situation)) {
            same.text = false;
            return Some(true);
        }
        if self.all.len() >= MOST_SITUATIONS {
            return None;
        }
        self.all.insert(at, situation.clone());
        Some(true)
    }
}
