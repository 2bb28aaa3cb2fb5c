//! What MIR knows of checks: the lines of the table of effects, questions that are answered for all
//! of them, and views of one. A new check is written here; besides, it has a text form (`print.rs`,
//! `parse_body.rs`), types (`verify_types.rs`), a place where lowering makes it, C code and a
//! meaning for the interpreter.

use crate::effects::{Kind, Line, Part, PartMut};
use crate::forms::forms;
use crate::ir::*;
use source::Symbol;
use typing::types::Ty;

macro_rules! traversal {
    ($part:ident $check:ident $($m:tt)?) => {
        /// The operands, places and types that the check names, in the order of their use.
        pub(crate) fn $check<'a>(check: &'a $($m)? Check, see: &mut dyn FnMut(Line, $part<'a>)) {
            match check {
                Check::Index(a, b) => {
                    see(Line::CheckIndex, $part::Operand(a, Kind::Read));
                    see(Line::CheckIndex, $part::Operand(b, Kind::Read));
                }
                Check::Access(a, b) => {
                    see(Line::CheckAccess, $part::Operand(a, Kind::Read));
                    see(Line::CheckAccess, $part::Operand(b, Kind::Read));
                }
                Check::Element(check) => {
                    let ElementCheck { base, index, count, .. } = &$($m)? **check;
                    see(Line::CheckElement, $part::Operand(base, Kind::Read));
                    see(Line::CheckElement, $part::Operand(index, Kind::Read));
                    see(Line::CheckElement, $part::Operand(count, Kind::Read));
                }
                Check::Near(a, b) => {
                    see(Line::CheckNear, $part::Operand(a, Kind::Read));
                    see(Line::CheckNear, $part::Operand(b, Kind::Read));
                }
                Check::Within(a) => see(Line::CheckWithin, $part::Operand(a, Kind::Read)),
                Check::Enough { want, have } => {
                    see(Line::CheckEnough, $part::Operand(want, Kind::Read));
                    see(Line::CheckEnough, $part::Operand(have, Kind::Read));
                }
                Check::NotNull(a) => see(Line::CheckNotNull, $part::Operand(a, Kind::Read)),
                Check::Divide(a, b) => {
                    see(Line::CheckDivide, $part::Operand(a, Kind::Read));
                    see(Line::CheckDivide, $part::Operand(b, Kind::Read));
                }
                Check::Type(a, types) => {
                    see(Line::CheckType, $part::Operand(a, Kind::Read));
                    for ty in types {
                        see(Line::Types, $part::Type(ty));
                    }
                }
                Check::Container(a, ty, _) => {
                    see(Line::CheckContainer, $part::Operand(a, Kind::Read));
                    see(Line::Types, $part::Type(ty));
                }
                Check::Contract(a, ty) => {
                    see(Line::CheckContract, $part::Operand(a, Kind::Read));
                    see(Line::Types, $part::Type(ty));
                }
                Check::Tag(of, _) => see(Line::CheckTag, $part::Place(of, Kind::Read)),
                Check::TagValue(a, _, _) => see(Line::CheckTagValue, $part::Operand(a, Kind::Read)),
                Check::HasTerminator(a) => see(Line::CheckHasTerminator, $part::Operand(a, Kind::Read)),
                Check::Terminator(a, b) => {
                    see(Line::CheckTerminator, $part::Operand(a, Kind::Read));
                    see(Line::CheckTerminator, $part::Operand(b, Kind::Read));
                }
                Check::Count(a, b) => {
                    see(Line::CheckCount, $part::Operand(a, Kind::Read));
                    see(Line::CheckCount, $part::Operand(b, Kind::Read));
                }
                Check::View(a, ty) => {
                    see(Line::CheckView, $part::Operand(a, Kind::Read));
                    see(Line::Types, $part::Type(ty));
                }
                Check::Step(a) => see(Line::CheckStep, $part::Operand(a, Kind::Read)),
                Check::Multiple(a, ty) => {
                    see(Line::CheckMultiple, $part::Operand(a, Kind::Read));
                    see(Line::Types, $part::Type(ty));
                }
                Check::Unreachable => {}
            }
        }
    };
}

traversal!(Part check_lines);
traversal!(PartMut check_lines_mut mut);

/// What checks test, for reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// An index, and a count.
    Index,
    /// A pointer, and its bounds.
    Bounds,
    /// As many elements as are wanted.
    Room,
    /// A pointer that is not null.
    Null,
    /// A divisor.
    Division,
    /// The type that a `void *` remembers.
    Type,
    /// The object that something is a part of.
    Container,
    /// The contract and state of a channel.
    Contract,
    /// The member of a union.
    Tag,
    /// A string that has an end.
    String,
    /// The end of a string, which stays.
    Terminator,
    /// A count that shrinks.
    Count,
    /// Bytes that are seen as another type.
    Cast,
    /// A step over an element that is not the end.
    Step,
}

impl Subject {
    /// A word for it.
    pub fn word(self) -> &'static str {
        match self {
            Subject::Index => "index",
            Subject::Bounds => "bounds",
            Subject::Room => "range",
            Subject::Null => "null",
            Subject::Division => "division",
            Subject::Type => "type",
            Subject::Container => "container",
            Subject::Contract => "contract",
            Subject::Tag => "tag",
            Subject::String => "string",
            Subject::Terminator => "terminator",
            Subject::Count => "count",
            Subject::Cast => "cast",
            Subject::Step => "step",
        }
    }
}

/// A test that an index is below a count: see [`Check::bounds`].
#[derive(Clone, Copy, Debug)]
pub struct IndexBounds<'a> {
    /// The index.
    pub index: &'a Operand,
    /// What it must be below.
    pub count: &'a Operand,
    /// The test, if it is one of an element of a pointer.
    pub element: Option<&'a ElementCheck>,
}

impl Check {
    /// The index that it compares with a count, and the count.
    pub fn bounds(&self) -> Option<IndexBounds<'_>> {
        match self {
            Check::Index(index, count) => Some(IndexBounds { index, count, element: None }),
            Check::Element(e) => Some(IndexBounds { index: &e.index, count: &e.count, element: Some(e) }),
            // Their index, if they have one, is within the pointer.
            Check::Access(..) | Check::Near(..) => None,
            Check::Within(_)
            | Check::Enough { .. }
            | Check::NotNull(_)
            | Check::Divide(..)
            | Check::Type(..)
            | Check::Container(..)
            | Check::Contract(..)
            | Check::Tag(..)
            | Check::TagValue(..)
            | Check::HasTerminator(_)
            | Check::Terminator(..)
            | Check::Count(..)
            | Check::View(..)
            | Check::Step(_)
            | Check::Multiple(..)
            | Check::Unreachable => None,
        }
    }

    /// The pointer to the one element that must be there.
    pub fn one_element(&self) -> Option<&Operand> {
        match self {
            Check::Access(pointer, Operand::Const(Const::Int(1, _))) | Check::Near(pointer, _) => Some(pointer),
            Check::Access(..)
            | Check::Index(..)
            | Check::Element(_)
            | Check::Within(_)
            | Check::Enough { .. }
            | Check::NotNull(_)
            | Check::Divide(..)
            | Check::Type(..)
            | Check::Container(..)
            | Check::Contract(..)
            | Check::Tag(..)
            | Check::TagValue(..)
            | Check::HasTerminator(_)
            | Check::Terminator(..)
            | Check::Count(..)
            | Check::View(..)
            | Check::Step(_)
            | Check::Multiple(..)
            | Check::Unreachable => None,
        }
    }

    /// The pointer that is not null once the check has passed.
    pub fn nonnull_after(&self) -> Option<&Operand> {
        match self {
            Check::NotNull(pointer) | Check::Step(pointer) => Some(pointer),
            Check::Access(pointer, Operand::Const(Const::Int(n, _))) if *n > 0 => Some(pointer),
            // No elements may be asked for, or the pointer is not the one that was followed.
            Check::Access(..) | Check::Near(..) | Check::Element(_) | Check::Within(_) => None,
            Check::Index(..)
            | Check::Enough { .. }
            | Check::Divide(..)
            | Check::Type(..)
            | Check::Container(..)
            | Check::Contract(..)
            | Check::Tag(..)
            | Check::TagValue(..)
            | Check::HasTerminator(_)
            | Check::Terminator(..)
            | Check::Count(..)
            | Check::View(..)
            | Check::Multiple(..)
            | Check::Unreachable => None,
        }
    }

    /// Whether control never gets here.
    pub fn is_unreachable(&self) -> bool {
        match self {
            Check::Unreachable => true,
            Check::Index(..)
            | Check::Access(..)
            | Check::Element(_)
            | Check::Near(..)
            | Check::Within(_)
            | Check::Enough { .. }
            | Check::NotNull(_)
            | Check::Divide(..)
            | Check::Type(..)
            | Check::Container(..)
            | Check::Contract(..)
            | Check::Tag(..)
            | Check::TagValue(..)
            | Check::HasTerminator(_)
            | Check::Terminator(..)
            | Check::Count(..)
            | Check::View(..)
            | Check::Step(_)
            | Check::Multiple(..) => false,
        }
    }

    /// Whether it looks at memory that its pointer leads to.
    pub fn looks_behind(&self) -> bool {
        match self {
            Check::HasTerminator(_) | Check::Step(_) | Check::Container(..) => true,
            Check::Index(..)
            | Check::Access(..)
            | Check::Element(_)
            | Check::Near(..)
            | Check::Within(_)
            | Check::Enough { .. }
            | Check::NotNull(_)
            | Check::Divide(..)
            | Check::Type(..)
            | Check::Contract(..)
            | Check::Tag(..)
            | Check::TagValue(..)
            | Check::Terminator(..)
            | Check::Count(..)
            | Check::View(..)
            | Check::Multiple(..)
            | Check::Unreachable => false,
        }
    }

    /// What it tests; none for what is not a test.
    pub fn subject(&self) -> Option<Subject> {
        match self {
            Check::Index(..) | Check::Element(_) => Some(Subject::Index),
            Check::Access(..) | Check::Near(..) | Check::Within(_) => Some(Subject::Bounds),
            Check::Enough { .. } => Some(Subject::Room),
            Check::NotNull(_) => Some(Subject::Null),
            Check::Divide(..) => Some(Subject::Division),
            Check::Type(..) => Some(Subject::Type),
            Check::Container(..) => Some(Subject::Container),
            Check::Contract(..) => Some(Subject::Contract),
            Check::Tag(..) | Check::TagValue(..) => Some(Subject::Tag),
            Check::HasTerminator(_) => Some(Subject::String),
            Check::Terminator(..) => Some(Subject::Terminator),
            Check::Count(..) => Some(Subject::Count),
            Check::View(..) | Check::Multiple(..) => Some(Subject::Cast),
            Check::Step(_) => Some(Subject::Step),
            Check::Unreachable => None,
        }
    }
}

forms! {
    Check,
    Check::Index(..)
        | Check::Access(..)
        | Check::Element(_)
        | Check::Near(..)
        | Check::Within(_)
        | Check::Enough { .. }
        | Check::NotNull(_)
        | Check::Divide(..)
        | Check::Type(..)
        | Check::Container(..)
        | Check::Contract(..)
        | Check::Tag(..)
        | Check::TagValue(..)
        | Check::HasTerminator(_)
        | Check::Terminator(..)
        | Check::Count(..)
        | Check::View(..)
        | Check::Step(_)
        | Check::Multiple(..)
        | Check::Unreachable =>
    /// The pointer and the elements that must lie in its bounds.
    as_access -> (&Operand, &Operand): Check::Access(pointer, count) => (pointer, count);
    /// The element of a pointer that is its own first element.
    as_element -> &ElementCheck: Check::Element(check) => check;
    /// What is wanted, and what is there.
    as_enough -> (&Operand, &Operand): Check::Enough { want, have } => (want, have);
    /// The new count, and the one that is there.
    as_count -> (&Operand, &Operand): Check::Count(new, there) => (new, there);
    /// The union, and the member that its tag must name.
    as_tag -> (&Place, u32): Check::Tag(union, member) => (union, *member);
    /// The tag, the values that select the member, and the member's name.
    as_tag_value -> (&Operand, &Vec<i128>, Symbol): Check::TagValue(tag, values, name) => (tag, values, *name);
    /// The record that the pointer must point into.
    as_container -> Ty: Check::Container(_, ty, _) => *ty;
    /// An element of a pointer, and how many elements are left of the one that it was computed
    /// from.
    as_near -> (&Operand, &Operand): Check::Near(element, left) => (element, left);
    /// Dividend and divisor.
    as_divide -> (&Operand, &Operand): Check::Divide(a, b) => (a, b);
    /// The pointer that must not be null.
    as_not_null -> &Operand: Check::NotNull(pointer) => pointer;
    @mut
    /// The check of an element, to be changed.
    as_element_mut -> &mut ElementCheck: Check::Element(check) => check;
}
