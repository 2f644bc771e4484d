//! No command line makes the parser panic: each one is accepted or rejected with an error.

use crate::support::FolderHost;
use prony_dialect::sysbench::{BUNDLED_TESTS, Command, Compat, Invocation, parse_args, run_header};
use proptest::prelude::*;
use std::ffi::OsString;

/// An argument of a command line.
fn argument() -> impl Strategy<Value = String> {
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
    let bundled: Vec<&str> = BUNDLED_TESTS.iter().map(|test| test.name).collect();
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
    fn no_command_line_panics(arguments in prop::collection::vec(argument(), 0..7), is_v1_1: bool) {
        let compat = if is_v1_1 { Compat::V1_1 } else { Compat::V1_0 };
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        match parse_args(&arguments, compat, &FolderHost) {
            Ok(Invocation::Native(native)) => {
                prop_assert!(native.command != Command::Help);
                prop_assert!(native.settings.threads >= 1);
                run_header(&native.settings);
                let _ = prony_dialect::sysbench::drive_plan(
                    &native.settings,
                    2,
                    prony_dialect::sysbench::ProgramCost::Low,
                );
                prony_dialect::sysbench::workload_plan(&native);
            }
            Ok(_) => {}
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}
