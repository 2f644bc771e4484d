//! The layout of the output beside that of HammerDB 4.6, as recorded of the same scripts: every line
//! the same but for numbers, dates and passwords.

use super::{Hammer, lines};
use crate::common::ok;
use std::collections::BTreeMap;

/// Lines of a build with how often each comes: Prony loads in another order.
const BUILD: &str = include_str!("build.txt");
/// Lines of a run in their order.
const RUN: &str = include_str!("run.txt");

/// A line without what differs from run to run.
fn shape(hammer: &Hammer, line: &str) -> String {
    let temp = hammer.temp();
    let line = line.replace(temp.to_str().expect("a path of the test"), "/tmp");
    if let Some(job) = line.strip_prefix("jobid=") {
        assert!(
            job.len() == 24 && job.bytes().all(|b| b.is_ascii_hexdigit()),
            "{job}"
        );
        return "jobid=ID".to_owned();
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

fn shapes(hammer: &Hammer, shown: &str, from: &str) -> Vec<String> {
    let all = lines(shown).into_iter();
    let all = all.skip_while(|line| !line.starts_with(from));
    all.map(|line| shape(hammer, &line)).collect()
}

#[test]
fn the_output_is_laid_out_as_that_of_hammerdb() {
    // The names that were recorded.
    let hammer = Hammer::new("tpcc");
    let shown = ok(&hammer.input(&hammer.build(1, 1)));
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for shape in shapes(&hammer, &shown, "Script cleared") {
        *counts.entry(shape).or_default() += 1;
    }
    let recorded: BTreeMap<String, u32> = BUILD
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(count, line)| (line.to_owned(), count.parse().expect("a count")))
        .collect();
    assert_eq!(counts, recorded);

    let shown = ok(&hammer.input(&hammer.run(0, 1)));
    let recorded: Vec<String> = RUN.lines().map(str::to_owned).collect();
    let mut printed = shapes(&hammer, &shown, "Script loaded");
    // Of a rehearsal alone; the recorded one was none.
    let before = printed.len();
    printed.retain(|line| !line.contains("A rehearsal: each minute of this test lasted N s"));
    assert_eq!(before, printed.len() + 1, "{shown}");
    assert_eq!(printed, recorded);
}
