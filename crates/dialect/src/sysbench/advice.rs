//! What to do about errors that end a run, in sysbench's options: sysbench itself does not say.
//!
//! In: an error's number or state, as a driver tells it. Out: a line for standard error. Must never:
//! guess at what an error does not say.

use prony_workload::sysbench::Driver;

/// What to do about an error of a server, or of the way to it; none where nothing is known. `state`
/// decides on PostgreSQL, `number` on MySQL and MariaDB, those of its client library included.
pub fn advice(driver: Driver, number: u32, state: &str) -> Option<&'static str> {
    match driver {
        Driver::Mysql => of_number(number),
        Driver::Pgsql => of_state(state),
    }
}

fn of_number(number: u32) -> Option<&'static str> {
    Some(match number {
        1045 => {
            "check --mysql-user and --mysql-password, and from where the account may connect; one that is to use \
             TLS (REQUIRE SSL) needs --mysql-ssl"
        }
        1698 => {
            "the account logs in by the name of the system's user (unix_socket): run as that user"
        }
        1044 | 1142 => "GRANT the account rights on the database that --mysql-db names",
        1049 => "create the database, or name another one with --mysql-db",
        1050 => "tables of an earlier run are there: the command cleanup drops them",
        1146 | 1054 => {
            "prepare the tables first, with the same test, --tables and --mysql-db; after another test, cleanup \
             before that"
        }
        1062 => {
            "another thread was there first: --mysql-ignore-errors=1213,1020,1205,1062 begins such an event anew; \
             or, if rows are left from an earlier run, cleanup and prepare"
        }
        1040 | 1203 | 1226 => {
            "the server's max_connections, or a limit of the account, is reached: use fewer --threads or raise it"
        }
        1461 => {
            "the server's max_prepared_stmt_count is reached: raise it, or use --db-ps-mode=disable"
        }
        1129 => "the server blocks this host after too many failed attempts: FLUSH HOSTS ends that",
        1130 => "the server knows no account that may connect from this host",
        1251 | 1275 | 2059 => {
            "the account's authentication plugin is one that Prony or the server does not speak: ALTER USER gives \
             it another one"
        }
        1290 => {
            "an option of the server forbids it, such as read_only on a replica: the server's message names which"
        }
        1836 => "the server is read-only, such as a replica: use the primary",
        1820 | 1862 => "set a new password with ALTER USER in the server's client",
        3118 | 4151 => "ALTER USER ... ACCOUNT UNLOCK in the server's client",
        3159 => "the server takes encrypted connections only: --mysql-ssl",
        2002 => {
            "is the server running, and do --mysql-host and --mysql-port, or --mysql-socket, lead to it?"
        }
        1053 | 1927 | 2013 => {
            "the server stopped, or somebody ended the connection: its error log says why; \
             --mysql-ignore-errors=1213,1020,1205,2013 connects again"
        }
        1153 => "raise the server's max_allowed_packet",
        _ => return None,
    })
}

fn of_state(state: &str) -> Option<&'static str> {
    Some(match state {
        "28P01" => "check --pgsql-user and --pgsql-password",
        "28000" => {
            "the server's pg_hba.conf decides who may connect from where, and whether with TLS"
        }
        "3D000" => "create the database, or name another one with --pgsql-db",
        "42501" => "GRANT the role rights on the tables and the schema",
        "42P01" | "42703" => {
            "prepare the tables first, with the same test, --tables and --pgsql-db; after another test, cleanup \
             before that"
        }
        "42P07" => "tables of an earlier run are there: the command cleanup drops them",
        "53300" => {
            "the server's max_connections, or a limit of the role, is reached: use fewer --threads or raise it"
        }
        "57P01" | "57P02" | "57P03" | "08006" => {
            "the server stopped, or somebody ended the connection: its log says why"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysbench::Compat;
    use crate::sysbench::spec::find;

    #[test]
    fn each_driver_has_its_own() {
        let mysql = |number| advice(Driver::Mysql, number, "42P01").unwrap_or_default();
        let pgsql = |state| advice(Driver::Pgsql, 1045, state).unwrap_or_default();
        assert!(mysql(1045).contains("--mysql-password") && mysql(1146).contains("prepare"));
        assert!(pgsql("28P01").contains("--pgsql-password") && pgsql("42P01").contains("prepare"));
        assert_eq!((mysql(1), pgsql("XXXXX")), ("", ""));
    }

    /// The option replaces its default: who follows the advice must not lose that.
    #[test]
    fn advice_to_ignore_an_error_keeps_those_ignored_by_default() {
        let option = find(Compat::V1_0, "mysql_ignore_errors").expect("an option of sysbench's");
        let default = option.default.expect("its default");
        for number in [1062, 1053, 1927, 2013] {
            let told = advice(Driver::Mysql, number, "").expect("advice");
            let code = if number == 1062 { 1062 } else { 2013 };
            let whole = format!("--mysql-ignore-errors={default},{code} ");
            assert!(told.contains(&whole), "{told}");
        }
    }

    /// Such as secure_file_priv or skip-grant-tables: only the server's message tells which.
    #[test]
    fn an_option_that_forbids_a_statement_is_not_guessed() {
        let told = advice(Driver::Mysql, 1290, "HY000").expect("advice");
        assert!(told.contains("an option of the server") && told.contains("names which"));
        assert!(!told.contains("is read-only"));
    }
}
