//! The text of `--help`. It lists sysbench's built-in tests as sysbench does, although Prony runs none of
//! them (`NON_DATABASE_TESTS`).

use super::compat::Compat;
use super::spec;

pub fn help(compat: Compat) -> String {
    let group = |name: &str| {
        let specs: Vec<_> = spec::general_options(compat)
            .filter(|spec| spec.group == name)
            .collect();
        spec::help_lines(&specs)
    };
    [
        "Usage:\n  sysbench [options]... [testname] [command]\n\n",
        "Commands implemented by most tests: prepare run cleanup help\n\n",
        "General options:\n",
        &group("general"),
        "\nPseudo-Random Numbers Generator options:\n",
        &group("random numbers"),
        "\nLog options:\n",
        &group("log"),
        "\n",
        &group("latency"),
        "\nGeneral database options:\n\n",
        &group("database"),
        "\n\nCompiled-in database drivers:\n  mysql - MySQL driver\n  pgsql - PostgreSQL driver\n\n",
        "mysql options:\n",
        &group("mysql"),
        "\npgsql options:\n",
        &group("pgsql"),
        "\nCompiled-in tests:\n",
        "  fileio - File I/O test\n  cpu - CPU performance test\n",
        "  memory - Memory functions speed test\n  threads - Threads subsystem performance test\n",
        "  mutex - Mutex performance test\n\n",
        "See 'sysbench <testname> help' for a list of options for each test.\n\n",
    ]
    .concat()
}
