//! Tests on the SQL Server that `PRONY_TEST_SQLSERVER` names: tpcc's statements find their rows by index, and a
//! load builds only the indexes that are missing.

use crate::catalog;
use crate::loader::dataset::IndexBuild;
use crate::tpcc::execution::{Execution, Mode};
use crate::tpcc::indexes;
use crate::tpcc::input::TpccTransaction;
use crate::tpcc::layout::Population;
use crate::tpcc::profile::PROFILES;
use crate::tpcc::schema::Table;
use crate::tpcc::sqlserver;
use crate::tpcc::transactions::Transactions;
use prony_document::SqlDialect;
use prony_server::control::BlockingConnection;
use prony_server::{Control, Environment, Target};
use prony_wire::{ParameterType, QueryMode, Statement, StatementIds, Value};
use std::sync::{Mutex, MutexGuard, PoisonError};

const DIALECT: SqlDialect = SqlDialect::TransactSql;

#[derive(Clone, Copy, Debug, PartialEq)]
enum PlanFormat {
    SqlServer,
    /// Babelfish's plans are PostgreSQL's.
    Babelfish,
}

/// The tests share a database.
static DATABASE: Mutex<()> = Mutex::new(());

/// The server in the environment, whose database the test has for itself.
fn target() -> Option<(Target, MutexGuard<'static, ()>)> {
    let Ok(url) = std::env::var("PRONY_TEST_SQLSERVER") else {
        eprintln!("skipped: PRONY_TEST_SQLSERVER names no SQL Server");
        return None;
    };
    let url = url.split_whitespace().next().unwrap_or_default();
    let target = prony_server::resolve(url, &Environment::without_home("tester"));
    let guard = DATABASE.lock().unwrap_or_else(PoisonError::into_inner);
    Some((target.expect("a good URL"), guard))
}

struct PlanConnection {
    connection: BlockingConnection,
    format: PlanFormat,
}

impl PlanConnection {
    fn new(target: &Target) -> PlanConnection {
        let connection = BlockingConnection::connect(target, QueryMode::Prepared);
        let mut connection = connection.expect("connects");
        let mut query = |text: &str| connection.request(|exchange| exchange.query(text));
        // Babelfish scans small tables if it may.
        let is_babelfish = query("select set_config('enable_seqscan', 'off', false)").is_ok();
        let (format, statement) = if is_babelfish {
            (PlanFormat::Babelfish, "set babelfish_statistics profile on")
        } else {
            (PlanFormat::SqlServer, "set statistics profile on")
        };
        query(statement).expect("returns plans");
        // The changes are rolled back when the connection is closed.
        query("begin transaction").expect("begins");
        PlanConnection { connection, format }
    }

    /// Executes a statement as a run does; returns its plan.
    fn plan(&mut self, statement: &Statement) -> String {
        let values: Vec<Value<'_>> = statement
            .types()
            .iter()
            .map(|declared| match declared.expect("a declared type") {
                ParameterType::Decimal { scale, .. } => Value::Decimal { unscaled: 1, scale },
                ParameterType::Char(_) | ParameterType::VarChar(_) | ParameterType::Text => {
                    Value::Text("1")
                }
                ParameterType::SmallInt | ParameterType::Int | ParameterType::BigInt => {
                    Value::Int(1)
                }
            })
            .collect();
        let batch = std::iter::once((statement, &values[..]));
        let sent = self.connection.request(|exchange| exchange.request(batch));
        sent.unwrap_or_else(|error| panic!("{}: {error}", statement.sql()));
        let mut plan = String::new();
        for (_, row) in self.connection.exchange().rows() {
            for value in row.values().flatten() {
                plan.push_str(&String::from_utf8_lossy(value));
                plan.push('\n');
            }
        }
        plan
    }
}

/// Whether a plan reads rows by the keys of indexes only. Stock is filtered by its quantity.
fn seeks(plan: &str, format: PlanFormat) -> bool {
    let lines = || plan.lines();
    match format {
        PlanFormat::SqlServer => {
            plan.contains(" Seek") && !plan.contains(" Scan") && !plan.contains("Table Scan")
        }
        PlanFormat::Babelfish => {
            let scans = lines().filter(|line| line.contains("Index") && line.contains("Scan"));
            let conditions = lines().filter(|line| line.contains("Index Cond:"));
            let mut filters = lines().filter(|line| line.trim_start().starts_with("Filter:"));
            let (scans, conditions) = (scans.count(), conditions.count());
            scans > 0
                && scans == conditions
                && !plan.contains("Seq Scan")
                && filters.all(|line| line.contains("s_quantity"))
        }
    }
}

fn steps(execution: &Execution) -> Vec<&Statement> {
    match execution {
        Execution::Call(call) | Execution::HammerdbCall(call) => vec![call],
        Execution::Steps(steps) => steps.iter().flatten().collect(),
    }
}

fn create_tables(control: &mut Control, population: Population) {
    for table in Table::ALL {
        let create = table.create(DIALECT, population);
        control.execute(&create).expect("creates");
    }
    build_indexes(control, population);
}

fn build_indexes(control: &mut Control, population: Population) {
    let builds = sqlserver::indexes::builds(population);
    let builds = builds
        .into_iter()
        .filter_map(|index: IndexBuild| index.build);
    for build in builds {
        control.execute(&build).expect("builds");
    }
}

#[test]
fn a_continued_load_builds_only_missing_indexes() {
    let Some((target, _guard)) = target() else {
        return;
    };
    let mut control = Control::connect(&target).expect("connects");
    for population in Population::ALL {
        catalog::drop_existing::<Table>(&mut control).expect("drops the tables of an earlier test");
        create_tables(&mut control, population);
        let built = catalog::read_indexes(&mut control).expect("indexes");
        let tables = catalog::find::<Table>(&mut control).expect("tables");
        assert_eq!(tables.len(), Table::ALL.len());
        for table in &tables {
            assert!(table.is_own && table.has_primary_key, "{:?}", table.table);
        }
        let secondary = indexes::find_secondary(&mut control).expect("indexes");
        let secondary = secondary.iter().map(|index| (index.name, index.exists));
        let on_last_names = match population {
            Population::Standard => "customer_i2",
            Population::HammerDb => "customer_c_last",
        };
        let expected = [(on_last_names, true), ("orders_i2", true)];
        assert_eq!(secondary.collect::<Vec<_>>(), expected);
        build_indexes(&mut control, population);
        assert_eq!(
            catalog::read_indexes(&mut control).expect("indexes"),
            built,
            "{population:?}"
        );
    }
    catalog::drop_existing::<Table>(&mut control).expect("drops");
}

#[test]
fn statements_seek_and_other_types_would_not() {
    let Some((target, _guard)) = target() else {
        return;
    };
    let mut control = Control::connect(&target).expect("connects");
    catalog::drop_existing::<Table>(&mut control).expect("drops the tables of an earlier test");
    create_tables(&mut control, Population::Standard);
    let mut plans = PlanConnection::new(&target);
    let format = plans.format;
    let mut checked = 0;
    for mode in [Mode::Statements, Mode::Pipelined] {
        let (transactions, _) = Transactions::new(DIALECT, mode, &PROFILES[0], 1);
        let executions = TpccTransaction::ALL.map(|kind| transactions.execution(kind));
        for statement in executions.into_iter().flat_map(steps) {
            let sql = statement.sql();
            // Inserts find no rows, and BEGIN and COMMIT have no plan.
            if statement.parameter_count() == 0 || sql.starts_with("INSERT") {
                continue;
            }
            let plan = plans.plan(statement);
            assert!(seeks(&plan, format), "{sql}\n{plan}");
            checked += 1;
        }
    }
    assert!(checked > 40, "{checked}");
    // An integer converts the column that it is compared with. What SQL Server plans then is not known.
    let sql = "SELECT c_id FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3";
    let mut ids = StatementIds::new();
    for (last_name, expected) in [
        (ParameterType::VarChar(16), true),
        (ParameterType::Int, false),
    ] {
        let types = [ParameterType::Int, ParameterType::SmallInt, last_name];
        let plan = plans.plan(&ids.add(sql).with_types(types));
        match format {
            PlanFormat::SqlServer => {}
            PlanFormat::Babelfish => {
                assert_eq!(seeks(&plan, format), expected, "{last_name}\n{plan}");
            }
        }
    }
    drop(plans);
    catalog::drop_existing::<Table>(&mut control).expect("drops");
}
