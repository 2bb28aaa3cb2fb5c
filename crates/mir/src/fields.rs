//! What forms of MIR are made of. Each kind of field says how it is written, how it is read back,
//! and what of it the table of effects shows. The tables of forms (`checks.rs`) name the kinds.

use crate::effects::{Kind, Line, Part, PartMut};
use crate::ir::*;
use crate::parse::{Parser, Res};
use crate::print::Printer;
use crate::print_types::quoted_name;
use source::Symbol;
use typing::types::Ty;

/// A field of a form.
pub(crate) trait Field: Sized {
    /// Shows what it reads and names; by default nothing.
    fn see<'a>(&'a self, _line: Line, _see: &mut dyn FnMut(Line, Part<'a>)) {}

    /// The same, to be changed.
    fn see_mut<'a>(&'a mut self, _line: Line, _see: &mut dyn FnMut(Line, PartMut<'a>)) {}

    /// Its text.
    fn text(&self, printer: &Printer) -> String;

    /// Reads its text.
    fn read(parser: &mut Parser) -> Res<Self>;
}

impl Field for Operand {
    fn see<'a>(&'a self, line: Line, see: &mut dyn FnMut(Line, Part<'a>)) {
        see(line, Part::Operand(self, Kind::Read));
    }
    fn see_mut<'a>(&'a mut self, line: Line, see: &mut dyn FnMut(Line, PartMut<'a>)) {
        see(line, PartMut::Operand(self, Kind::Read));
    }
    fn text(&self, printer: &Printer) -> String {
        printer.operand(self)
    }
    fn read(parser: &mut Parser) -> Res<Operand> {
        parser.operand()
    }
}

impl Field for Place {
    fn see<'a>(&'a self, line: Line, see: &mut dyn FnMut(Line, Part<'a>)) {
        see(line, Part::Place(self, Kind::Read));
    }
    fn see_mut<'a>(&'a mut self, line: Line, see: &mut dyn FnMut(Line, PartMut<'a>)) {
        see(line, PartMut::Place(self, Kind::Read));
    }
    fn text(&self, printer: &Printer) -> String {
        printer.place(self)
    }
    fn read(parser: &mut Parser) -> Res<Place> {
        parser.place()
    }
}

impl Field for Ty {
    fn see<'a>(&'a self, _line: Line, see: &mut dyn FnMut(Line, Part<'a>)) {
        see(Line::Types, Part::Type(self));
    }
    fn see_mut<'a>(&'a mut self, _line: Line, see: &mut dyn FnMut(Line, PartMut<'a>)) {
        see(Line::Types, PartMut::Type(self));
    }
    fn text(&self, printer: &Printer) -> String {
        printer.ty(*self)
    }
    fn read(parser: &mut Parser) -> Res<Ty> {
        parser.ty()
    }
}

/// Types, the last field of a form.
impl Field for Vec<Ty> {
    fn see<'a>(&'a self, line: Line, see: &mut dyn FnMut(Line, Part<'a>)) {
        self.iter().for_each(|ty| ty.see(line, see));
    }
    fn see_mut<'a>(&'a mut self, line: Line, see: &mut dyn FnMut(Line, PartMut<'a>)) {
        self.iter_mut().for_each(|ty| ty.see_mut(line, see));
    }
    fn text(&self, printer: &Printer) -> String {
        self.iter().map(|ty| ty.text(printer)).collect::<Vec<_>>().join(", ")
    }
    fn read(parser: &mut Parser) -> Res<Vec<Ty>> {
        let mut types = vec![parser.ty()?];
        while parser.take(",") {
            types.push(parser.ty()?);
        }
        Ok(types)
    }
}

/// A member of a union.
impl Field for u32 {
    fn text(&self, _: &Printer) -> String {
        self.to_string()
    }
    fn read(parser: &mut Parser) -> Res<u32> {
        parser.number()
    }
}

/// The values of a tag.
impl Field for i128 {
    fn text(&self, _: &Printer) -> String {
        self.to_string()
    }
    fn read(parser: &mut Parser) -> Res<i128> {
        parser.number()
    }
}

/// Numbers: a path of fields, or values.
macro_rules! numbers {
    ($number:ident) => {
        impl Field for Vec<$number> {
            fn text(&self, printer: &Printer) -> String {
                let numbers: Vec<String> = self.iter().map(|n| n.text(printer)).collect();
                format!("[{}]", numbers.join(", "))
            }
            fn read(parser: &mut Parser) -> Res<Vec<$number>> {
                parser.want("[")?;
                parser.list("]", $number::read)
            }
        }
    };
}

numbers!(u32);
numbers!(i128);

impl Field for Symbol {
    fn text(&self, _: &Printer) -> String {
        quoted_name(*self)
    }
    fn read(parser: &mut Parser) -> Res<Symbol> {
        parser.quoted()
    }
}

/// Three operands, and words for what is left to test.
impl Field for Box<ElementCheck> {
    fn see<'a>(&'a self, line: Line, see: &mut dyn FnMut(Line, Part<'a>)) {
        [&self.base, &self.index, &self.count].into_iter().for_each(|operand| operand.see(line, see));
    }
    fn see_mut<'a>(&'a mut self, line: Line, see: &mut dyn FnMut(Line, PartMut<'a>)) {
        let ElementCheck { base, index, count, .. } = &mut **self;
        [base, index, count].into_iter().for_each(|operand| operand.see_mut(line, see));
    }
    fn text(&self, printer: &Printer) -> String {
        let mut words = vec![self.base.text(printer), self.index.text(printer), self.count.text(printer)];
        let flags = [
            (self.may_be_null, "null"),
            (self.may_be_negative, "negative"),
            (self.is_below, "below"),
            (self.sign == Sign::Natural, "natural"),
            (self.sign == Sign::Narrow, "narrow"),
        ];
        words.extend(flags.into_iter().filter(|(set, _)| *set).map(|(_, word)| word.to_string()));
        words.join(", ")
    }
    fn read(parser: &mut Parser) -> Res<Box<ElementCheck>> {
        let base = parser.operand()?;
        parser.want(",")?;
        let index = parser.operand()?;
        parser.want(",")?;
        let count = parser.operand()?;
        let mut check = ElementCheck {
            base,
            index,
            count,
            may_be_null: false,
            may_be_negative: false,
            is_below: false,
            sign: Sign::Unknown,
        };
        while parser.take(",") {
            match parser.word()? {
                "null" => check.may_be_null = true,
                "negative" => check.may_be_negative = true,
                "below" => check.is_below = true,
                "natural" => check.sign = Sign::Natural,
                "narrow" => check.sign = Sign::Narrow,
                _ => return parser.error("expected `null`, `negative`, `below`, `natural` or `narrow`"),
            }
        }
        Ok(Box::new(check))
    }
}

impl Parser<'_> {
    /// The next of the fields in parentheses; the number of those before it goes up.
    pub(crate) fn next_field<T: Field>(&mut self, before: &mut u32) -> Res<T> {
        self.want(if *before == 0 { "(" } else { "," })?;
        *before += 1;
        T::read(self)
    }

    /// What comes after so many fields.
    pub(crate) fn end_of_fields(&mut self, before: u32) -> Res<()> {
        if before == 0 {
            self.want("(")?;
        }
        self.want(")")
    }
}
