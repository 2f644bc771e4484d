//! Invalid command lines: the message, its stream, and which of several errors is reported.

use crate::support::*;
use prony_dialect::sysbench::NON_DATABASE_TESTS;

#[test]
fn errors_before_the_banner_match_sysbench() {
    let log = |text: &str| (false, format!("{text}\n"), String::new());
    let error = |text: &str| (false, String::new(), format!("{text}\n"));
    let invalid_int =
        |name: &str, text: &str| error(&format!("Invalid value for the '{name}' option: '{text}'"));
    for (options, expected) in [
        (
            "--threads=0",
            log("FATAL: Invalid value for --threads: 0.\n"),
        ),
        ("--threads", log("FATAL: Invalid value for --threads: 0.\n")),
        (
            "--threads=-2",
            log("FATAL: Invalid value for --threads: -2.\n"),
        ),
        ("--threads=abc", invalid_int("threads", "abc")),
        ("--threads=4k", invalid_int("threads", "4k")),
        ("--time=99999999999", invalid_int("time", "99999999999")),
        ("--events=1M", invalid_int("events", "1M")),
        ("--rate=1.9", invalid_int("rate", "1.9")),
        ("--rate=-5", log("FATAL: Invalid value for --rate: -5.\n")),
        ("--percentile=99.9", invalid_int("percentile", "99.9")),
        (
            "--percentile=101",
            log("FATAL: Invalid value for --percentile: 101"),
        ),
        (
            "--percentile=-1",
            log("FATAL: Invalid value for --percentile: -1"),
        ),
        (
            "--histogram --percentile=0",
            log("FATAL: --histogram cannot be used with --percentile=0"),
        ),
        ("--verbosity=9", log("Invalid value for verbosity: 9")),
        ("--verbosity=-1", log("Invalid value for verbosity: 255")),
        (
            "--forced-shutdown=on",
            log("FATAL: Invalid value for --forced-shutdown: 'on'"),
        ),
        (
            "--report-checkpoints=2,x",
            log("FATAL: Invalid value for --report-checkpoints: 'x'"),
        ),
        (
            "--report-checkpoints=1.5",
            log("FATAL: Invalid value for --report-checkpoints: '1.5'"),
        ),
        (
            "--thread-stack-size=12Q",
            log("FATAL: Invalid value for thread-stack-size: 0.\n"),
        ),
        (
            "--rand-type=uni",
            log("FATAL: Invalid random numbers distribution: uni."),
        ),
        (
            "--rand-type=zipfian",
            log("FATAL: Invalid random numbers distribution: zipfian."),
        ),
        ("--rand-spec-pct=x", invalid_int("rand_spec_pct", "x")),
        ("--config-file=bad", invalid_int("threads", "abc")),
        // Of several errors, sysbench reports the one that it detects first.
        (
            "--verbosity=9 --percentile=200 --rand-type=x",
            log("FATAL: Invalid random numbers distribution: x."),
        ),
        ("--rand-type=x --rand-seed=x", invalid_int("rand_seed", "x")),
        (
            "--report-checkpoints=x --percentile=200",
            log("FATAL: Invalid value for --report-checkpoints: 'x'"),
        ),
        (
            "--rate=x --rand-type=x",
            log("FATAL: Invalid random numbers distribution: x."),
        ),
        (
            "--thread-stack-size=0 --forced-shutdown=x",
            log("FATAL: Invalid value for --forced-shutdown: 'x'"),
        ),
        (
            "--num-threads=3 --forced-shutdown=x",
            log(
                "WARNING: --num-threads is deprecated, use --threads instead\nFATAL: Invalid value for --forced-shutdown: 'x'",
            ),
        ),
        (
            "--nosuch=1 --threads=0",
            log("FATAL: Invalid value for --threads: 0.\n"),
        ),
        ("extra", error("Unrecognized command line argument: extra")),
    ] {
        assert_eq!(
            error_output(&format!("oltp_read_only run {options}")),
            expected,
            "{options}"
        );
    }
}

#[test]
fn errors_after_the_banner_match_sysbench() {
    let log = |text: &str| (true, format!("{text}\n"), String::new());
    let error = |text: &str| (true, String::new(), format!("{text}\n"));
    let command_required =
        "FATAL: Command is required. Supported commands: prepare, prewarm, run, cleanup, help";
    let missing = |name: &str| {
        log(&format!(
            "FATAL: Cannot find benchmark '{name}': no such built-in test, file or module"
        ))
    };
    for (line, expected) in [
        ("nosuch run", missing("nosuch")),
        ("./nosuch.lua --foo=1 run", missing("./nosuch.lua")),
        ("help", missing("help")),
        ("-h", missing("-h")),
        ("--validate 4 oltp_insert", missing("4")),
        ("oltp_read_write", log(command_required)),
        ("oltp_read_write --foo=1", log(command_required)),
        ("oltp_read_write foo", error("Unknown command: foo")),
        (
            "oltp_read_write --foo=1 foo",
            error("invalid option: --foo=1"),
        ),
        (
            "oltp_read_write --nosuch run",
            error("invalid option: --nosuch"),
        ),
        (
            "oltp_read_write --skip-trx=yes run",
            error("invalid option: --skip-trx=yes"),
        ),
        (
            "oltp_read_write --debug=ON run",
            error("invalid option: --debug=ON"),
        ),
        (
            "oltp_read_write --THREADS=3 run",
            error("invalid option: --THREADS=3"),
        ),
        (
            "oltp_read_write --warmup-time=3 run",
            error("invalid option: --warmup-time=3"),
        ),
        (
            "oltp_read_write --delta=3 run",
            error("invalid option: --delta=3"),
        ),
        ("oltp_read_write --=3 run", error("invalid option: --=3")),
        (
            "oltp_read_write --test run",
            error("invalid option: --test"),
        ),
        (
            "bulk_insert help",
            error("'bulk_insert' test does not implement the 'help' command."),
        ),
        ("bulk_insert prewarm", error("Unknown command: prewarm")),
        (
            "bulk_insert",
            log("FATAL: Command is required. Supported commands: prepare, run, cleanup"),
        ),
        ("oltp_insert warmup", error("Unknown command: warmup")),
        (
            "--config-file=open oltp_insert foo",
            error("unexpected EOL on line 2\nUnknown command: foo"),
        ),
        (
            "--config-file=/nosuch oltp_insert foo",
            error("/nosuch: No such file or directory\nUnknown command: foo"),
        ),
    ] {
        assert_eq!(error_output(line), expected, "{line}");
    }
}

#[test]
fn non_database_tests_are_refused_with_an_explanation() {
    for name in NON_DATABASE_TESTS {
        for line in [
            format!("{name} run"),
            format!("{name} --cpu-max-prime=3 help"),
            format!("--test={name} run"),
        ] {
            let (_, _, error) = error_output(&line);
            let expected = format!(
                "'{name}' does not measure a database, and Prony measures databases only.\n"
            );
            assert!(error.ends_with(&expected), "{line}: {error}");
        }
    }
}
