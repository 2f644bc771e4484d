//! The layout of the output compared with that of HammerDB 4.6, recorded with the same scripts:
//! every line equal except for numbers, dates and passwords.

use super::maria::maria_head;
use super::{Hammer, lines};
use crate::common::ok;
use std::collections::BTreeMap;

/// Lines of a build with the number of occurrences: Prony loads in another order.
const BUILD: &str = include_str!("build.txt");
/// Lines of a run, in order.
const RUN: &str = include_str!("run.txt");
/// Lines of a build on MariaDB.
const BUILD_MARIA: &str = include_str!("build_maria.txt");
const RUN_MARIA: &str = include_str!("run_maria.txt");

/// A line without the parts that differ from run to run.
fn shape(hammer: &Hammer, line: &str) -> String {
    let temp = hammer.temp();
    let line = line.replace(temp.to_str().expect("a path of the test"), "/tmp");
    if let Some((before, job)) = line.split_once("jobid=") {
        assert!(
            job.len() == 24 && job.bytes().all(|b| b.is_ascii_hexdigit()),
            "{job}"
        );
        return format!("{before}jobid=ID");
    }
    for dated in ["Vuser 1:Start:", "Vuser 1:End:"] {
        if let Some(date) = line.strip_prefix(dated) {
            assert_eq!(date.split(' ').count(), 6, "{date}");
            return format!("{}DATE", dated.replace('1', "N"));
        }
    }
    let mut shape = String::new();
    for character in line.chars() {
        if !character.is_ascii_digit() {
            shape.push(character);
        } else if !shape.ends_with('N') {
            shape.push('N');
        }
    }
    shape
}

/// The number of occurrences of each line.
fn counts(lines: &str) -> BTreeMap<String, u32> {
    let lines = lines.lines().filter_map(|line| line.split_once(' '));
    let counted = lines.map(|(count, line)| (line.to_owned(), count.parse().expect("a count")));
    counted.collect()
}

fn counted(shapes: Vec<String>) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    for shape in shapes {
        *counts.entry(shape).or_default() += 1;
    }
    counts
}

/// The lines of a run, without those a rehearsal adds: the recorded runs were not rehearsals.
fn run_shapes(hammer: &Hammer, shown: &str) -> Vec<String> {
    let mut printed = shapes(hammer, shown, "Script loaded");
    let before = printed.len();
    printed.retain(|line| !line.contains("Rehearsal: each minute of this test lasted N s"));
    assert_eq!(before, printed.len() + 1, "{shown}");
    printed
}

fn shapes(hammer: &Hammer, shown: &str, from: &str) -> Vec<String> {
    let all = lines(shown).into_iter();
    let all = all.skip_while(|line| !line.starts_with(from));
    all.map(|line| shape(hammer, &line)).collect()
}

#[test]
fn the_output_has_the_layout_of_hammerdb() {
    // The names in the recording.
    let hammer = Hammer::new("tpcc");
    let shown = ok(&hammer.input(&hammer.build(1, 1)));
    let built = counted(shapes(&hammer, &shown, "Script cleared"));
    assert_eq!(built, counts(BUILD));

    let shown = ok(&hammer.input(&hammer.run(0, 1)));
    let recorded: Vec<String> = RUN.lines().map(str::to_owned).collect();
    assert_eq!(run_shapes(&hammer, &shown), recorded);
}

#[test]
fn the_output_for_mariadb_has_the_layout_of_hammerdb() {
    let hammer = Hammer::new("maria");
    let head = maria_head("tpcc");
    let build = format!(
        "{head}diset tpcc maria_count_ware 1\ndiset tpcc maria_num_vu 1\nbuildschema\nvudestroy\n"
    );
    let shown = ok(&hammer.auto(&build));
    let mut built = counted(shapes(&hammer, &shown, "Script cleared"));
    // Prony creates the secondary indexes after the rows, and prints that.
    assert_eq!(built.remove("Vuser N:CREATING TPCC INDEXES"), Some(1));
    assert_eq!(built, counts(BUILD_MARIA));

    let run = format!(
        "{head}diset tpcc maria_rampup 0\ndiset tpcc maria_duration 1\n\
         diset tpcc maria_timeprofile true\nloadscript\nprint dict\nvuset vu 1\nvucreate\n\
         puts \"VURUN RETURNED: [ vurun ]\"\nvudestroy\nquit\n"
    );
    let shown = ok(&hammer.auto(&run));
    let recorded: Vec<String> = RUN_MARIA.lines().map(str::to_owned).collect();
    assert_eq!(run_shapes(&hammer, &shown), recorded);
    let profile = hammer.log("hdbxtprofile.log");
    assert!(
        profile.starts_with("MariaDB Hammerdb Time Profile Report @ "),
        "{profile}"
    );
}
