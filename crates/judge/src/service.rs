//! What the service of a run lacks, and workloads that do badly on it.
//!
//! In: a Run. Out: `absent`, `hot-rows`. Must never: name a service; its entry in prony-document says what distinguishes
//! it.

use crate::all_kinds;
use crate::checks::{Finding, note};
use crate::formatting::{joined, percent, share};
use prony_store::{ErrorClass, MissingObservation, ObservedTopic, Run, Service};

/// The checks that need a topic, of those that a service may lack.
const CHECKS_THAT_NEED: [(ObservedTopic, &[&str]); 10] = [
    (ObservedTopic::ServerStart, &["restart"]),
    (ObservedTopic::Status, &["server-commits", "checkpoint"]),
    (ObservedTopic::CommitsAndCache, &["server-commits"]),
    (ObservedTopic::WriteAheadLog, &["checkpoint"]),
    (ObservedTopic::Checkpoints, &["checkpoint"]),
    (ObservedTopic::Vacuums, &["maintenance"]),
    (ObservedTopic::Tables, &["dead-rows", "statistics"]),
    (ObservedTopic::StatisticsAge, &["statistics"]),
    (ObservedTopic::OtherSessions, &["foreign-load"]),
    (ObservedTopic::Durability, &["durability"]),
];

/// Why the service does not have this; `None` if it has.
pub(crate) fn why_absent(run: &Run, topic: ObservedTopic) -> Option<&str> {
    let mut missing = run.observed.as_ref()?.missing.iter();
    let absent = missing.find(|missing| missing.absent && missing.what == topic)?;
    Some(&absent.why)
}

/// Whether the service of the run does not have this, by what is known of the service: also if the run did not observe its
/// server.
pub(crate) fn is_absent(run: &Run, topic: ObservedTopic) -> bool {
    let mut absent = run.server.service.into_iter().flat_map(Service::absent);
    absent.any(|(absent, _)| absent == topic)
}

/// The observations that the service does not have, grouped by their reasons: topics and reason.
pub fn absent_by_reason(missing: &[MissingObservation]) -> Vec<(Vec<ObservedTopic>, &str)> {
    let mut groups: Vec<(Vec<ObservedTopic>, &str)> = Vec::new();
    for absent in missing.iter().filter(|missing| missing.absent) {
        match groups.iter_mut().find(|(_, why)| *why == absent.why) {
            Some((topics, _)) => topics.push(absent.what),
            None => groups.push((vec![absent.what], &absent.why)),
        }
    }
    groups
}

pub(crate) fn check_absent(run: &Run) -> Option<Finding> {
    let missing = &run.observed.as_ref()?.missing;
    let groups = absent_by_reason(missing);
    let service = run.server.service.filter(|_| !groups.is_empty())?;
    let texts = groups.iter().map(|(topics, why)| {
        let topics = topics.iter().map(|topic| topic.text());
        format!("{} ({why})", joined(topics, ", "))
    });
    let is_absent = |topic: &ObservedTopic| groups.iter().any(|(topics, _)| topics.contains(topic));
    let checks_that_need = CHECKS_THAT_NEED.iter();
    let needed = checks_that_need.filter(|(topic, _)| is_absent(topic));
    let mut checks: Vec<&str> = needed
        .flat_map(|(_, checks)| checks.iter().copied())
        .collect();
    checks.sort_unstable();
    checks.dedup();
    let skipped = match &checks[..] {
        [] => String::new(),
        checks => format!(" Not checked for want of these: {}.", checks.join(", ")),
    };
    note(
        format!(
            "{} does not have: {}.{skipped}",
            service.name(),
            joined(texts, "; ")
        ),
        "They are not zero but do not exist there; what the service does instead is in its own documentation.",
    )
}

pub(crate) fn check_hot_rows(run: &Run) -> Option<Finding> {
    let service = run.server.service?;
    let mut workloads = service.quirks().unsuited.iter();
    let unsuited = workloads.find(|unsuited| unsuited.workload == run.workload.name)?;
    let all = all_kinds(run)?;
    let errors = run.measured.errors.iter();
    let conflicts: u64 = errors
        .filter(|error| [ErrorClass::Serialization, ErrorClass::Deadlock].contains(&error.class))
        .map(|error| error.count)
        .sum();
    let failed = match conflicts {
        0 => String::new(),
        conflicts => format!(
            " {} of the transactions failed by conflicts.",
            percent(share(conflicts, all.committed + all.failed))
        ),
    };
    note(
        format!(
            "{} does badly on {} because of its hot rows. {}{failed}",
            run.workload.name,
            service.name(),
            unsuited.why
        ),
        "Raise the scale well above the number of clients, or measure with a workload without hot rows, such as ycsb or \
         oltp-read-write.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::healthy;
    use prony_assertions::TextAssertions;
    use prony_store::{Observed, Severity};

    #[test]
    fn what_a_service_lacks_is_named_once_with_the_checks_that_need_it() {
        let mut run = healthy();
        assert_eq!(check_absent(&run), None);
        run.server.service = Some(Service::Dolt);
        run.observed.get_or_insert_with(Observed::default).missing =
            MissingObservation::absent_from(Service::Dolt).collect();
        let check = check_absent(&run).unwrap();
        assert_eq!(check.severity, Severity::Note);
        check.finding.assert_starts_with("Dolt does not have: start of the server (Dolt's Uptime is a constant: its start is unknown); status, ");
        check.finding.assert_ends_with(" Not checked for want of these: checkpoint, durability, restart, server-commits, statistics.");
        assert_eq!(why_absent(&run, ObservedTopic::Vacuums), None);
    }

    #[test]
    fn a_workload_with_hot_rows_is_named_where_it_does_badly() {
        let mut run = healthy();
        run.workload.name = "tpcb".to_owned();
        run.server.service = Some(Service::Rds);
        assert_eq!(check_hot_rows(&run), None);
        run.server.service = Some(Service::AuroraDsql);
        let check = check_hot_rows(&run).unwrap();
        let finding = &check.finding;
        finding.assert_starts_with("tpcb does badly on Aurora DSQL");
        check.finding.assert_contains("OC000");
        run.workload.name = "ycsb".to_owned();
        assert_eq!(check_hot_rows(&run), None);
    }
}
