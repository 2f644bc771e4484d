//! What the user may have meant.
//!
//! In: a word and the words that are known. Out: the nearest one, if one is near. Must never: guess
//! far.

/// Words of other tools, and what they are called here.
const OTHER_NAMES: [(&str, &str); 17] = [
    ("jobs", "threads"),
    ("workers", "threads"),
    ("connections", "clients"),
    ("users", "clients"),
    ("terminals", "clients"),
    ("concurrency", "clients"),
    ("time", "duration"),
    ("ramp", "warmup"),
    ("rampup", "warmup"),
    ("tps", "rate"),
    ("mode", "protocol"),
    ("random_seed", "seed"),
    ("engine", "io"),
    ("host", "url"),
    ("port", "url"),
    ("password", "url"),
    ("dbname", "url"),
];

/// The known word nearest to `word`, if it is within a third of its length (at least one edit).
pub(crate) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let word = normal(word);
    let allowed = (word.chars().count() / 3).max(1);
    known
        .iter()
        .map(|name| (distance(&word, &normal(name)), *name))
        .filter(|(edits, name)| *edits <= allowed && *edits < name.chars().count())
        // Of two as near, the one of the same letters: fingers swap more often than they miss.
        .min_by_key(|(edits, name)| (*edits, letters(name) != letters(&word)))
        .map(|(_, name)| name)
}

fn letters(word: &str) -> Vec<char> {
    let mut letters: Vec<char> = normal(word).chars().collect();
    letters.sort_unstable();
    letters
}

/// What another tool's word is called here, if it is among the known words.
pub(crate) fn other_name<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let word = normal(word);
    let (_, here) = OTHER_NAMES.iter().find(|(theirs, _)| *theirs == word)?;
    known.iter().copied().find(|name| name == here)
}

/// Capitals and hyphens make no other word.
fn normal(word: &str) -> String {
    word.to_lowercase().replace('-', "_")
}

/// Edits from one word to the other: insert, delete, replace, or swap two neighbours (the optimal
/// string alignment distance).
pub(crate) fn distance(from: &str, to: &str) -> usize {
    let from: Vec<char> = from.chars().collect();
    let to: Vec<char> = to.chars().collect();
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (row, &a) in from.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, &b) in to.iter().enumerate() {
            let mut edits = (last[column] + usize::from(a != b))
                .min(last[column + 1] + 1)
                .min(current[column] + 1);
            if row > 0 && column > 0 && a == to[column - 1] && from[row - 1] == b {
                edits = edits.min(before_last[column - 1] + 1);
            }
            current.push(edits);
        }
        before_last = std::mem::replace(&mut last, current);
    }
    last[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_edits() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("clients", "clients"), 0);
        assert_eq!(distance("cleints", "clients"), 1);
        assert_eq!(distance("client", "clients"), 1);
        assert_eq!(distance("kitten", "sitting"), 3);
    }

    #[test]
    fn guesses_near_and_not_far() {
        let known = ["clients", "threads", "io", "connect_per_transaction"];
        assert_eq!(nearest("cleints", &known), Some("clients"));
        assert_eq!(nearest("Threads", &known), Some("threads"));
        assert_eq!(
            nearest("connect-per-transaction", &known),
            Some("connect_per_transaction")
        );
        assert_eq!(nearest("tpbc", &["tpcc", "tpcb"]), Some("tpcb"));
        assert_eq!(nearest("banana", &known), None);
        assert_eq!(nearest("xy", &known), None);
        assert_eq!(other_name("jobs", &known), Some("threads"));
        assert_eq!(other_name("tps", &known), None);
    }
}
