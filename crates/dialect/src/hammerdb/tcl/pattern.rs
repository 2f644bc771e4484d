//! Glob patterns (`string match`, `switch -glob`, `lsearch`).
//!
//! In: a pattern and a text. Out: whether it fits. Must never: take exponential time.

/// Whether a text fits a pattern with `*`, `?`, `[a-z]` and `\x`.
pub(crate) fn fits(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut p, mut t) = (0, 0);
    // Where the last star stood, and what it has swallowed up to.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        if pattern.get(p) == Some(&'*') {
            star = Some((p, t));
            p += 1;
            continue;
        }
        if let Some(next) = one(&pattern, p, text[t]) {
            p = next;
            t += 1;
            continue;
        }
        let Some((at, swallowed)) = star else {
            return false;
        };
        star = Some((at, swallowed + 1));
        p = at + 1;
        t = swallowed + 1;
    }
    pattern[p.min(pattern.len())..].iter().all(|&c| c == '*')
}

/// The place in the pattern after one character, if it fits.
fn one(pattern: &[char], at: usize, c: char) -> Option<usize> {
    match *pattern.get(at)? {
        '?' => Some(at + 1),
        '\\' if at + 1 < pattern.len() => (pattern[at + 1] == c).then_some(at + 2),
        '[' => {
            let mut p = at + 1;
            let mut found = false;
            while let Some(&low) = pattern.get(p) {
                if low == ']' {
                    return found.then_some(p + 1);
                }
                let high = match (pattern.get(p + 1), pattern.get(p + 2)) {
                    (Some('-'), Some(&high)) if high != ']' => {
                        p += 2;
                        high
                    }
                    _ => low,
                };
                found |= (low.min(high)..=low.max(high)).contains(&c);
                p += 1;
            }
            found.then_some(p)
        }
        plain => (plain == c).then_some(at + 1),
    }
}
