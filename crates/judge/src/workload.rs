//! Whether the workload could show what the server can do.
//!
//! In: a Run. Out: `branch-contention`, `warehouse-contention`, `population`. Must never: know a workload's statements.

use crate::found;
use crate::words::count;
use prony_store::{Check, Run, Severity};

/// Each tpcb transaction updates its branch, one row for each unit of scale; two in the same branch
/// run one after the other.
pub(crate) fn branch_contention(run: &Run) -> Option<Check> {
    let (scale, clients) = (run.workload.scale, run.drive.clients);
    if run.workload.name != "tpcb" || scale == 0 || scale >= clients {
        return None;
    }
    let branches = if scale == 1 { "branch" } else { "branches" };
    found(
        "branch-contention",
        Severity::Caveat,
        format!(
            "{} shared {scale} {branches}: each transaction locks the row of its branch, so the \
             figures show the waiting for these locks more than the server.",
            count(u64::from(clients), "client"),
        ),
        format!("Load at a scale of {clients} or more, or use fewer clients."),
    )
}

/// Terminals of a warehouse, by the specification of tpcc.
const TERMINALS: u32 = 10;

/// Each payment of tpcc updates its warehouse, one row. Users who think wait for each other rarely;
/// ten of them to a warehouse are what the specification has.
pub(crate) fn warehouse_contention(run: &Run) -> Option<Check> {
    let (scale, clients) = (run.workload.scale, run.drive.clients);
    let each = if setting(run, "pacing ") == Some("spec") {
        TERMINALS
    } else {
        1
    };
    if run.workload.name != "tpcc" || scale == 0 || clients <= scale.saturating_mul(each) {
        return None;
    }
    let warehouses = if scale == 1 {
        "warehouse"
    } else {
        "warehouses"
    };
    let (why, users) = if each == 1 {
        (
            "the figures show the waiting for these rows more than the server",
            "client",
        )
    } else {
        (
            "the specification has ten terminals for each",
            "ten clients",
        )
    };
    found(
        "warehouse-contention",
        Severity::Caveat,
        format!(
            "{} shared {scale} {warehouses}: each payment locks the row of its warehouse, and {why}.",
            count(u64::from(clients), "client"),
        ),
        format!("Load a warehouse for each {users}, or use fewer clients."),
    )
}

/// The profiles of tpcc are each meant for rows of their own: on those of HammerDB half of the
/// customers have bad credit, whose payments write far more, on the others a tenth.
pub(crate) fn population(run: &Run) -> Option<Check> {
    let profile = setting(run, "profile ")?;
    let population = setting(run, "population ")?;
    let meant = match profile {
        "hammerdb" | "hammerdb-4.6" => "hammerdb",
        _ => "standard",
    };
    if run.workload.name != "tpcc" || population == meant {
        return None;
    }
    found(
        "population",
        Severity::Caveat,
        format!(
            "The profile {profile} ran on customers of the population {population}: payments of \
             customers of bad credit, who are {}, cost more than others.",
            match population {
                "hammerdb" => "half of them and not a tenth",
                _ => "a tenth of them and not half",
            }
        ),
        format!(
            "Compare with runs of the same settings only, or load anew with --profile {meant}."
        ),
    )
}

/// The value of a setting of the workload; `name` ends in a space.
pub(crate) fn setting<'a>(run: &'a Run, name: &str) -> Option<&'a str> {
    let settings = &run.workload.settings;
    settings
        .iter()
        .find_map(|setting| setting.strip_prefix(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::healthy;

    #[test]
    fn fewer_warehouses_than_users() {
        let mut run = healthy();
        run.workload.name = "tpcc".to_owned();
        run.workload.scale = 64;
        assert_eq!(warehouse_contention(&run), None);
        run.workload.scale = 63;
        let check = warehouse_contention(&run).expect("64 clients");
        assert!(
            check.finding.starts_with("64 clients shared 63 warehouses"),
            "{check:?}"
        );
        run.workload.settings = vec!["pacing spec".to_owned()];
        assert_eq!(warehouse_contention(&run), None);
        run.workload.scale = 6;
        let check = warehouse_contention(&run).expect("more than ten each");
        assert!(
            check
                .advice
                .starts_with("Load a warehouse for each ten clients,"),
            "{check:?}"
        );
        run.workload.name = "select-only".to_owned();
        assert_eq!(warehouse_contention(&run), None);
    }

    #[test]
    fn a_profile_on_rows_that_it_is_not_meant_for() {
        let mut run = healthy();
        run.workload.name = "tpcc".to_owned();
        for (profile, population, fits) in [
            ("standard", "standard", true),
            ("hammerdb", "hammerdb", true),
            ("hammerdb-4.6", "hammerdb", true),
            ("standard", "hammerdb", false),
            ("hammerdb-4.6", "standard", false),
        ] {
            run.workload.settings = vec![
                format!("profile {profile}"),
                format!("population {population}"),
            ];
            let check = super::population(&run);
            assert_eq!(check.is_none(), fits, "{profile} on {population}");
            if let Some(check) = check {
                assert_eq!(check.severity, Severity::Caveat);
                assert!(check.finding.contains(profile), "{check:?}");
            }
        }
        run.workload.settings.pop();
        assert_eq!(super::population(&run), None, "not known");
    }

    #[test]
    fn fewer_branches_than_clients() {
        let mut run = healthy();
        run.workload.scale = 64;
        assert_eq!(branch_contention(&run), None);
        run.workload.scale = 63;
        let check = branch_contention(&run).unwrap();
        assert_eq!(check.severity, Severity::Caveat);
        assert!(
            check.finding.starts_with("64 clients shared 63 branches"),
            "{check:?}"
        );
        run.workload.name = "select-only".to_owned();
        assert_eq!(branch_contention(&run), None);
    }
}
