//! <getopt.h>, as POSIX has it. A program that gives words before options, which other libraries
//! move to the end, is not judged.

use crate::code::Val;
use crate::library::{int, ptr, Args};
use crate::machine::*;
use crate::memory::*;
use source::Span;

/// How far `getopt` has come.
#[derive(Debug, Default)]
pub struct State {
    /// Where `optind`, `opterr` and `optopt` lie.
    places: [ObjId; 3],
    /// The next character of the word that is read, or 0.
    at: usize,
    /// What `optarg` is.
    argument: Option<Vec<u8>>,
}

/// Which of `State::places`.
const INDEX: usize = 0;
const REPORTS: usize = 1;
const OPTION: usize = 2;

impl State {
    /// As it is when a program begins.
    pub fn new(mem: &mut Memory) -> State {
        let places = [1i32, 1, b'?'.into()].map(|value| {
            let id = mem.make(Kind::Global, 4, 4, Span::NONE);
            if let Some(obj) = mem.obj_mut(id) {
                obj.write(0, &value.to_le_bytes());
            }
            id
        });
        State { places, at: 0, argument: None }
    }
}

impl Machine<'_> {
    fn option_place(&self, which: usize) -> ObjId {
        self.lib.options.places.get(which).copied().unwrap_or(0)
    }

    fn option_value(&self, which: usize) -> i32 {
        let Some(obj) = self.mem.obj(self.option_place(which)) else { return 0 };
        obj.bytes(0, 4).try_into().map_or(0, i32::from_le_bytes)
    }

    fn set_option_value(&mut self, which: usize, value: i32) {
        let id = self.option_place(which);
        if let Some(obj) = self.mem.obj_mut(id) {
            obj.write(0, &value.to_le_bytes());
        }
    }

    /// The address of `optind` and its kin. No address of them leaves its process.
    fn option_address(&mut self, which: usize) -> R<Option<Val>> {
        let (obj, home) = (self.option_place(which), self.mem.running);
        if let Some(place) = self.mem.obj_mut(obj) {
            place.home = home;
        }
        ptr(self.mem.address(Loc { obj, off: 0 }))
    }

    /// <getopt.h>, if it is one of its functions.
    pub fn option_call(&mut self, name: &str, a: &Args) -> R<Option<Val>> {
        match name {
            "lee_optind" => self.option_address(INDEX),
            "lee_opterr" => self.option_address(REPORTS),
            "lee_optopt" => self.option_address(OPTION),
            "lee_optarg" => match self.lib.options.argument.clone() {
                Some(text) => self.new_string(&text, false).map(Some),
                None => Ok(Some(Val::Words([0; 3]))),
            },
            "lee_getopt" => {
                let known = self.string(a.ptr(2))?;
                let mut words = vec![];
                for n in 0..u64::try_from(a.int(0)).unwrap_or(0) {
                    let word = self.bytes(a.ptr(1).wrapping_add(8 * n), 8)?;
                    match word.as_slice().try_into().map_or(0, u64::from_le_bytes) {
                        0 => break,
                        address => words.push(self.string(address)?),
                    }
                }
                int(self.next_option(&words, &known)?)
            }
            _ => Ok(None),
        }
    }

    fn next_option(&mut self, words: &[Vec<u8>], known: &[u8]) -> R<i32> {
        self.lib.options.argument = None;
        let index = usize::try_from(self.option_value(INDEX)).unwrap_or(0).max(1);
        let is_option = |word: &Vec<u8>| word.len() > 1 && word.starts_with(b"-");
        let Some(word) = words.get(index).cloned() else { return Ok(-1) };
        let mut at = self.lib.options.at;
        if at == 0 {
            if word == b"--" {
                self.set_option_value(INDEX, index as i32 + 1);
                return Ok(-1);
            }
            if !is_option(&word) {
                return match words.iter().skip(index).any(is_option) {
                    true => unsupported("`getopt` of an option behind another word"),
                    false => Ok(-1),
                };
            }
            at = 1;
        }
        let Some(&option) = word.get(at) else { return Ok(-1) };
        let (rest, ends) = (word.get(at + 1..).unwrap_or(&[]).to_vec(), at + 1 >= word.len());
        let mut next = index + usize::from(ends);
        self.lib.options.at = if ends { 0 } else { at + 1 };
        let place = known.iter().position(|&c| c == option && c != b':');
        let takes = |n: usize| place.is_some_and(|at| known.get(at + n) == Some(&b':'));
        let mut found = i32::from(option);
        let mut wrong = None;
        if place.is_none() {
            wrong = Some("invalid option");
            found = b'?'.into();
        } else if takes(1) {
            self.lib.options.at = 0;
            next = index + 1;
            if !ends {
                self.lib.options.argument = Some(rest);
            } else if !takes(2) {
                match words.get(next).cloned() {
                    Some(argument) => {
                        self.lib.options.argument = Some(argument);
                        next += 1;
                    }
                    None => {
                        wrong = Some("option requires an argument");
                        found = if known.starts_with(b":") { b':' } else { b'?' }.into();
                    }
                }
            }
        }
        self.set_option_value(INDEX, next as i32);
        if let Some(wrong) = wrong {
            self.set_option_value(OPTION, option.into());
            if self.option_value(REPORTS) != 0 && !known.starts_with(b":") {
                let program = String::from_utf8_lossy(words.first().map_or(b"", Vec::as_slice)).into_owned();
                let text = format!("{program}: {wrong} -- '{}'\n", char::from(option));
                self.io.write(2, text.as_bytes());
            }
        }
        Ok(found)
    }
}
