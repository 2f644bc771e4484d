//! How the mix of a run differs from the one that `prony capture` observed.
//!
//! In: a Run, whose plan holds what was captured. Out: a table, and a sentence for the first screen.

use crate::table::Table;
use crate::text::{TableSection, plain};
use crate::units::{count, or_dash, percent_with_tenths};
use prony_store::{KindFigures, ROWS_OF_CALLS, Run, TIME_OF_CALLS, name_of_statement};
use serde_json::Value;

/// The captured share of a transaction in the time of all, and that of the run; both up to 1.
struct TimeShare {
    name: String,
    /// Whether it is of one statement of the transaction before it.
    is_statement: bool,
    captured: f64,
    here: f64,
    /// Rows a call, captured and here, if both are known.
    rows: Option<[f64; 2]>,
}

/// The shares of the transactions; empty if the plan was not captured, or nothing was measured.
fn time_shares(run: &Run) -> Vec<TimeShare> {
    let kinds = run.measured.kinds.iter().filter(|kind| kind.kind.is_some());
    let kinds: Vec<&KindFigures> = kinds.collect();
    // What the server took is nearest to what the server counted.
    let has_parts = kinds
        .iter()
        .all(|kind| kind.parts.is_some() || kind.committed == 0);
    let time_ns = |kind: &KindFigures| {
        let parts = kind.parts.as_ref().filter(|_| has_parts);
        let mean_ns = parts.map_or(kind.service.mean_ns, |parts| parts.server.mean_ns);
        kind.committed as f64 * mean_ns
    };
    let all_ns: f64 = kinds.iter().map(|kind| time_ns(kind)).sum();
    let observed = |name: &str, base: &str| {
        let mut shares = run.shares.iter();
        let share =
            shares.find(|share| share.base == base && share.name == name && share.total > 0);
        share.map(|share| share.count as f64 / share.total as f64)
    };
    // `facts` are what was captured; `None` if they lack the time.
    let time_share = |name: String, facts: &Value, here: f64, is_statement| {
        let captured_rows = facts["rows"].as_f64();
        let rows_here = observed(&name, ROWS_OF_CALLS);
        Some(TimeShare {
            captured: facts["time"].as_f64()?,
            rows: captured_rows.zip(rows_here).map(<[f64; 2]>::from),
            name,
            here,
            is_statement,
        })
    };
    let transactions = run.plan["workload"]["transactions"].as_array();
    let mut shares = Vec::new();
    for transaction in transactions.into_iter().flatten() {
        let Some(name) = transaction["name"].as_str() else {
            continue;
        };
        let facts = &transaction["captured"];
        let kind = kinds.iter().find(|kind| kind.kind.as_deref() == Some(name));
        let here = kind.map_or(0.0, |kind| time_ns(kind)) / all_ns;
        shares.extend(time_share(name.to_owned(), facts, here, false));
        let statements = facts["statements"].as_array().into_iter().flatten();
        for (facts, number) in statements.zip(1..) {
            let name = name_of_statement(name, number);
            // Its share of the transaction's time is its share of the round trips'.
            let part = observed(&name, TIME_OF_CALLS).unwrap_or(0.0);
            shares.extend(time_share(name, facts, here * part, true));
        }
    }
    // Without a measured time, the shares of it are not numbers.
    shares.retain(|share| share.here.is_finite());
    shares
}

pub(crate) fn mix_sentence(run: &Run) -> Option<String> {
    let shares = time_shares(run);
    let difference = |share: &TimeShare| (share.here - share.captured).abs();
    let largest = shares
        .iter()
        .filter(|share| !share.is_statement)
        .max_by(|a, b| difference(a).total_cmp(&difference(b)))?;
    let mut text = format!(
        "{} took {} of the time, {} when captured; no other transaction differs more",
        plain(&largest.name),
        percent_with_tenths(largest.here),
        percent_with_tenths(largest.captured)
    );
    // One row more or less, as of a random key that misses, is no other query.
    let factor = |[captured, here]: [f64; 2]| ((here + 1.0) / (captured + 1.0)).ln().abs();
    let shares = shares.iter();
    let rows = shares.filter_map(|share| Some((&*share.name, share.rows?)));
    let other_rows = rows.max_by(|a, b| factor(a.1).total_cmp(&factor(b.1)));
    if let Some((name, rows)) = other_rows.filter(|(_, rows)| factor(*rows) > ROWS_FACTOR.ln()) {
        let [captured, here] = rows.map(rows_text);
        text += &format!(
            "; {} had {here} rows a call, {captured} when captured",
            plain(name)
        );
    }
    Some(text)
}

/// A larger factor between the rows of a call and the captured ones is in the sentence.
const ROWS_FACTOR: f64 = 1.25;

fn rows_text(rows: f64) -> String {
    if rows < 100.0 { format!("{rows:.2}") } else { count(rows.round() as u64) }
}

pub(crate) fn captured_mix(run: &Run) -> Option<TableSection> {
    let shares = time_shares(run);
    if shares.is_empty() {
        return None;
    }
    let mut table = Table::new(&[
        "transaction",
        "captured",
        "here",
        "rows a call, captured",
        "here",
    ]);
    for share in shares {
        table.row([
            plain(&share.name),
            percent_with_tenths(share.captured),
            percent_with_tenths(share.here),
            or_dash(share.rows, |[captured, _]| rows_text(captured)),
            or_dash(share.rows, |[_, here]| rows_text(here)),
        ]);
    }
    Some(TableSection {
        heading: "Share of the time beside the captured one",
        table: Some(table),
        text: "Captured: of the time that the server counted for these statements. Here: of the server's time, or, where it is \
               not known, of the service time of committed transactions. Here a call also has its round trip and its commit, so \
               short statements weigh more. Otherwise a transaction that takes a larger share reads other rows than the \
               application, finds them less often in memory, or waits for others. Rows: returned or changed, over the whole run."
            .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;
    use prony_store::{Figures, Latency, ObservedShare};
    use serde_json::json;

    #[test]
    fn the_mix_is_compared_with_the_captured_one() {
        assert!(captured_mix(&Run::default()).is_none());
        assert_eq!(mix_sentence(&Run::default()), None);
        let kind = |name: Option<&str>, committed, mean_ns| KindFigures {
            kind: name.map(str::to_owned),
            committed,
            service: Latency {
                mean_ns,
                ..Latency::default()
            },
            ..KindFigures::default()
        };
        let transaction =
            |name: &str, time: f64| json!({"name": name, "captured": {"time": time, "rows": 1.0}});
        let mut pay = transaction("pay", 0.3);
        pay["captured"]["statements"] =
            json!([{"time": 0.2, "rows": 1.0}, {"time": 0.1, "rows": 0.0}]);
        let transactions = [transaction("look", 0.5), pay, transaction("log", 0.2)];
        let rows = |name: &str, count, base: &str| ObservedShare {
            name: name.to_owned(),
            base: base.to_owned(),
            count,
            total: 30,
            ..ObservedShare::default()
        };
        let run = Run {
            shares: vec![
                rows("look", 90, ROWS_OF_CALLS),
                rows("pay", 33, ROWS_OF_CALLS),
                rows("log", 99, "queries"),
                rows("pay, statement 1", 33, ROWS_OF_CALLS),
                rows("pay, statement 1", 20, TIME_OF_CALLS),
            ],
            plan: json!({"workload": {"transactions": transactions}}),
            measured: Figures {
                kinds: vec![
                    kind(None, 40, 1e6),
                    kind(Some("look"), 30, 1e6),
                    kind(Some("pay"), 5, 2e6),
                    kind(Some("log"), 0, 0.0),
                ],
                ..Figures::default()
            },
            ..Run::default()
        };
        let sentence = "look took 75.0 % of the time, 50.0 % when captured; no other transaction differs more; look had \
                        3.00 rows a call, 1.00 when captured";
        assert_eq!(mix_sentence(&run).as_deref(), Some(sentence));
        let section = captured_mix(&run).expect("a section");
        let (mut bytes, style) = (Vec::new(), crate::style::Style::plain());
        let table = section.table.expect("a table");
        table.write(&mut bytes, &style, 0).expect("written");
        let text = String::from_utf8(bytes).expect("UTF-8");
        let words: Vec<&str> = text.split_whitespace().collect();
        let text = words.join(" ");
        text.assert_contains(
            "look 50.0 % 75.0 % 1.00 3.00 pay 30.0 % 25.0 % 1.00 1.10 pay, statement 1 20.0 % 16.7 % 1.00 1.10 \
             pay, statement 2 10.0 % 0.0 %",
        );
    }
}
