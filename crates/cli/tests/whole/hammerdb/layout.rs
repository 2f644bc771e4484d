//! The output compared with that of HammerDB 4.6, recorded with the same scripts: all lines are equal except
//! for numbers, dates and passwords.

use super::maria::maria_head;
use super::{HammerdbCli, lines};
use crate::common::*;
use std::collections::BTreeMap;

/// The lines of a build with their numbers of occurrences, because Prony loads in a different order.
const BUILD: &str = include_str!("build.txt");
/// The lines of a run, in order.
const RUN: &str = include_str!("run.txt");
/// The lines of a build on MariaDB, with their numbers of occurrences.
const BUILD_MARIA: &str = include_str!("build_maria.txt");
const RUN_MARIA: &str = include_str!("run_maria.txt");

/// Replaces the parts of a line that differ between runs by placeholders.
fn mask_variable_parts(hammer: &HammerdbCli, line: &str) -> String {
    let temp = hammer.log_folder();
    let line = line.replace(temp.to_str().expect("a path of the test"), "/tmp");
    if let Some((before, job)) = line.split_once("jobid=") {
        assert!(
            job.len() == 24 && job.bytes().all(|b| b.is_ascii_hexdigit()),
            "{job}"
        );
        return format!("{before}jobid=ID");
    }
    for prefix in ["Vuser 1:Start:", "Vuser 1:End:"] {
        if let Some(date) = line.strip_prefix(prefix) {
            assert_eq!(date.split(' ').count(), 6, "{date}");
            return format!("{}DATE", prefix.replace('1', "N"));
        }
    }
    let mut masked_line = String::new();
    for character in line.chars() {
        if !character.is_ascii_digit() {
            masked_line.push(character);
        } else if !masked_line.ends_with('N') {
            masked_line.push('N');
        }
    }
    masked_line
}

fn recorded_counts(lines: &str) -> BTreeMap<String, u32> {
    let lines = lines.lines().filter_map(|line| line.split_once(' '));
    let counts = lines.map(|(count, line)| (line.to_owned(), count.parse().expect("a count")));
    counts.collect()
}

fn line_counts(masked_lines: Vec<String>) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    for line in masked_lines {
        *counts.entry(line).or_default() += 1;
    }
    counts
}

/// Masks a run's lines, without the line about shortened minutes: the recordings have none.
fn mask_run_lines(hammer: &HammerdbCli, stdout: &str) -> Vec<String> {
    let mut printed = mask_lines_from(hammer, stdout, "Script loaded");
    let before = printed.len();
    printed.retain(|line| !line.contains("Rehearsal: each minute of this test lasted N s"));
    assert_eq!(before, printed.len() + 1, "{stdout}");
    printed
}

/// Masks all lines from the first one that starts with `from`.
fn mask_lines_from(hammer: &HammerdbCli, stdout: &str, from: &str) -> Vec<String> {
    let lines = lines(stdout).into_iter();
    let lines = lines.skip_while(|line| !line.starts_with(from));
    lines
        .map(|line| mask_variable_parts(hammer, &line))
        .collect()
}

#[test]
fn output_for_postgresql_matches_hammerdb() {
    // The recording has this name of database and role.
    let hammer = HammerdbCli::new("tpcc");
    let stdout = ok_stdout(&hammer.execute(&hammer.build_script(1, 1)));
    let built = line_counts(mask_lines_from(&hammer, &stdout, "Script cleared"));
    assert_eq!(built, recorded_counts(BUILD));

    let stdout = ok_stdout(&hammer.execute(&hammer.test_script(0, 1)));
    let recorded: Vec<String> = RUN.lines().map(str::to_owned).collect();
    assert_eq!(mask_run_lines(&hammer, &stdout), recorded);
}

#[test]
fn output_for_mariadb_matches_hammerdb() {
    let hammer = HammerdbCli::new("maria");
    let head = maria_head("tpcc");
    let build = format!(
        "{head}diset tpcc maria_count_ware 1\ndiset tpcc maria_num_vu 1\nbuildschema\nvudestroy\n"
    );
    let stdout = ok_stdout(&hammer.execute_file(&build));
    let mut built = line_counts(mask_lines_from(&hammer, &stdout, "Script cleared"));
    // Prony creates the secondary indexes after the rows, and prints that.
    assert_eq!(built.remove("Vuser N:CREATING TPCC INDEXES"), Some(1));
    assert_eq!(built, recorded_counts(BUILD_MARIA));

    let run = format!(
        "{head}diset tpcc maria_rampup 0\ndiset tpcc maria_duration 1\n\
         diset tpcc maria_timeprofile true\nloadscript\nprint dict\nvuset vu 1\nvucreate\n\
         puts \"VURUN RETURNED: [ vurun ]\"\nvudestroy\nquit\n"
    );
    let stdout = ok_stdout(&hammer.execute_file(&run));
    let recorded: Vec<String> = RUN_MARIA.lines().map(str::to_owned).collect();
    assert_eq!(mask_run_lines(&hammer, &stdout), recorded);
    let profile = hammer.read_log("hdbxtprofile.log");
    profile.assert_starts_with("MariaDB Hammerdb Time Profile Report @ ");
}
