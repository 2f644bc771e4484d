//! Command lines of sysbench: what they mean, and how sysbench 1.0.20 refuses them.
//!
//! What a refusal prints, where, and which mistake of several is met first was taken from the real
//! program.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use prony_dialect::sysbench::{
    BUNDLED, Command, Compat, Host, Ignored, Invocation, Native, OTHERS, Refused, Script,
    ScriptSource, help, read, run_header,
};
use proptest::prelude::*;

/// A folder with a script and some files of options.
struct Folder;

impl Host for Folder {
    fn find_script(&self, name: &str) -> Option<PathBuf> {
        let there = [
            "./my.lua",
            "/usr/share/sysbench/oltp_insert.lua",
            "./oltp_delete.lua",
        ];
        there.contains(&name).then(|| PathBuf::from(name))
    }

    fn read_file(&self, path: &Path) -> Result<String, String> {
        Ok(match path.to_str() {
            Some("three") => "threads=3\nrand-seed=7\n",
            Some("bad") => "threads=abc\n",
            Some("odd") => "nosuch=3\nskip_trx=on\nmysql-host='a b',c # two\nvalidate=off\n",
            Some("open") => "threads=3\nmysql-user='x\ntime=4\n",
            Some("self") => "config-file=self\nthreads=2\n",
            _ => return Err("No such file or directory".to_owned()),
        }
        .to_owned())
    }
}

fn of(compat: Compat, line: &str) -> Result<Invocation, Refused> {
    let arguments: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
    read(&arguments, compat, &Folder)
}

fn native(line: &str) -> Native {
    match of(Compat::V1_0, line) {
        Ok(Invocation::Native(native)) => *native,
        other => panic!("{line}: {other:?}"),
    }
}

fn script(line: &str) -> Script {
    match of(Compat::V1_0, line) {
        Ok(Invocation::Script(script)) => *script,
        other => panic!("{line}: {other:?}"),
    }
}

const BANNER: &str = "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\n";

/// What is printed to the log behind the banner, if it got so far, to standard error, and the status.
fn refusal(line: &str) -> (bool, String, String) {
    let refused = of(Compat::V1_0, line).expect_err(line);
    assert_eq!(refused.exit_status, 1, "{line}");
    let out = &refused.printed.stdout;
    let (bannered, log) = match out.split_once(BANNER) {
        Some((before, log)) => (true, before.to_owned() + log),
        None => (false, out.clone()),
    };
    (bannered, log, refused.printed.stderr)
}

#[test]
fn mistakes_before_the_banner() {
    let log = |text: &str| (false, format!("{text}\n"), String::new());
    let error = |text: &str| (false, String::new(), format!("{text}\n"));
    let bad_int =
        |name: &str, text: &str| error(&format!("Invalid value for the '{name}' option: '{text}'"));
    for (options, want) in [
        (
            "--threads=0",
            log("FATAL: Invalid value for --threads: 0.\n"),
        ),
        ("--threads", log("FATAL: Invalid value for --threads: 0.\n")),
        (
            "--threads=-2",
            log("FATAL: Invalid value for --threads: -2.\n"),
        ),
        ("--threads=abc", bad_int("threads", "abc")),
        ("--threads=4k", bad_int("threads", "4k")),
        ("--time=99999999999", bad_int("time", "99999999999")),
        ("--events=1M", bad_int("events", "1M")),
        ("--rate=1.9", bad_int("rate", "1.9")),
        ("--rate=-5", log("FATAL: Invalid value for --rate: -5.")),
        ("--percentile=99.9", bad_int("percentile", "99.9")),
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
        ("--rand-spec-pct=x", bad_int("rand_spec_pct", "x")),
        ("--config-file=bad", bad_int("threads", "abc")),
        // Of several the one that sysbench meets first.
        (
            "--verbosity=9 --percentile=200 --rand-type=x",
            log("FATAL: Invalid random numbers distribution: x."),
        ),
        ("--rand-type=x --rand-seed=x", bad_int("rand_seed", "x")),
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
            refusal(&format!("oltp_read_only run {options}")),
            want,
            "{options}"
        );
    }
}

#[test]
fn mistakes_behind_the_banner() {
    let log = |text: &str| (true, format!("{text}\n"), String::new());
    let error = |text: &str| (true, String::new(), format!("{text}\n"));
    let needed =
        "FATAL: Command is required. Supported commands: prepare, prewarm, run, cleanup, help";
    let nowhere = |name: &str| {
        log(&format!(
            "FATAL: Cannot find benchmark '{name}': no such built-in test, file or module"
        ))
    };
    for (line, want) in [
        ("nosuch run", nowhere("nosuch")),
        ("./nosuch.lua --foo=1 run", nowhere("./nosuch.lua")),
        ("help", nowhere("help")),
        ("-h", nowhere("-h")),
        ("--validate 4 oltp_insert", nowhere("4")),
        ("oltp_read_write", log(needed)),
        ("oltp_read_write --foo=1", log(needed)),
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
        assert_eq!(refusal(line), want, "{line}");
    }
}

#[test]
fn tests_of_other_things_are_answered_in_a_sentence() {
    for name in OTHERS {
        for line in [
            format!("{name} run"),
            format!("{name} --cpu-max-prime=3 help"),
            format!("--test={name} run"),
        ] {
            let (_, _, error) = refusal(&line);
            let want = format!(
                "'{name}' does not measure a database, and Prony measures databases only.\n"
            );
            assert!(error.ends_with(&want), "{line}: {error}");
        }
    }
}

#[test]
fn deprecated_names_still_count_and_warn() {
    let line = "--test=oltp_read_only --tx-rate=3 --max-time=2 --num-threads=2 --threads=8 --max-requests=4 run";
    let asked = native(line);
    let old = ["num-threads", "max-requests", "max-time", "tx-rate"];
    let new = ["threads", "events", "time", "rate"];
    let warnings = old
        .iter()
        .zip(new)
        .map(|(old, new)| format!("WARNING: --{old} is deprecated, use --{new} instead\n"));
    assert_eq!(asked.before.stdout, warnings.collect::<String>() + BANNER);
    assert_eq!(
        asked.before.stderr,
        "WARNING: the --test option is deprecated. You can pass a script name or path on the command line without any options.\n"
    );
    let settings = &asked.settings;
    assert_eq!((settings.threads, settings.events), (2, Some(4)));
    assert_eq!((settings.time_s, settings.rate_tps), (Some(2), Some(3)));
    let silent =
        native("--num-threads=0 --max-time=0 --max-requests=0 --threads=3 oltp_insert run");
    assert_eq!(silent.before.stdout, BANNER);
    assert_eq!(
        (silent.settings.threads, silent.settings.time_s),
        (3, Some(10))
    );
    for name in old {
        let refused = of(Compat::V1_1, &format!("oltp_insert --{name}=4 run")).unwrap_err();
        assert_eq!(
            refused.printed.stderr,
            format!("invalid option: --{name}=4\n")
        );
    }
}

#[test]
fn defaults_and_values() {
    let asked = native("oltp_read_write run");
    let settings = &asked.settings;
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
        (settings.random.kind.as_str(), settings.random.seed),
        ("special", None)
    );
    assert_eq!(
        settings.database.mysql.ignored,
        Ignored::Codes(vec![1213, 1020, 1205])
    );
    assert_eq!(settings.database.mysql.hosts, ["localhost"]);
    let asked = native(
        "--table_size=25000 --skip-trx=1 --debug --forced-shutdown=10% --report-checkpoints=3,1,2 --mysql-ignore-errors=all --rand-seed=-5 --tables=3x oltp_read_only --thread-stack-size=1M run --table-size=7",
    );
    let settings = &asked.settings;
    assert_eq!(settings.forced_shutdown_s, Some(1));
    assert_eq!(settings.checkpoints_s, [1, 2, 3]);
    assert_eq!((settings.debug, settings.verbosity), (true, 5));
    assert_eq!(
        (settings.random.seed, settings.thread_stack_bytes),
        (Some(-5), 1 << 20)
    );
    assert_eq!(settings.database.mysql.ignored, Ignored::All);
    let option = |name| asked.options.get(name).cloned();
    assert_eq!(option("table_size"), Some(7.into()));
    assert_eq!(option("tables"), Some(3.into()));
    assert_eq!(option("skip_trx"), Some(true.into()));
    assert_eq!(option("pgsql_variant"), None);
    let quiet = native("--verbosity=2 --num-threads=2 oltp_insert cleanup");
    assert_eq!(
        quiet.before.stdout,
        "WARNING: --num-threads is deprecated, use --threads instead\n"
    );
    let endless = native("--events=0 --time=0 oltp_insert run");
    let warning = "WARNING: Both event and time limits are disabled, running an endless test\n";
    assert_eq!(endless.before.stdout, warning.to_owned() + BANNER);
    for (text, want) in [
        ("", Some(0)),
        ("=", Some(0)),
        ("=7", Some(7)),
        ("=off", None),
        ("=0", Some(0)),
    ] {
        let asked = native(&format!("--forced-shutdown{text} --time=7 oltp_insert run"));
        assert_eq!(asked.settings.forced_shutdown_s, want, "{text}");
    }
}

#[test]
fn files_of_options() {
    let threads = |line: &str| native(&format!("{line} oltp_insert run")).settings.threads;
    assert_eq!(threads("--threads=5 --config-file=three"), 3);
    assert_eq!(threads("--config-file=three --threads=5"), 5);
    assert_eq!(threads("--config-file= --config-file"), 1);
    assert_eq!(threads("--config-file=self"), 2);
    let odd = native("--config-file=odd oltp_read_only run");
    let warning =
        "WARNING: Global option 'nosuch' will not be exported, because the type is unknown\n";
    assert_eq!(odd.before.stdout, BANNER.to_owned() + warning);
    assert_eq!(odd.options.get("skip_trx"), Some(&true.into()));
    assert_eq!(odd.settings.database.mysql.hosts, ["a b", "c"]);
    assert!(!odd.settings.validate);
}

#[test]
fn names_of_tests() {
    for name in [
        "oltp_read_write",
        "oltp_read_write.lua",
        "/usr/share/sysbench/oltp_read_write.lua",
    ] {
        let asked = native(&format!("{name} prepare"));
        assert_eq!(
            (asked.test.name, asked.command),
            ("oltp_read_write", Command::Prepare)
        );
    }
    assert_eq!(
        native("/usr/share/sysbench/oltp_insert.lua run").name,
        "oltp_insert.lua"
    );
    assert_eq!(native("oltp_insert prewarm").command, Command::Prewarm);
    // A script of the user's own comes before what is built in.
    assert_eq!(
        script("./oltp_delete.lua run").source,
        ScriptSource::File("./oltp_delete.lua".into())
    );
    let own = script("./my.lua --foo-bar=1 --flag go --threads=3");
    assert_eq!(
        (own.command.as_deref(), own.settings.threads),
        (Some("go"), 3)
    );
    let extras: Vec<_> = own
        .extras
        .iter()
        .map(|given| (given.name.as_str(), given.value.as_deref()))
        .collect();
    assert_eq!(extras, [("foo_bar", Some("1")), ("flag", None)]);
    assert_eq!(
        (
            own.values["threads"].as_str(),
            own.values["rand_type"].as_str()
        ),
        ("3", "special")
    );
    for line in ["", "-", "- run", "--nosuch"] {
        assert_eq!(script(line).source, ScriptSource::Stdin);
    }
    // `bulk_insert` declares no options: any will do.
    assert_eq!(native("bulk_insert --foo=1 run").test.name, "bulk_insert");
}

#[test]
fn help_and_version() {
    let print = |compat, line: &str| match of(compat, line) {
        Ok(Invocation::Print(printed)) => printed.stdout,
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
        assert!(text.lines().any(|found| found == line), "{line}");
    }
    assert_eq!(text.lines().count(), 79);
    assert!(!text.contains("--warmup-time") && !text.contains("zipfian"));
    let text = help(Compat::V1_1);
    assert!(text.contains("--warmup-time=N") && text.contains("[uniform]"));
    assert!(!text.contains("num-threads") && !text.contains("rand-spec"));
    let text = print(Compat::V1_0, "select_random_ranges help");
    assert!(text.starts_with(&format!("{BANNER}select_random_ranges options:\n")));
    for line in [
        "  --auto_inc[=on|off]           Use AUTO_INCREMENT column as Primary Key (for MySQL), or its alternatives in other DBMS. When disabled, use client-generated IDs [on]",
        "  --delta=N                     Size of BETWEEN ranges [5]",
        "  --mysql_storage_engine=STRING Storage engine, if MySQL is used [innodb]",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}");
    }
    assert_eq!(print(Compat::V1_0, "oltp_insert help").lines().count(), 22);
    assert_eq!(print(Compat::V1_1, "oltp_insert help").lines().count(), 24);
}

#[test]
fn the_newer_version_has_its_own_defaults() {
    let line = "--warmup-time=3 --rand-type=zipfian --mysql-ssl=REQUIRED --mysql-ssl-ca=ca.pem --reconnect=2 oltp_insert warmup";
    let Ok(Invocation::Native(asked)) = of(Compat::V1_1, line) else {
        panic!("{line}");
    };
    assert_eq!(asked.command, Command::Prewarm);
    assert_eq!(
        (
            asked.settings.warmup_s,
            asked.settings.thread_init_timeout_s
        ),
        (3, 30)
    );
    let mysql = &asked.settings.database.mysql;
    assert_eq!(
        (mysql.ssl.as_str(), mysql.ssl_ca.as_deref()),
        ("required", Some("ca.pem"))
    );
    let Ok(Invocation::Native(plain)) = of(Compat::V1_1, "oltp_insert run") else {
        panic!("a plain run");
    };
    assert_eq!(plain.settings.random.kind, "uniform");
    assert!(plain.before.stdout.starts_with("sysbench 1.1.0 (using"));
    let refused = of(Compat::V1_1, "oltp_insert --rand-type=special run").unwrap_err();
    assert!(refused.to_string().contains("distribution: special."));
}

#[test]
fn headers() {
    let header = |line: &str| run_header(&native(&format!("{line} oltp_insert run")).settings);
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
    assert!(!header("--forced-shutdown=30 --time=0 --events=1").contains("Forcing"));
}

#[test]
fn passwords_are_shown_nowhere() {
    let asked = native("--mysql-password=hunter2 --pgsql-password=hunter2 oltp_insert run");
    assert!(!format!("{asked:?}").contains("hunter2"));
    let asked = script("--mysql-password=hunter2 --oltp-passwd=hunter2 ./my.lua run");
    assert!(!format!("{asked:?}").contains("hunter2"));
    assert_eq!(asked.extras[0].value.as_deref(), Some("hunter2"));
    // Nor that of an option that was meant to be another.
    let refused = refusal("--mysql-passwd=hunter2 oltp_insert run");
    assert_eq!(refused.2, "invalid option: --mysql-passwd=***\n");
}

/// Words that command lines are made of.
fn word() -> impl Strategy<Value = String> {
    let names = [
        "threads",
        "time",
        "events",
        "rate",
        "forced-shutdown",
        "report-checkpoints",
        "percentile",
        "rand-type",
        "rand-seed",
        "verbosity",
        "histogram",
        "help",
        "version",
        "config-file",
        "test",
        "mysql-port",
        "mysql-ignore-errors",
        "pgsql-port",
        "thread-stack-size",
        "table_size",
        "skip-trx",
        "max-time",
        "rand-pareto-h",
        "warmup-time",
        "db-driver",
    ];
    let values = [
        "",
        "=",
        "=0",
        "=1",
        "=-1",
        "=2147483648",
        "=abc",
        "=5%",
        "=off",
        "=on",
        "=all",
        "=1,2,x",
        "=pareto",
        "=9999999999999999999999%",
        "=1e308",
        "=nan",
        "=99T",
        "=odd",
        "=pgsql",
        "=é",
    ];
    let bundled: Vec<&str> = BUNDLED.iter().map(|test| test.name).collect();
    prop_oneof![
        6 => (prop::sample::select(names.to_vec()), prop::sample::select(values.to_vec()))
            .prop_map(|(name, value)| format!("--{name}{value}")),
        2 => prop::sample::select(bundled).prop_map(str::to_owned),
        1 => prop::sample::select(vec!["run", "prepare", "cleanup", "help", "./my.lua", "cpu", "-", "--"])
            .prop_map(str::to_owned),
        1 => "\\PC{0,12}",
        1 => "--\\PC{0,12}",
    ]
}

proptest! {
    #[test]
    fn no_command_line_panics(words in prop::collection::vec(word(), 0..7), new: bool) {
        let compat = if new { Compat::V1_1 } else { Compat::V1_0 };
        let arguments: Vec<OsString> = words.iter().map(OsString::from).collect();
        match read(&arguments, compat, &Folder) {
            Ok(Invocation::Native(native)) => {
                prop_assert!(native.command != Command::Help);
                prop_assert!(native.settings.threads >= 1);
                run_header(&native.settings);
                let _ = prony_dialect::sysbench::drive_plan(&native.settings, 2);
                prony_dialect::sysbench::workload_plan(&native);
            }
            Ok(_) => {}
            Err(refused) => {
                prop_assert_eq!(refused.exit_status, 1);
                prop_assert!(!refused.to_string().is_empty());
            }
        }
    }
}
