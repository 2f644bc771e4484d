//! What the compiler cannot keep: habits of the house, checked on its sources.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// Rooms on the path of a measurement: they read the time only through `drive/src/clock.rs`.
/// Elsewhere the clock serves waiting for processes and showing progress.
const MEASURING: &[&str] = &[
    "plan", "wire", "session", "drive", "measure", "judge", "report",
];
/// The rooms that print.
const PRINTING: &[&str] = &["report", "cli"];
/// The longest file that still holds one idea.
const LINES_MAX: usize = 500;

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the folder of crates")
        .to_owned()
}

/// Every file of the rooms in Rust: its room, its path and its text.
fn files() -> Vec<(String, PathBuf, String)> {
    let mut found = Vec::new();
    for room in fs::read_dir(crates()).expect("a folder").flatten() {
        let name = room.file_name().to_string_lossy().into_owned();
        collect(&name, &room.path(), &mut found);
    }
    found
}

/// Those that are no tests.
fn sources() -> Vec<(String, PathBuf, String)> {
    let mut found = files();
    found.retain(|(_, path, _)| {
        let within = path.strip_prefix(crates()).expect("below the folder");
        let mut parts = within.components().skip(1);
        parts.next() == Some(Component::Normal("src".as_ref()))
            && parts.all(|part| part.as_os_str() != "tests")
            && !path.ends_with("tests.rs")
    });
    assert!(
        found.len() > 100,
        "only {} files: the search is broken",
        found.len()
    );
    found
}

fn collect(room: &str, folder: &Path, found: &mut Vec<(String, PathBuf, String)>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            collect(room, &path, found);
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            let text = fs::read_to_string(&path).expect("UTF-8");
            found.push((room.to_owned(), path, text));
        }
    }
}

/// The lines of a file before its tests that are code, numbered from 1.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().take_while(|line| *line != "#[cfg(test)]");
    (1..)
        .zip(lines)
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
}

fn report(problems: &[String]) {
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

#[test]
fn the_time_is_read_in_the_clock_alone() {
    let mut problems = Vec::new();
    for (room, path, text) in sources() {
        if !MEASURING.contains(&room.as_str()) || path.ends_with("drive/src/clock.rs") {
            continue;
        }
        for (number, line) in code(&text) {
            if line.contains("Instant::now")
                || line.contains("SystemTime::now")
                || line.contains("clock_gettime")
            {
                problems.push(format!("{}:{number}: reads the time", path.display()));
            }
        }
    }
    report(&problems);
}

#[test]
fn printing_is_for_report_and_cli() {
    let mut problems = Vec::new();
    for (room, path, text) in sources() {
        if PRINTING.contains(&room.as_str()) {
            continue;
        }
        for (number, line) in code(&text) {
            if ["println!", "print!(", "stdout()", "stderr()"]
                .iter()
                .any(|word| line.contains(word))
            {
                problems.push(format!("{}:{number}: prints", path.display()));
            }
        }
    }
    report(&problems);
}

#[test]
fn every_module_says_what_it_is() {
    let silent = sources()
        .into_iter()
        .filter(|(_, _, text)| !text.starts_with("//!"));
    report(
        &silent
            .map(|(_, path, _)| format!("{}: opens without `//!`", path.display()))
            .collect::<Vec<_>>(),
    );
}

#[test]
fn a_file_holds_one_idea() {
    let all = files();
    assert!(
        all.len() > sources().len() + 100,
        "the search for tests is broken"
    );
    let long = all
        .into_iter()
        .filter(|(_, _, text)| text.lines().count() > LINES_MAX);
    report(
        &long
            .map(|(_, path, text)| format!("{}: {} lines", path.display(), text.lines().count()))
            .collect::<Vec<_>>(),
    );
}
