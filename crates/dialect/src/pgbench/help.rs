//! `--help`.
//!
//! In: the level and the program's name. Out: the text. Must never: list an option that the level does
//! not have. The headings and the options are pgbench's; the descriptions are Prony's.

use super::level::Level;

/// An option, its description, and the majors that have it (0 and 99 are open ends).
type Line = (&'static str, &'static str, u16, u16);

const INITIALIZATION: &[Line] = &[
    (
        "-i, --initialize",
        "create and fill the tables instead of running a benchmark",
        0,
        99,
    ),
    (
        "-I, --init-steps=[dtgGvpf]+",
        "what -i does, in this order (default \"dtgvp\"): drop, create tables, generate rows in the client or (G) in the server, vacuum, primary keys, foreign keys",
        0,
        99,
    ),
    (
        "-F, --fillfactor=NUM",
        "fill factor of the tables, 10 to 100",
        0,
        99,
    ),
    ("-n, --no-vacuum", "leave the vacuum step out", 0, 99),
    ("-q, --quiet", "a progress line only every 5 seconds", 0, 99),
    ("-s, --scale=NUM", "size: 100,000 accounts each", 0, 99),
    (
        "--foreign-keys",
        "add foreign keys between the tables",
        0,
        99,
    ),
    ("--index-tablespace=TABLESPACE", "where indexes go", 0, 99),
    (
        "--partition-method=(range|hash)",
        "how pgbench_accounts is partitioned (default: range)",
        0,
        99,
    ),
    (
        "--partitions=NUM",
        "into how many parts (default: 0, not at all)",
        0,
        99,
    ),
    ("--tablespace=TABLESPACE", "where tables go", 0, 99),
    ("--unlogged-tables", "make the tables unlogged", 0, 99),
];

const SELECTION: &[Line] = &[
    (
        "-b, --builtin=NAME[@W]",
        "add the builtin script NAME with weight W (default: 1); \"-b list\" names them",
        0,
        99,
    ),
    (
        "-f, --file=FILENAME[@W]",
        "add the script in FILENAME with weight W (default: 1)",
        0,
        99,
    ),
    (
        "-N, --skip-some-updates",
        "as \"-b simple-update\": tellers and branches stay as they are",
        0,
        99,
    ),
    ("-S, --select-only", "as \"-b select-only\"", 0, 99),
];

const BENCHMARKING: &[Line] = &[
    (
        "-c, --client=NUM",
        "simultaneous clients (default: 1)",
        0,
        99,
    ),
    (
        "-C, --connect",
        "a new connection for each transaction",
        0,
        99,
    ),
    (
        "-D, --define=VARNAME=VALUE",
        "set a variable of the scripts",
        0,
        99,
    ),
    ("-j, --jobs=NUM", "client threads (default: 1)", 0, 99),
    ("-l, --log", "log every transaction to a file", 0, 99),
    (
        "-L, --latency-limit=NUM",
        "count transactions slower than NUM ms",
        0,
        99,
    ),
    (
        "-M, --protocol=simple|extended|prepared",
        "how statements are sent (default: simple)",
        0,
        99,
    ),
    ("-n, --no-vacuum", "no vacuum before the run", 0, 99),
    (
        "-P, --progress=NUM",
        "a line on progress every NUM seconds",
        0,
        99,
    ),
    (
        "-r, --report-latencies",
        "average latency of each command",
        0,
        14,
    ),
    (
        "-r, --report-per-command",
        "latency, failures and retries of each command",
        15,
        99,
    ),
    ("-R, --rate=NUM", "start NUM transactions per second", 0, 99),
    ("-s, --scale=NUM", "scale to report", 0, 99),
    (
        "-t, --transactions=NUM",
        "transactions of each client (default: 10)",
        0,
        99,
    ),
    ("-T, --time=NUM", "length of the run in seconds", 0, 99),
    (
        "-v, --vacuum-all",
        "vacuum all four tables before the run",
        0,
        99,
    ),
    (
        "--aggregate-interval=NUM",
        "log sums over NUM seconds",
        0,
        99,
    ),
    (
        "--continue-on-error",
        "go on with the client after any SQL error",
        19,
        99,
    ),
    (
        "--exit-on-abort",
        "end the run as soon as a client is aborted",
        17,
        99,
    ),
    ("--failures-detailed", "count failures by kind", 15, 99),
    (
        "--log-prefix=PREFIX",
        "beginning of the log files' names (default: \"pgbench_log\")",
        0,
        99,
    ),
    (
        "--max-tries=NUM",
        "how often a transaction is tried, 0 for no limit (default: 1)",
        15,
        99,
    ),
    (
        "--percentiles=LIST",
        "Prony's own: report these latencies too, such as 50,95,99.9",
        0,
        99,
    ),
    (
        "--progress-timestamp",
        "Unix time in the lines on progress",
        0,
        99,
    ),
    (
        "--random-seed=SEED",
        "\"time\", \"rand\" or a number",
        0,
        99,
    ),
    (
        "--sampling-rate=NUM",
        "share of transactions to log, such as 0.01",
        0,
        99,
    ),
    ("--show-script=NAME", "print a builtin script", 0, 99),
    ("--verbose-errors", "print every error", 15, 99),
];

const COMMON: &[Line] = &[
    ("-d, --debug", "print what clients do", 0, 16),
    ("--debug", "print what clients do", 17, 99),
    (
        "-d, --dbname=DBNAME",
        "database, connection string or URI",
        17,
        99,
    ),
    (
        "-h, --host=HOSTNAME",
        "server or folder of its socket",
        0,
        99,
    ),
    ("-p, --port=PORT", "port of the server", 0, 99),
    ("-U, --username=USERNAME", "name to connect as", 0, 99),
    ("-V, --version", "print the version", 0, 99),
    ("-?, --help", "print this", 0, 99),
];

/// The whole text.
pub(crate) fn help(progname: &str, level: &Level) -> String {
    let mut text = format!(
        "{progname} is a benchmarking tool for PostgreSQL. \
         This one is Prony, in the manner of {level}.\n\n\
         Usage:\n  {progname} [OPTION]... [DBNAME]\n"
    );
    for (heading, lines) in [
        ("Initialization options:", INITIALIZATION),
        ("Options to select what to run:", SELECTION),
        ("Benchmarking options:", BENCHMARKING),
        ("Common options:", COMMON),
    ] {
        text += &format!("\n{heading}\n");
        for (option, description, first, last) in lines {
            if (*first..=*last).contains(&level.major()) {
                put(&mut text, option, description);
            }
        }
    }
    text + "\nReport bugs to <https://github.com/prony-bench/prony/issues>.\n\
            PRONY_PGBENCH_COMPAT=13 to 19 chooses another pgbench to be like.\n"
}

/// One option; the description begins at column 28 and is wrapped at column 100.
fn put(text: &mut String, option: &str, description: &str) {
    const INDENT: usize = 27;
    let mut line = format!("  {option}");
    if line.len() >= INDENT {
        *text += &line;
        *text += "\n";
        line.clear();
    }
    line += &" ".repeat(INDENT.saturating_sub(line.len()));
    let mut fresh = true;
    for word in description.split(' ') {
        if !fresh && line.len() + 1 + word.len() > 100 {
            *text += &line;
            *text += "\n";
            line = " ".repeat(INDENT);
            fresh = true;
        }
        if !fresh {
            line += " ";
        }
        line += word;
        fresh = false;
    }
    *text += &line;
    *text += "\n";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_level_lists_its_own_options() {
        let text = |major| help("pgbench", &Level::of_major(major).unwrap());
        for heading in [
            "Usage:",
            "Initialization options:",
            "--scale",
            "Common options:",
            "Report bugs to",
        ] {
            assert!(text(15).contains(heading), "{heading}");
        }
        assert!(text(14).contains("--report-latencies") && !text(14).contains("--max-tries"));
        assert!(text(16).contains("-d, --debug") && text(17).contains("-d, --dbname"));
        assert!(
            text(19).contains("--continue-on-error") && !text(18).contains("--continue-on-error")
        );
        assert!(text(18).lines().all(|line| line.len() <= 100));
    }
}
