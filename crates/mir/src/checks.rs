//! Checks: all that MIR knows of each, in one table. A row has the check's name and operands, its
//! word in the text form, what it tests, its line of the table of effects, and the types that its
//! operands must have; then, where it has any, its answers to questions about checks.
//!
//! A new check is a row here. Besides, it has a place where lowering makes it, C code
//! (`emit_c/checks.rs`) and a meaning for the interpreter (`interp/compile.rs`).

use crate::effects::{Line, Part, PartMut};
use crate::fields::Field;
use crate::forms::forms;
use crate::ir::*;
use crate::parse::{Parser, Res};
use crate::print::Printer;
use crate::verify::Verifier;
use source::Symbol;
use typing::types::Ty;

/// The value of an optional column, or what it is where there is none.
macro_rules! or {
    ($value:expr; $default:expr) => {
        $value
    };
    (; $default:expr) => {
        $default
    };
}

macro_rules! checks {
    ($(
        $(#[$doc:meta])*
        $name:ident $(($($field:ident: $ty:ty),*))? = $word:literal, $subject:expr, $line:ident,
        [$($want:ident($($arg:ident),*)),*]
        $(, bounds $bounds:expr)?
        $(, element $element:expr)?
        $(, nonnull $nonnull:expr)?
        $(, behind $behind:expr)?
        $(, ranged $ranged:expr)?
        ;
    )*) => {
        /// Run-time checks. If one fails the process faults at the statement's span.
        #[derive(Clone, Debug)]
        pub enum Check {
            $($(#[$doc])* $name $(($($ty),*))?,)*
        }

        #[allow(unused_variables)]
        impl Check {
            /// The operands, places and types that the check names, in the order of their use.
            pub(crate) fn lines<'a>(&'a self, see: &mut dyn FnMut(Line, Part<'a>)) {
                match self {
                    $(Check::$name $(($($field),*))? => { $($($field.see(Line::$line, see);)*)? })*
                }
            }

            /// The same, to be changed.
            pub(crate) fn lines_mut<'a>(&'a mut self, see: &mut dyn FnMut(Line, PartMut<'a>)) {
                match self {
                    $(Check::$name $(($($field),*))? => { $($($field.see_mut(Line::$line, see);)*)? })*
                }
            }

            /// Its text form.
            pub(crate) fn text(&self, printer: &Printer) -> String {
                let (word, fields): (&str, Vec<String>) = match self {
                    $(Check::$name $(($($field),*))? => ($word, vec![$($($field.text(printer)),*)?]),)*
                };
                format!("{word}({})", fields.join(", "))
            }

            /// Reads what comes after its word; `None` if the word does not name a check.
            pub(crate) fn read(word: &str, parser: &mut Parser) -> Res<Option<Check>> {
                let mut fields = 0;
                let check = match word {
                    $($word => Check::$name $(($(parser.next_field::<$ty>(&mut fields)?),*))?,)*
                    _ => return Ok(None),
                };
                parser.end_of_fields(fields)?;
                Ok(Some(check))
            }

            /// Requires the types that its operands must have.
            pub(crate) fn verify(&self, verifier: &mut Verifier) {
                match self {
                    $(Check::$name $(($($field),*))? => { $(verifier.$want($($arg),*);)* })*
                }
            }

            /// What it tests; none for what is not a test.
            pub fn subject(&self) -> Option<Subject> {
                match self {
                    $(Check::$name $(($($field),*))? => $subject,)*
                }
            }

            /// The index that it compares with a count, and the count.
            pub fn bounds(&self) -> Option<IndexBounds<'_>> {
                match self {
                    $(Check::$name $(($($field),*))? => or!($($bounds)?; None),)*
                }
            }

            /// The pointer to the one element that must be there.
            pub fn one_element(&self) -> Option<&Operand> {
                match self {
                    $(Check::$name $(($($field),*))? => or!($($element)?; None),)*
                }
            }

            /// The pointer that is not null once the check has passed.
            pub fn nonnull_after(&self) -> Option<&Operand> {
                match self {
                    $(Check::$name $(($($field),*))? => or!($($nonnull)?; None),)*
                }
            }

            /// Whether it looks at memory that its pointer leads to.
            pub fn looks_behind(&self) -> bool {
                match self {
                    $(Check::$name $(($($field),*))? => or!($($behind)?; false),)*
                }
            }

            /// Whether ranges of numbers and null facts may tell that it passes.
            pub fn is_ranged(&self) -> bool {
                match self {
                    $(Check::$name $(($($field),*))? => or!($($ranged)?; false),)*
                }
            }
        }
    };
}

checks! {
    /// `0 <= index < length`; index signed or unsigned integer operand, length `size_t`.
    Index(index: Operand, length: Operand) = "index", Some(Subject::Index), CheckIndex,
        [want_int(index), want_size(length)],
        bounds Some(IndexBounds { index, count: length, element: None }),
        ranged true;
    /// From the address of the fat pointer `count` elements lie within its bounds.
    Access(pointer: Operand, count: Operand) = "access", Some(Subject::Bounds), CheckAccess,
        [want_fat(pointer), want_int(count)],
        element constant(count).filter(|&n| n == 1).map(|_| pointer),
        nonnull constant(count).filter(|&n| n > 0).map(|_| pointer);
    /// An element of a pointer that is its own first element (made by `transform`).
    Element(check: Box<ElementCheck>) = "element", Some(Subject::Index), CheckElement,
        [want_element(check)],
        bounds Some(IndexBounds { index: &check.index, count: &check.count, element: Some(check) }),
        ranged true;
    /// The same as `Access` of one element. The first operand is a fat pointer plus an index; of
    /// that pointer so many elements remain (`size_t`), so that a smaller index is in bounds (made
    /// by `transform`).
    Near(pointer: Operand, left: Operand) = "near", Some(Subject::Bounds), CheckNear,
        [want_fat(pointer), want_size(left)],
        element Some(pointer);
    /// Address of the fat pointer is between its first element and its end, both included (string
    /// objects, `&p[i]`).
    Within(pointer: Operand) = "within", Some(Subject::Bounds), CheckWithin,
        [want_fat(pointer)];
    /// At least the first of the second (both `size_t`): a count at a call or a conversion.
    Enough(want: Operand, have: Operand) = "enough", Some(Subject::Room), CheckEnough,
        [want_int(want), want_size(have)],
        ranged true;
    /// The pointer's address is not null.
    NotNull(pointer: Operand) = "not_null", Some(Subject::Null), CheckNotNull,
        [want_pointer(pointer)],
        nonnull Some(pointer),
        ranged true;
    /// Dividend and divisor: divisor not zero and, for signed types, not `MIN / -1`.
    Divide(a: Operand, b: Operand) = "divide", Some(Subject::Division), CheckDivide,
        [want_int(a), want_int(b)],
        ranged true;
    /// The typed `void *` is null or remembers one of the types: the first is the one that it is
    /// used as, the others have less `const` (`TypeStore::with_less_const`).
    Type(pointer: Operand, types: Vec<Ty>) = "type", Some(Subject::Type), CheckType,
        [want_typed_void(pointer)];
    /// The pointer of one word is null, or points to the part at the field path of a live object of
    /// the record type.
    Container(pointer: Operand, record: Ty, path: Vec<u32>) = "container", Some(Subject::Container), CheckContainer,
        [want_one_word(pointer)],
        behind true;
    /// The end's channel was made with the contract of the endpoint type, or one that extends it;
    /// and the end is in the state of the type.
    Contract(end: Operand, ty: Ty) = "contract", Some(Subject::Contract), CheckContract,
        [want_endpoint(end, ty)];
    /// The tagged union place has this member.
    Tag(union: Place, member: u32) = "tag", Some(Subject::Tag), CheckTag,
        [want_member(union, member)];
    /// The tag field operand of a `tagged_by` union is among the values that select the member; the
    /// member's name follows.
    TagValue(tag: Operand, values: Vec<i128>, member: Symbol) = "tag_value", Some(Subject::Tag), CheckTagValue,
        [want_int(tag)],
        ranged true;
    /// A zero lies between the address and the end of a fat character pointer.
    HasTerminator(pointer: Operand) = "has_terminator", Some(Subject::String), CheckHasTerminator,
        [want_fat(pointer)],
        behind true;
    /// A character about to be stored through a terminated pointer is allowed: the old value of the
    /// place is not the terminator, or the new one is zero.
    Terminator(old: Operand, new: Operand) = "terminator", Some(Subject::Terminator), CheckTerminator,
        [want_int(old), want_int(new)];
    /// `new <= there` for a count field that shrinks, signed 64-bit. An unsigned `new` is not
    /// negative but large.
    Count(new: Operand, there: Operand) = "count", Some(Subject::Count), CheckCount,
        [want_int(new), want_int(there)],
        ranged true;
    /// A view: the address of the pointer operand (fat or thin) is aligned for the type; null is.
    /// That there is room for an element is checked by the statements after it.
    View(pointer: Operand, ty: Ty) = "view", Some(Subject::Cast), CheckView,
        [want_pointer(pointer)];
    /// The element that a terminated pointer points at is not the zero: it may be stepped over
    /// (bounds).
    Step(pointer: Operand) = "step", Some(Subject::Step), CheckStep,
        [want_one_word(pointer)],
        nonnull Some(pointer),
        behind true;
    /// A byte count (`size_t`) is a multiple of the size of the type (cast).
    Multiple(bytes: Operand, ty: Ty) = "multiple", Some(Subject::Cast), CheckMultiple,
        [want_size(bytes)];
    /// Control never gets here.
    Unreachable = "unreachable", None, Types, [];
}

/// The number that a constant operand is.
fn constant(operand: &Operand) -> Option<i128> {
    match operand {
        Operand::Const(Const::Int(n, _)) => Some(*n),
        Operand::Const(_) | Operand::Copy(_) | Operand::Move(_) => None,
    }
}

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
    /// Whether control never gets here.
    pub fn is_unreachable(&self) -> bool {
        self.subject().is_none()
    }
}

forms! {
    Check =>
    /// The pointer and the elements that must lie in its bounds.
    as_access -> (&Operand, &Operand): Check::Access(pointer, count) => (pointer, count);
    /// The pointer that stays with its object.
    as_within -> &Operand: Check::Within(pointer) => pointer;
    /// The pointer that is stepped from.
    as_step -> &Operand: Check::Step(pointer) => pointer;
    /// The element of a pointer that is its own first element.
    as_element -> &ElementCheck: Check::Element(check) => check;
    /// What is wanted, and what is there.
    as_enough -> (&Operand, &Operand): Check::Enough(want, have) => (want, have);
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
