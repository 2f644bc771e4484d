//! The text of `--help`.
//!
//! In: a [`Compat`]. Out: text. Must never: name a test that Prony does not run as if it did.

use super::compat::Compat;
use super::spec::{DATABASE, GENERAL, LATENCY, MYSQL, PGSQL, RANDOM, Spec, VERBOSITY};

/// sysbench's help, to the letter.
pub fn help(compat: Compat) -> String {
    let group = |specs: &[Spec]| group(specs, compat);
    // Up to 1.0 a group of drivers' options ends with two empty lines.
    let gap = if compat == Compat::V1_0 { "\n" } else { "" };
    [
        "Usage:\n  sysbench [options]... [testname] [command]\n\n",
        "Commands implemented by most tests: prepare run cleanup help\n\n",
        "General options:\n",
        &group(GENERAL),
        "\nPseudo-Random Numbers Generator options:\n",
        &group(RANDOM),
        "\nLog options:\n",
        &group(VERBOSITY),
        "\n",
        &group(LATENCY),
        "\nGeneral database options:\n\n",
        &group(DATABASE),
        "\n\nCompiled-in database drivers:\n  mysql - MySQL driver\n  pgsql - PostgreSQL driver\n\n",
        "mysql options:\n",
        &group(MYSQL),
        "\npgsql options:\n",
        &group(PGSQL),
        "\nCompiled-in tests:\n",
        "  fileio - File I/O test\n  cpu - CPU performance test\n",
        "  memory - Memory functions speed test\n  threads - Threads subsystem performance test\n",
        "  mutex - Mutex performance test\n\n",
        "See 'sysbench <testname> help' for a list of options for each test.\n",
        gap,
    ]
    .concat()
}

fn group(specs: &[Spec], compat: Compat) -> String {
    let specs = || specs.iter().filter(|spec| spec.is_in(compat));
    let left = |spec: &Spec| format!("--{}{}", spec.name, spec.sort.mark());
    let width = specs().map(|spec| left(spec).len()).max().unwrap_or(0);
    let line = |spec: &Spec| {
        let default = spec.default.map(|default| format!(" [{default}]"));
        let default = default.unwrap_or_default();
        format!("  {:width$} {}{default}\n", left(spec), spec.help)
    };
    specs().map(line).collect()
}
