//! Aligning a preprocessed line with the line of the user's file that it was made from.
//!
//! The preprocessor collapses blanks and expands macros, so columns differ. Both lines are split into tokens; their longest
//! common subsequence pairs them. A preprocessed token without a partner came from a macro: the name without a partner in
//! the user's line just before it is the macro's.

/// A place in the user's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub line: u32,
    pub column: u32,
    pub end_column: u32,
    pub macro_name: Option<String>,
}

/// The preprocessed tokens of one line of the user's file, each with its place.
#[derive(Debug)]
pub(crate) struct Group {
    tokens: Vec<(u32, u32, Option<Place>)>,
}

impl Group {
    /// The place of the token that `at` is in, or of the one before it.
    pub(crate) fn place(&self, at: u32) -> Option<Place> {
        let index = self.tokens.partition_point(|t| t.0 <= at).checked_sub(1)?;
        let (lo, hi, place) = self.tokens.get(index)?;
        let mut place = place.clone()?;
        // Inside a token (an escape in a string, say): as far into it in the user's text.
        if at > *lo && at < *hi && place.macro_name.is_none() {
            place.column = (place.column + (at - lo)).min(place.end_column);
            if at + 1 < *hi {
                place.end_column = place.end_column.max(place.column + 1);
            }
        } else if at >= *hi {
            place.column = place.end_column;
            place.end_column += 1;
        }
        Some(place)
    }
}

/// A token of either text.
#[derive(Clone, Copy)]
struct Piece<'a> {
    text: &'a str,
    /// Line of the user's file, or 0.
    line: u32,
    /// Offset in the preprocessed text, or column from 1.
    at: u32,
}

/// More cells than this, and the slow exact way gives way to a greedy one.
const MOST_CELLS: usize = 1 << 20;

/// Aligns preprocessed lines (offset and text) with lines of the user's file (number and text).
pub(crate) fn align(pieces: &[(u32, &str)], lines: &[(u32, &str)]) -> Group {
    let made: Vec<Piece> = pieces.iter().flat_map(|&(at, text)| split(text, 0, at)).collect();
    let own: Vec<Piece> = lines.iter().flat_map(|&(line, text)| split(text, line, 1)).collect();
    let pairs = if made.len().saturating_mul(own.len()) <= MOST_CELLS {
        common_subsequence(&made, &own)
    } else {
        greedy(&made, &own)
    };
    let mut taken = vec![false; own.len()];
    for &partner in pairs.iter().flatten() {
        if let Some(slot) = taken.get_mut(partner) {
            *slot = true;
        }
    }
    let following = next_partners(&pairs, own.len());
    let mut previous = None;
    let mut tokens = Vec::with_capacity(made.len());
    for ((token, partner), next) in made.iter().zip(&pairs).zip(following) {
        let place = match partner {
            Some(index) => {
                previous = Some(*index);
                own.get(*index).map(|p| place_of(p, None))
            }
            None => macro_name(&own, &taken, previous, next).map(|p| place_of(p, Some(p.text.to_string()))),
        };
        tokens.push((token.at, token.at + token.text.len() as u32, place));
    }
    Group { tokens }
}

fn place_of(piece: &Piece, macro_name: Option<String>) -> Place {
    Place { line: piece.line, column: piece.at, end_column: piece.at + piece.text.len() as u32, macro_name }
}

/// For each token, the partner of the first token behind it that has one.
fn next_partners(pairs: &[Option<usize>], end: usize) -> Vec<usize> {
    let mut next = end;
    let mut all: Vec<usize> = pairs
        .iter()
        .rev()
        .map(|partner| {
            let here = next;
            next = partner.unwrap_or(next);
            here
        })
        .collect();
    all.reverse();
    all
}

/// The name without partner between the neighbours' partners, else the nearest one before.
fn macro_name<'a, 'b>(
    own: &'b [Piece<'a>],
    taken: &[bool],
    previous: Option<usize>,
    next: usize,
) -> Option<&'b Piece<'a>> {
    let from = previous.map_or(0, |p| p + 1);
    let free = |&index: &usize| {
        let name = own.get(index).is_some_and(|p| p.text.starts_with(|c: char| c.is_alphabetic() || c == '_'));
        name && taken.get(index) == Some(&false)
    };
    (from..next).find(free).or_else(|| (0..from).rev().find(free)).and_then(|index| own.get(index))
}

/// Longest common subsequence: for each of `made` the index of its partner in `own`.
fn common_subsequence(made: &[Piece], own: &[Piece]) -> Vec<Option<usize>> {
    let mut pairs = vec![None; made.len()];
    // Equal ends need no table; most lines are equal all through.
    let head = made.iter().zip(own).take_while(|(a, b)| a.text == b.text).count();
    let most = made.len().min(own.len()) - head;
    let tail = made.iter().rev().zip(own.iter().rev()).take(most).take_while(|(a, b)| a.text == b.text).count();
    for (index, pair) in pairs.iter_mut().enumerate() {
        if index < head {
            *pair = Some(index);
        } else if index >= made.len() - tail {
            *pair = Some(index + own.len() - made.len());
        }
    }
    let (a, b) = (made.get(head..made.len() - tail).unwrap_or(&[]), own.get(head..own.len() - tail).unwrap_or(&[]));
    let width = b.len() + 1;
    let mut table = vec![0u32; (a.len() + 1) * width];
    let cell = |table: &[u32], i: usize, j: usize| table.get(i * width + j).copied().unwrap_or(0);
    for (i, x) in a.iter().enumerate().rev() {
        for (j, y) in b.iter().enumerate().rev() {
            let best = if x.text == y.text {
                cell(&table, i + 1, j + 1) + weight(x.text)
            } else {
                cell(&table, i + 1, j).max(cell(&table, i, j + 1))
            };
            if let Some(slot) = table.get_mut(i * width + j) {
                *slot = best;
            }
        }
    }
    let (mut i, mut j) = (0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        if x.text == y.text {
            if let Some(pair) = pairs.get_mut(head + i) {
                *pair = Some(head + j);
            }
            (i, j) = (i + 1, j + 1);
        } else if cell(&table, i + 1, j) > cell(&table, i, j + 1) {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}

/// Names and literals tell more than brackets.
fn weight(text: &str) -> u32 {
    if text.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '"' | '\'')) {
        4
    } else {
        1
    }
}

/// The next token of the same spelling, for very long lines.
fn greedy(made: &[Piece], own: &[Piece]) -> Vec<Option<usize>> {
    let mut from = 0;
    made.iter()
        .map(|token| {
            let window = own.get(from..(from + 64).min(own.len())).unwrap_or(&[]);
            let found = window.iter().position(|p| p.text == token.text)? + from;
            from = found + 1;
            Some(found)
        })
        .collect()
}

/// Splits a line into names, numbers, literals and single punctuation characters; comments are dropped.
fn split(text: &str, line: u32, base: u32) -> Vec<Piece<'_>> {
    let bytes = text.as_bytes();
    let mut all = vec![];
    let mut at = 0;
    while let Some(&b) = bytes.get(at) {
        let rest = bytes.get(at..).unwrap_or(&[]);
        let length = match b {
            _ if b.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'/' if rest.get(1) == Some(&b'/') => break,
            b'/' if rest.get(1) == Some(&b'*') => {
                at += rest.windows(2).skip(2).position(|w| w == b"*/").map_or(rest.len(), |p| p + 4);
                continue;
            }
            b'"' | b'\'' => quoted(rest),
            _ if is_word(b) => rest
                .iter()
                .take_while(|&&b| is_word(b) || b == b'.' && bytes.get(at).is_some_and(u8::is_ascii_digit))
                .count(),
            _ => 1,
        };
        if let Some(text) = text.get(at..at + length) {
            all.push(Piece { text, line, at: base + at as u32 });
        }
        at += length;
    }
    all
}

fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b == b'$' || b >= 0x80
}

fn quoted(rest: &[u8]) -> usize {
    let quote = rest.first().copied().unwrap_or(b'"');
    let mut at = 1;
    while let Some(&b) = rest.get(at) {
        at += 1;
        match b {
            b'\\' => at += 1,
            _ if b == quote => break,
            _ => {}
        }
    }
    at.min(rest.len())
}
