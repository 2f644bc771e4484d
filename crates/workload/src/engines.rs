//! Which engines a workload runs on. Rejects others with an error that names the engine, so that a
//! workload never sends its statements to an engine that it does not support.

use crate::{Error, Result, registry};
use prony_document::{Service, SqlDialect};
use prony_server::{Control, Target};

/// Checks that the server is PostgreSQL, the only engine that tpcb and scripts run on.
pub fn require_postgres(control: &Control) -> Result<()> {
    require_engine(control, &[SqlDialect::PostgreSql])
}

/// Checks that a workload that runs on these engines runs on this server.
pub fn require_engine(control: &Control, dialects: &[SqlDialect]) -> Result<()> {
    let product = control.product();
    if dialects.contains(&product.dialect) {
        return Ok(());
    }
    if dialects != [SqlDialect::PostgreSql] {
        return Err(unsupported_engine(control));
    }
    let (name, version) = (product.name, version(control));
    let problem =
        format!("this workload runs only on PostgreSQL, but the server is {name} {version}");
    Err(not_there(problem, product.dialect))
}

/// Checks that a workload that runs on these engines supports the protocol of the URL. Needs no connection, because a server
/// of another protocol may never answer.
pub fn require_protocol(target: &Target, dialects: &[SqlDialect]) -> Result<()> {
    let dialect = target.protocol.dialect();
    if dialects.contains(&dialect) {
        return Ok(());
    }
    let names = product_names(dialect);
    let problem = format!("the URL is for {names}, and this workload does not run there");
    Err(not_there(problem, dialect))
}

/// The products that understand a dialect, such as `MySQL or MariaDB`.
pub(crate) fn product_names(dialect: SqlDialect) -> String {
    let names: Vec<&str> = dialect.products().map(|product| product.name).collect();
    names.join(" or ")
}

pub fn require_service(service: Option<Service>, workload: &str) -> Result<()> {
    let refusal = service.and_then(|service| Some((service.name(), service.refusal(workload)?)));
    let Some((service, reason)) = refusal else {
        return Ok(());
    };
    Err(Error::InvalidRequest {
        problem: format!(
            "{workload} cannot run on {service}. {}",
            reason.trim_end_matches('.')
        ),
        hint: "use another workload, such as oltp_read_write or ycsb".to_owned(),
    })
}

/// The error for an engine that a workload does not support.
pub fn unsupported_engine(control: &Control) -> Error {
    let (product, version) = (control.product(), version(control));
    let name = product.name;
    let problem = format!("this workload does not run on {name} {version} yet");
    not_there(problem, product.dialect)
}

/// An error with the workloads that run there.
fn not_there(problem: String, dialect: SqlDialect) -> Error {
    let hint = workloads_hint(dialect);
    Error::InvalidRequest { problem, hint }
}

fn version(control: &Control) -> &str {
    control.parameter("server_version").unwrap_or_default()
}

fn workloads_hint(dialect: SqlDialect) -> String {
    // The first few: `prony workloads` has all of them with their engines.
    const MAX_NAMES: usize = 4;
    let names = workloads_on(dialect);
    let others = if names.len() > MAX_NAMES { " and others" } else { "" };
    match &names[..names.len().min(MAX_NAMES)] {
        [] => "use PostgreSQL, MySQL or MariaDB".to_owned(),
        first => format!(
            "{}{others} run there; `prony workloads NAME` names the engines of a workload",
            first.join(", ")
        ),
    }
}

fn workloads_on(dialect: SqlDialect) -> Vec<&'static str> {
    let workloads = registry::list().iter();
    let supported = workloads.filter(|workload| workload.dialects().contains(&dialect));
    supported.map(|workload| workload.name()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_server::Environment;

    #[test]
    fn the_protocol_of_the_url_suffices_to_refuse_a_workload() {
        let environment = Environment::without_home("u");
        let target = |url: &str| prony_server::resolve(url, &environment).unwrap();
        let postgres_only = [SqlDialect::PostgreSql];
        let mysql = target("mysql://u@127.0.0.1:5432/d");
        let Err(Error::InvalidRequest { problem, hint }) = require_protocol(&mysql, &postgres_only)
        else {
            panic!("the URL was accepted");
        };
        assert!(problem.contains("MySQL or MariaDB"), "{problem}");
        assert!(hint.contains("run there"), "{hint}");
        assert!(require_protocol(&mysql, &SqlDialect::ALL).is_ok());
        let postgres = target("postgres://u@127.0.0.1:5432/d");
        assert!(require_protocol(&postgres, &postgres_only).is_ok());
    }

    #[test]
    fn only_workloads_that_run_on_the_engine_are_listed() {
        let names = workloads_on(SqlDialect::MySql);
        assert!(names.contains(&"tpcc") && names.contains(&"oltp_read_write"));
        assert!(!names.contains(&"tpcb"), "{names:?}");
        assert!(workloads_on(SqlDialect::PostgreSql).contains(&"tpcb"));
        let names = workloads_on(SqlDialect::TransactSql);
        for name in ["ycsb", "oltp_read_write", "tpcc"] {
            assert!(names.contains(&name), "{name}");
        }
        assert!(!names.contains(&"script"), "{names:?}");
    }
}
