//! The text of a captured plan: its comments, samples and transactions.

use super::generators::Sample;
use super::{CaptureOptions, Captured, Entry, on_one_line};
use prony_server::statements::StatementTotals;

/// The most calls that a weight tells apart.
const WEIGHT_MAX: f64 = 1e9;

/// Writes the plan. `utilities`: statements that are no transactions, such as COMMIT; `incomplete`: what the statistics
/// lack.
pub(super) fn write(
    entries: &[Entry],
    captured: &Captured,
    utilities: &[StatementTotals],
    incomplete: &[&str],
    options: &CaptureOptions,
) -> String {
    let mut lines = header(entries, captured, utilities, options);
    lines.extend(
        incomplete
            .iter()
            .map(|sentence| format!("# Incomplete: {sentence}.")),
    );
    for left_out in &captured.left_out {
        let percent = left_out.time_share * 100.0;
        lines.push(format!(
            "# Left out, {percent:.1} % of the time: {}",
            left_out.text
        ));
        lines.push(format!("#   because {}", on_one_line(&left_out.reason)));
    }
    lines.extend(workload(entries, true));
    lines.join("\n") + "\n"
}

/// The lines of `[workload]`. Without `is_counted`, the totals of the entries are no counts of a server.
pub(super) fn workload(entries: &[Entry], is_counted: bool) -> Vec<String> {
    let mut lines = Vec::new();
    lines.push("\n[workload]\nname = \"sql\"".to_owned());
    let mut samples: Vec<&Sample> = Vec::new();
    for sample in entries.iter().flat_map(|entry| &entry.transaction.samples) {
        if !samples.contains(&sample) {
            samples.push(sample);
            let Sample { name, sql } = sample;
            lines.push(format!(
                "\n[[workload.samples]]\nname = \"{name}\"\nsql = '''{sql}'''"
            ));
        }
    }
    let calls = entries.iter().map(|entry| entry.totals.calls);
    let most = calls.max().unwrap_or(1) as f64;
    let kept_us: f64 = entries.iter().map(|entry| entry.totals.time_us).sum();
    for Entry {
        name,
        totals,
        transaction,
        statements,
    } in entries
    {
        let weight = totals.calls as f64 * (WEIGHT_MAX / most).min(1.0);
        let weight = weight.round().max(1.0);
        let facts = |totals: &StatementTotals| {
            let time = totals.time_us / kept_us.max(f64::MIN_POSITIVE);
            let rows = totals.rows as f64 / totals.calls.max(1) as f64;
            format!("time = {time:.4}, rows = {rows:.4}")
        };
        let mut captured = facts(totals);
        if !statements.is_empty() {
            let statements = statements
                .iter()
                .map(|totals| format!("{{ {} }}", facts(totals)));
            let statements: Vec<String> = statements.collect();
            captured += &format!(", statements = [{}]", statements.join(", "));
        }
        lines.push(format!(
            "\n[[workload.transactions]]\nname = \"{name}\"\nweight = {weight}"
        ));
        lines.extend(is_counted.then(|| format!("captured = {{ {captured} }}")));
        let guesses = transaction.guesses.iter();
        lines.extend(guesses.map(|guess| format!("# guess: {}", on_one_line(guess))));
        lines.push(format!("sql = '''\n{}'''", transaction.script));
    }
    lines
}

fn header(
    entries: &[Entry],
    captured: &Captured,
    utilities: &[StatementTotals],
    options: &CaptureOptions,
) -> Vec<String> {
    let calls: u64 = entries.iter().map(|entry| entry.totals.calls).sum();
    let view = options.view;
    let statements: usize = entries
        .iter()
        .map(|entry| entry.statements.len().max(1))
        .sum();
    let what = match entries.len() {
        transactions if transactions == statements => format!("{statements} statements"),
        transactions => format!("{transactions} transactions of {statements} statements"),
    };
    let time = match options.time {
        time if time.is_zero() => "since the statistics began".to_owned(),
        time => format!("in {} s", time.as_secs_f64()),
    };
    let mut lines = vec![
        format!("# Captured by prony capture from {view} {time}: {what}, {calls} calls,"),
        format!("# {:.1} % of the time of all statements of this database.", captured.share * 100.0),
        match options.sequences.len() {
            0 => "# Each statement is a transaction of its own: the server does not say which statements were one transaction.".to_owned(),
            seen => format!(
                "# Of {seen} transactions that the server remembers, those whose statements were always together are transactions here; \
                 each other statement is a transaction of its own."
            ),
        },
    ];
    let is_commit = |totals: &&StatementTotals| {
        let word = totals.text.trim().trim_end_matches(';').to_lowercase();
        ["commit", "end", "commit work", "commit transaction"].contains(&&*word)
    };
    let commits = utilities.iter().filter(is_commit);
    let commits: u64 = commits.map(|totals| totals.calls).sum();
    if commits > 0 {
        lines.push(format!(
            "# It counted {commits} COMMITs beside the {calls} calls, so some statements were parts of larger transactions."
        ));
    }
    lines.push(
        "# Comments that begin with \"guess\" say what a variable is drawn from. Which rows the application prefers is not known."
            .to_owned(),
    );
    lines
}
