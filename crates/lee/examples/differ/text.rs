//! One text, two languages. Programs are written in Leeward, except that what C has to check, or to
//! put in order, is written as a call of a word: `AT(a, i)`. To C these words are macros (twin.h),
//! which check by hand and report the fault that Leeward should report. For Leeward they are
//! written out here: `a[i]`.
//!
//! Both texts have the same lines, so that `__LINE__` in C is the line where Leeward faults.

/// The words: name, and what Leeward sees. `$1` is the second argument.
const WORDS: &[(&str, &str)] = &[
    ("AT", "$0[$1]"),
    ("ATM", "$0[$1][$2]"),
    ("PAT", "$0[$1]"),
    ("CAT", "$0->$1[$3]"),
    ("CATS", "$0.$1[$3]"),
    ("SAT", "$0[$1]"),
    ("SINC", "$0++"),
    ("DIV", "($0 / $1)"),
    ("REM", "($0 % $1)"),
    ("SHL", "($0 << $1)"),
    ("SHR", "($0 >> $1)"),
    ("ORD", "($1 $0 $2)"),
    ("ASG", "($0 = $1)"),
    ("SET", "$0 = $1"),
    ("OPSET", "$0 $1= $2"),
    ("FNSET", "$0 $2= $3"),
    ("EXCHANGE", "$0 :=: $1"),
    ("NN", "$0"),
    ("LEN", "lengthof($0)"),
    ("LENA", "lengthof($0)"),
    ("LENC", "lengthof($0->$1)"),
    ("OFARR", "$1"),
    ("OFCNT", "$1->$2"),
    ("ADD", "($0 + $1)"),
    ("MOVE", "$0 += $1"),
    ("STAR", "*$0"),
    ("STARINC", "*$0++"),
    ("STARDEC", "*--$0"),
    ("PCMP", "($1 $0 $2)"),
    ("PDIFF", "($0 - $1)"),
    ("CNTARG", "$0"),
    ("GROW", "$1->$2 = realloc($1->$2, ($3) * sizeof($0))"),
    ("SETROOM", "$0->$2 = $3"),
    ("SETN", "$0->$2 = $3"),
    ("CALL1", "$0($1)"),
    ("CALL2", "$0($1, $2)"),
    ("CALL3", "$0($1, $2, $3)"),
    ("CALL4", "$0($1, $2, $3, $4)"),
    ("TGET", "$0.$1"),
    ("TSET", "$0.$1 = $3"),
    ("BGET", "$0.u.$1"),
    ("BSET", "$0.u.$1 = $3"),
    ("BTAG", "$0.kind = $1"),
    ("CONVERT", "(($0)$1)"),
    ("FATOF", "$0 *"),
    ("FATPARAM", "$0 *fat"),
    ("COUNTED", "$0 *counted_by($1)"),
    ("HEAP", "calloc($1, sizeof($0))"),
    ("FRESH", "new $0[$1]"),
    ("ZEROED", ""),
    ("NULLFAT", "nullptr"),
    ("NULLPTR", "nullptr"),
];

/// What Leeward sees.
pub fn leeward(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'"' || bytes[at] == b'\'' {
            let end = quoted(bytes, at);
            out.push_str(&text[at..end]);
            at = end;
        } else if bytes[at].is_ascii_alphabetic() || bytes[at] == b'_' {
            let end = at + bytes[at..].iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
            let word = WORDS.iter().find(|(name, _)| *name == &text[at..end]);
            match word {
                Some((_, shape)) if bytes.get(end) == Some(&b'(') => {
                    let (arguments, behind) = arguments(text, end);
                    out.push_str(&filled(shape, &arguments));
                    at = behind;
                }
                _ => {
                    out.push_str(&text[at..end]);
                    at = end;
                }
            }
        } else {
            // Everything else stays as it is, byte by byte: the texts are ASCII.
            out.push(char::from(bytes[at]));
            at += 1;
        }
    }
    out
}

/// After the literal that begins at `at`.
fn quoted(bytes: &[u8], at: usize) -> usize {
    let mut end = at + 1;
    while end < bytes.len() && bytes[end] != bytes[at] {
        end += if bytes[end] == b'\\' { 2 } else { 1 };
    }
    (end + 1).min(bytes.len())
}

/// The arguments in the parentheses at `open`, and the place after them.
fn arguments(text: &str, open: usize) -> (Vec<String>, usize) {
    let bytes = text.as_bytes();
    let (mut found, mut depth, mut start, mut at) = (vec![], 0, open + 1, open);
    while at < bytes.len() {
        match bytes[at] {
            b'"' | b'\'' => {
                at = quoted(bytes, at);
                continue;
            }
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => {
                depth -= 1;
                if depth == 0 {
                    found.push(leeward(text[start..at].trim()));
                    return (found, at + 1);
                }
            }
            b',' if depth == 1 => {
                found.push(leeward(text[start..at].trim()));
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    (found, at)
}

fn filled(shape: &str, arguments: &[String]) -> String {
    let mut out = String::new();
    let mut letters = shape.chars();
    while let Some(letter) = letters.next() {
        let number = if letter == '$' { letters.next().and_then(|d| d.to_digit(10)) } else { None };
        match number {
            Some(n) => out.push_str(arguments.get(n as usize).map_or("", |a| a.as_str())),
            None => out.push(letter),
        }
    }
    out
}

/// Both texts.
#[derive(Default)]
pub struct Writer {
    /// What Leeward gets.
    pub lee: String,
    /// What the C compiler gets.
    pub c: String,
    /// Lines of Leeward so far.
    pub lines: usize,
    indent: usize,
}

impl Writer {
    /// A line that both share.
    pub fn line(&mut self, text: &str) {
        self.pair(&leeward(text), text);
    }

    /// A line that differs.
    pub fn pair(&mut self, lee: &str, c: &str) {
        let closing = lee.starts_with('}') || (lee.is_empty() && c.starts_with('}'));
        if closing {
            self.indent = self.indent.saturating_sub(1);
        }
        let margin = "    ".repeat(self.indent);
        self.lee.push_str(&format!("{}\n", format!("{margin}{lee}").trim_end()));
        self.c.push_str(&format!("{margin}{c}\n"));
        self.lines += 1;
        if lee.ends_with('{') || (lee.is_empty() && c.ends_with('{')) {
            self.indent += 1;
        }
    }

    /// Text for C alone, which says where its lines belong.
    pub fn only_c(&mut self, text: &str) {
        self.c.push_str(text);
        self.c.push_str(&format!("#line {}\n", self.lines + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::leeward;

    #[test]
    fn words_are_written_out() {
        assert_eq!(
            leeward("SET(AT(a, AT(b, i + 1)), ORD(+, f(x, y), DIV(x, 2)));"),
            "a[b[i + 1]] = (f(x, y) + (x / 2));"
        );
        assert_eq!(leeward("say(1, SAT(s, ',')); ATTACK(1)"), "say(1, s[',']); ATTACK(1)");
    }
}
