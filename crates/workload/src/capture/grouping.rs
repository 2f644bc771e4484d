//! Statements that were one transaction, where the server says it.
//!
//! In: what sessions executed last, of which some were whole transactions. Out: entries, some of several statements. Must
//! never: group statements that were also seen apart, or in another order.

use super::generators::Transaction;
use super::{Entry, is_query};
use prony_server::statements::StatementTotals;
use std::collections::HashMap;

/// As often must a transaction be seen.
const SEEN_MIN: usize = 5;

/// Joins the entries whose statements were always seen in the same transaction. `sequences`: the statements of each
/// transaction that was seen whole, a statement without a transaction by itself.
pub(super) fn grouped(entries: Vec<Entry>, sequences: &[Vec<String>]) -> Vec<Entry> {
    let queries = sequences.iter().map(|sequence| {
        let texts = sequence.iter().map(String::as_str);
        texts.filter(|text| is_query(text)).collect::<Vec<&str>>()
    });
    // The only transaction in which a statement was seen, and how often; `None` if there are several.
    let mut seen: HashMap<&str, (Option<Vec<&str>>, usize)> = HashMap::new();
    for queries in queries {
        for text in &queries {
            let (sequence, count) = seen
                .entry(text)
                .or_insert_with(|| (Some(queries.clone()), 0));
            *count += 1;
            if sequence.as_ref() != Some(&queries) {
                *sequence = None;
            }
        }
    }
    let group_of = |entry: &Entry| {
        let (sequence, count) = seen.get(&*entry.totals.text)?;
        let sequence = sequence.as_ref().filter(|texts| texts.len() > 1)?;
        let is_known = |text: &&str| {
            let is_same = |found: &(Option<Vec<&str>>, usize)| found.0.as_ref() == Some(sequence);
            let is_entry = entries.iter().any(|entry| entry.totals.text == **text);
            seen.get(text).is_some_and(is_same) && is_entry
        };
        // A statement that a transaction executes twice is counted twice.
        let is_often = *count
            >= SEEN_MIN
                * sequence
                    .iter()
                    .filter(|text| **text == entry.totals.text)
                    .count();
        (is_often && sequence.iter().all(is_known)).then(|| sequence.clone())
    };
    let groups: Vec<Option<Vec<&str>>> = entries.iter().map(group_of).collect();
    let mut joined: Vec<Entry> = Vec::new();
    for (index, group) in groups.iter().enumerate() {
        match group {
            None => joined.push(entries[index].clone()),
            // At the place of its first entry, which took the most time.
            Some(sequence) if !groups[..index].contains(group) => {
                let of_text =
                    |text: &&str| entries.iter().find(|entry| entry.totals.text == **text);
                let parts: Vec<&Entry> = sequence.iter().filter_map(of_text).collect();
                joined.push(join(&parts));
            }
            Some(_) => {}
        }
    }
    joined
}

fn join(parts: &[&Entry]) -> Entry {
    let mut transaction = Transaction {
        guesses: vec![
            "each statement draws values of its own; the application's may belong together"
                .to_owned(),
        ],
        ..Transaction::default()
    };
    let mut totals = StatementTotals {
        calls: u64::MAX,
        ..StatementTotals::default()
    };
    let mut statements = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let is_same = |other: &&&Entry| other.totals.text == part.totals.text;
        let times = parts.iter().filter(is_same).count() as u64;
        statements.push(StatementTotals {
            time_us: part.totals.time_us / times as f64,
            ..part.totals.clone()
        });
        transaction.script += &part.transaction.script;
        totals.calls = totals.calls.min(part.totals.calls / times);
        if parts[..index].iter().any(|other| is_same(&other)) {
            continue;
        }
        transaction
            .samples
            .extend(part.transaction.samples.iter().cloned());
        transaction
            .guesses
            .extend(part.transaction.guesses.iter().cloned());
        totals.time_us += part.totals.time_us;
        totals.rows += part.totals.rows;
    }
    transaction.script = format!("BEGIN;\n{}COMMIT;\n", transaction.script);
    Entry {
        name: format!("{} and {} more", parts[0].name, parts.len() - 1),
        totals,
        transaction,
        statements,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &str, calls: u64) -> Entry {
        Entry {
            name: text.to_owned(),
            totals: StatementTotals {
                text: text.to_owned(),
                calls,
                time_us: 10.0,
                rows: calls,
                ..StatementTotals::default()
            },
            transaction: Transaction {
                script: format!("{text};\n"),
                ..Transaction::default()
            },
            statements: Vec::new(),
        }
    }

    /// The names and scripts of the entries, where each of these transactions was seen so often.
    fn names(entries: &[Entry], seen: &[(&[&str], usize)]) -> Vec<(String, u64, String)> {
        let sequences = seen.iter().flat_map(|(texts, count)| {
            let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
            std::iter::repeat_n(texts, *count)
        });
        let sequences: Vec<Vec<String>> = sequences.collect();
        let joined = grouped(entries.to_vec(), &sequences).into_iter();
        joined
            .map(|entry| (entry.name, entry.totals.calls, entry.transaction.script))
            .collect()
    }

    #[test]
    fn statements_that_were_always_together_are_one_transaction() {
        let entries = [
            entry("update a", 20),
            entry("select b", 90),
            entry("insert c", 10),
        ];
        let whole: &[&str] = &["set x", "insert c", "update a", "update a", "commit"];
        let single: &[&str] = &["select b"];
        let joined = names(&entries, &[(whole, 5), (single, 40)]);
        let script = "BEGIN;\ninsert c;\nupdate a;\nupdate a;\nCOMMIT;\n";
        assert_eq!(
            joined,
            [
                ("insert c and 2 more".to_owned(), 10, script.to_owned()),
                ("select b".to_owned(), 90, "select b;\n".to_owned()),
            ]
        );
        // What was counted of each statement; one of two executions of the same has half of its time.
        let sequences = vec![whole.iter().map(|text| (*text).to_owned()).collect(); 5];
        let joined = grouped(entries.to_vec(), &sequences);
        let times = joined[0].statements.iter().map(|totals| totals.time_us);
        assert_eq!(times.collect::<Vec<_>>(), [10.0, 5.0, 5.0]);
        // Seen too rarely, apart as well, in another order, or with a statement that the plan does not have.
        let reversed: &[&str] = &["update a", "update a", "insert c"];
        let apart: &[&str] = &["insert c"];
        let unknown: &[&str] = &["insert c", "update a", "update a", "delete d"];
        for seen in [
            &[(whole, 4)][..],
            &[(whole, 90), (apart, 1)],
            &[(whole, 90), (reversed, 1)],
            &[(unknown, 90)],
            &[],
        ] {
            let names = names(&entries, seen).into_iter();
            let names: Vec<String> = names.map(|(name, ..)| name).collect();
            assert_eq!(names, ["update a", "select b", "insert c"], "{seen:?}");
        }
    }
}
