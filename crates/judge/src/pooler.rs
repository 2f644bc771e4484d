//! A pooler between the clients and the server: what the figures include, and which protocol works through it.
//!
//! In: a Run. Out: `pooler`. Must never: doubt a figure because it was measured through a pooler.

use crate::checks::{Finding, note};
use prony_store::Run;

/// `duplicate_prepared_statement` and `invalid_sql_statement_name` (PostgreSQL, appendix A): a statement was
/// prepared on one connection and executed on a different one, as behind a connection pooler.
pub const POOLER_SQLSTATES: [&str; 2] = ["42P05", "26000"];

/// What works where a pooler gives the transactions of a client to several sessions.
pub const POOLER_PROTOCOLS: &str = "use --protocol simple or extended, the pooler's session mode, or PgBouncer from 1.21 on \
    with max_prepared_statements, which keeps prepared statements";

pub(crate) fn check_pooler(run: &Run) -> Option<Finding> {
    let pooler = run.server.pooler.as_ref()?;
    let sharing = if pooler.shares_sessions {
        " One session of the server was seen to serve several connections."
    } else {
        ""
    };
    note(
        format!(
            "The clients reached the server through {}, whose time is part of every response time: {}.{sharing}",
            pooler.name(),
            pooler.sign.trim_end_matches('.')
        ),
        "To measure what it costs and gives, name the server with --url and the pooler with --via.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Verdict, compare};
    use crate::sample::healthy;
    use prony_assertions::TextAssertions;
    use prony_store::{FoundPooler, Pooler, Severity};

    #[test]
    fn a_pooler_is_named_with_its_sign_and_compared() {
        let mut direct = healthy();
        let known = (0..100).map(|at| (format!("known{at}"), "1".into()));
        direct.server.settings.extend(known);
        assert_eq!(check_pooler(&direct), None);
        let mut pooled = direct.clone();
        pooled.server.pooler = Some(FoundPooler {
            product: Some(Pooler::PgBouncer),
            sign: "it answers \"unsupported startup parameter\"".to_owned(),
            shares_sessions: true,
        });
        let found = check_pooler(&pooled).unwrap();
        assert_eq!(found.severity, Severity::Note);
        for part in ["PgBouncer", "unsupported startup", "several connections"] {
            found.finding.assert_contains(part);
        }
        let comparison = compare(&direct, &pooled, false);
        assert_eq!(comparison.verdict, Verdict::WithCaveats);
        let [difference] = &comparison.differences[..] else {
            panic!("{:?}", comparison.differences);
        };
        assert_eq!(
            [&difference.what, &difference.a, &difference.b],
            ["pooler", "none found", "PgBouncer"]
        );
    }
}
