//! Aligning a preprocessed line with the line of the user's file that it was made from.
//!
//! The preprocessor collapses blanks and expands macros, so columns differ. Both lines are split
//! into tokens; their longest common subsequence pairs them. A preprocessed token without a partner
//! came from a macro: the name without a partner in the user's line just before it is the macro's.

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
    tokens: Vec<Token>,
    spliced: Vec<Spliced>,
}

/// A preprocessed token.
#[derive(Debug)]
struct Token {
    /// Offsets in the preprocessed text.
    lo: u32,
    hi: u32,
    /// Its place, if it has one.
    place: Option<Place>,
    /// First line and column of its partner, in the spliced line.
    start: Option<(u32, u32)>,
}

impl Group {
    /// The place of the token that `at` is in, or of the one before it.
    pub(crate) fn place(&self, at: u32) -> Option<Place> {
        let index = self.tokens.partition_point(|t| t.lo <= at).checked_sub(1)?;
        let Token { lo, hi, place, start } = self.tokens.get(index)?;
        let mut place = place.clone()?;
        match start {
            // Inside a token (an escape in a string, say): as far into it in the user's text.
            Some((line, column)) if at > *lo && at < *hi => {
                place = place_from(&self.spliced, *line, column + (at - lo), column + (hi - lo), None);
            }
            Some((line, column)) if at >= *hi => {
                place = place_from(&self.spliced, *line, column + (hi - lo) - 1, column + (hi - lo), None);
                (place.column, place.end_column) = (place.end_column, place.end_column + 1);
            }
            None if at >= *hi => (place.column, place.end_column) = (place.end_column, place.end_column + 1),
            _ => {}
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
    let spliced = splice(lines);
    let made: Vec<Piece> = pieces.iter().flat_map(|&(at, text)| split(text, 0, at)).collect();
    let own: Vec<Piece> = spliced.iter().flat_map(|line| split(&line.text, line.number, 1)).collect();
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
                own.get(*index).map(|p| place_of(&spliced, p, None))
            }
            None => macro_name(&own, &taken, previous, next).map(|p| place_of(&spliced, p, Some(p.text.to_string()))),
        };
        let start = partner.and_then(|index| own.get(index)).map(|p| (p.line, p.at));
        tokens.push(Token { lo: token.at, hi: token.at + token.text.len() as u32, place, start });
    }
    Group { tokens, spliced }
}

/// A line of the user's file with those that continue it: each but the last ends in a backslash,
/// which is not in the text.
#[derive(Debug)]
struct Spliced {
    /// The number of the first line.
    number: u32,
    text: String,
    /// Where in the text each line begins.
    starts: Vec<usize>,
}

fn splice(lines: &[(u32, &str)]) -> Vec<Spliced> {
    let mut all: Vec<Spliced> = vec![];
    let mut goes_on = false;
    for &(number, text) in lines {
        let text = text.strip_suffix('\r').unwrap_or(text);
        let own = text.strip_suffix('\\').unwrap_or(text);
        match all.last_mut().filter(|_| goes_on) {
            Some(line) => {
                line.starts.push(line.text.len());
                line.text.push_str(own);
            }
            None => all.push(Spliced { number, text: own.to_string(), starts: vec![0] }),
        }
        goes_on = own.len() < text.len();
    }
    all
}

/// Line and column of a column of the spliced line that begins as line `number`.
fn unspliced(spliced: &[Spliced], number: u32, column: u32) -> (u32, u32) {
    let at = column.saturating_sub(1) as usize;
    let Some(line) = spliced.iter().find(|line| line.number == number) else { return (number, column) };
    let index = line.starts.partition_point(|&start| start <= at).saturating_sub(1);
    let start = line.starts.get(index).copied().unwrap_or(0);
    (number + index as u32, (at - start.min(at)) as u32 + 1)
}

/// The place of a token, up to the end of its line if it continues in the next one.
fn place_of(spliced: &[Spliced], piece: &Piece, macro_name: Option<String>) -> Place {
    place_from(spliced, piece.line, piece.at, piece.at + piece.text.len() as u32, macro_name)
}

fn place_from(spliced: &[Spliced], number: u32, from: u32, end: u32, macro_name: Option<String>) -> Place {
    let (line, column) = unspliced(spliced, number, from);
    let (last, _) = unspliced(spliced, number, end.saturating_sub(1).max(from));
    let mut length = end.saturating_sub(from);
    if last != line {
        let of_line = |at: u32| unspliced(spliced, number, at).0 == line;
        length = (from..end).take_while(|&at| of_line(at)).count() as u32;
    }
    Place { line, column, end_column: column + length, macro_name }
}

/// For each token, the partner of the first token after it that has one.
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

/// Splits a line into names, numbers, literals and single punctuation characters; comments are
/// dropped.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn place(group: &Group, at: usize) -> Option<(u32, u32, u32)> {
        group.place(at as u32).map(|p| (p.line, p.column, p.end_column))
    }

    #[test]
    fn a_literal_goes_on_in_the_next_line() {
        let made = "  puts(\"one two three \\xzz\"); f(x);";
        let group = align(&[(0, made)], &[(6, "  puts(\"one two \\"), (7, "three \\xzz\"); f(x);")]);
        let at = |text: &str| made.find(text).unwrap_or(0);
        // The literal itself, to the end of its first line; what is inside of it; and what follows.
        assert_eq!(place(&group, at("\"one")), Some((6, 8, 17)));
        assert_eq!(place(&group, at("three")), Some((7, 1, 12)));
        assert_eq!(place(&group, at("\\xzz")), Some((7, 7, 12)));
        assert_eq!(place(&group, at("f(x)")), Some((7, 15, 16)));
        assert_eq!(place(&group, at("x);")), Some((7, 17, 18)));
    }

    #[test]
    fn a_name_is_broken_in_two() {
        let made = "int seven = missing;";
        let group = align(&[(0, made)], &[(1, "int sev\\"), (2, "en = missing;")]);
        assert_eq!(place(&group, 4), Some((1, 5, 8)));
        assert_eq!(place(&group, 12), Some((2, 6, 13)));
    }
}
