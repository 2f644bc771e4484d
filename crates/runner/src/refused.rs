//! Ends a run after its first second if the server refuses every transaction of a kind.
//!
//! In: the rows of a run. Out: a [`Refused`], which the caller reports in place of a result. Must never: end a run
//! because of errors that may pass, such as deadlocks, time-outs, lost connections or an outage.

use prony_measure::{ErrorEntry, IntervalRow};
use prony_plan::{ErrorParts, UserError};

/// Why the transactions of a kind cannot succeed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.parts().sentence())]
pub struct Refused {
    /// The kind of transaction, such as `new-order`, or the name of a script.
    pub kind: String,
    /// Number of transactions that failed in the first second.
    pub count: u64,
    /// SQLSTATE or error number.
    pub code: String,
    /// The server's first message.
    pub message: String,
}

impl UserError for Refused {
    fn parts(&self) -> ErrorParts {
        let Refused {
            kind,
            count,
            code,
            message,
        } = self;
        ErrorParts::new(format!(
            "the run ended in its first second, because the server refuses {kind}: {message} ({code}; {count} failed)"
        ))
        .with_hint(hint(code, message))
    }
}

/// `duplicate_prepared_statement` and `invalid_sql_statement_name` (PostgreSQL, appendix A). Connections behind a
/// pooler share them by chance, so one is enough.
const POOLER_CODES: [&[u8; 5]; 2] = [b"42P05", b"26000"];
/// Errors of MySQL without an SQLSTATE: an option of the server forbids it, as `--read-only`; read-only mode. Errors
/// of SQL Server: syntax (102, 156), unknown columns, tables and procedures (207, 208, 2812), rights (229, 230),
/// read-only databases (3906).
const NUMBERS: [&[u8; 5]; 10] = [
    b"01290", b"01836", b"00102", b"00156", b"00207", b"00208", b"02812", b"00229", b"00230",
    b"03906",
];
const READ_ONLY_CODES: [&str; 4] = ["25006", "01290", "01836", "03906"];

/// Whether an error returns whenever the transaction is repeated. SQLSTATE class 42 is syntax, unknown names and
/// rights.
fn is_lasting(error: &ErrorEntry) -> bool {
    let code = &error.code;
    code.starts_with(b"42")
        || [b"25006", b"3F000", b"3D000"].contains(&code)
        || POOLER_CODES.contains(&code)
        || NUMBERS.contains(&code)
}

fn hint(code: &str, message: &str) -> String {
    let text = match code {
        "42P05" | "26000" => {
            "a pooler shares the server's connections between clients: use --protocol simple, its session mode, or \
             PgBouncer from 1.21 on with max_prepared_statements"
        }
        _ if READ_ONLY_CODES.contains(&code) => {
            "the server or the session is read-only, such as a standby: name the primary, or set \
             default_transaction_read_only or read_only back"
        }
        "42501" | "00229" | "00230" => "GRANT the missing right, or run as the owner of the tables",
        _ if message.contains(" denied ") => "GRANT the missing right",
        "42P01" | "42S02" | "00208" => {
            "correct the name, load the tables, or set the schema in which they are"
        }
        _ => "correct the statement, or load the data that it needs",
    };
    text.to_owned()
}

/// Looks at the rows until the first in which a transaction ended.
#[derive(Default)]
pub struct RefusalDetector {
    is_done: bool,
}

impl RefusalDetector {
    /// Returns a kind of which no transaction succeeded because of lasting errors, or which shares prepared
    /// statements behind a pooler. `kinds`: names of the kinds.
    pub fn look_at(&mut self, row: &IntervalRow, kinds: &[&str]) -> Option<Refused> {
        let tallies = &row.interval.kinds;
        if self.is_done
            || tallies
                .iter()
                .all(|tally| tally.committed + tally.rolled_back + tally.failed == 0)
        {
            return None;
        }
        self.is_done = true;
        let errors = row.interval.errors.entries();
        (0..).zip(tallies).find_map(|(kind, tally)| {
            let of_kind = || errors.iter().filter(|error| error.kind == kind);
            let lasting: u64 = of_kind()
                .filter(|error| is_lasting(error))
                .map(|error| error.count)
                .sum();
            let all_fail =
                tally.committed + tally.rolled_back == 0 && lasting > 0 && lasting == tally.failed;
            let refused = of_kind().find(|error| {
                POOLER_CODES.contains(&&error.code) || (all_fail && is_lasting(error))
            })?;
            Some(Refused {
                kind: kinds
                    .get(usize::from(kind))
                    .unwrap_or(&"a statement")
                    .to_string(),
                count: tally.failed,
                code: String::from_utf8_lossy(&refused.code).into_owned(),
                message: refused.example.clone(),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_measure::{ErrorClass, Interval, ProcessHealth, RecorderLayout, RunPhase, Span};

    /// The transactions of a kind: committed, then failed by code.
    type Counts<'a> = (u64, &'a [(&'a [u8; 5], u64)]);

    /// What the first second of a run with these transactions of two kinds says.
    fn refusal(kinds: [Counts<'_>; 2]) -> Option<String> {
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
        let row = IntervalRow {
            interval,
            worker_cpu_ns: Vec::new(),
            process: ProcessHealth::default(),
        };
        let refused = RefusalDetector::default().look_at(&row, &["one", "two"]);
        refused.map(|refused| format!("{} {}", refused.kind, refused.code))
    }

    #[test]
    fn only_errors_that_last_and_spare_no_transaction_end_a_run() {
        for (kinds, expected) in [
            ([(0, &[(b"42P01", 9)][..]), (0, &[][..])], Some("one 42P01")),
            ([(7, &[]), (0, &[(b"25006", 1)])], Some("two 25006")),
            ([(7, &[(b"42P05", 1)]), (0, &[])], Some("one 42P05")),
            (
                [(0, &[(b"01290", 1), (b"42501", 2)]), (1, &[])],
                Some("one 01290"),
            ),
            ([(0, &[(b"42P01", 9), (b"40001", 1)]), (0, &[])], None),
            ([(1, &[(b"42P01", 9)]), (0, &[])], None),
            ([(0, &[(b"40001", 9)]), (0, &[])], None),
            ([(0, &[]), (0, &[])], None),
        ] {
            assert_eq!(refusal(kinds).as_deref(), expected, "{kinds:?}");
        }
    }
}
