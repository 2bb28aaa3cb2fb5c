//! Words of messages that depend on what stands next to them.

/// The code `text` in backquotes after its indefinite article: "a `long`", "an `int`".
pub fn with_article(text: &str) -> String {
    format!("{} `{text}`", article(text))
}

/// The indefinite article before `word` as it is spoken: "an" before a vowel's sound, which
/// `unique` and `uint8_t` do not begin with ("you"), and `rc` does ("are see").
pub fn article(word: &str) -> &'static str {
    const CONSONANT: [&str; 7] = ["union", "uniq", "unit", "uint", "us", "utf", "one"];
    const SPELLED: [&str; 4] = ["rc", "f32", "f64", "mbstate_t"];
    let word = word.trim_start_matches(|c: char| !c.is_alphanumeric()).to_ascii_lowercase();
    let first = word.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("");
    let second = first.chars().nth(1);
    let is_vowel = match first.chars().next() {
        Some('a' | 'e' | 'i' | 'o') => true,
        // Alone or before a digit it is read as its name.
        Some('u') => second.is_some_and(char::is_alphabetic),
        _ => false,
    };
    let is_vowel = is_vowel && !CONSONANT.iter().any(|c| first.starts_with(c));
    if is_vowel || SPELLED.contains(&first) || first.starts_with("rc_") {
        "an"
    } else {
        "a"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn articles_follow_the_sound() {
        for word in ["int", "unsigned char", "enum e", "arena", "any", "rc", "rc_key<@d>", "_index", "owner"] {
            assert_eq!(article(word), "an", "{word}");
        }
        for word in ["long", "struct item", "const int", "unique", "union u", "uint8_t", "u32", "usize", "", "*", "(x)"]
        {
            assert_eq!(article(word), "a", "{word}");
        }
        assert_eq!(with_article("int *"), "an `int *`");
        assert_eq!(with_article("char *"), "a `char *`");
    }
}
