//! One C variable for several temporaries of a function, in debug builds.
//!
//! gcc -O0 gives each variable a place of its own in the frame, and registers to a few of those that
//! ask for one. A temporary lives from its first to its last mention between two labels: control
//! enters that text at its beginning and runs through it in order. So those that are all mentioned
//! between the same two labels and live apart can be one variable, if they are of one type.
//!
//! Needs: the text of a function that calls nothing which returns twice. Changes: names.

use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;

/// A word of C text, or anything else between two words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Token<'t> {
    Word(&'t str),
    Other(&'t str),
}

/// Gives temporaries that live apart one name. `types`: those that may share, with the texts of
/// their types; nothing else mentions them, and nothing takes their addresses. The new text, and
/// the names that are gone.
pub fn share(text: &str, types: &FxHashMap<String, String>) -> (String, FxHashSet<String>) {
    let tokens = tokens(text);
    let lives = lives(&tokens, types);
    let mut free: FxHashMap<&str, VecDeque<&str>> = FxHashMap::default();
    let mut names: FxHashMap<&str, &str> = FxHashMap::default();
    let mut ending: Vec<&str> = vec![];
    let (mut out, mut gone, mut depth) = (String::with_capacity(text.len()), FxHashSet::default(), 0i32);
    for (n, token) in tokens.iter().enumerate() {
        let Token::Word(word) = *token else {
            let Token::Other(other) = *token else { continue };
            out.push_str(other);
            match other {
                "(" => depth += 1,
                ")" => depth -= 1,
                // Within parentheses a whole statement may stand for a value.
                ";" if depth == 0 => {
                    for word in ending.drain(..) {
                        let ty = types.get(word).map_or("", String::as_str);
                        free.entry(ty).or_default().extend(names.remove(word));
                    }
                }
                _ => {}
            }
            continue;
        };
        let live = lives.get(word).filter(|_| is_variable(&tokens, n));
        let Some(live) = live else {
            out.push_str(word);
            continue;
        };
        let ty = types.get(word).map_or("", String::as_str);
        let name = *names.entry(word).or_insert_with(|| free.get_mut(ty).and_then(VecDeque::pop_front).unwrap_or(word));
        if name != word {
            gone.insert(word.to_string());
        }
        if live.1 == n {
            ending.push(word);
        }
        out.push_str(name);
    }
    (out, gone)
}

/// The first and the last mention of each temporary that is mentioned between two labels only.
fn lives<'t>(tokens: &[Token<'t>], types: &FxHashMap<String, String>) -> FxHashMap<&'t str, (usize, usize)> {
    let mut found: FxHashMap<&str, (usize, usize, usize)> = FxHashMap::default();
    let mut across: FxHashSet<&str> = FxHashSet::default();
    let mut stretch = 0;
    for (n, token) in tokens.iter().enumerate() {
        let Token::Word(word) = *token else { continue };
        let is_label = tokens.get(n + 1) == Some(&Token::Other(":")) && tokens.get(n + 2) == Some(&Token::Other(";"));
        if is_label {
            stretch += 1;
        } else if types.contains_key(word) && is_variable(tokens, n) {
            let live = found.entry(word).or_insert((n, n, stretch));
            live.1 = n;
            if live.2 != stretch {
                across.insert(word);
            }
        }
    }
    found.into_iter().filter(|(word, _)| !across.contains(word)).map(|(w, (a, b, _))| (w, (a, b))).collect()
}

/// Whether the word names a variable: it is not a member, a tag or a label.
fn is_variable(tokens: &[Token], n: usize) -> bool {
    let before = tokens.get(..n).unwrap_or_default();
    let mut before = before.iter().rev().filter(|t| !matches!(t, Token::Other(o) if o.trim().is_empty()));
    !matches!(before.next(), Some(Token::Other("." | "->") | Token::Word("struct" | "union" | "enum" | "goto")))
}

/// The text in pieces: words, `->`, literals, blanks, and single characters.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = vec![];
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c == '_' || c.is_ascii_alphanumeric();
        let end = match first {
            c if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            '"' | '\'' => literal(rest, first),
            c if c.is_whitespace() => rest.find(|c: char| !c.is_whitespace()).unwrap_or(rest.len()),
            '-' if rest.starts_with("->") => 2,
            c => c.len_utf8(),
        };
        let (token, after) = rest.split_at(end);
        found.push(if is_word(first) { Token::Word(token) } else { Token::Other(token) });
        rest = after;
    }
    found
}

/// The length of the literal that the text begins with.
fn literal(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared(text: &str) -> String {
        let types = ["_1", "_2", "_3", "_4"].map(|name| (name.to_string(), "int".to_string()));
        share(text, &types.into_iter().collect()).0
    }

    #[test]
    fn temporaries_that_live_apart_share() {
        assert_eq!(shared("_1 = a; f(_1); _2 = b; f(_2);"), "_1 = a; f(_1); _1 = b; f(_1);");
        // The next begins in the statement that uses the one before.
        assert_eq!(shared("_1 = a; _2 = _1; f(_2);"), "_1 = a; _2 = _1; f(_2);");
        assert_eq!(shared("_1 = a; _2 = b; f(_1, _2); _3 = c; f(_3);"), "_1 = a; _2 = b; f(_1, _2); _1 = c; f(_1);");
    }

    #[test]
    fn labels_end_a_stretch() {
        let text = "_1 = a; b3:; f(_1); _2 = b; f(_2);";
        assert_eq!(shared(text), text);
        assert_eq!(shared("_1 = a; f(_1); b3:; _2 = b; f(_2);"), "_1 = a; f(_1); b3:; _1 = b; f(_1);");
    }

    #[test]
    fn other_names_stay() {
        let text = "_1 = a; f(_1); x._2 = y->_3; f(\"_2 \\\" _3\", '\"'); g((struct _4 *)p);";
        assert_eq!(shared(text), text);
    }

    #[test]
    fn statements_within_parentheses_end_nothing() {
        let text = "_1 = a; x = ({ f(_1); _2 = b; _2 + 1; });";
        assert_eq!(shared(text), text);
    }
}
