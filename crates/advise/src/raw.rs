//! Tokens of a source file as it is written: before the preprocessor, with directives and the
//! groups that they make.

/// A token of the source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RawToken {
    /// First byte.
    pub lo: usize,
    /// One past the last byte.
    pub hi: usize,
    /// Stands on a line of a directive.
    pub directive: bool,
}

/// A branch of a conditional group: `#if`, `#elif` or `#else` and the lines under it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Branch {
    /// The directive's line, from its `#` to its end.
    pub line: (usize, usize),
    /// Whether it is an `#else`.
    pub is_else: bool,
    /// The bytes under it.
    pub body: (usize, usize),
}

/// A conditional group.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Group {
    /// Its branches in order.
    pub branches: Vec<Branch>,
}

/// A source file, split up.
#[derive(Clone, Debug, Default)]
pub struct Raw {
    /// All tokens.
    pub tokens: Vec<RawToken>,
    /// All groups that are closed.
    pub groups: Vec<Group>,
    /// Offsets of lines.
    lines: Vec<usize>,
}

impl Raw {
    /// Splits the text of a file.
    pub fn of(text: &str) -> Raw {
        let bytes = text.as_bytes();
        let mut raw = Raw { lines: vec![0], ..Raw::default() };
        raw.lines.extend(bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(n, _)| n + 1));
        let mut scan = Scan { text, bytes, at: 0, raw, open: vec![] };
        scan.run();
        scan.raw
    }

    /// The offset of a line and column, both from 1.
    pub fn offset(&self, line: u32, column: u32) -> Option<usize> {
        Some(self.lines.get(line.checked_sub(1)? as usize)? + column.checked_sub(1)? as usize)
    }

    /// The line of an offset, from 0.
    pub fn line_of(&self, at: usize) -> usize {
        self.lines.partition_point(|&lo| lo <= at).saturating_sub(1)
    }

    /// The token that begins at an offset.
    pub fn token_at(&self, at: usize) -> Option<usize> {
        self.tokens.binary_search_by_key(&at, |t| t.lo).ok()
    }

    /// The groups whose branches have the offset, outermost first, with the number of the branch.
    pub fn groups_at(&self, at: usize) -> Vec<(usize, usize)> {
        let mut found: Vec<(usize, usize)> = vec![];
        for (n, group) in self.groups.iter().enumerate() {
            if let Some(branch) = group.branches.iter().position(|b| b.body.0 <= at && at < b.body.1) {
                found.push((n, branch));
            }
        }
        found.sort_by_key(|(n, _)| self.groups.get(*n).and_then(|g| g.branches.first()).map(|b| b.line.0));
        found
    }
}

struct Scan<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    raw: Raw,
    open: Vec<Group>,
}

impl Scan<'_> {
    fn byte(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn run(&mut self) {
        let mut line_start = true;
        while self.at < self.bytes.len() {
            match self.byte(0) {
                b'\n' => {
                    line_start = true;
                    self.at += 1;
                }
                b' ' | b'\t' | b'\r' | 0x0b | 0x0c => self.at += 1,
                b'\\' if self.byte(1) == b'\n' => self.at += 2,
                b'\\' if self.byte(1) == b'\r' && self.byte(2) == b'\n' => self.at += 3,
                b'/' if self.byte(1) == b'*' => self.block_comment(),
                b'/' if self.byte(1) == b'/' => self.line_end(),
                b'#' if line_start => {
                    self.directive();
                    line_start = true;
                }
                _ => {
                    line_start = false;
                    self.token(false);
                }
            }
        }
        let end = self.bytes.len();
        while let Some(mut group) = self.open.pop() {
            close(&mut group, end);
        }
    }

    fn block_comment(&mut self) {
        let rest = self.text.get(self.at + 2..).unwrap_or("");
        self.at = rest.find("*/").map_or(self.bytes.len(), |n| self.at + 2 + n + 2);
    }

    /// To the end of the logical line.
    fn line_end(&mut self) {
        while self.at < self.bytes.len() && self.byte(0) != b'\n' {
            let spliced =
                self.byte(0) == b'\\' && (self.byte(1) == b'\n' || self.byte(1) == b'\r' && self.byte(2) == b'\n');
            self.at += if spliced { 2 + usize::from(self.byte(1) == b'\r') } else { 1 };
        }
    }

    fn token(&mut self, directive: bool) {
        let lo = self.at;
        let first = self.byte(0);
        if first.is_ascii_digit() || first == b'.' && self.byte(1).is_ascii_digit() {
            self.number();
        } else if is_word(first) {
            while is_word(self.byte(0)) {
                self.at += 1;
            }
            // A prefix of a literal.
            let prefix = matches!(self.text.get(lo..self.at), Some("L" | "u" | "U" | "u8"));
            if prefix && matches!(self.byte(0), b'"' | b'\'') {
                self.literal();
            }
        } else if matches!(first, b'"' | b'\'') {
            self.literal();
        } else {
            let rest = self.text.get(self.at..).unwrap_or("");
            let long = [
                "...", "<<=", ">>=", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "*=", "/=",
                "%=", "+=", "-=", "&=", "^=", "|=", "##",
            ];
            let found = long.iter().find(|p| rest.starts_with(**p)).map(|p| p.len());
            self.at += found.unwrap_or_else(|| rest.chars().next().map_or(1, char::len_utf8));
        }
        self.raw.tokens.push(RawToken { lo, hi: self.at, directive });
    }

    /// A number of the preprocessor.
    fn number(&mut self) {
        while is_word(self.byte(0)) || self.byte(0) == b'.' {
            let exponent = matches!(self.byte(0), b'e' | b'E' | b'p' | b'P') && matches!(self.byte(1), b'+' | b'-');
            self.at += 1 + usize::from(exponent);
        }
    }

    fn literal(&mut self) {
        let quote = self.byte(0);
        self.at += 1;
        while self.at < self.bytes.len() && self.byte(0) != quote && self.byte(0) != b'\n' {
            self.at += if self.byte(0) == b'\\' { 2 } else { 1 };
        }
        self.at = (self.at + 1).min(self.bytes.len());
    }

    fn directive(&mut self) {
        let lo = self.at;
        let first = self.raw.tokens.len();
        self.at += 1;
        while self.at < self.bytes.len() && self.byte(0) != b'\n' {
            match self.byte(0) {
                b' ' | b'\t' | b'\r' | 0x0b | 0x0c => self.at += 1,
                b'\\' if self.byte(1) == b'\n' => self.at += 2,
                b'\\' if self.byte(1) == b'\r' && self.byte(2) == b'\n' => self.at += 3,
                b'/' if self.byte(1) == b'*' => self.block_comment(),
                b'/' if self.byte(1) == b'/' => self.line_end(),
                _ => self.token(true),
            }
        }
        let word = self.raw.tokens.get(first).and_then(|t| self.text.get(t.lo..t.hi)).unwrap_or("");
        let line = (lo, self.at);
        match word {
            "if" | "ifdef" | "ifndef" => {
                let branch = Branch { line, is_else: false, body: (self.at, self.at) };
                self.open.push(Group { branches: vec![branch] });
            }
            "elif" | "elifdef" | "elifndef" | "else" => {
                let is_else = word == "else";
                if let Some(group) = self.open.last_mut() {
                    close(group, lo);
                    group.branches.push(Branch { line, is_else, body: (line.1, line.1) });
                }
            }
            "endif" => {
                if let Some(mut group) = self.open.pop() {
                    close(&mut group, lo);
                    self.raw.groups.push(group);
                }
            }
            _ => {}
        }
    }
}

fn close(group: &mut Group, at: usize) {
    if let Some(last) = group.branches.last_mut() {
        last.body.1 = at;
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_directives_and_splices() {
        let text = "int a; /* x */ // y\n#if A \\\n B\nchar *s = \"a/*b\";\n#else\nx>>=1.5e+3;\n#endif\n";
        let raw = Raw::of(text);
        let spelled: Vec<&str> =
            raw.tokens.iter().filter(|t| !t.directive).filter_map(|t| text.get(t.lo..t.hi)).collect();
        assert_eq!(spelled, ["int", "a", ";", "char", "*", "s", "=", "\"a/*b\"", ";", "x", ">>=", "1.5e+3", ";"]);
        let at = text.find("x>>").unwrap_or(0);
        assert_eq!(raw.groups_at(at), [(0, 1)]);
        assert_eq!(raw.groups.first().map(|g| g.branches.len()), Some(2));
    }
}
