//! Tests that the declared types of parameters are those that PostgreSQL infers.

use crate::tests::inferred_types::{assert_declared_as_inferred, new_database};
use crate::tpcc::execution::{Execution, Mode};
use crate::tpcc::input::TpccTransaction;
use crate::tpcc::layout::Population;
use crate::tpcc::profile::PROFILES;
use crate::tpcc::routines;
use crate::tpcc::schema::{Index, Table};
use crate::tpcc::transactions::Transactions;
use prony_document::SqlDialect;
use prony_wire::Statement;

#[test]
fn parameters_have_the_types_that_the_server_infers() {
    const DIALECT: SqlDialect = SqlDialect::PostgreSql;
    let mut control = new_database("tpcc_types");
    for table in Table::ALL {
        let create = table.create(DIALECT, Population::Standard);
        control.execute(&create).expect("creates");
    }
    for index in Index::all() {
        control.execute(&index.build()).expect("builds");
    }
    for profile in PROFILES.iter().map(|profile| profile.on(DIALECT)) {
        routines::install(&mut control, profile).expect("installs");
        for mode in Mode::ALL {
            let (transactions, texts) = Transactions::new(DIALECT, mode, profile, 1);
            let executions = TpccTransaction::ALL.map(|kind| transactions.execution(kind));
            let statements: Vec<&Statement> = executions.into_iter().flat_map(statements).collect();
            assert_eq!(statements.len(), texts.len());
            assert_declared_as_inferred(&mut control, statements);
        }
    }
}

fn statements(execution: &Execution) -> Vec<&Statement> {
    match execution {
        Execution::Call(call) | Execution::HammerdbCall(call) => vec![call],
        Execution::Steps(steps) => steps.iter().flatten().collect(),
    }
}
