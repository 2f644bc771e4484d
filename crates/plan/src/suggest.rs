//! Suggestions for misspelt words: the one guess that every message about an unknown name makes.
//!
//! Returns the known word that is nearest to a given one, if the two are similar enough.

use strsim::osa_distance;

/// Terms of other tools (pgbench, sysbench, HammerDB, k6, hyperfine), each with Prony's name.
const TERMS_OF_OTHER_TOOLS: [(&str, &str); 36] = [
    ("jobs", "threads"),
    ("workers", "threads"),
    ("connections", "clients"),
    ("users", "clients"),
    ("vus", "clients"),
    ("terminals", "clients"),
    ("concurrency", "clients"),
    ("time", "duration"),
    ("minutes", "duration"),
    ("warehouses", "scale"),
    ("count_ware", "scale"),
    ("scale_factor", "scale"),
    ("progress_interval", "progress"),
    ("report_interval", "progress"),
    ("runs", "repeats"),
    ("out", "output"),
    ("export_json", "json"),
    ("format", "json"),
    ("verbose", "full"),
    ("details", "full"),
    ("ramp", "warmup"),
    ("warmup_time", "warmup"),
    ("rampup", "warmup"),
    ("tps", "rate"),
    ("mode", "protocol"),
    ("random_seed", "seed"),
    ("engine", "io"),
    ("cached", "expect_cached"),
    ("host", "url"),
    ("port", "url"),
    ("user", "url"),
    ("username", "url"),
    ("password", "url"),
    ("database", "url"),
    ("db", "url"),
    ("dbname", "url"),
];

/// The known word nearest to `word`, ignoring case and hyphens, if it is within a third of its length (at least one edit).
pub fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let word = normalize(word);
    let length = word.chars().count();
    let max_edits = (length / 3).max(1);
    let mut similar = Vec::new();
    for name in known.iter().copied() {
        let name_length = name.chars().count();
        // The word may be as long as a file: the distance is computed only where it can be small.
        if name_length.abs_diff(length) > max_edits {
            continue;
        }
        let edits = osa_distance(&word, &normalize(name));
        // As many edits as the name has letters leave nothing of it.
        if edits <= max_edits && edits < name_length {
            similar.push((edits, name));
        }
    }
    // Of two equally near words, prefer the one with the same letters: swapping two letters is a more common typing
    // error than replacing one.
    let rank =
        |(edits, name): &(usize, &str)| (*edits, sorted_letters(name) != sorted_letters(&word));
    let (_, nearest) = similar.into_iter().min_by_key(rank)?;
    Some(nearest)
}

/// The hint for an unknown name: what was probably meant, if anything, and then `all`, which says where or what the names
/// are.
pub fn suggestion(word: &str, known: &[&str], all: &str) -> String {
    match nearest(word, known) {
        Some(similar) => format!("did you mean {similar}? {all}"),
        None => all.to_owned(),
    }
}

fn sorted_letters(word: &str) -> Vec<char> {
    let mut letters: Vec<char> = normalize(word).chars().collect();
    letters.sort_unstable();
    letters
}

/// Prony's name for another tool's term, if it is among the known words.
pub fn name_for_term<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let word = normalize(word);
    let (_, prony_name) = TERMS_OF_OTHER_TOOLS
        .iter()
        .find(|(term, _)| *term == word)?;
    known
        .iter()
        .copied()
        .find(|name| normalize(name) == *prony_name)
}

/// Normalizes case and hyphens for the comparison.
fn normalize(word: &str) -> String {
    word.to_lowercase().replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_similar_words_are_suggested() {
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
        assert_eq!(name_for_term("jobs", &known), Some("threads"));
        assert_eq!(name_for_term("warehouses", &["scale"]), Some("scale"));
        assert_eq!(name_for_term("tps", &known), None);
    }
}
