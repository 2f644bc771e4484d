//! Matches glob patterns (`string match`, `switch -glob`, `lsearch`).
//!
//! Must never: take exponential time.

/// How a command compares a text with a pattern (`-exact`, `-glob`, `-regexp`).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Matching {
    Exact,
    Glob,
    Regex,
}

/// Whether a text matches a pattern with `*`, `?`, `[a-z]` and `\x`.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut pattern_index, mut text_index) = (0, 0);
    // The last star's position in the pattern, and the end of the text that the star has matched so far.
    let mut star: Option<(usize, usize)> = None;
    while text_index < text.len() {
        if pattern.get(pattern_index) == Some(&'*') {
            star = Some((pattern_index, text_index));
            pattern_index += 1;
            continue;
        }
        if let Some(next) = match_character(&pattern, pattern_index, text[text_index]) {
            pattern_index = next;
            text_index += 1;
            continue;
        }
        let Some((at, consumed)) = star else {
            return false;
        };
        star = Some((at, consumed + 1));
        pattern_index = at + 1;
        text_index = consumed + 1;
    }
    pattern[pattern_index.min(pattern.len())..]
        .iter()
        .all(|&c| c == '*')
}

/// Matches one character. Returns the next position in the pattern, or `None` if the character does not
/// match.
fn match_character(pattern: &[char], at: usize, c: char) -> Option<usize> {
    match *pattern.get(at)? {
        '?' => Some(at + 1),
        '\\' if at + 1 < pattern.len() => (pattern[at + 1] == c).then_some(at + 2),
        '[' => {
            let mut pattern_index = at + 1;
            let mut is_match = false;
            while let Some(&low) = pattern.get(pattern_index) {
                if low == ']' {
                    return is_match.then_some(pattern_index + 1);
                }
                let high = match (
                    pattern.get(pattern_index + 1),
                    pattern.get(pattern_index + 2),
                ) {
                    (Some('-'), Some(&high)) if high != ']' => {
                        pattern_index += 2;
                        high
                    }
                    _ => low,
                };
                is_match |= (low.min(high)..=low.max(high)).contains(&c);
                pattern_index += 1;
            }
            is_match.then_some(pattern_index)
        }
        literal => (literal == c).then_some(at + 1),
    }
}

/// A text for a comparison, which may ignore case.
pub(super) fn fold_case(text: &str, ignore_case: bool) -> String {
    if ignore_case { text.to_lowercase() } else { text.to_owned() }
}
