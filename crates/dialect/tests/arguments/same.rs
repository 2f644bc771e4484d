//! Command lines that the real pgbench rejects are rejected with the same text and status.

use crate::real::{compare_with_pgbench, installed_programs, prony_output, run_program};
use crate::test_host::TestHost;

/// Command lines with a space between arguments; `_` represents a space and `""` an empty argument.
const LINES: &str = include_str!("lines.txt");

fn parse_arguments(line: &str) -> Vec<String> {
    let parse_argument = |text: &str| {
        if text == "\"\"" { String::new() } else { text.replace('_', " ") }
    };
    line.split_whitespace().map(parse_argument).collect()
}

#[test]
fn single_command_lines_match_pgbench() {
    for real in &installed_programs() {
        let mut ended_lines = 0;
        for line in LINES.lines().filter(|line| !line.is_empty()) {
            let arguments = parse_arguments(line);
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            ended_lines += usize::from(compare_with_pgbench(real, &arguments, &[]));
        }
        assert!(
            ended_lines > 200,
            "only {ended_lines} lines end before connecting"
        );
    }
}

/// Which of two errors is reported depends on the order of the options and of the checks.
#[test]
fn pairs_of_options_match_pgbench() {
    // No file can be created in /proc.
    let options = "-i;-S;-b nothing;-F 9;-F 90;-I d;-c x;-c 2;-t 5;-T 7;-l;--sampling-rate=0.5;\
                   --aggregate-interval=2;--log-prefix=x;--progress-timestamp;--max-tries=0;-L 5;\
                   --partition-method=hash;-b se@0;db;--bad;-D x;--random-seed=7;-f /proc/absent;-d";
    let options: Vec<&str> = options.split(';').collect();
    for real in &installed_programs() {
        for first in &options {
            for second in &options {
                let line = format!("{first} {second}");
                let arguments: Vec<&str> = line.split(' ').collect();
                compare_with_pgbench(real, &arguments, &[]);
            }
        }
    }
}

#[test]
fn environment_variables_match_pgbench() {
    for real in &installed_programs() {
        for seed in ["", "one", "42", "time_", "-1"] {
            let seed = [("PGBENCH_RANDOM_SEED", seed)];
            compare_with_pgbench(real, &["--foo"], &seed);
            compare_with_pgbench(real, &["--random-seed=5", "-c", "x"], &seed);
            compare_with_pgbench(real, &["-V"], &seed);
        }
        let posix = [("POSIXLY_CORRECT", "1")];
        compare_with_pgbench(real, &["db", "-c", "x"], &posix);
        compare_with_pgbench(real, &["-c", "x", "db"], &posix);
        compare_with_pgbench(real, &["-n", "db"], &posix);
        compare_with_pgbench(real, &["a", "b"], &[("PGDATABASE", "c")]);
    }
}

#[test]
fn too_many_scripts_are_an_error() {
    for real in &installed_programs() {
        assert!(compare_with_pgbench(real, &["-S"; 129], &[]));
        assert!(!compare_with_pgbench(real, &["-S"; 128], &[]));
    }
}

#[test]
fn help_has_pgbenchs_headings_and_options() {
    for real in &installed_programs() {
        let expected = run_program(&real.path, &["--help"], &[]).stdout;
        let mut host = TestHost::new(&real.path, &real.level);
        let help = prony_output(real, &["--help"], &mut host).unwrap().stdout;
        for line in expected.lines() {
            for option in line
                .split_whitespace()
                .filter(|text| text.starts_with("--"))
            {
                let name = option.split(['=', ',']).next().unwrap();
                assert!(help.contains(name), "--help does not name {name}");
            }
            if line.ends_with(':') {
                let is_heading = !line.trim_start().starts_with(|c: char| c.is_lowercase());
                assert!(!is_heading || help.contains(line), "--help has no {line:?}");
            }
        }
    }
}
