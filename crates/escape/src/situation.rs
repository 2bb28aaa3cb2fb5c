//! The lattice of `follow`: what is known of the object at a point.

use crate::places::Cell;
use crate::rules::Rule;
use flow::framework::Point;

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
    /// What string the object has, if all accesses before were inside.
    pub(crate) text: Text,
}

/// The string that an object begins with.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Text {
    /// Perhaps none.
    Unknown,
    /// One with its end inside.
    Ends,
    /// What these statements wrote: the first one a string or the zero that ends one, the others
    /// (`strcat`) each at its end. No statement: an empty place at the start.
    Written(Vec<Point>),
    /// The same, if the first statement, which copies bytes, copies a zero with them.
    Copied(Vec<Point>),
}

/// Statements that write one string, at most.
const MOST_PARTS: usize = 6;

impl Text {
    /// What is known if either may be there.
    fn meet(&self, other: &Text) -> Text {
        match (self, other) {
            _ if self == other => self.clone(),
            (Text::Ends | Text::Written(_), Text::Ends | Text::Written(_)) => Text::Ends,
            _ => Text::Unknown,
        }
    }

    /// What is there after a statement has written at its end.
    pub(crate) fn longer(self, at: Point) -> Text {
        let with = |mut all: Vec<Point>| {
            all.push(at);
            (all.len() <= MOST_PARTS).then_some(all)
        };
        match self {
            Text::Unknown => Text::Unknown,
            Text::Ends => Text::Ends,
            Text::Written(all) => with(all).map_or(Text::Ends, Text::Written),
            Text::Copied(all) => with(all).map_or(Text::Unknown, Text::Copied),
        }
    }
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

/// All situations at a point, sorted; of two that differ in what is known of a string alone
/// there is one, with what both know.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct State {
    pub(crate) all: Vec<Situation>,
}

impl State {
    pub(crate) fn normalise(&mut self) {
        self.all.sort_unstable();
        self.all.dedup_by(|b, a| {
            let same = a.is_like(b);
            if same {
                a.text = a.text.meet(&b.text);
            }
            same
        });
    }

    /// Adds a situation, if there is room; whether that changes the state, `None`: no room.
    pub(crate) fn add(&mut self, situation: &Situation) -> Option<bool> {
        let at = match self.all.binary_search_by(|s| (s.status, &s.values).cmp(&(situation.status, &situation.values)))
        {
            Ok(at) => {
                let same = self.all.get_mut(at)?;
                let both = same.text.meet(&situation.text);
                let changed = same.text != both;
                same.text = both;
                return Some(changed);
            }
            Err(at) => at,
        };
        if self.all.len() >= MOST_SITUATIONS {
            return None;
        }
        self.all.insert(at, situation.clone());
        Some(true)
    }
}
