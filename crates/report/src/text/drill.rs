//! What a drill did to a server, and what came of it: the same facts for the terminal, a page and a CI server.
//!
//! In: a Run. Out: facts, each with a label. Must never: leave out the account of the commits of a run that kept one.

use super::findings::{EventText, describe_event};
use super::outage::outage_clauses;
use super::{joined, plain};
use crate::units::{count, count_of, seconds, span};
use prony_judge::drill::{errors_in_outage, permitted_loss};
use prony_judge::ledger::{ledger_sentence, lost_by_ledger, recovery_point_s};
use prony_plan::system_error;
use prony_store::{
    CONNECTION_WAS_LOST, ClientTimeouts, Event, EventKind, LedgerAccount, ReplicaStaleness, Run,
    SqlDialect,
};
use std::collections::BTreeMap;

/// A finding of a drill under its label.
#[derive(Debug)]
pub(crate) struct DrillFact {
    pub label: &'static str,
    /// For a line of 80 columns, if names and messages of the server are not long.
    pub brief: String,
    /// With everything that is known.
    pub full: String,
}

/// A fact whose brief form is also its full one.
fn same(label: &'static str, text: String) -> DrillFact {
    DrillFact {
        label,
        brief: text.clone(),
        full: text,
    }
}

/// A fact of several parts, each in its brief and its full form.
fn of_parts(label: &'static str, parts: &[[String; 2]]) -> DrillFact {
    let [brief, full] =
        [0, 1].map(|form| joined(parts.iter().map(|part| part[form].as_str()), "; "));
    DrillFact { label, brief, full }
}

/// What was done, what clients saw, and what became of the commits; empty if the run measured neither.
pub(crate) fn drill_facts(run: &Run) -> Vec<DrillFact> {
    if !run.is_drill() {
        return Vec::new();
    }
    let mut facts = vec![done(run)];
    let seen = server_events(run);
    facts.extend((!seen.is_empty()).then(|| same("seen", seen)));
    if let Some(text) = outage_clauses(run) {
        let clients = text.clients.iter();
        let clients: String = clients.map(|clients| format!("; {clients}")).collect();
        let full = text.outage + &clients;
        facts.push(DrillFact {
            label: "outage",
            brief: text.brief.unwrap_or_else(|| full.clone()),
            full,
        });
        facts.extend(waits(run));
        facts.extend(text.recovery.map(|recovery| same("back", recovery)));
    }
    let commit_gap = run.commit_gap.as_ref();
    let timeouts = commit_gap.and_then(|gap| gap.timeouts.as_ref());
    facts.extend(timeouts.map(|timeouts| limits(timeouts, run.server.dialect())));
    let errors = errors_in_outage(run).into_iter();
    let errors = errors.map(|(class, number)| format!("{} {}", count(number), class.name()));
    let errors: Vec<String> = errors.collect();
    if let Some(gap) = prony_judge::outage::commit_gap(run) {
        let errors = match errors.as_slice() {
            [] => "no transaction failed".to_owned(),
            errors => errors.join(", "),
        };
        let until = match gap.until_s {
            Some(_) => ", until it was back",
            None => ", to the end",
        };
        facts.push(same("errors", errors + until));
    }
    match &run.ledger {
        Some(account) => account_facts(&mut facts, run, account),
        None => facts.push(same(
            "account",
            "none was kept: --ledger keeps one".to_owned(),
        )),
    }
    facts
}

/// The commands of the plan and the user's signals.
fn done(run: &Run) -> DrillFact {
    let marks = run.events.iter();
    let marks = marks.filter(|event| event.kind == EventKind::Mark);
    let marks: Vec<[String; 2]> = marks
        .map(|mark| {
            let EventText { when, what } = describe_event(mark);
            let full = format!("{when}: {}", what.trim_start_matches("mark: "));
            let result = mark.command.as_ref();
            let status = result.and_then(|result| Some((result.exit_status?, &result.output)));
            let brief = status.map(|(status, output)| {
                let last = output.lines().last().map(plain);
                let last = last.map_or(String::new(), |line| format!(": {line}"));
                format!("{when}, exit status {status}{last}")
            });
            [brief.unwrap_or_else(|| full.clone()), full]
        })
        .collect();
    if marks.is_empty() {
        let nothing = "nothing: neither a command (--at) nor SIGUSR1".to_owned();
        return same("done", nothing);
    }
    of_parts("done", &marks)
}

fn server_events(run: &Run) -> String {
    let observed = run.observed.iter().flat_map(|observed| &observed.events);
    let changes =
        observed.filter(|event| matches!(event.kind, EventKind::Failover | EventKind::Restart));
    let changes = changes.map(|event| {
        let EventText { when, what } = describe_event(event);
        format!("{when}: {what}")
    });
    joined(changes, "; ")
}

/// What kept clients waiting: why connections were lost, and why attempts to connect failed, by cause.
fn waits(run: &Run) -> Option<DrillFact> {
    let is_of = |kind| move |event: &&Event| event.kind == kind;
    let mut outages = run.events.iter().filter(is_of(EventKind::Outage));
    let lost = outages.next().map(|outage| plain(&outage.detail));
    let failed = run.events.iter().filter(is_of(EventKind::FailedAttempts));
    let by_cause = attempts_by_cause(failed);
    let mut full: Vec<String> = lost.iter().cloned().collect();
    let mut counts = Vec::new();
    for attempts in &by_cause {
        let cause = plain(attempts.cause);
        let number = count_of(attempts.count, "attempt");
        let [from, until] = [attempts.first_s, attempts.last_s].map(span);
        full.push(format!("{cause}: {number} from {from} to {until}"));
        counts.push(format!("{cause} {}", count(attempts.count)));
    }
    if full.is_empty() {
        return None;
    }
    let failed = format!("failed attempts: {}", counts.join(", "));
    // The reason of the first loss is often long, and of the attempts there are few kinds.
    let brief = match lost {
        Some(lost) if counts.is_empty() => lost,
        Some(lost) => {
            let reason = lost.strip_prefix(CONNECTION_WAS_LOST).unwrap_or(&lost);
            format!("{failed}; {}", system_error(reason))
        }
        None => failed,
    };
    Some(DrillFact {
        label: "waited",
        brief,
        full: full.join("; "),
    })
}

/// Attempts to connect that failed for one cause.
struct FailedAttempts<'a> {
    cause: &'a str,
    count: u64,
    /// The time of the first and of the last one, seconds from the start of the load.
    first_s: f64,
    last_s: f64,
}

/// The failed attempts of all workers, each of which has counted its own, by cause and in order of time.
fn attempts_by_cause<'a>(events: impl Iterator<Item = &'a Event>) -> Vec<FailedAttempts<'a>> {
    let mut by_cause: BTreeMap<&str, FailedAttempts<'_>> = BTreeMap::new();
    for event in events {
        let cause = event.cause.as_deref().unwrap_or("for an unknown cause");
        let until_s = event.until_s.unwrap_or(event.at_s);
        let sum = by_cause.entry(cause).or_insert(FailedAttempts {
            cause,
            count: 0,
            first_s: event.at_s,
            last_s: until_s,
        });
        sum.count += event.count;
        sum.first_s = sum.first_s.min(event.at_s);
        sum.last_s = sum.last_s.max(until_s);
    }
    let mut attempts: Vec<_> = by_cause.into_values().collect();
    attempts.sort_by(|a, b| a.first_s.total_cmp(&b.first_s));
    attempts
}

/// How long clients wait for a server that is silent, by the names of the options of its clients.
fn limits(timeouts: &ClientTimeouts, dialect: Option<SqlDialect>) -> DrillFact {
    let or_none = |time_s: Option<f64>| time_s.map_or("none".to_owned(), span);
    let (sent, reply) = match dialect {
        Some(SqlDialect::MySql) => ("write-timeout", Some("read-timeout")),
        Some(SqlDialect::TransactSql) => ("time-out of sent data", Some("socketTimeout")),
        Some(SqlDialect::PostgreSql) | None => ("tcp_user_timeout", None),
    };
    let both = |text: String| [text.clone(), text];
    let connect = or_none(timeouts.connect_s);
    let mut parts = vec![[
        format!("connect {connect}"),
        format!("connect_timeout {connect}"),
    ]];
    let tcp_user = timeouts.tcp_user_s.map(span);
    parts.extend(tcp_user.map(|time| both(format!("{sent} {time}"))));
    match (reply, timeouts.reply_s, timeouts.tcp_user_s) {
        (Some(reply), Some(time_s), _) => parts.push(both(format!("{reply} {}", span(time_s)))),
        (Some(reply), None, _) => parts.push([
            format!("no {reply}: without end"),
            format!(
                "no {reply}: a request to a server that hangs waits without end, and to one that has vanished for about 15 \
                 minutes"
            ),
        ]),
        (None, _, None) => parts.push([
            format!("no {sent}: about 15 min"),
            format!("no {sent}: a request to a server that has vanished waits for about 15 minutes"),
        ]),
        (None, _, Some(_)) => {}
    }
    parts.extend(timeouts.tries_all_addresses.map(|at_once| {
        let forms = if at_once {
            [
                "MultiSubnetFailover",
                "MultiSubnetFailover: all addresses of the name are tried at once",
            ]
        } else {
            [
                "no MultiSubnetFailover",
                "no MultiSubnetFailover: the addresses of the name are tried one after another",
            ]
        };
        forms.map(str::to_owned)
    }));
    let keepalive = or_none(timeouts.keepalive_s);
    parts.push([
        format!("keepalive {keepalive}"),
        format!("keepalive of idle connections {keepalive}"),
    ]);
    of_parts("limits", &parts)
}

/// Whether each acknowledged commit is there, in a few words; `None` if the run kept no ledger.
pub(crate) fn account_text(run: &Run) -> Option<String> {
    run.ledger.as_ref().map(brief_account)
}

fn account_facts(facts: &mut Vec<DrillFact>, run: &Run, account: &LedgerAccount) {
    let full = match &account.not_read {
        Some(reason) => plain(&format!(
            "{}, and it is not known which are there: {reason}",
            acknowledged(account)
        )),
        None => ledger_sentence(account),
    };
    facts.push(DrillFact {
        label: "account",
        brief: brief_account(account),
        full,
    });
    if account.not_read.is_none() {
        facts.push(recovery_point(run, account));
    }
    facts.extend(account.staleness.as_ref().map(staleness_fact));
    facts.push(match permitted_loss(run) {
        Some(permitted) => DrillFact {
            label: "permits",
            brief: plain(&permitted.brief),
            full: plain(&permitted.full),
        },
        None => same(
            "permits",
            "not known: the server was not observed, or hides its settings".to_owned(),
        ),
    });
    let positions = [&account.server_before, &account.server_after];
    if !account.server_before.is_empty() {
        let [before, after] = positions.map(position_text);
        let after = if after.is_empty() { "not read" } else { &after };
        let brief = positions.map(brief_position).into_iter();
        facts.push(DrillFact {
            label: "server",
            brief: joined(brief.filter(|text| !text.is_empty()), ", then "),
            full: plain(&format!("before: {before}; after: {after}")),
        });
    }
}

fn acknowledged(account: &LedgerAccount) -> String {
    count_of(account.acknowledged, "commit") + " acknowledged"
}

/// What became of the commits, in a line: what is missing or wrong comes first.
fn brief_account(account: &LedgerAccount) -> String {
    if let Some(reason) = &account.not_read {
        return plain(&format!("{}; not read: {reason}", acknowledged(account)));
    }
    let kind = match (account.lost, account.clients_scattered) {
        (0, _) => String::new(),
        (_, 0) => ", in one series".to_owned(),
        (_, clients) => format!(", scattered at {}", count_of(clients.into(), "client")),
    };
    let mut text = format!(
        "lost {} of {} acknowledged{kind}",
        count(account.lost),
        count(account.acknowledged)
    );
    for (number, what) in [
        (account.duplicated, "duplicated"),
        (account.phantom, "phantom"),
        (account.reordered.unwrap_or(0), "out of order"),
        (account.unrecorded, "without an entry"),
        (account.unknown, "unknown"),
    ] {
        if number > 0 {
            text += &format!("; {} {what}", count(number));
        }
    }
    if account.ambiguous > 0 {
        let [ambiguous, found] = [account.ambiguous, account.ambiguous_found].map(count);
        text += &format!("; {ambiguous} ambiguous, {found} there");
    }
    text
}

/// The lost commits, and how long before the outage the oldest of them was acknowledged.
fn recovery_point(run: &Run, account: &LedgerAccount) -> DrillFact {
    let mut lost = count_of(account.lost, "commit");
    if account.unrecorded > 0 {
        lost.insert_str(0, "at least ");
    }
    let time = match (account.lost, recovery_point_s(run)) {
        (0, _) if lost_by_ledger(run).is_none() => "; the account is not complete".to_owned(),
        (0, _) => ", 0 s".to_owned(),
        (_, Some([least_s, most_s])) => {
            let range = format!("{lost}, {} to {}", seconds(least_s), seconds(most_s));
            return DrillFact {
                label: "RPO",
                brief: format!("{range} before the outage"),
                full: format!("{range}: the age of the oldest of them when the outage began"),
            };
        }
        (_, None) => "; their age is not known".to_owned(),
    };
    same("RPO", lost + &time)
}

/// How far the servers for reads were behind.
fn staleness_fact(staleness: &ReplicaStaleness) -> DrillFact {
    let unread = staleness.not_read.as_ref().map(|reason| plain(reason));
    if let (Some(reason), 0) = (&unread, staleness.readings) {
        return same("replica", format!("not read: {reason}"));
    }
    let behind = |commits: u64, age_s: f64| {
        let commits = count_of(commits, "commit");
        format!("{commits} and {}", seconds(age_s))
    };
    let median = behind(staleness.commits_p50, staleness.age_p50_s);
    let most = behind(staleness.commits_max, staleness.age_max_s);
    let readings = count(staleness.readings);
    let mut text = format!(
        "behind by {median} in the median of {readings} readings, 95 % of them by at most {}, all by at most {most}; {} went \
         back in time",
        behind(staleness.commits_p95, staleness.age_p95_s),
        count(staleness.went_back)
    );
    if let Some(across) = staleness.went_back_across {
        text += &format!(
            ", {} against the reading before at another one",
            count(across)
        );
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
    let back = match staleness.went_back_across {
        Some(across) => format!("{} and {}", count(staleness.went_back), count(across)),
        None => count(staleness.went_back),
    };
    DrillFact {
        label: "replica",
        brief: format!(
            "median {}, {}; at most {}, {}; {back} went back in time",
            count_of(staleness.commits_p50, "commit"),
            seconds(staleness.age_p50_s),
            count(staleness.commits_max),
            seconds(staleness.age_max_s),
        ),
        full: text,
    }
}

/// The server and where its log or cluster was, in a few words; empty if it was not read.
fn brief_position(position: &BTreeMap<String, String>) -> String {
    let value = |name: &str| position.get(name);
    let server = value("server")
        .cloned()
        .unwrap_or_else(|| "a server".to_owned());
    let names = ["timeline", "GTIDs", "wsrep_cluster_size"];
    let place = names.iter().find_map(|name| Some((name, value(name)?)));
    match place {
        _ if position.is_empty() => String::new(),
        Some((name, value)) => plain(&format!("{server} ({name} {value})")),
        None => plain(&server),
    }
}

fn position_text(position: &BTreeMap<String, String>) -> String {
    let first = ["server", "role"];
    let leading = first.iter().filter_map(|name| position.get(*name).cloned());
    let position = position.iter();
    let others = position.filter(|(name, _)| !first.contains(&name.as_str()));
    let others = others.map(|(name, value)| format!("{name} {value}"));
    leading.chain(others).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::closed;
    use prony_assertions::TextAssertions;
    use prony_store::{CommandResult, CommitGap, LostCommit};

    fn full_facts(run: &Run) -> BTreeMap<&'static str, String> {
        let facts = drill_facts(run).into_iter();
        facts.map(|fact| (fact.label, fact.full)).collect()
    }

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
            limits(&timeouts, Some(dialect)).full
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
        let facts = full_facts(&run);
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
        let facts = full_facts(&run);
        facts["account"].assert_contains("7 transactions committed without an entry");
        assert_eq!(
            facts["RPO"],
            "at least 0 commits; the account is not complete"
        );
    }
}
