//! What happens to an object that is followed.

use crate::known::{Extent, Known};
use crate::rules::Rule;
use crate::situation::{Text, Value};
use flow::framework::Point;
use mir::ir::{Local, Operand, Place};
use source::Span;

/// Kinds of events.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Something may keep a pointer to it beyond its release.
    Escapes,
    /// It is stored in memory, which is an escape too.
    Stored,
    /// Its size changes.
    Resized,
    /// A second object of the site is made while the first is live.
    Again,
    /// It is released here: by a callee that is named, or by the function itself.
    Freed(Option<String>),
    /// The release of the same statement may get another object.
    OtherFreed,
    /// The release of the same statement may get null. Only in `owners`.
    NullFreed,
    /// It is returned.
    Returned,
    /// A pointer into it is returned.
    ReturnedInside,
    /// Something else, not null, is returned while it is not live.
    ReturnedOther,
    /// The function ends and it is still live.
    Left,
    /// It is read or written through this place.
    Access(Place, Value),
    /// A pointer is made from this one by adding elements.
    Stepped(Value),
    /// It is read or written by a callee through this pointer: how far; whether that points at its
    /// start.
    Extent(Operand, Vec<(Operand, Option<Operand>)>, bool),
    /// A pointer to it is made one to a type of this alignment.
    Cast(u64),
    /// It is read or written in a way without a bound that is known.
    Open,
    /// It is read from its start up to the end of the string that is there.
    Text(Text),
    /// A callee writes a string to it, at the end of the one that is there.
    TextWritten(Text),
    /// The function that arrives in this parameter gets it as this argument. Only of an object
    /// that arrives in a parameter.
    Calls(u32, u32),
}

/// One event.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// What happens.
    pub kind: Kind,
    /// In words, for the report.
    pub why: String,
    /// Where.
    pub span: Span,
}

impl Event {
    /// An event with a reason.
    pub fn new(kind: Kind, why: &str, span: Span) -> Event {
        Event { kind, why: why.to_string(), span }
    }

    /// A release.
    pub fn freed(by: Option<&str>, span: Span) -> Event {
        Event::new(Kind::Freed(by.map(str::to_string)), "", span)
    }

    /// A release of something else.
    pub fn other_freed(span: Span) -> Event {
        Event::new(Kind::OtherFreed, "", span)
    }

    /// An access through a place.
    pub fn access(place: &Place, pointer: Value, span: Span) -> Event {
        Event::new(Kind::Access(place.clone(), pointer), "", span)
    }

    /// A use without a known bound.
    pub fn open(span: Span) -> Event {
        Event::new(Kind::Open, "", span)
    }

    /// A use of so many bytes from its start.
    pub fn first_bytes(pointer: &Operand, bytes: Operand, from_start: bool, span: Span) -> Event {
        let from_start = from_start || !Rule::FromStart.holds();
        Event::new(Kind::Extent(pointer.clone(), vec![(bytes, None)], from_start), "", span)
    }

    /// A use as argument `n` of a function of the table.
    pub fn bounded(known: Known, n: usize, args: &[Operand], value: Option<Value>, span: Span) -> Event {
        let bounds: Vec<Option<(Operand, Option<Operand>)>> = known
            .bounded
            .iter()
            .filter(|b| b.0 as usize == n)
            .map(|b| match b.1 {
                Extent::Argument(m) => args.get(m as usize).cloned().map(|a| (a, None)),
                Extent::Product(m, k) => Some((args.get(m as usize)?.clone(), Some(args.get(k as usize)?.clone()))),
            })
            .collect();
        let from_start = value == Some(Value::At(0));
        match (bounds.into_iter().collect::<Option<Vec<_>>>(), args.get(n)) {
            (Some(all), Some(pointer)) if !all.is_empty() => {
                Event::new(Kind::Extent(pointer.clone(), all, from_start || !Rule::FromStart.holds()), "", span)
            }
            _ => Event::open(span),
        }
    }
}

/// Everything that happens to an object.
#[derive(Clone, Debug, Default)]
pub struct Events {
    /// Where and what, each once.
    pub all: Vec<(Point, Event)>,
    /// Nothing takes the result of the allocation.
    pub unused: bool,
    /// The body needs more situations than are followed: nothing is known.
    pub full: bool,
    /// Locals that may hold the object.
    pub holders: Vec<Local>,
}

impl Events {
    /// Adds an event, once.
    pub fn push(&mut self, at: Point, event: Event) {
        let known = self.all.iter().rev().take_while(|(p, _)| *p == at).any(|(_, e)| *e == event);
        if !known {
            self.all.push((at, event));
        }
    }

    /// The first event of which this is true.
    pub fn find(&self, wanted: impl Fn(&Kind) -> bool) -> Option<&Event> {
        self.all.iter().map(|(_, e)| e).find(|e| wanted(&e.kind))
    }

    /// Whether there is such an event.
    pub fn any(&self, wanted: impl Fn(&Kind) -> bool) -> bool {
        self.find(wanted).is_some()
    }

    /// The strictest alignment that anything wants of it.
    pub fn align(&self) -> u64 {
        let wanted = self.all.iter().map(|(_, e)| if let Kind::Cast(align) = e.kind { align } else { 1 });
        wanted.max().unwrap_or(1)
    }

    /// The reason why something may keep the object, if something may.
    pub fn kept(&self) -> Option<&Event> {
        self.find(|k| matches!(k, Kind::Escapes | Kind::Stored | Kind::Resized | Kind::Again))
    }
}
