//! What a drill did to a server, and what came of it: the same facts for the terminal, a page and a CI server.
//!
//! In: a Run. Out: facts, each with a label. Must never: leave out the account of the commits of a run that kept one.

use super::findings::describe_event;
use super::outage::outage_clauses;
use super::plain;
use crate::units::{count_with_noun, seconds, span};
use prony_judge::drill::{errors_in_outage, permitted_loss};
use prony_judge::ledger::{ledger_sentence, lost_by_ledger, recovery_point_s};
use prony_store::{
    ClientTimeouts, Event, EventKind, LedgerAccount, ReplicaStaleness, Run, SqlDialect,
};
use std::collections::BTreeMap;

/// What was done, what clients saw, and what became of the commits; empty if the run measured neither.
pub(crate) fn drill_facts(run: &Run) -> Vec<(&'static str, String)> {
    if !run.is_drill() {
        return Vec::new();
    }
    let mut facts = vec![("done", done(run))];
    let seen = server_events(run);
    facts.extend((!seen.is_empty()).then_some(("seen", seen)));
    if let Some(text) = outage_clauses(run) {
        facts.push(("outage", text.outage));
        facts.extend(text.clients.map(|clients| ("clients", clients)));
        let waits = waits(run);
        facts.extend((!waits.is_empty()).then_some(("waited", waits)));
        facts.extend(text.recovery.map(|recovery| ("back", recovery)));
    }
    let timeouts = run
        .commit_gap
        .as_ref()
        .and_then(|gap| gap.timeouts.as_ref());
    facts.extend(timeouts.map(|timeouts| ("limits", limits(timeouts, run.server.dialect()))));
    let errors = errors_in_outage(run).into_iter();
    let errors = errors.map(|(class, count)| format!("{count} {}", class.name()));
    let errors: Vec<String> = errors.collect();
    if prony_judge::outage::commit_gap(run).is_some() {
        facts.push((
            "errors",
            joined_or(&errors, "no transaction failed") + ", until it was back",
        ));
    }
    match &run.ledger {
        Some(account) => account_facts(&mut facts, run, account),
        None => facts.push(("account", "none was kept: --ledger keeps one".to_owned())),
    }
    facts
}

fn joined_or(parts: &[String], none: &str) -> String {
    match parts {
        [] => none.to_owned(),
        parts => parts.join(", "),
    }
}

/// The commands of the plan and the user's signals.
fn done(run: &Run) -> String {
    let marks = run.events.iter();
    let marks = marks.filter(|event| event.kind == EventKind::Mark);
    let marks = marks.map(|mark| {
        let (time, text) = describe_event(mark);
        let text = text.trim_start_matches("mark: ");
        format!("{time}: {text}")
    });
    let marks: Vec<String> = marks.collect();
    match marks.as_slice() {
        [] => "nothing: neither a command (--at) nor SIGUSR1".to_owned(),
        marks => marks.join("; "),
    }
}

fn server_events(run: &Run) -> String {
    let observed = run.observed.iter().flat_map(|observed| &observed.events);
    let changes =
        observed.filter(|event| matches!(event.kind, EventKind::Failover | EventKind::Restart));
    let changes = changes.map(|event| {
        let (time, text) = describe_event(event);
        format!("{time}: {text}")
    });
    changes.collect::<Vec<_>>().join("; ")
}

/// What kept clients waiting: why connections were lost, and why attempts to connect failed, by cause.
fn waits(run: &Run) -> String {
    let is_of = |kind| move |event: &&Event| event.kind == kind;
    let lost = run.events.iter().filter(is_of(EventKind::Outage));
    let mut parts: Vec<String> = lost.take(1).map(|outage| plain(&outage.detail)).collect();
    let failed = run.events.iter().filter(is_of(EventKind::FailedAttempts));
    // Each worker has counted its own. A sum is an event of the first attempt to the last.
    let mut by_cause: BTreeMap<&str, Event> = BTreeMap::new();
    for attempts in failed {
        let cause = attempts.cause.as_deref().unwrap_or("for an unknown cause");
        let sum = by_cause.entry(cause).or_insert(Event {
            count: 0,
            ..attempts.clone()
        });
        sum.count += attempts.count;
        sum.at_s = sum.at_s.min(attempts.at_s);
        let until_s = attempts.until_s.unwrap_or(attempts.at_s);
        sum.until_s = Some(
            sum.until_s
                .map_or(until_s, |latest_s| latest_s.max(until_s)),
        );
    }
    let mut by_cause: Vec<_> = by_cause.into_iter().collect();
    by_cause.sort_by(|(_, a), (_, b)| a.at_s.total_cmp(&b.at_s));
    parts.extend(by_cause.into_iter().map(|(cause, sum)| {
        let attempts = count_with_noun(sum.count, "attempt", "attempts");
        let (from, until) = (span(sum.at_s), span(sum.until_s.unwrap_or(sum.at_s)));
        format!("{}: {attempts} from {from} to {until}", plain(cause))
    }));
    parts.join("; ")
}

/// How long clients wait for a server that is silent, by the names of the options of its clients.
fn limits(timeouts: &ClientTimeouts, dialect: Option<SqlDialect>) -> String {
    let or_none = |time_s: Option<f64>| time_s.map_or("none".to_owned(), span);
    let (sent, reply) = match dialect {
        Some(SqlDialect::MySql) => ("write-timeout", Some("read-timeout")),
        Some(SqlDialect::TransactSql) => ("time-out of sent data", Some("socketTimeout")),
        Some(SqlDialect::PostgreSql) | None => ("tcp_user_timeout", None),
    };
    let mut parts = vec![format!("connect_timeout {}", or_none(timeouts.connect_s))];
    parts.extend(
        timeouts
            .tcp_user_s
            .map(|time_s| format!("{sent} {}", span(time_s))),
    );
    parts.extend(match (reply, timeouts.reply_s, timeouts.tcp_user_s) {
        (Some(reply), Some(time_s), _) => Some(format!("{reply} {}", span(time_s))),
        (Some(reply), None, _) => Some(format!(
            "no {reply}: a request to a server that hangs waits without end, and to one that has vanished for about 15 \
             minutes"
        )),
        (None, _, None) => Some(format!(
            "no {sent}: a request to a server that has vanished waits for about 15 minutes"
        )),
        (None, _, Some(_)) => None,
    });
    parts.extend(timeouts.tries_all_addresses.map(|at_once| {
        let text = if at_once {
            "MultiSubnetFailover: all addresses of the name are tried at once"
        } else {
            "no MultiSubnetFailover: the addresses of the name are tried one after another"
        };
        text.to_owned()
    }));
    let keepalive = or_none(timeouts.keepalive_s);
    parts.push(format!("keepalive of idle connections {keepalive}"));
    parts.join("; ")
}

fn account_facts(facts: &mut Vec<(&'static str, String)>, run: &Run, account: &LedgerAccount) {
    if let Some(reason) = &account.not_read {
        let acknowledged = count_with_noun(account.acknowledged, "commit", "commits");
        facts.push((
            "account",
            plain(&format!(
                "{acknowledged} acknowledged, and it is not known which are there: {reason}"
            )),
        ));
    } else {
        facts.push(("account", ledger_sentence(account)));
        let mut lost = count_with_noun(account.lost, "commit", "commits");
        if account.unrecorded > 0 {
            lost.insert_str(0, "at least ");
        }
        let time = match (account.lost, recovery_point_s(run)) {
            (0, _) if lost_by_ledger(run).is_none() => "; the account is not complete".to_owned(),
            (0, _) => ", 0 s".to_owned(),
            (_, Some([least_s, most_s])) => format!(
                ", {} to {}: the age of the oldest of them when the outage began",
                seconds(least_s),
                seconds(most_s)
            ),
            (_, None) => "; their age is not known".to_owned(),
        };
        facts.push(("RPO", lost + &time));
    }
    if let Some(staleness) = &account.staleness {
        facts.push(("replica", plain(&staleness_text(staleness))));
    }
    let permitted = permitted_loss(run);
    let unknown = "not known: the server was not observed, or hides its settings";
    facts.push(("permits", plain(&permitted.unwrap_or(unknown.to_owned()))));
    let [before, after] = [&account.server_before, &account.server_after].map(position_text);
    if !before.is_empty() {
        let after = if after.is_empty() { "not read" } else { &after };
        facts.push((
            "server",
            plain(&format!("before: {before}; after: {after}")),
        ));
    }
}

/// How far the servers for reads were behind.
fn staleness_text(staleness: &ReplicaStaleness) -> String {
    let unread = staleness.not_read.as_ref();
    if let (Some(reason), 0) = (unread, staleness.readings) {
        return format!("not read: {reason}");
    }
    let mut text = format!(
        "behind by {} and {} in the median of {} readings, at most by {} and {}; {} went back in time",
        count_with_noun(staleness.commits_p50, "commit", "commits"),
        seconds(staleness.age_p50_s),
        staleness.readings,
        count_with_noun(staleness.commits_max, "commit", "commits"),
        seconds(staleness.age_max_s),
        staleness.went_back
    );
    if let Some(across) = staleness.went_back_across {
        text += &format!(", {across} against the reading before at another one");
    }
    if let Some(within_s) = staleness.told_within_s {
        text += &format!(
            "; other machines told of commits within {}, by which an age may be longer",
            seconds(within_s)
        );
    }
    if let Some(reason) = unread {
        text += &format!("; another one was not read: {reason}");
    }
    text
}

fn position_text(position: &BTreeMap<String, String>) -> String {
    let first = ["server", "role"];
    let leading = first.iter().filter_map(|name| position.get(*name).cloned());
    let others = position
        .iter()
        .filter(|(name, _)| !first.contains(&name.as_str()));
    let others = others.map(|(name, value)| format!("{name} {value}"));
    leading.chain(others).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::closed;
    use prony_assertions::TextAssertions;
    use prony_store::{CommandResult, CommitGap, LostCommit};

    #[test]
    fn a_drill_says_what_was_done_and_what_was_lost() {
        let mut run = closed();
        assert!(drill_facts(&run).is_empty(), "nothing was measured");
        run.events.push(Event {
            at_s: 1.0,
            until_s: Some(2.0),
            kind: EventKind::Mark,
            detail: "the command at 1s ended with exit status: 0".to_owned(),
            command: Some(CommandResult {
                exit_status: Some(0),
                output: "promoted".to_owned(),
            }),
            ..Event::default()
        });
        for (at_s, cause) in [(1.7, "role"), (1.5, "refused"), (1.6, "refused")] {
            run.events.push(Event {
                at_s,
                until_s: Some(at_s + 0.2),
                kind: EventKind::FailedAttempts,
                cause: Some(cause.to_owned()),
                detail: "connection to server failed: why".to_owned(),
                count: 4,
                ..Event::default()
            });
        }
        run.commit_gap = Some(CommitGap {
            from_s: 1.5,
            until_s: Some(3.0),
            ..CommitGap::default()
        });
        let lost = |sequence| LostCommit {
            client: 3,
            sequence,
            after_s: Some(0.0),
            by_s: Some(1.0),
        };
        let position = |server: &str| {
            BTreeMap::from(
                [("server", server), ("timeline", "2")].map(|(a, b)| (a.to_owned(), b.to_owned())),
            )
        };
        let timeouts = |tcp_user_s, reply_s, dialect| {
            let timeouts = ClientTimeouts {
                connect_s: Some(10.0),
                tcp_user_s,
                reply_s,
                tries_all_addresses: (dialect == SqlDialect::TransactSql).then_some(false),
                keepalive_s: None,
            };
            limits(&timeouts, Some(dialect))
        };
        timeouts(None, None, SqlDialect::PostgreSql)
            .assert_contains("waits for about 15 minutes; keepalive of idle connections none");
        timeouts(Some(5.0), None, SqlDialect::PostgreSql)
            .assert_starts_with("connect_timeout 10 s; tcp_user_timeout 5 s; keepalive");
        timeouts(Some(5.0), Some(7.0), SqlDialect::MySql)
            .assert_contains("write-timeout 5 s; read-timeout 7 s; keepalive");
        timeouts(None, None, SqlDialect::MySql).assert_contains("no read-timeout: ");
        timeouts(None, Some(2.0), SqlDialect::TransactSql)
            .assert_contains("socketTimeout 2 s; no MultiSubnetFailover: ");
        run.ledger = Some(LedgerAccount {
            acknowledged: 900,
            lost: 5,
            first_lost: (7..12).map(lost).collect(),
            server_before: position("one"),
            server_after: position("other"),
            ..LedgerAccount::default()
        });
        let facts: BTreeMap<&str, String> = drill_facts(&run).into_iter().collect();
        facts["done"]
            .assert_contains("the command at 1s ended with exit status: 0; it printed: promoted");
        facts["outage"].assert_contains("Nobody committed for 1.5");
        facts["waited"].assert_contains(
            "refused: 8 attempts from 1.5 s to 1.8 s; role: 4 attempts from 1.7 s to 1.9 s",
        );
        facts["account"].assert_starts_with("lost 5 of 900 acknowledged");
        facts["RPO"].assert_starts_with("5 commits, 500 ms to 1.50 s");
        assert_eq!(
            facts["server"],
            "before: one, timeline 2; after: other, timeline 2"
        );
        let account = run.ledger.as_mut().expect("it has one");
        (account.lost, account.unrecorded) = (0, 7);
        account.first_lost.clear();
        let facts: BTreeMap<&str, String> = drill_facts(&run).into_iter().collect();
        facts["account"].assert_contains("7 transactions committed without an entry");
        assert_eq!(
            facts["RPO"],
            "at least 0 commits; the account is not complete"
        );
    }
}
