//! Advice about errors that end a run, in terms of sysbench's options; sysbench itself prints none.
//!
//! In: an error's number or state, as a driver reports it. Out: a line for standard error. Must never: guess
//! a cause that the error does not report.

use super::bundled::Command;
use prony_workload::sysbench::Driver;

/// Advice about an error of a server or a connection, if it is known. `state` identifies errors of
/// PostgreSQL; `number` identifies those of MySQL and MariaDB, including errors of the client library.
pub fn advice(driver: Driver, number: u32, state: &str) -> Option<&'static str> {
    match driver {
        Driver::Mysql => advice_for_number(number),
        Driver::Pgsql => advice_for_state(state),
    }
}

/// Advice about an error of a command that uses the tables of a bundled test.
pub fn advice_of_test(
    driver: Driver,
    command: Command,
    number: u32,
    state: &str,
) -> Option<&'static str> {
    let (is_missing, exists) = match driver {
        Driver::Mysql => (matches!(number, 1146 | 1054), number == 1050),
        Driver::Pgsql => (matches!(state, "42P01" | "42703"), state == "42P07"),
    };
    match command {
        Command::Run | Command::Prewarm if is_missing => Some(match driver {
            Driver::Mysql => {
                "prepare the tables first, with the same test, --tables and --mysql-db; if tables of another test \
                 exist, run cleanup, then prepare"
            }
            Driver::Pgsql => {
                "prepare the tables first, with the same test, --tables and --pgsql-db; if tables of another test \
                 exist, run cleanup, then prepare"
            }
        }),
        Command::Prepare if exists => {
            Some("tables of an earlier run exist: drop them with the cleanup command")
        }
        _ => advice(driver, number, state),
    }
}

fn advice_for_number(number: u32) -> Option<&'static str> {
    Some(match number {
        1045 => {
            "check --mysql-user and --mysql-password, and the hosts that the account may connect from; an \
             account with REQUIRE SSL needs --mysql-ssl"
        }
        1698 => {
            "the account authenticates as an operating-system user (unix_socket): run as that user"
        }
        1044 | 1142 => "GRANT the account privileges on the database in --mysql-db",
        1049 => "create the database, or name another one with --mysql-db",
        1062 => {
            "another thread inserted this key first: --mysql-ignore-errors=1213,1020,1205,1062 restarts such events; \
             if rows are left over from an earlier run, run cleanup and prepare"
        }
        1040 | 1203 | 1226 => {
            "the server's max_connections, or a limit of the account, is reached: use fewer --threads or raise it"
        }
        1461 => {
            "the server's max_prepared_stmt_count is reached: raise it, or use --db-ps-mode=disable"
        }
        1129 => "the server blocks this host after too many failed attempts: run FLUSH HOSTS",
        1130 => "the server has no account that may connect from this host",
        1251 | 1275 | 2059 => {
            "Prony or the server does not support the account's authentication plugin: change it with ALTER \
             USER"
        }
        1290 => {
            "a server option forbids it, such as read_only on a replica: the server's message names the option"
        }
        1836 => "the server is read-only, such as a replica: use the primary",
        1820 | 1862 => "set a new password with ALTER USER in the server's client",
        3118 | 4151 => {
            "unlock the account with ALTER USER ... ACCOUNT UNLOCK in the server's client"
        }
        3159 => "the server accepts only encrypted connections: use --mysql-ssl",
        2002 => {
            "is the server running, and are --mysql-host and --mysql-port, or --mysql-socket, correct?"
        }
        1053 | 1927 | 2013 => {
            "the server stopped, or the connection was killed: see its error log; \
             --mysql-ignore-errors=1213,1020,1205,2013 reconnects"
        }
        1153 => "raise the server's max_allowed_packet",
        _ => return None,
    })
}

fn advice_for_state(state: &str) -> Option<&'static str> {
    Some(match state {
        "28P01" => "check --pgsql-user and --pgsql-password",
        "28000" => {
            "check the server's pg_hba.conf: it decides which users may connect from which hosts, and with which TLS"
        }
        "3D000" => "create the database, or name another one with --pgsql-db",
        "42501" => "GRANT the role privileges on the tables and the schema",
        "53300" => {
            "the server's max_connections, or a limit of the role, is reached: use fewer --threads or raise it"
        }
        "57P01" | "57P02" | "57P03" | "08006" => {
            "the server stopped, or the connection was terminated: see its log"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysbench::Compat;
    use crate::sysbench::spec::find_general_option;
    use prony_assertions::TextAssertions;

    #[test]
    fn each_driver_has_its_own_advice() {
        let mysql = |number| advice(Driver::Mysql, number, "42P01").unwrap_or_default();
        let pgsql = |state| advice(Driver::Pgsql, 1045, state).unwrap_or_default();
        mysql(1045).assert_contains("--mysql-password");
        pgsql("28P01").assert_contains("--pgsql-password");
        assert_eq!((mysql(1), pgsql("XXXXX")), ("", ""));
        assert_eq!((mysql(1146), pgsql("42P01")), ("", ""));
        for driver in [Driver::Mysql, Driver::Pgsql] {
            let missing = |command| advice_of_test(driver, command, 1146, "42P01");
            let exists = |command| advice_of_test(driver, command, 1050, "42P07");
            assert!(missing(Command::Run).is_some_and(|text| text.contains("prepare the tables")));
            assert!(exists(Command::Prepare).is_some_and(|text| text.contains("cleanup command")));
            assert_eq!([missing(Command::Cleanup), exists(Command::Run)], [None; 2]);
        }
    }

    /// The option replaces the default list, so the advice must repeat it.
    #[test]
    fn advice_to_ignore_an_error_includes_the_default_errors() {
        let option = find_general_option(Compat::V1_0, "mysql_ignore_errors")
            .expect("an option of sysbench's");
        let default = option.default.expect("its default");
        for number in [1062, 1053, 1927, 2013] {
            let advice_text = advice(Driver::Mysql, number, "").expect("advice");
            let code = if number == 1062 { 1062 } else { 2013 };
            let option_text = format!("--mysql-ignore-errors={default},{code} ");
            advice_text.assert_contains(&option_text);
        }
    }

    /// Only the server's message tells which option it is, such as secure_file_priv or skip-grant-tables.
    #[test]
    fn the_option_that_forbids_a_statement_is_not_guessed() {
        let advice_text = advice(Driver::Mysql, 1290, "HY000").expect("advice");
        advice_text.assert_contains("a server option");
        advice_text.assert_contains("names the option");
        advice_text.assert_lacks("is read-only");
    }
}
