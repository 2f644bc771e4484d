//! Comparisons with imported runs, whose tools do not report everything.
//!
//! In: two Runs. Out: which properties cannot be compared, and a caveat that names these properties. Must
//! never: call a missing value a difference, or hide that it is missing.

use super::{Difference, rules::DURABILITY_SETTINGS};
use prony_store::{Run, Severity};

/// Properties that no other tool's output contains.
const NEVER_REPORTED: [&str; 10] = [
    "statements",
    "network",
    "TLS",
    "client's CPUs",
    "I/O engine",
    "warm-up",
    "client host",
    "client kernel",
    "Prony",
    "server",
];

/// Whether a property differs only because one of the two Runs does not report it.
pub(super) fn is_not_reported(a: &Run, b: &Run, property: &str) -> bool {
    let lacks = |run: &Run, other: &Run| {
        run.imported.is_some()
            && match property {
                "scale" => run.workload.scale == 0,
                "clients" => run.drive.clients == 0,
                "threads" => run.drive.threads == 0,
                "engine" => run.server.engine.is_none(),
                "server version" => run.server.version.is_empty(),
                "protocol" => run.drive.protocol.is_none(),
                _ => {
                    let settings = &other.server.settings;
                    NEVER_REPORTED.contains(&property)
                        || DURABILITY_SETTINGS.contains(&property)
                        || settings.contains_key(property)
                        // Each tool has its own names for settings.
                        || (other.imported.is_none() && is_workload_setting(run, other, property))
                }
            }
    };
    lacks(a, b) || lacks(b, a)
}

fn is_workload_setting(a: &Run, b: &Run, property: &str) -> bool {
    [a, b]
        .iter()
        .any(|run| run.workload.setting(property).is_some())
}

/// The caveat of every comparison with an imported run.
pub(super) fn import_caveat(a: &Run, b: &Run) -> Option<Difference> {
    let describe_source = |run: &Run| match &run.imported {
        None => "measured by Prony".to_owned(),
        Some(imported) => format!(
            "{} did not report: statements, network, {}",
            imported.tool,
            imported.not_reported.join(", ")
        ),
    };
    let is_imported = a.imported.is_some() || b.imported.is_some();
    is_imported.then(|| Difference {
        severity: Severity::Caveat,
        what: "imported".to_owned(),
        a: describe_source(a),
        b: describe_source(b),
        why: "what was not reported may differ, and may decide the figures",
    })
}

#[cfg(test)]
mod tests {
    use crate::compare::{Verdict, compare};
    use crate::sample::healthy;
    use prony_store::{ImportSource, QueryMode, Run, Setting, Severity};

    /// The healthy run as if imported from another tool.
    fn imported_run() -> Run {
        let run = healthy();
        Run {
            machines: Vec::new(),
            server: Default::default(),
            imported: Some(ImportSource {
                tool: "pgbench".to_owned(),
                not_reported: vec!["durability".to_owned()],
                ..ImportSource::default()
            }),
            ..run
        }
    }

    #[test]
    fn unreported_values_are_a_caveat_not_a_difference() {
        let mut measured = healthy();
        measured.workload.statements = vec!["select 1".to_owned()];
        measured.workload.settings = vec![Setting::new("mode", "procedures")];
        for name in ["fsync", "work_mem"] {
            measured
                .server
                .settings
                .insert(name.to_owned(), "on".into());
        }
        for comparison in [
            compare(&imported_run(), &measured, false),
            compare(&measured, &imported_run(), false),
            compare(&imported_run(), &imported_run(), false),
        ] {
            assert_eq!(comparison.verdict, Verdict::WithCaveats, "{comparison:?}");
            let caveats: Vec<&str> = comparison
                .differences
                .iter()
                .filter(|difference| difference.severity == Severity::Caveat)
                .map(|difference| difference.what.as_str())
                .collect();
            assert_eq!(caveats, ["imported"]);
            assert!(!comparison.figures.is_empty());
        }
    }

    #[test]
    fn reported_values_are_compared() {
        let mut imported = imported_run();
        imported.workload.scale += 1;
        assert_eq!(
            compare(&healthy(), &imported, false).verdict,
            Verdict::NotComparable
        );
        let mut imported = imported_run();
        imported.workload.name = "select-only".to_owned();
        assert_eq!(
            compare(&imported_run(), &imported, false).verdict,
            Verdict::NotComparable
        );
        let mut imported = imported_run();
        imported.drive.protocol = Some(QueryMode::Simple);
        let mut measured = healthy();
        measured.drive.protocol = Some(QueryMode::Prepared);
        assert_eq!(
            compare(&measured, &imported, false).verdict,
            Verdict::NotComparable
        );
    }
}
