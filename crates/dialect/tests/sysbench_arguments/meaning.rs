//! Valid command lines and their values.

use crate::support::*;
use prony_assertions::TextAssertions;
use prony_dialect::sysbench::{
    Command, Compat, IgnoredErrors, Invocation, ScriptSource, help, run_header,
};

#[test]
fn deprecated_names_work_with_a_warning() {
    let line = "--test=oltp_read_only --tx-rate=3 --max-time=2 --num-threads=2 --threads=8 --max-requests=4 run";
    let command = parse_native(line);
    let old = ["num-threads", "max-requests", "max-time", "tx-rate"];
    let new = ["threads", "events", "time", "rate"];
    let warnings = old
        .iter()
        .zip(new)
        .map(|(old, new)| format!("WARNING: --{old} is deprecated, use --{new} instead\n"));
    assert_eq!(
        command.preamble.stdout,
        warnings.collect::<String>() + BANNER
    );
    assert_eq!(
        command.preamble.warnings,
        "WARNING: the --test option is deprecated. You can pass a script name or path on the command line without any options.\n"
    );
    let settings = &command.settings;
    assert_eq!((settings.threads, settings.events), (2, Some(4)));
    assert_eq!((settings.time_s, settings.rate_tps), (Some(2), Some(3)));
    let silent =
        parse_native("--num-threads=0 --max-time=0 --max-requests=0 --threads=3 oltp_insert run");
    assert_eq!(silent.preamble.stdout, BANNER);
    assert_eq!(
        (silent.settings.threads, silent.settings.time_s),
        (3, Some(10))
    );
    for name in old {
        let error = parse(Compat::V1_1, &format!("oltp_insert --{name}=4 run")).unwrap_err();
        assert_eq!(error.0.stderr, format!("invalid option: --{name}=4\n"));
    }
}

#[test]
fn options_override_defaults() {
    let command = parse_native("oltp_read_write run");
    let settings = &command.settings;
    assert_eq!(
        (settings.threads, settings.events, settings.time_s),
        (1, None, Some(10))
    );
    assert_eq!(
        (settings.rate_tps, settings.report_interval_s),
        (None, None)
    );
    assert_eq!(
        (settings.percentile, settings.histogram, settings.verbosity),
        (95, false, 3)
    );
    assert_eq!(
        (settings.forced_shutdown_s, settings.thread_stack_bytes),
        (None, 65_536)
    );
    assert_eq!(
        (settings.random.distribution.as_str(), settings.random.seed),
        ("special", None)
    );
    assert_eq!(
        settings.database.mysql.ignored_errors,
        IgnoredErrors::Codes(vec![1213, 1020, 1205])
    );
    assert_eq!(settings.database.mysql.hosts, ["localhost"]);
    let command = parse_native(
        "--table_size=25000 --skip-trx=1 --debug --forced-shutdown=10% --report-checkpoints=3,1,2 --mysql-ignore-errors=all --rand-seed=-5 --tables=3x oltp_read_only --thread-stack-size=1M run --table-size=7",
    );
    let settings = &command.settings;
    assert_eq!(settings.forced_shutdown_s, Some(1));
    assert_eq!(settings.checkpoints_s, [1, 2, 3]);
    assert_eq!((settings.debug, settings.verbosity), (true, 5));
    assert_eq!(
        (settings.random.seed, settings.thread_stack_bytes),
        (Some(-5), 1 << 20)
    );
    assert_eq!(settings.database.mysql.ignored_errors, IgnoredErrors::All);
    let option = |name| command.options.get(name).cloned();
    assert_eq!(option("table_size"), Some(7.into()));
    assert_eq!(option("tables"), Some(3.into()));
    assert_eq!(option("skip_trx"), Some(true.into()));
    assert_eq!(option("pgsql_variant"), None);
    let quiet = parse_native("--verbosity=2 --num-threads=2 oltp_insert cleanup");
    assert_eq!(
        quiet.preamble.stdout,
        "WARNING: --num-threads is deprecated, use --threads instead\n"
    );
    let endless = parse_native("--events=0 --time=0 oltp_insert run");
    let warning = "WARNING: Both event and time limits are disabled, running an endless test\n";
    assert_eq!(endless.preamble.stdout, warning.to_owned() + BANNER);
    for (text, expected) in [
        ("", Some(0)),
        ("=", Some(0)),
        ("=7", Some(7)),
        ("=off", None),
        ("=0", Some(0)),
    ] {
        let command = parse_native(&format!("--forced-shutdown{text} --time=7 oltp_insert run"));
        assert_eq!(command.settings.forced_shutdown_s, expected, "{text}");
    }
}

#[test]
fn option_files_are_read() {
    let threads = |line: &str| {
        parse_native(&format!("{line} oltp_insert run"))
            .settings
            .threads
    };
    assert_eq!(threads("--threads=5 --config-file=three"), 3);
    assert_eq!(threads("--config-file=three --threads=5"), 5);
    assert_eq!(threads("--config-file= --config-file"), 1);
    assert_eq!(threads("--config-file=self"), 2);
    let command = parse_native("--config-file=odd oltp_read_only run");
    let warning =
        "WARNING: Global option 'nosuch' will not be exported, because the type is unknown\n";
    assert_eq!(command.preamble.stdout, BANNER.to_owned() + warning);
    assert_eq!(command.options.get("skip_trx"), Some(&true.into()));
    assert_eq!(command.settings.database.mysql.hosts, ["a b", "c"]);
    assert!(!command.settings.validate);
}

#[test]
fn tests_are_found_by_name() {
    for name in [
        "oltp_read_write",
        "oltp_read_write.lua",
        "/usr/share/sysbench/oltp_read_write.lua",
    ] {
        let command = parse_native(&format!("{name} prepare"));
        assert_eq!(
            (command.test.name, command.command),
            ("oltp_read_write", Command::Prepare)
        );
    }
    assert_eq!(
        parse_native("/usr/share/sysbench/oltp_insert.lua run").name,
        "oltp_insert.lua"
    );
    assert_eq!(
        parse_native("oltp_insert prewarm").command,
        Command::Prewarm
    );
    // A user's script takes precedence over a builtin test.
    assert_eq!(
        parse_script("./oltp_delete.lua run").source,
        ScriptSource::File("./oltp_delete.lua".into())
    );
    let command = parse_script("./my.lua --foo-bar=1 --flag go --threads=3");
    assert_eq!(
        (command.command.as_deref(), command.settings.threads),
        (Some("go"), 3)
    );
    let extras: Vec<_> = command
        .extras
        .iter()
        .map(|option| (option.name.as_str(), option.value.as_deref()))
        .collect();
    assert_eq!(extras, [("foo_bar", Some("1")), ("flag", None)]);
    assert_eq!(
        (
            command.values["threads"].as_str(),
            command.values["rand_type"].as_str()
        ),
        ("3", "special")
    );
    for line in ["", "-", "- run", "--nosuch"] {
        assert_eq!(parse_script(line).source, ScriptSource::Stdin);
    }
    // `bulk_insert` declares no options, and accepts any option.
    assert_eq!(
        parse_native("bulk_insert --foo=1 run").test.name,
        "bulk_insert"
    );
}

#[test]
fn help_and_version_are_printed() {
    let print = |compat, line: &str| match parse(compat, line) {
        Ok(Invocation::Print(output)) => output.stdout,
        other => panic!("{line}: {other:?}"),
    };
    for line in [
        "--help",
        "--threads=abc --help",
        "--version --help oltp_insert",
        "--help=on",
    ] {
        assert_eq!(print(Compat::V1_0, line), help(Compat::V1_0));
    }
    assert_eq!(
        print(Compat::V1_0, "--version --threads=x"),
        "sysbench 1.0.20\n"
    );
    assert_eq!(print(Compat::V1_1, "--version"), "sysbench 1.1.0\n");
    let text = help(Compat::V1_0);
    for line in [
        "  --threads=N                     number of threads to use [1]",
        "  --config-file=FILENAME          File containing command line options",
        "  --rand-pareto-h=N  parameter h for pareto distribution [0.2]",
        "  --verbosity=N verbosity level {5 - debug, 0 - only critical messages} [3]",
        "  --histogram[=on|off] print latency histogram in report [off]",
        "  --mysql-socket=[LIST,...]        MySQL socket",
        "  --mysql-password=STRING          MySQL password []",
        "  --pgsql-port=N          PostgreSQL server port [5432]",
        "  --num-threads=N                 deprecated alias for --threads [1]",
    ] {
        assert!(text.lines().any(|help_line| help_line == line), "{line}");
    }
    assert_eq!(text.lines().count(), 79);
    text.assert_lacks("--warmup-time").assert_lacks("zipfian");
    let text = help(Compat::V1_1);
    text.assert_contains("--warmup-time=N");
    text.assert_contains("[uniform]");
    text.assert_lacks("num-threads").assert_lacks("rand-spec");
    let text = print(Compat::V1_0, "select_random_ranges help");
    text.assert_starts_with(&format!("{BANNER}select_random_ranges options:\n"));
    for line in [
        "  --auto_inc[=on|off]           Use AUTO_INCREMENT column as Primary Key (for MySQL), or its alternatives in other DBMS. When disabled, use client-generated IDs [on]",
        "  --delta=N                     Size of BETWEEN ranges [5]",
        "  --mysql_storage_engine=STRING Storage engine, if MySQL is used [innodb]",
    ] {
        assert!(text.lines().any(|help_line| help_line == line), "{line}");
    }
    assert_eq!(print(Compat::V1_0, "oltp_insert help").lines().count(), 22);
    assert_eq!(print(Compat::V1_1, "oltp_insert help").lines().count(), 24);
}

#[test]
fn version_1_1_has_different_defaults() {
    let line = "--warmup-time=3 --rand-type=zipfian --mysql-ssl=REQUIRED --mysql-ssl-ca=ca.pem --reconnect=2 oltp_insert warmup";
    let command = parse_native_of(Compat::V1_1, line);
    assert_eq!(command.command, Command::Prewarm);
    assert_eq!(
        (
            command.settings.warmup_s,
            command.settings.thread_init_timeout_s
        ),
        (3, 30)
    );
    let mysql = &command.settings.database.mysql;
    assert_eq!(
        (mysql.ssl.as_str(), mysql.ssl_ca.as_deref()),
        ("required", Some("ca.pem"))
    );
    let plain = parse_native_of(Compat::V1_1, "oltp_insert run");
    assert_eq!(plain.settings.random.distribution, "uniform");
    plain
        .preamble
        .stdout
        .assert_starts_with("sysbench 1.1.0 (using");
    let error = parse(Compat::V1_1, "oltp_insert --rand-type=special run").unwrap_err();
    error.to_string().assert_contains("distribution: special.");
}

#[test]
fn run_headers_match_sysbench() {
    let header =
        |line: &str| run_header(&parse_native(&format!("{line} oltp_insert run")).settings);
    assert_eq!(
        header("--threads=2"),
        "Running the test with following options:\nNumber of threads: 2\nInitializing random number generator from current time\n\n\n"
    );
    assert_eq!(
        header(
            "--rate=3 --report-interval=1 --report-checkpoints=20,4 --debug --validate --rand-seed=3 --forced-shutdown=30"
        ),
        "Running the test with following options:
Number of threads: 1
Target transaction rate: 3/sec
Report intermediate results every 1 second(s)
Report checkpoint(s) at 4, 20 seconds
Debug mode enabled.

Validation checks: on.

Initializing random number generator from seed (3).

Forcing shutdown in 40 seconds

"
    );
    header("--forced-shutdown=30 --time=0 --events=1").assert_lacks("Forcing");
}

#[test]
fn passwords_are_never_printed() {
    let command = parse_native("--mysql-password=hunter2 --pgsql-password=hunter2 oltp_insert run");
    format!("{command:?}").assert_lacks("hunter2");
    let command = parse_script("--mysql-password=hunter2 --oltp-passwd=hunter2 ./my.lua run");
    format!("{command:?}").assert_lacks("hunter2");
    assert_eq!(command.extras[0].value.as_deref(), Some("hunter2"));
    // The value of a misspelt option is not printed either.
    let error = error_output("--mysql-passwd=hunter2 oltp_insert run");
    assert_eq!(error.2, "invalid option: --mysql-passwd=***\n");
}
