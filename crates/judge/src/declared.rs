//! Whether what was observed of the server contradicts what its user declared.
//!
//! In: a Run. Out: `declared`. Must never: doubt a fact that nobody observed, or that a container's limits explain.

use crate::checks::{Finding, caveat};
use crate::formatting::{count, joined};
use crate::thresholds::DECLARED_MEMORY_MAX_DEVIATION;
use prony_store::{DeclaredFact, HighAvailability, Replication, Run, Service};

pub(crate) fn check_declared(run: &Run) -> Option<Finding> {
    let contradicted = contradictions(run);
    if contradicted.is_empty() {
        return None;
    }
    caveat(
        format!(
            "What was declared of the server is not what it showed: {}.",
            contradicted.join("; ")
        ),
        "Correct the declaration, or look whether the clients reached the server that was meant.",
    )
}

fn contradictions(run: &Run) -> Vec<String> {
    let declared = &run.server.declared;
    let mut contradicted: Vec<String> = service_contradiction(run).into_iter().collect();
    let Some(observed) = &run.observed else {
        return contradicted;
    };
    let machine = &observed.machine;
    if let (Some(said), Some(seen)) = (declared.count(DeclaredFact::Cpus), machine.cpus)
        && said > seen
    {
        contradicted.push(format!("{said} CPUs, but its machine has {seen}"));
    }
    if let (Some(said), Some(seen)) = (declared.bytes(DeclaredFact::Memory), machine.memory_bytes)
        && said as f64 > seen as f64 * (1.0 + DECLARED_MEMORY_MAX_DEVIATION)
    {
        let [said, seen] = [said, seen].map(|bytes| bytes as f64 / 1e9);
        contradicted.push(format!(
            "{said:.1} GB of memory, but its machine has {seen:.1} GB"
        ));
    }
    let Some(before) = &observed.before else {
        return contradicted;
    };
    let connected = before.replicas.len();
    if let Some(said) = declared.count(DeclaredFact::Replicas)
        && (said as usize) < connected
    {
        contradicted.push(format!(
            "{}, but connected are {connected}",
            count(said.into(), "replica")
        ));
    }
    if declared.high_availability() == Some(HighAvailability::None)
        && before.replication == Some(Replication::Synchronous)
    {
        contradicted.push(
            "no high availability, but commits wait for another server, which has a copy"
                .to_owned(),
        );
    }
    contradicted
}

/// The contradiction if the declaration names a service that Prony recognises, but not the one as which the server
/// answers.
fn service_contradiction(run: &Run) -> Option<String> {
    let said = run.server.declared.get(DeclaredFact::Service)?;
    let seen = run.server.service?;
    let words = plain_words(said);
    let names = |service: Service| words.contains(&plain_words(service.name()));
    let names_other = Service::ALL.iter().any(|service| names(*service));
    (names_other && !names(seen)).then(|| format!("{said}, but it answers as {}", seen.name()))
}

/// The words of a name in lower case, each between spaces: `rds-postgresql` has ` rds `.
fn plain_words(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric());
    let words = words.filter(|word| !word.is_empty() && !word.eq_ignore_ascii_case("amazon"));
    format!(" {} ", joined(words.map(str::to_ascii_lowercase), " "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{observed_mut, observed_run};
    use prony_assertions::TextAssertions;
    use prony_store::Replica;

    #[test]
    fn a_declaration_that_an_observation_contradicts_is_named() {
        let mut run = observed_run();
        let observed = observed_mut(&mut run);
        observed.machine.cpus = Some(8);
        observed.machine.memory_bytes = Some(16_400_000_000);
        observed.before.as_mut().unwrap().replicas = vec![Replica::default()];
        let right = [
            // A container may have less than its machine.
            ("cpus", "4"),
            ("memory", "16 GiB"),
            ("replicas", "2"),
            ("high_availability", "standby"),
        ];
        let wrong = [
            ("cpus", "16", "16 CPUs, but its machine has 8"),
            (
                "memory",
                "32 GB",
                "32.0 GB of memory, but its machine has 16.4 GB",
            ),
            ("replicas", "0", "0 replicas, but connected are 1"),
        ];
        let declare = |run: &mut Run, name: &str, value: &str| {
            let fact = DeclaredFact::from_name(name).unwrap();
            run.server.declared.declare(fact, value).unwrap();
        };
        for (name, value) in right {
            declare(&mut run, name, value);
        }
        assert_eq!(check_declared(&run), None);
        for (name, value, text) in wrong {
            let mut run = run.clone();
            declare(&mut run, name, value);
            let finding = check_declared(&run).expect(name).finding;
            finding.assert_ends_with(&format!(": {text}."));
        }
        run.observed = None;
        declare(&mut run, "cpus", "16");
        assert_eq!(check_declared(&run), None, "nobody observed it");
        run.server.service = Some(Service::Rds);
        for (said, is_contradicted) in [
            ("rds-postgresql", false),
            ("Amazon RDS", false),
            ("our own", false),
            ("Aurora PostgreSQL", true),
            ("google AlloyDB", true),
        ] {
            declare(&mut run, "service", said);
            assert_eq!(check_declared(&run).is_some(), is_contradicted, "{said}");
        }
    }

    #[test]
    fn a_server_whose_commits_wait_for_another_one_has_high_availability() {
        let mut run = observed_run();
        let declared = &mut run.server.declared;
        declared
            .declare(DeclaredFact::HighAvailability, "none")
            .unwrap();
        let mut with = |replication| {
            observed_mut(&mut run).before.as_mut().unwrap().replication = Some(replication);
            check_declared(&run).is_some()
        };
        assert!(with(Replication::Synchronous));
        // What receives the log may be a copy for reports.
        assert!(!with(Replication::Asynchronous));
    }
}
