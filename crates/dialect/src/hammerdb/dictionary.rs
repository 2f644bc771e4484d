//! The dictionaries: every key with the value that HammerDB 4.6 ships.
//!
//! In: a database's name. Out: its sections, keys and defaults, in HammerDB's order. Must never: hold
//! what a user set: that is [`super::Settings`].

/// A section: its name, and its keys with their defaults.
pub(super) type Section = (&'static str, &'static [(&'static str, &'static str)]);

/// The databases of HammerDB: name and prefix, in its order.
pub(super) const DATABASES: [(&str, &str); 6] = [
    ("Oracle", "ora"),
    ("MSSQLServer", "mssqls"),
    ("Db2", "db2"),
    ("MySQL", "mysql"),
    ("PostgreSQL", "pg"),
    ("MariaDB", "maria"),
];

/// The prefix under which the settings that belong to no database are kept.
pub(super) const GENERIC: &str = "generic";

/// The sections of a database; none if its dictionary is not here. The place for SQL Server's,
/// Oracle's and Db2's.
pub(super) fn sections(prefix: &str) -> Option<&'static [Section]> {
    match prefix {
        "pg" => Some(PG),
        "mysql" => Some(MYSQL),
        "maria" => Some(MARIA),
        GENERIC => Some(GENERAL),
        _ => None,
    }
}

/// A database's name.
pub(super) fn name(prefix: &str) -> &'static str {
    let found = DATABASES.iter().find(|(_, known)| *known == prefix);
    found.map_or("generic", |(name, _)| name)
}

/// Whether a key's value must not be shown or stored.
pub(super) fn is_secret(key: &str) -> bool {
    key.contains("pass")
}

const PG: &[Section] = &[
    (
        "connection",
        &[
            ("pg_host", "localhost"),
            ("pg_port", "5432"),
            ("pg_sslmode", "prefer"),
        ],
    ),
    (
        "tpcc",
        &[
            ("pg_count_ware", "1"),
            ("pg_num_vu", "1"),
            ("pg_superuser", "postgres"),
            ("pg_superuserpass", "postgres"),
            ("pg_defaultdbase", "postgres"),
            ("pg_user", "tpcc"),
            ("pg_pass", "tpcc"),
            ("pg_dbase", "tpcc"),
            ("pg_tspace", "pg_default"),
            ("pg_vacuum", "false"),
            ("pg_dritasnap", "false"),
            ("pg_oracompat", "false"),
            ("pg_cituscompat", "false"),
            ("pg_storedprocs", "false"),
            ("pg_partition", "false"),
            ("pg_total_iterations", "10000000"),
            ("pg_raiseerror", "false"),
            ("pg_keyandthink", "false"),
            ("pg_driver", "timed"),
            ("pg_rampup", "2"),
            ("pg_duration", "5"),
            ("pg_allwarehouse", "false"),
            ("pg_timeprofile", "false"),
            ("pg_async_scale", "false"),
            ("pg_async_client", "10"),
            ("pg_async_verbose", "false"),
            ("pg_async_delay", "1000"),
            ("pg_connect_pool", "false"),
        ],
    ),
];

/// MySQL and MariaDB differ in the prefix, the socket and the password alone.
macro_rules! mysql_like {
    ($prefix:literal, $socket:literal, $pass:literal) => {
        &[
            (
                "connection",
                &[
                    (concat!($prefix, "_host"), "127.0.0.1"),
                    (concat!($prefix, "_port"), "3306"),
                    (concat!($prefix, "_socket"), $socket),
                    (concat!($prefix, "_ssl"), "false"),
                    (concat!($prefix, "_ssl_two_way"), "false"),
                    (concat!($prefix, "_ssl_linux_capath"), "/etc/mysql/certs"),
                    (concat!($prefix, "_ssl_windows_capath"), "C:\\mysql\\certs"),
                    (concat!($prefix, "_ssl_ca"), "ca-cert.pem"),
                    (concat!($prefix, "_ssl_cert"), "client-cert.pem"),
                    (concat!($prefix, "_ssl_key"), "client-key.pem"),
                    (concat!($prefix, "_ssl_cipher"), "server"),
                ],
            ),
            (
                "tpcc",
                &[
                    (concat!($prefix, "_count_ware"), "1"),
                    (concat!($prefix, "_num_vu"), "1"),
                    (concat!($prefix, "_user"), "root"),
                    (concat!($prefix, "_pass"), $pass),
                    (concat!($prefix, "_dbase"), "tpcc"),
                    (concat!($prefix, "_storage_engine"), "innodb"),
                    (concat!($prefix, "_partition"), "false"),
                    (concat!($prefix, "_prepared"), "false"),
                    (concat!($prefix, "_total_iterations"), "10000000"),
                    (concat!($prefix, "_raiseerror"), "false"),
                    (concat!($prefix, "_keyandthink"), "false"),
                    (concat!($prefix, "_driver"), "timed"),
                    (concat!($prefix, "_rampup"), "2"),
                    (concat!($prefix, "_duration"), "5"),
                    (concat!($prefix, "_allwarehouse"), "false"),
                    (concat!($prefix, "_timeprofile"), "false"),
                    (concat!($prefix, "_async_scale"), "false"),
                    (concat!($prefix, "_async_client"), "10"),
                    (concat!($prefix, "_async_verbose"), "false"),
                    (concat!($prefix, "_async_delay"), "1000"),
                    (concat!($prefix, "_connect_pool"), "false"),
                ],
            ),
        ]
    };
}

const MYSQL: &[Section] = mysql_like!("mysql", "/tmp/mysql.sock", "mysql");
const MARIA: &[Section] = mysql_like!("maria", "/tmp/mariadb.sock", "maria");

const GENERAL: &[Section] = &[
    (
        "benchmark",
        &[
            ("rdbms", "PostgreSQL"),
            ("bm", "TPC-C"),
            ("first_result", "NOPM"),
        ],
    ),
    (
        "commandline",
        &[("keepalive_margin", "10"), ("jobs_disable", "0")],
    ),
    (
        "timeprofile",
        &[("profiler", "xtprof"), ("xt_unique_log_name", "0")],
    ),
    (
        "virtual_user_options",
        &[
            ("virtual_users", "1"),
            ("user_delay", "500"),
            ("repeat_delay", "500"),
            ("iterations", "1"),
            ("show_output", "1"),
            ("log_to_temp", "0"),
            ("unique_log_name", "0"),
            ("no_log_buffer", "0"),
            ("log_timestamps", "0"),
        ],
    ),
    (
        "transaction_counter",
        &[
            ("tc_refresh_rate", "10"),
            ("tc_log_to_temp", "0"),
            ("tc_unique_log_name", "0"),
            ("tc_log_timestamps", "0"),
        ],
    ),
];
