//! Tests that do not need the real pgbench: each error names the program, and levels differ.

use crate::test_host::{TestHost, parse_line};
use prony_assertions::TextAssertions;
use prony_dialect::pgbench::{Invocation, Level, parse_args};
use std::ffi::OsString;

/// Random arguments: at no level do they make the parser panic, and each error names the program.
mod random_arguments {
    use super::*;
    use proptest::prelude::*;

    fn argument() -> impl Strategy<Value = String> {
        prop_oneof![
            "-[a-zA-Z?:;-]{1,4}[0-9@x=]{0,3}",
            "--[a-z]{1,9}(-[a-z]{1,6})?(=[-0-9a-z.,@+ ]{0,12})?",
            "--(client|jobs|rate|latency-limit|max-tries|partitions|builtin|define|random-seed|percentiles)=\\PC{0,12}",
            "\\PC{0,8}",
        ]
    }

    proptest! {
        #[test]
        fn every_error_names_the_program(arguments in proptest::collection::vec(argument(), 0..6), major in 13_u16..20) {
            let arguments: Vec<OsString> = arguments.into_iter().map(OsString::from).collect();
            let level = Level::of_major(major).unwrap();
            let mut host = TestHost::new("/x/pgbench", &level);
            if let Err(error) = parse_args("/x/pgbench", &arguments, &level, &mut host) {
                prop_assert!(error.contains("pgbench: "), "{error}");
                prop_assert!(error.ends_with('\n'));
            }
        }
    }
}

#[test]
fn levels_differ_in_options_and_messages() {
    let parse = |major: u16, line: &str| {
        let level = Level::of_major(major).unwrap();
        parse_line(line, &level, &mut TestHost::new("pgbench", &level))
    };
    let error = |major, line: &str| parse(major, line).unwrap_err();
    for (major, line, expected) in [
        (14, "-c x", "fatal: invalid number of clients: \"x\""),
        (14, "-F 5", "fatal: invalid fillfactor: \"5\""),
        (
            13,
            "--max-tries=3",
            "unrecognized option '--max-tries=3'\nTry \"pgbench --help\" for more information.",
        ),
        (
            15,
            "--report-latencies",
            "unrecognized option '--report-latencies'\npgbench: hint: Try \"pgbench --help\" for more information.",
        ),
    ] {
        assert_eq!(error(major, line), format!("pgbench: {expected}\n"));
    }
    error(19, "-j 0").assert_contains("-j/--jobs must be in range 1..2147483647");
    error(19, "-c 0").assert_contains("-c/--client must be");
    error(18, "-c 5000").assert_contains("need at least 5003 open files, but system limit is 4096");
    assert!(parse(18, "-c 2000").is_ok());
    error(16, "--exit-on-abort").assert_contains("unrecognized");
    error(18, "--continue-on-error").assert_contains("unrecognized");
    error(18, "-d one two").assert_contains("too many command-line arguments (first is \"two\")");
    let run = |major, line: &str| match parse(major, line) {
        Ok(Invocation::Run(options)) => options,
        other => panic!("{other:?}"),
    };
    assert!(run(16, "-d db").debug && run(16, "-d db").connection.dbname == "db");
    assert!(!run(17, "-d db").debug && run(17, "-d db").connection.dbname == "db");
    assert!(run(19, "--exit-on-abort --continue-on-error").continue_on_error);
    assert!(run(14, "-r").report_per_command && run(13, "--report-l").report_per_command);
    assert_eq!(run(13, "-c 3x -j 9").clients, 3);
    assert_eq!(run(18, "-c 3 -j 9 --percentiles=99,50").threads, 3);
    assert_eq!(run(18, "--percentiles=99,50").percentiles, [50.0, 99.0]);
}
