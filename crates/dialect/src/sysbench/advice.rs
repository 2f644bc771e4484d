//! Advice about errors that end a run, in terms of sysbench's options; sysbench itself prints none.
//!
//! In: an error's number or state, as a driver reports it. Out: a line for standard error. Must never: guess
//! a cause that the error does not report.

use super::bundled::Command;
use crate::table;
use prony_workload::sysbench::Driver;

/// Advice about an error of a server or a connection, if it is known. `state` identifies errors of
/// PostgreSQL; `number` identifies those of MySQL and MariaDB, including errors of the client library.
pub fn advice(driver: Driver, number: u32, state: &str) -> Option<&'static str> {
    let (driver, error) = match driver {
        Driver::Mysql => ("mysql", number.to_string()),
        Driver::Pgsql => ("pgsql", state.to_owned()),
    };
    let mut rows = table::rows(include_str!("advice.txt"));
    let is_about = |errors: &str| errors.split(' ').any(|known| known == error);
    let row = rows.find(|(group, [errors, _])| *group == driver && is_about(errors));
    row.map(|(_, [_, text])| text)
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
