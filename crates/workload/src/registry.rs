//! The list of workloads. Add a line here for a new workload.

use crate::{Error, Result, Workload, oltp, replay, script, tpcb, tpcc, ycsb};
use prony_plan::{MAX_PROBLEMS, WorkloadPlan, suggest};

/// All workloads, in the order in which they are listed to users.
pub fn list() -> &'static [&'static dyn Workload] {
    ALL
}

static ALL: &[&dyn Workload] = &[
    &tpcb::TPCB,
    &tpcb::SIMPLE_UPDATE,
    &tpcb::SELECT_ONLY,
    &tpcc::TPCC,
    &ycsb::YCSB,
    &oltp::OLTP_READ_WRITE,
    &oltp::OLTP_READ_ONLY,
    &oltp::OLTP_WRITE_ONLY,
    &oltp::OLTP_POINT_SELECT,
    &oltp::OLTP_INSERT,
    &oltp::OLTP_UPDATE_INDEX,
    &oltp::OLTP_UPDATE_NON_INDEX,
    &oltp::OLTP_DELETE,
    &oltp::SELECT_RANDOM_POINTS,
    &oltp::SELECT_RANDOM_RANGES,
    &oltp::BULK_INSERT,
    &oltp::HOT_ROW,
    &script::SCRIPT,
    &script::SQL,
    &replay::REPLAY,
];

pub fn find(name: &str) -> Result<&'static dyn Workload> {
    if let Some(workload) = list().iter().find(|workload| workload.name() == name) {
        return Ok(*workload);
    }
    let names: Vec<&str> = list().iter().map(|workload| workload.name()).collect();
    let hint = match nearest_name(name, &names) {
        Some(suggestion) => format!("did you mean \"{suggestion}\"? `prony workloads` lists all"),
        None => "`prony workloads` lists them".to_owned(),
    };
    Err(Error::UnknownWorkload {
        name: name.to_owned(),
        hint,
    })
}

/// Returns an error for each option of a plan that this workload does not have. Only those that are shown have a hint.
pub fn unknown_option_problems(workload: &dyn Workload, plan: &WorkloadPlan) -> Vec<Error> {
    let known: Vec<&str> = workload
        .options()
        .iter()
        .map(|option| option.name)
        .collect();
    plan.options
        .keys()
        .filter(|key| !known.contains(&key.as_str()))
        .enumerate()
        .map(|(index, key)| {
            let name = workload.name();
            let all = format!("`prony workloads {name}` lists its options");
            Error::UnknownOption {
                workload: name,
                key: key.clone(),
                hint: match &known[..] {
                    _ if index > MAX_PROBLEMS => String::new(),
                    [] => "it has no options".to_owned(),
                    known => suggest::suggestion(key, known, &all),
                },
            }
        })
        .collect()
}

/// The name of the workload that was probably meant: one that other tools or the specification call so, or the most
/// similar name.
fn nearest_name<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let word = word.to_lowercase().replace('_', "-");
    // pgbench's name of the workload, and the specification's.
    let word = match word.as_str() {
        "tpcb-like" | "tpc-b" => "tpcb".to_owned(),
        _ => word,
    };
    let is_same = |name: &str| {
        let name = name.replace('_', "-");
        // The name with a suffix, such as tpcc-standard, is as good as the name itself, and so is the short name of
        // a workload of sysbench, such as insert.
        word.starts_with(&format!("{name}-")) || name.strip_prefix("oltp-") == Some(&word)
    };
    let same = known.iter().copied().find(|name| is_same(name));
    same.or_else(|| suggest::nearest(&word, known))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::describe::LedgerEntries;
    use prony_assertions::TextAssertions;
    use prony_plan::QueryMode;
    use std::collections::HashSet;

    #[test]
    fn every_workload_is_found_by_its_name_and_described() {
        let mut names = HashSet::new();
        for workload in list() {
            assert!(names.insert(workload.name()), "{} twice", workload.name());
            let found_workload = find(workload.name()).expect("listed");
            assert_eq!(found_workload.name(), workload.name());
            assert!(!workload.title().is_empty() && !workload.title().contains('\n'));
            let is_script = ["script", "sql", "replay"].contains(&workload.name());
            assert_eq!(workload.statements().is_empty(), is_script);
            assert!(find(workload.dataset()).is_ok());
        }
    }

    #[test]
    fn every_workload_but_a_replay_can_have_a_ledger() {
        let without = |protocol| {
            let workloads = list().iter().filter(move |workload| {
                workload.ledger_entries(protocol) == LedgerEntries::Impossible
            });
            workloads
                .map(|workload| workload.name())
                .collect::<Vec<_>>()
        };
        assert_eq!(without(QueryMode::Prepared), ["replay"]);
        assert_eq!(without(QueryMode::Simple), ["script", "replay"]);
    }

    #[test]
    fn an_unknown_name_suggests_the_nearest() {
        for (name, suggestion) in [
            ("tpcd", "\"tpcb\""),
            ("TPCB", "\"tpcb\""),
            ("tpcb-like", "\"tpcb\""),
            ("select_only", "\"select-only\""),
            ("simple-updates", "\"simple-update\""),
            ("oltp-read-only", "\"oltp_read_only\""),
            ("oltp_read_write.lua", "\"oltp_read_write\""),
            ("point_select", "\"oltp_point_select\""),
            ("insert", "\"oltp_insert\""),
            ("hot_row", "\"hot-row\""),
            ("tpcc_standard", "\"tpcc\""),
        ] {
            let message = find(name).err().expect("unknown").to_string();
            message.assert_contains(&format!("did you mean {suggestion}?"));
        }
        let message = find("banana").err().expect("unknown").to_string();
        message.assert_lacks("did you mean");
        message.assert_contains("`prony workloads` lists them");
    }

    #[test]
    fn all_unknown_options_are_reported() {
        let mut plan = WorkloadPlan {
            name: "tpcb".into(),
            scale: None,
            options: Default::default(),
        };
        let workload = find("tpcb").expect("listed");
        assert!(unknown_option_problems(workload, &plan).is_empty());
        plan.options.insert("warehouses".into(), 3.into());
        plan.options.insert("filler".into(), "x".into());
        let problems = unknown_option_problems(workload, &plan);
        assert_eq!(problems.len(), 2);
        let problem = |index: usize| problems[index].problem();
        problem(0).assert_contains("\"filler\"");
        problem(1).assert_contains("\"warehouses\"");
        let many = (0..2_000).map(|n| (format!("o{n:04}"), 1.into()));
        plan.options = many.collect();
        let problems = unknown_option_problems(workload, &plan);
        let has_hint = |problem: &&Error| matches!(problem, Error::UnknownOption { hint, .. } if !hint.is_empty());
        let hints = problems.iter().filter(has_hint).count();
        assert_eq!((problems.len(), hints), (2_000, MAX_PROBLEMS + 1));
    }
}
