//! Which engines a workload runs on. Rejects others with an error that names the engine, so that a
//! workload never sends its statements to an engine that it does not support.

use crate::{Error, registry};
use prony_server::Control;
use prony_wire::Engine;

/// Checks that the server is PostgreSQL, the only engine that tpcb and scripts run on.
///
/// # Errors
/// The server is MySQL or MariaDB.
pub fn require_postgres(control: &Control) -> Result<(), Error> {
    let engine = match control.engine() {
        Engine::PostgreSql => return Ok(()),
        engine @ (Engine::MySql | Engine::MariaDb) => engine.name(),
    };
    let version = control.parameter("server_version").unwrap_or_default();
    Err(Error::InvalidRequest {
        problem: format!(
            "this workload runs only on PostgreSQL, but the server is {engine} {version}"
        ),
        hint: format!(
            "workloads that run there: {}",
            workloads_on(control.engine()).join(", ")
        ),
    })
}

/// The names of the workloads that run on an engine.
fn workloads_on(engine: Engine) -> Vec<&'static str> {
    let workloads = registry::list().iter();
    let supported = workloads.filter(|workload| workload.engines().contains(&engine));
    supported.map(|workload| workload.name()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_workloads_that_run_on_the_engine_are_listed() {
        let names = workloads_on(Engine::MySql);
        assert!(names.contains(&"tpcc") && names.contains(&"oltp_read_write"));
        assert!(!names.contains(&"tpcb"), "{names:?}");
        assert!(workloads_on(Engine::PostgreSql).contains(&"tpcb"));
    }
}
