//! Invalid command lines: the message, its stream, and which of several errors is reported.

use crate::support::*;
use prony_dialect::sysbench::NON_DATABASE_TESTS;

/// Options of `oltp_read_only run`, and the error. `out` and `err`: the stream on which it is printed.
const BEFORE_BANNER: &str = r"
--threads=0 | out | FATAL: Invalid value for --threads: 0.\n
--threads | out | FATAL: Invalid value for --threads: 0.\n
--threads=-2 | out | FATAL: Invalid value for --threads: -2.\n
--threads=abc | err | Invalid value for the 'threads' option: 'abc'
--threads=4k | err | Invalid value for the 'threads' option: '4k'
--time=99999999999 | err | Invalid value for the 'time' option: '99999999999'
--events=1M | err | Invalid value for the 'events' option: '1M'
--rate=1.9 | err | Invalid value for the 'rate' option: '1.9'
--rate=-5 | out | FATAL: Invalid value for --rate: -5.\n
--percentile=99.9 | err | Invalid value for the 'percentile' option: '99.9'
--percentile=101 | out | FATAL: Invalid value for --percentile: 101
--percentile=-1 | out | FATAL: Invalid value for --percentile: -1
--histogram --percentile=0 | out | FATAL: --histogram cannot be used with --percentile=0
--verbosity=9 | out | Invalid value for verbosity: 9
--verbosity=-1 | out | Invalid value for verbosity: 255
--forced-shutdown=on | out | FATAL: Invalid value for --forced-shutdown: 'on'
--report-checkpoints=2,x | out | FATAL: Invalid value for --report-checkpoints: 'x'
--report-checkpoints=1.5 | out | FATAL: Invalid value for --report-checkpoints: '1.5'
--thread-stack-size=12Q | out | FATAL: Invalid value for thread-stack-size: 0.\n
--rand-type=uni | out | FATAL: Invalid random numbers distribution: uni.
--rand-type=zipfian | out | FATAL: Invalid random numbers distribution: zipfian.
--rand-spec-pct=x | err | Invalid value for the 'rand_spec_pct' option: 'x'
--config-file=bad | err | Invalid value for the 'threads' option: 'abc'
# Of several errors, sysbench reports the one that it detects first.
--verbosity=9 --percentile=200 --rand-type=x | out | FATAL: Invalid random numbers distribution: x.
--rand-type=x --rand-seed=x | err | Invalid value for the 'rand_seed' option: 'x'
--report-checkpoints=x --percentile=200 | out | FATAL: Invalid value for --report-checkpoints: 'x'
--rate=x --rand-type=x | out | FATAL: Invalid random numbers distribution: x.
--thread-stack-size=0 --forced-shutdown=x | out | FATAL: Invalid value for --forced-shutdown: 'x'
--num-threads=3 --forced-shutdown=x | out | WARNING: --num-threads is deprecated, use --threads instead\nFATAL: Invalid value for --forced-shutdown: 'x'
--nosuch=1 --threads=0 | out | FATAL: Invalid value for --threads: 0.\n
extra | err | Unrecognized command line argument: extra
";

/// Command lines, and the error, as in [`BEFORE_BANNER`].
const AFTER_BANNER: &str = r"
nosuch run | out | FATAL: Cannot find benchmark 'nosuch': no such built-in test, file or module
./nosuch.lua --foo=1 run | out | FATAL: Cannot find benchmark './nosuch.lua': no such built-in test, file or module
help | out | FATAL: Cannot find benchmark 'help': no such built-in test, file or module
-h | out | FATAL: Cannot find benchmark '-h': no such built-in test, file or module
--validate 4 oltp_insert | out | FATAL: Cannot find benchmark '4': no such built-in test, file or module
oltp_read_write | out | FATAL: Command is required. Supported commands: prepare, prewarm, run, cleanup, help
oltp_read_write --foo=1 | out | FATAL: Command is required. Supported commands: prepare, prewarm, run, cleanup, help
oltp_read_write foo | err | Unknown command: foo
oltp_read_write --foo=1 foo | err | invalid option: --foo=1
oltp_read_write --nosuch run | err | invalid option: --nosuch
oltp_read_write --skip-trx=yes run | err | invalid option: --skip-trx=yes
oltp_read_write --debug=ON run | err | invalid option: --debug=ON
oltp_read_write --THREADS=3 run | err | invalid option: --THREADS=3
oltp_read_write --warmup-time=3 run | err | invalid option: --warmup-time=3
oltp_read_write --delta=3 run | err | invalid option: --delta=3
oltp_read_write --=3 run | err | invalid option: --=3
oltp_read_write --test run | err | invalid option: --test
bulk_insert help | err | 'bulk_insert' test does not implement the 'help' command.
bulk_insert prewarm | err | Unknown command: prewarm
bulk_insert | out | FATAL: Command is required. Supported commands: prepare, run, cleanup
oltp_insert warmup | err | Unknown command: warmup
--config-file=open oltp_insert foo | err | unexpected EOL on line 2\nUnknown command: foo
--config-file=/nosuch oltp_insert foo | err | /nosuch: No such file or directory\nUnknown command: foo
";

/// Compares the errors of a table; returns how many there are.
fn compare(table: &str, start: &str, has_banner: bool) -> usize {
    let is_case = |line: &&str| !line.is_empty() && !line.starts_with('#');
    for case in table.lines().filter(is_case) {
        let [line, stream, text] = case.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("{case}");
        };
        let text = text.replace("\\n", "\n") + "\n";
        let (log, error) = match stream {
            "out" => (text, String::new()),
            _ => (String::new(), text),
        };
        let output = error_output(&format!("{start}{line}"));
        assert_eq!(output, (has_banner, log, error), "{line}");
    }
    table.lines().filter(is_case).count()
}

#[test]
fn errors_match_sysbench_before_and_after_the_banner() {
    assert_eq!(compare(BEFORE_BANNER, "oltp_read_only run ", false), 31);
    assert_eq!(compare(AFTER_BANNER, "", true), 23);
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
