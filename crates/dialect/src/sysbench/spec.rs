//! The options: names, sorts, defaults and the words of `--help`.
//!
//! In: a [`Compat`]. Out: tables. Must never: know a value.

use super::compat::Compat;

/// The sort of an option's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// A switch.
    Bool,
    /// An integer of 32 bits.
    Int,
    /// Bytes, with a suffix.
    Size,
    /// Any number.
    Double,
    /// A text.
    Text,
    /// Texts separated by commas.
    List,
    /// The name of a file.
    File,
}

impl Sort {
    /// What `--help` shows behind a name.
    pub fn mark(self) -> &'static str {
        match self {
            Sort::Bool => "[=on|off]",
            Sort::Int | Sort::Double => "=N",
            Sort::Size => "=SIZE",
            Sort::Text => "=STRING",
            Sort::List => "=[LIST,...]",
            Sort::File => "=FILENAME",
        }
    }
}

/// An option.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// As `--help` writes it.
    pub name: &'static str,
    /// Of its value.
    pub sort: Sort,
    /// None: `--help` shows no default.
    pub default: Option<&'static str>,
    /// Its line in `--help`.
    pub help: &'static str,
    /// The only version that has it.
    pub only: Option<Compat>,
}

impl Spec {
    /// The name with `_`, as the table of values knows it: `-` and `_` are equal.
    pub fn key(&self) -> String {
        key(self.name)
    }

    /// Whether this version has it.
    pub fn is_in(&self, compat: Compat) -> bool {
        self.only.is_none_or(|only| only == compat)
    }
}

/// A name with `_`.
pub fn key(name: &str) -> String {
    name.replace('-', "_")
}

const fn spec(
    name: &'static str,
    sort: Sort,
    default: Option<&'static str>,
    help: &'static str,
) -> Spec {
    Spec {
        name,
        sort,
        default,
        help,
        only: None,
    }
}

const fn old(spec: Spec) -> Spec {
    Spec {
        only: Some(Compat::V1_0),
        ..spec
    }
}

const fn new(spec: Spec) -> Spec {
    Spec {
        only: Some(Compat::V1_1),
        ..spec
    }
}

use Sort::{Bool, Double, File, Int, List, Size, Text};

/// General options.
pub const GENERAL: &[Spec] = &[
    spec("threads", Int, Some("1"), "number of threads to use"),
    spec("events", Int, Some("0"), "limit for total number of events"),
    spec(
        "time",
        Int,
        Some("10"),
        "limit for total execution time in seconds",
    ),
    new(spec(
        "warmup-time",
        Int,
        Some("0"),
        "execute events for this many seconds with statistics disabled before the actual benchmark run with statistics enabled",
    )),
    spec(
        "forced-shutdown",
        Text,
        Some("off"),
        "number of seconds to wait after the --time limit before forcing shutdown, or 'off' to disable",
    ),
    spec(
        "thread-stack-size",
        Size,
        Some("64K"),
        "size of stack per thread",
    ),
    new(spec(
        "thread-init-timeout",
        Int,
        Some("30"),
        "wait time in seconds for worker threads to initialize",
    )),
    spec(
        "rate",
        Int,
        Some("0"),
        "average transactions rate. 0 for unlimited rate",
    ),
    spec(
        "report-interval",
        Int,
        Some("0"),
        "periodically report intermediate statistics with a specified interval in seconds. 0 disables intermediate reports",
    ),
    spec(
        "report-checkpoints",
        List,
        Some(""),
        "dump full statistics and reset all counters at specified points in time. The argument is a list of comma-separated values representing the amount of time in seconds elapsed from start of test when report checkpoint(s) must be performed. Report checkpoints are off by default.",
    ),
    spec("debug", Bool, Some("off"), "print more debugging info"),
    spec(
        "validate",
        Bool,
        Some("off"),
        "perform validation checks where possible",
    ),
    spec("help", Bool, Some("off"), "print help and exit"),
    spec("version", Bool, Some("off"), "print version and exit"),
    spec(
        "config-file",
        File,
        None,
        "File containing command line options",
    ),
    old(spec(
        "tx-rate",
        Int,
        Some("0"),
        "deprecated alias for --rate",
    )),
    old(spec(
        "max-requests",
        Int,
        Some("0"),
        "deprecated alias for --events",
    )),
    old(spec(
        "max-time",
        Int,
        Some("0"),
        "deprecated alias for --time",
    )),
    old(spec(
        "num-threads",
        Int,
        Some("1"),
        "deprecated alias for --threads",
    )),
    new(spec(
        "luajit-cmd",
        Text,
        None,
        "perform LuaJIT control command. This option is equivalent to 'luajit -j'. See LuaJIT documentation for more information",
    )),
];

/// Random numbers.
pub const RANDOM: &[Spec] = &[
    old(spec(
        "rand-type",
        Text,
        Some("special"),
        "random numbers distribution {uniform,gaussian,special,pareto}",
    )),
    old(spec(
        "rand-spec-iter",
        Int,
        Some("12"),
        "number of iterations used for numbers generation",
    )),
    old(spec(
        "rand-spec-pct",
        Int,
        Some("1"),
        "percentage of values to be treated as 'special' (for special distribution)",
    )),
    old(spec(
        "rand-spec-res",
        Int,
        Some("75"),
        "percentage of 'special' values to use (for special distribution)",
    )),
    old(spec(
        "rand-seed",
        Int,
        Some("0"),
        "seed for random number generator. When 0, the current time is used as a RNG seed.",
    )),
    old(spec(
        "rand-pareto-h",
        Double,
        Some("0.2"),
        "parameter h for pareto distribution",
    )),
    new(spec(
        "rand-type",
        Text,
        Some("uniform"),
        "random numbers distribution {uniform, gaussian, pareto, zipfian} to use by default",
    )),
    new(spec(
        "rand-seed",
        Int,
        Some("0"),
        "seed for random number generator. When 0, the current time is used as an RNG seed.",
    )),
    new(spec(
        "rand-pareto-h",
        Double,
        Some("0.2"),
        "shape parameter for the Pareto distribution",
    )),
    new(spec(
        "rand-zipfian-exp",
        Double,
        Some("0.8"),
        "shape parameter (exponent, theta) for the Zipfian distribution",
    )),
];

/// How much is said.
pub const VERBOSITY: &[Spec] = &[spec(
    "verbosity",
    Int,
    Some("3"),
    "verbosity level {5 - debug, 0 - only critical messages}",
)];

/// Latency.
pub const LATENCY: &[Spec] = &[
    spec(
        "percentile",
        Int,
        Some("95"),
        "percentile to calculate in latency statistics (1-100). Use the special value of 0 to disable percentile calculations",
    ),
    spec(
        "histogram",
        Bool,
        Some("off"),
        "print latency histogram in report",
    ),
];

/// Databases of any sort.
pub const DATABASE: &[Spec] = &[
    spec(
        "db-driver",
        Text,
        Some("mysql"),
        "specifies database driver to use ('help' to get list of available drivers)",
    ),
    spec(
        "db-ps-mode",
        Text,
        Some("auto"),
        "prepared statements usage mode {auto, disable}",
    ),
    spec(
        "db-debug",
        Bool,
        Some("off"),
        "print database-specific debug information",
    ),
];

/// MySQL and MariaDB.
pub const MYSQL: &[Spec] = &[
    spec("mysql-host", List, Some("localhost"), "MySQL server host"),
    spec("mysql-port", List, Some("3306"), "MySQL server port"),
    spec("mysql-socket", List, None, "MySQL socket"),
    spec("mysql-user", Text, Some("sbtest"), "MySQL user"),
    spec("mysql-password", Text, Some(""), "MySQL password"),
    spec("mysql-db", Text, Some("sbtest"), "MySQL database name"),
    old(spec(
        "mysql-ssl",
        Bool,
        Some("off"),
        "use SSL connections, if available in the client library",
    )),
    new(spec(
        "mysql-ssl",
        Text,
        Some("disabled"),
        "SSL mode. This accepts the same values as the --ssl-mode option in the MySQL client utilities. Disabled by default",
    )),
    new(spec(
        "mysql-ssl-key",
        Text,
        None,
        "path name of the client private key file",
    )),
    new(spec("mysql-ssl-ca", Text, None, "path name of the CA file")),
    new(spec(
        "mysql-ssl-cert",
        Text,
        None,
        "path name of the client public key certificate file",
    )),
    spec(
        "mysql-ssl-cipher",
        Text,
        Some(""),
        "use specific cipher for SSL connections",
    ),
    spec(
        "mysql-compression",
        Bool,
        Some("off"),
        "use compression, if available in the client library",
    ),
    new(spec(
        "mysql-compression-algorithms",
        Text,
        Some("zlib"),
        "compression algorithms to use",
    )),
    spec(
        "mysql-debug",
        Bool,
        Some("off"),
        "trace all client library calls",
    ),
    spec(
        "mysql-ignore-errors",
        List,
        Some("1213,1020,1205"),
        "list of errors to ignore, or \"all\"",
    ),
    spec(
        "mysql-dry-run",
        Bool,
        Some("off"),
        "Dry run, pretend that all MySQL client API calls are successful without executing them",
    ),
];

/// PostgreSQL.
pub const PGSQL: &[Spec] = &[
    spec(
        "pgsql-host",
        Text,
        Some("localhost"),
        "PostgreSQL server host",
    ),
    spec("pgsql-port", Int, Some("5432"), "PostgreSQL server port"),
    spec("pgsql-user", Text, Some("sbtest"), "PostgreSQL user"),
    spec("pgsql-password", Text, Some(""), "PostgreSQL password"),
    spec("pgsql-db", Text, Some("sbtest"), "PostgreSQL database name"),
    new(spec(
        "pgsql-sslmode",
        Text,
        Some("prefer"),
        "PostgreSQL SSL mode (disable, allow, prefer, require, verify-ca, verify-full)",
    )),
];

/// Taken, but not in `--help`.
const HIDDEN: &[Spec] = &[old(spec("test", Text, None, ""))];

/// All general options of a version.
pub fn all(compat: Compat) -> impl Iterator<Item = &'static Spec> {
    let groups = [
        GENERAL, RANDOM, VERBOSITY, LATENCY, DATABASE, MYSQL, PGSQL, HIDDEN,
    ];
    let specs = groups.into_iter().flatten();
    specs.filter(move |spec| spec.is_in(compat))
}

/// The option of a key, which has `_`.
pub fn find(compat: Compat, key: &str) -> Option<&'static Spec> {
    all(compat).find(|spec| spec.key() == key)
}
