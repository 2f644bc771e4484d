//! Runs that were imported: what their tools do not tell.
//!
//! In: two Runs. Out: which readings mean nothing, and a caveat that names them. Must never: call a
//! difference what was only not told, or hide that it was not.

use super::{Difference, rules::PROMISES};
use prony_store::{Run, Severity};

/// What no output of another tool tells.
const NEVER: [&str; 10] = [
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

/// Whether a reading differs only because one of the two does not tell it.
pub(super) fn untold(a: &Run, b: &Run, what: &str) -> bool {
    let one = |run: &Run, other: &Run| {
        run.imported.is_some()
            && match what {
                "scale" => run.workload.scale == 0,
                "clients" => run.drive.clients == 0,
                "threads" => run.drive.threads == 0,
                "engine" => run.server.engine.is_empty(),
                "server version" => run.server.version.is_empty(),
                "protocol" => ["", "not told"].contains(&run.drive.protocol.as_str()),
                _ => {
                    let settings = &other.server.settings;
                    NEVER.contains(&what)
                        || PROMISES.contains(&what)
                        || settings.contains_key(what)
                        // Each names its settings in words of its own.
                        || (other.imported.is_none() && is_setting(run, other, what))
                }
            }
    };
    one(a, b) || one(b, a)
}

fn is_setting(a: &Run, b: &Run, what: &str) -> bool {
    let mut settings = a.workload.settings.iter().chain(&b.workload.settings);
    settings.any(|one| one.split(' ').next() == Some(what))
}

/// The caveat that stands beside every comparison with such a run.
pub(super) fn caveat(a: &Run, b: &Run) -> Option<Difference> {
    let told = |run: &Run| match &run.imported {
        None => "Prony's own".to_owned(),
        Some(imported) => format!(
            "{} told nothing of: statements, network, {}",
            imported.tool,
            imported.untold.join(", ")
        ),
    };
    let any = a.imported.is_some() || b.imported.is_some();
    any.then(|| Difference {
        severity: Severity::Caveat,
        what: "imported".to_owned(),
        a: told(a),
        b: told(b),
        why: "what was not told may differ, and would then decide the figures",
    })
}

#[cfg(test)]
mod tests {
    use crate::compare::{Verdict, compare};
    use crate::sample::healthy;
    use prony_store::{Imported, Run, Severity};

    /// The healthy run as another tool would have told it.
    fn told() -> Run {
        let run = healthy();
        Run {
            host: Default::default(),
            server: Default::default(),
            imported: Some(Imported {
                tool: "pgbench".to_owned(),
                untold: vec!["durability".to_owned()],
                ..Imported::default()
            }),
            ..run
        }
    }

    #[test]
    fn what_was_not_told_is_a_caveat_and_no_difference() {
        let mut own = healthy();
        own.workload.statements = vec!["select 1".to_owned()];
        own.workload.settings = vec!["mode procedures".to_owned()];
        for name in ["fsync", "work_mem"] {
            own.server.settings.insert(name.to_owned(), "on".into());
        }
        for found in [
            compare(&told(), &own),
            compare(&own, &told()),
            compare(&told(), &told()),
        ] {
            assert_eq!(found.verdict, Verdict::WithCaveats, "{found:?}");
            let caveats: Vec<&str> = found
                .differences
                .iter()
                .filter(|one| one.severity == Severity::Caveat)
                .map(|one| one.what.as_str())
                .collect();
            assert_eq!(caveats, ["imported"]);
            assert!(!found.figures.is_empty());
        }
    }

    #[test]
    fn what_was_told_is_compared() {
        let mut other = told();
        other.workload.scale += 1;
        assert_eq!(compare(&healthy(), &other).verdict, Verdict::NotComparable);
        let mut other = told();
        other.workload.name = "select-only".to_owned();
        assert_eq!(compare(&told(), &other).verdict, Verdict::NotComparable);
        let mut other = told();
        other.drive.protocol = "simple".to_owned();
        let mut own = healthy();
        own.drive.protocol = "prepared".to_owned();
        assert_eq!(compare(&own, &other).verdict, Verdict::NotComparable);
    }
}
