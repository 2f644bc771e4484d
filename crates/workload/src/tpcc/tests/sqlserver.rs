//! Tests what tpcc sends to SQL Server.

use crate::tests::mock_sqlserver::{
    calls, execute, record_requests, record_requests_with, value_types,
};
use crate::tpcc::OrderEntryProgram;
use crate::tpcc::conditions;
use crate::tpcc::engine::InstallationLock;
use crate::tpcc::execution::Mode;
use crate::tpcc::layout::Population;
use crate::tpcc::options::TpccOptions;
use crate::tpcc::profile::{PROFILES, Profile};
use crate::tpcc::routines::{Routine, driver_routines, profile_routines};
use crate::tpcc::schema::Table;
use crate::tpcc::sqlserver::SQL;
use prony_document::SqlDialect;
use prony_tds_server::{Outcome, Parameter, Procedure, Request, Type, syntax_error};
use prony_wire::QueryMode;
use std::sync::Mutex;

const TRANSACTIONS: u64 = 300;

fn program(mode: Mode) -> OrderEntryProgram {
    let options = TpccOptions {
        profile: Profile::find("hammerdb").expect("a profile"),
        mode,
        ..TpccOptions::default()
    };
    OrderEntryProgram::new(SqlDialect::TransactSql, options, 3)
}

#[test]
fn a_procedure_is_one_call_by_name_with_the_types_of_its_parameters() {
    let program = program(Mode::Procedures);
    let mut names = Vec::new();
    for requests in record_requests(&program, QueryMode::Prepared, TRANSACTIONS) {
        let calls = calls(&requests);
        assert_eq!((requests.len(), calls.len()), (1, 1), "{requests:?}");
        let Procedure::Name(name) = &calls[0].procedure else {
            panic!("{requests:?}");
        };
        let (int, smallint) = (Type::Int(4), Type::Int(2));
        let amount = Type::Decimal(6, 2);
        let name = name
            .strip_prefix("prony_tpcc_hammerdb_")
            .expect("the prefix");
        let expected: &[Type] = match name {
            "new_order" => &[int, smallint, int, smallint, Type::VarChar(255)],
            "payment" => &[int, smallint, int, smallint, int, Type::VarChar(16), amount],
            "order_status" => &[int, smallint, int, Type::VarChar(16)],
            "delivery" => &[int, smallint],
            _ => &[int, smallint, smallint],
        };
        assert_eq!(value_types(calls[0]), expected, "{name}");
        names.push(name.to_owned());
    }
    names.sort();
    names.dedup();
    assert_eq!(
        names,
        [
            "delivery",
            "new_order",
            "order_status",
            "payment",
            "stock_level"
        ]
    );
}

#[test]
fn statements_have_no_parameter_that_would_convert_a_column() {
    let program = program(Mode::Statements);
    for requests in record_requests(&program, QueryMode::Prepared, TRANSACTIONS) {
        for call in calls(&requests) {
            assert_eq!(
                requests
                    .iter()
                    .filter(|request| begins_or_ends_transaction(request))
                    .count(),
                2
            );
            for kind in value_types(call) {
                assert!(
                    matches!(
                        kind,
                        Type::Int(2 | 4)
                            | Type::Decimal(..)
                            | Type::VarChar(16 | 24 | 500)
                            | Type::Char(24)
                    ),
                    "{kind:?} in {call:?}"
                );
            }
        }
    }
}

/// Whether a request is a text that begins or ends a transaction. In a call, the server would report error
/// 266.
fn begins_or_ends_transaction(request: &Request) -> bool {
    match request {
        Request::Batch { text, .. } => [
            "BEGIN TRANSACTION",
            "COMMIT TRANSACTION",
            "ROLLBACK TRANSACTION",
        ]
        .contains(&text.as_str()),
        _ => false,
    }
}

#[test]
fn pipelined_statements_share_texts() {
    let program = program(Mode::Pipelined);
    for requests in record_requests(&program, QueryMode::Prepared, TRANSACTIONS) {
        // The longest transaction, a delivery, has three requests.
        assert!(requests.len() <= 3, "{requests:?}");
        let is_text = |request: &Request| matches!(request, Request::Batch { .. });
        assert!(requests.iter().all(is_text), "{requests:?}");
    }
}

/// Replies to each update of a warehouse or call of a payment twice with a deadlock, and then with a row.
fn with_deadlocks() -> impl Fn(&str, &[Parameter]) -> Vec<Outcome> + Send + Sync {
    let attempts = Mutex::new(0_u32);
    move |text, values| {
        if !text.trim_start().starts_with("UPDATE warehouse") && !text.ends_with("_payment") {
            return execute(text, values);
        }
        let mut attempts = attempts.lock().expect("no test has panicked");
        *attempts += 1;
        if attempts.is_multiple_of(3) {
            execute(text, values)
        } else {
            vec![Outcome::Error(
                1205,
                51,
                13,
                "Transaction was deadlocked on lock resources with another process and has been \
                 chosen as the deadlock victim."
                    .to_owned(),
            )]
        }
    }
}

#[test]
fn deadlocks_are_retried_with_the_same_input_in_every_mode() {
    for mode in Mode::ALL {
        let program = program(mode);
        let (requests, retries) =
            record_requests_with(&program, QueryMode::Prepared, 50, with_deadlocks());
        let counts = program.counts();
        let payments = counts.outcomes_by_kind[1];
        assert!(payments.committed > 10 && payments.failed == 0, "{mode:?}");
        assert_eq!(u64::from(retries), 2 * payments.committed, "{mode:?}");
        assert_eq!(counts.retries, u64::from(retries), "{mode:?}");
        if mode != Mode::Procedures {
            continue;
        }
        let retried = requests.iter().filter(|requests| requests.len() == 3);
        let mut count = 0;
        for requests in retried {
            let calls = calls(requests);
            assert_eq!(calls[0].parameters, calls[1].parameters);
            assert_eq!(calls[0].parameters, calls[2].parameters);
            count += 1;
        }
        assert_eq!(count, payments.committed);
    }
}

/// The statements on tables in the body of a procedure, as many as it has texts of them.
fn table_statements(body: &str) -> Vec<&'static str> {
    let (mut statements, mut depth, mut selects) = (Vec::new(), 0, false);
    let spaced = body
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace(';', " ; ");
    for word in spaced.split_whitespace() {
        match (word, depth) {
            ("(", _) => depth += 1,
            (")", _) => depth -= 1,
            (_, 1..) => {}
            ("insert", _) => statements.push("insert"),
            ("update", _) => statements.push("update"),
            ("delete", _) => statements.push("delete"),
            ("select", _) => selects = true,
            ("from", _) if selects => {
                statements.push("select");
                selects = false;
            }
            (";", _) => selects = false,
            _ => {}
        }
    }
    statements
}

/// HammerDB's procedures have these statements, except that the other order of some of them does not change a
/// transaction's cost, and order-status has a statement more for each of two ways to find a customer.
#[test]
fn procedures_have_as_many_statements_of_each_kind_as_hammerdbs() {
    let sorted = |mut statements: Vec<&'static str>| {
        statements.sort_unstable();
        statements
    };
    let expected: [&[&str]; 5] = [
        // The customer and the warehouse; the item and the stock of each line; the district; the order and its queue.
        &[
            "insert", "insert", "select", "select", "select", "update", "update",
        ],
        &["insert", "select", "update", "update", "update"],
        &["select", "select", "select", "select"],
        &["delete", "select", "update", "update", "update"],
        &["select", "select"],
    ];
    let dialect = SqlDialect::TransactSql;
    let of_profiles = PROFILES
        .iter()
        .map(|profile| profile_routines(dialect, profile.on(dialect), false));
    for routines in of_profiles.chain([driver_routines(dialect, false)]) {
        assert_eq!(routines.len(), expected.len());
        for routine in routines {
            let names: [&[&str]; 5] = [
                &["new_order", "neword"],
                &["payment"],
                &["order_status", "ostat"],
                &["delivery"],
                &["stock_level", "slev"],
            ];
            let is_named = |names: &&[&str]| names.iter().any(|name| routine.name.ends_with(name));
            let index = names.iter().position(is_named).expect("a transaction");
            let statements = sorted(table_statements(&routine.body));
            assert_eq!(statements, expected[index], "{}", routine.name);
        }
    }
    // Two of a new order's are in the loop over its lines.
    for routine in [
        &profile_routines(dialect, &PROFILES[1], false)[0],
        &driver_routines(dialect, false)[0],
    ] {
        let (_, from_loop) = routine.body.split_once("while").expect("a loop");
        let (lines, _) = from_loop
            .split_once("set @number = @number + 1;")
            .expect("its end");
        assert_eq!(
            table_statements(lines),
            ["select", "update"],
            "{}",
            routine.name
        );
    }
}

#[test]
fn schema_procedures_and_conditions_are_t_sql() {
    let dialect = SqlDialect::TransactSql;
    let mut texts: Vec<String> = conditions::query_texts(dialect).into();
    texts.push(SQL.installed.to_owned());
    let InstallationLock::Statements(lock) = SQL.lock else {
        panic!("{:?}", SQL.lock);
    };
    texts.extend(lock.map(str::to_owned));
    for population in [Population::Standard, Population::HammerDb] {
        texts.extend(Table::ALL.map(|table| table.create(dialect, population)));
    }
    let create = |routine: Routine| (SQL.create)(&routine);
    for is_for_babelfish in [false, true] {
        let profiles = PROFILES.iter().map(|profile| profile.on(dialect));
        let routines = |profile| profile_routines(dialect, profile, is_for_babelfish);
        texts.extend(profiles.flat_map(routines).map(create));
        let routines = driver_routines(dialect, is_for_babelfish);
        texts.extend(routines.into_iter().map(create));
    }
    for text in texts {
        let text = crate::tpcc::template::without_comments(&text);
        assert_eq!(syntax_error(&text), None);
    }
}
