//! The workloads that there are.
//!
//! In: a name. Out: the workload. Must never: do anything else; a new workload is one line here.

use crate::{Error, Workload, oltp, script, tpcb, tpcc};
use prony_plan::WorkloadPlan;

/// All workloads, in the order in which they are listed to users.
pub fn list() -> &'static [&'static dyn Workload] {
    ALL
}

static ALL: &[&dyn Workload] = &[
    &tpcb::TPCB,
    &tpcb::SIMPLE_UPDATE,
    &tpcb::SELECT_ONLY,
    &tpcc::TPCC,
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
];

/// The workload of this name.
///
/// # Errors
/// There is none; the error names the nearest and all others.
pub fn find(name: &str) -> Result<&'static dyn Workload, Error> {
    if let Some(found) = list().iter().find(|workload| workload.name() == name) {
        return Ok(*found);
    }
    let names: Vec<&str> = list().iter().map(|workload| workload.name()).collect();
    let all = names.join(", ");
    let hint = match nearest(name, &names) {
        Some(near) => format!("did you mean \"{near}\"? There are: {all}"),
        None => format!("there are: {all}"),
    };
    Err(Error::UnknownWorkload {
        name: name.to_owned(),
        hint,
    })
}

/// What is wrong with a plan's options for this workload: every key that it does not know.
pub fn option_problems(workload: &dyn Workload, plan: &WorkloadPlan) -> Vec<String> {
    let known = workload.options();
    plan.options
        .keys()
        .filter(|key| !known.contains(&key.as_str()))
        .map(|key| {
            let name = workload.name();
            match (known, nearest(key, known)) {
                ([], _) => format!("workload {name} has no option \"{key}\": it has no options"),
                (_, Some(near)) => {
                    format!("workload {name} has no option \"{key}\": did you mean \"{near}\"?")
                }
                _ => format!(
                    "workload {name} has no option \"{key}\": it has {}",
                    known.join(", ")
                ),
            }
        })
        .collect()
}

/// The known name with the fewest edits, if they are few for its length.
fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let word = word.to_lowercase().replace('_', "-");
    // What pgbench calls two of them.
    let word = match word.as_str() {
        "tpcb-like" | "tpc-b" => "tpcb".to_owned(),
        _ => word,
    };
    let distance = |name: &str| {
        let name = name.replace('_', "-");
        // By the short names of sysbench's workloads, such as insert.
        match name.strip_prefix("oltp-") {
            Some(short) if short == word => 0,
            _ => edits(&word, &name),
        }
    };
    known
        .iter()
        .map(|name| (distance(name), *name))
        .filter(|(edits, name)| *edits <= (name.len() / 3).max(1))
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, name)| name)
}

/// Letters to insert, delete or replace between two words (Levenshtein's distance).
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (row, letter) in from.chars().enumerate() {
        let mut current = vec![row + 1];
        for (column, wanted) in to.iter().enumerate() {
            let replaced = last[column] + usize::from(letter != *wanted);
            current.push(replaced.min(last[column + 1] + 1).min(current[column] + 1));
        }
        last = current;
    }
    last[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_workload_is_found_by_its_name_and_described() {
        let mut names = HashSet::new();
        for workload in list() {
            assert!(names.insert(workload.name()), "{} twice", workload.name());
            let found = find(workload.name()).expect("listed");
            assert_eq!(found.name(), workload.name());
            assert!(!workload.title().is_empty() && !workload.title().contains('\n'));
            let varies = workload.name() == script::SCRIPT.name();
            assert_eq!(workload.statements().is_empty(), varies);
            assert!(find(workload.data()).is_ok());
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_nearest() {
        for (asked, meant) in [
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
        ] {
            let message = find(asked).err().expect("not a name").to_string();
            assert!(
                message.contains(&format!("did you mean {meant}?")),
                "{message}"
            );
        }
        let message = find("banana").err().expect("not a name").to_string();
        assert!(!message.contains("did you mean"), "{message}");
        assert!(
            message.contains("tpcb, simple-update, select-only"),
            "{message}"
        );
    }

    #[test]
    fn unknown_options_are_all_named() {
        let mut plan = WorkloadPlan {
            name: "tpcb".into(),
            scale: None,
            options: Default::default(),
        };
        let workload = find("tpcb").expect("listed");
        assert!(option_problems(workload, &plan).is_empty());
        plan.options.insert("warehouses".into(), 3.into());
        plan.options.insert("filler".into(), "x".into());
        let problems = option_problems(workload, &plan);
        assert_eq!(problems.len(), 2);
        assert!(problems[0].contains("\"filler\"") && problems[1].contains("\"warehouses\""));
    }
}
