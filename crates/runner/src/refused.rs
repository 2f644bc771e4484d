//! Ends a run in its first seconds if the server refuses every transaction of a kind.
//!
//! In: the rows of a run. Out: a [`Refused`], which the caller reports in place of a result. Must never: end a run
//! because of errors that may pass, such as deadlocks, time-outs, lost connections or an outage.

use prony_judge::{POOLER_PROTOCOLS, POOLER_SQLSTATES};
use prony_measure::{ErrorClass, ErrorEntry, IntervalRow, Tally};
use prony_plan::{ErrorParts, UserError};
use std::borrow::Cow;

/// Why the transactions of a kind cannot succeed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.parts().sentence())]
pub struct Refused {
    /// The kind of transaction, such as `new-order`, or the name of a script.
    pub kind: String,
    /// Whether the server refuses them; otherwise Prony's loop cannot execute one of their statements.
    pub by_server: bool,
    /// Number of transactions that failed until then.
    pub count: u64,
    /// SQLSTATE or error number.
    pub code: String,
    pub message: String,
}

impl UserError for Refused {
    fn parts(&self) -> ErrorParts {
        let Refused {
            kind,
            by_server,
            count,
            code,
            message,
        } = self;
        let refuser = if *by_server { "the server refuses" } else { "Prony cannot execute" };
        ErrorParts::new(format!(
            "the run ended in its first seconds, because {refuser} {kind}: {message} ({code}; {count} failed)"
        ))
        .with_hint(hint(code, message))
    }
}

/// PostgreSQL and MySQL: a read-only transaction. MySQL: a read-only InnoDB; an option of the server such as `--read-only`;
/// the server's read-only mode. SQL Server: a read-only database.
const READ_ONLY_CODES: [&str; 5] = ["25006", "01036", "01290", "01836", "03906"];
/// Tables, columns, functions, types, schemas and databases that do not exist, on PostgreSQL; tables and columns on
/// MySQL and SQL Server.
const MISSING_CODES: [&str; 8] = [
    "42P01", "42703", "42883", "42704", "3F000", "3D000", "42S02", "42S22",
];
/// Of a table, schema, index, type, function or column that another client has just created.
const EXISTS_CODES: [&str; 6] = ["42P07", "42P06", "42710", "42723", "42701", "42S01"];
/// Number of rows that are looked at, one a second: what is still missing then, no client's script will create.
const MAX_ROWS: u32 = 3;

/// Whether an error returns whenever the transaction is repeated. SQLSTATE class 42 is syntax, unknown names and
/// rights; MySQL and SQL Server have 42000 for all of them.
fn is_lasting(code: &str) -> bool {
    (code.starts_with("42") && !EXISTS_CODES.contains(&code))
        || READ_ONLY_CODES.contains(&code)
        || MISSING_CODES.contains(&code)
        || POOLER_SQLSTATES.contains(&code)
        // What the server does not support, such as unlogged tables on a standby, or Prony's loop, such as COPY. SQL Server:
        // procedures that do not exist; rights to columns.
        || ["0A000", "02812", "00230"].contains(&code)
}

fn hint(code: &str, message: &str) -> String {
    let text = match code {
        _ if POOLER_SQLSTATES.contains(&code) => {
            return format!(
                "a pooler gives the transactions of a client to several sessions: {POOLER_PROTOCOLS}"
            );
        }
        _ if READ_ONLY_CODES.contains(&code) => {
            "the server or the session is read-only, such as a standby: name the primary, or set \
             default_transaction_read_only or read_only back"
        }
        _ if MISSING_CODES.contains(&code) => {
            "correct the name, load the tables, or set the schema in which they are"
        }
        "42501" | "00230" => "GRANT the missing right, or run as the owner of the tables",
        "0A000" => "change the statement: this is not supported here",
        _ if message.contains("max_prepared_stmt_count") => {
            "raise the server's max_prepared_stmt_count, use fewer clients, or use --protocol simple"
        }
        _ if message.contains(" denied ") => "GRANT the missing right",
        _ => "correct the statement, or load the data that it needs",
    };
    text.to_owned()
}

/// Examines the first rows in which transactions ended.
#[derive(Default)]
pub struct RefusalDetector {
    /// Number of rows examined; [`MAX_ROWS`] also once a refusal was returned.
    rows: u32,
    /// By kind: whether a transaction succeeded.
    succeeded: Vec<bool>,
    /// By kind: the number of failed transactions.
    failed: Vec<u64>,
    /// The refusal because of something that is missing and may still be created. It stands if the run ends first.
    pending: Option<Refused>,
}

impl RefusalDetector {
    /// Adds a row; returns a kind of which no transaction succeeds because of lasting errors, or which shares prepared
    /// statements behind a pooler. `kinds`: names of the kinds.
    pub fn add(&mut self, row: &IntervalRow, kinds: &[&str]) -> Option<Refused> {
        let tallies = &row.interval.kinds;
        let has_ended = |tally: &Tally<u32>| tally.committed + tally.rolled_back + tally.failed > 0;
        if self.rows == MAX_ROWS || !tallies.iter().any(has_ended) {
            return None;
        }
        self.rows += 1;
        self.pending = None;
        self.succeeded.resize(tallies.len(), false);
        self.failed.resize(tallies.len(), 0);
        for (index, tally) in tallies.iter().enumerate() {
            self.succeeded[index] |= tally.committed + tally.rolled_back > 0;
            self.failed[index] += tally.failed;
            let Some(error) = self.lasting_error(row, index) else {
                continue;
            };
            let refused = Refused {
                kind: kinds.get(index).unwrap_or(&"a statement").to_string(),
                // The loop reports a statement that it cannot execute as a lost connection.
                by_server: !matches!(
                    error.class,
                    ErrorClass::LostConnection | ErrorClass::AmbiguousCommit
                ),
                count: self.failed[index],
                message: error.example.clone(),
                code: code_of(error).into_owned(),
            };
            if self.rows < MAX_ROWS && MISSING_CODES.contains(&&*refused.code) {
                self.pending = Some(refused);
            } else {
                // The rest of the second in which the run ends adds nothing.
                self.rows = MAX_ROWS;
                return Some(refused);
            }
        }
        None
    }

    /// The refusal because of something that was missing until the end of a run of less than [`MAX_ROWS`] seconds.
    pub fn at_end(&mut self) -> Option<Refused> {
        self.pending.take()
    }

    /// The first of the lasting errors with which all transactions of a kind end, or one of a pooler.
    fn lasting_error<'a>(&self, row: &'a IntervalRow, index: usize) -> Option<&'a ErrorEntry> {
        let mut lasting = Vec::new();
        for error in row.interval.errors.entries() {
            if usize::from(error.kind) != index {
                continue;
            }
            // Clients behind a pooler share prepared statements by chance, so one error is enough.
            if POOLER_SQLSTATES.contains(&&*code_of(error)) {
                return Some(error);
            }
            if is_lasting(&code_of(error)) {
                lasting.push(error);
            }
        }
        let count: u64 = lasting.iter().map(|error| error.count).sum();
        if self.succeeded[index] || count != row.interval.kinds[index].failed {
            return None;
        }
        lasting.first().copied()
    }
}

fn code_of(error: &ErrorEntry) -> Cow<'_, str> {
    String::from_utf8_lossy(&error.code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;
    use prony_measure::{Interval, ProcessHealth, RecorderLayout, RunPhase, Span};

    /// The transactions of a kind: committed, then failed by code.
    type Counts<'a> = (u64, &'a [(&'a [u8; 5], u64)]);

    /// A second of a run with these transactions of two kinds.
    fn row(kinds: [Counts<'_>; 2]) -> IntervalRow {
        let span = Span {
            index: 0,
            phase: RunPhase::Warmup,
            start_ns: 0,
            end_ns: 1,
        };
        let layout = RecorderLayout {
            kinds: 2,
            open_loop: false,
            has_parts: false,
            has_connect_time: false,
            latency_limit_ns: u64::MAX,
        };
        let mut interval = Box::new(Interval::new(span, layout));
        for (kind, (committed, failures)) in (0..).zip(kinds) {
            let tally = &mut interval.kinds[usize::from(kind)];
            tally.committed = committed;
            for (code, count) in failures {
                tally.failed += count;
                let class = ErrorClass::Other;
                interval.errors.count(kind, class, **code, *count);
                interval.errors.store_example(kind, class, **code, "no");
            }
        }
        IntervalRow {
            interval,
            worker_cpu_ns: Vec::new(),
            process: ProcessHealth::default(),
        }
    }

    #[test]
    fn a_run_is_ended_once_with_all_that_failed_until_then() {
        const MISSING: [Counts<'_>; 2] = [(0, &[(b"42P01", 9)]), (0, &[])];
        let mut detector = RefusalDetector::default();
        let kinds = ["one", "two"];
        assert_eq!(detector.add(&row(MISSING), &kinds), None);
        assert_eq!(detector.add(&row(MISSING), &kinds), None);
        let refused = detector.add(&row(MISSING), &kinds).unwrap();
        assert_eq!(refused.count, 27);
        let mut detector = RefusalDetector::default();
        let denied = row([(0, &[(b"42501", 9)]), (0, &[])]);
        let refused = detector.add(&denied, &kinds).unwrap();
        assert_eq!(refused.count, 9);
        assert_eq!(detector.add(&denied, &kinds), None, "it ends already");
    }

    /// After how many of these seconds a run ends, and why.
    fn refusal(rows: &[[Counts<'_>; 2]]) -> Option<(usize, String)> {
        let mut detector = RefusalDetector::default();
        let text = |refused: Refused| format!("{} {}", refused.kind, refused.code);
        for (index, kinds) in rows.iter().enumerate() {
            if let Some(refused) = detector.add(&row(*kinds), &["one", "two"]) {
                return Some((index + 1, text(refused)));
            }
        }
        Some((rows.len(), text(detector.at_end()?)))
    }

    #[test]
    fn only_errors_that_last_and_spare_no_transaction_end_a_run() {
        const NONE: Counts<'_> = (0, &[]);
        const GOOD: Counts<'_> = (7, &[]);
        const MISSING: [Counts<'_>; 2] = [(0, &[(b"42P01", 9)]), NONE];
        for (rows, expected) in [
            (&[MISSING][..], Some((1, "one 42P01"))),
            (&[MISSING; 4], Some((3, "one 42P01"))),
            // Another client has created the table.
            (&[MISSING, [(5, &[(b"42P01", 9)]), NONE], MISSING], None),
            (&[[GOOD, (0, &[(b"25006", 1)])]; 2], Some((1, "two 25006"))),
            (
                &[[NONE, NONE], [(7, &[(b"42P05", 1)]), NONE]],
                Some((2, "one 42P05")),
            ),
            (
                &[[(0, &[(b"01290", 1), (b"42501", 2)]), GOOD]],
                Some((1, "one 01290")),
            ),
            (
                &[[(0, &[(b"01036", 3)]), (0, &[(b"0A000", 2)])]],
                Some((1, "one 01036")),
            ),
            (&[[GOOD, (0, &[(b"0A000", 2)])]], Some((1, "two 0A000"))),
            (&[[(0, &[(b"42P01", 9), (b"40001", 1)]), NONE]], None),
            (&[[(1, &[(b"42501", 9)]), NONE]], None),
            (&[[(0, &[(b"40001", 9)]), NONE]], None),
            (&[[(0, &[(b"42P07", 9)]), NONE]], None),
        ] {
            let expected = expected.map(|(row, text)| (row, text.to_owned()));
            assert_eq!(refusal(rows), expected, "{rows:?}");
        }
        let too_many =
            "Can't create more than max_prepared_stmt_count statements (current value: 9)";
        hint("42000", too_many).assert_contains("--protocol simple");
    }
}
