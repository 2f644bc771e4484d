//! Matches glob patterns (`string match`, `switch -glob`, `lsearch`).
//!
//! Must never: take exponential time.

/// Whether a text matches a pattern with `*`, `?`, `[a-z]` and `\x`.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut p, mut t) = (0, 0);
    // The position of the last star, and the position after the text that it has matched so far.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        if pattern.get(p) == Some(&'*') {
            star = Some((p, t));
            p += 1;
            continue;
        }
        if let Some(next) = match_character(&pattern, p, text[t]) {
            p = next;
            t += 1;
            continue;
        }
        let Some((at, consumed)) = star else {
            return false;
        };
        star = Some((at, consumed + 1));
        p = at + 1;
        t = consumed + 1;
    }
    pattern[p.min(pattern.len())..].iter().all(|&c| c == '*')
}

/// Matches one character. Returns the next position in the pattern, or `None` if the character does not
/// match.
fn match_character(pattern: &[char], at: usize, c: char) -> Option<usize> {
    match *pattern.get(at)? {
        '?' => Some(at + 1),
        '\\' if at + 1 < pattern.len() => (pattern[at + 1] == c).then_some(at + 2),
        '[' => {
            let mut p = at + 1;
            let mut is_match = false;
            while let Some(&low) = pattern.get(p) {
                if low == ']' {
                    return is_match.then_some(p + 1);
                }
                let high = match (pattern.get(p + 1), pattern.get(p + 2)) {
                    (Some('-'), Some(&high)) if high != ']' => {
                        p += 2;
                        high
                    }
                    _ => low,
                };
                is_match |= (low.min(high)..=low.max(high)).contains(&c);
                p += 1;
            }
            is_match.then_some(p)
        }
        literal => (literal == c).then_some(at + 1),
    }
}
