//! Which products a workload runs on.
//!
//! In: a control connection. Out: its product in words, or a refusal. Must never: let a workload send
//! its statements to a product that it does not know.

use crate::Error;
use prony_server::{Control, Product};

/// # Errors
/// The server is none that tpcb and scripts run on.
pub fn need_postgres(control: &Control) -> Result<(), Error> {
    if control.product() == Product::Postgres {
        return Ok(());
    }
    let product = match control.product() {
        Product::MariaDb => "MariaDB",
        _ => "MySQL",
    };
    let version = control.parameter("server_version").unwrap_or_default();
    Err(Error::Asked {
        problem: format!(
            "this workload runs on PostgreSQL alone, and the server is {product} {version}"
        ),
        hint: "on MySQL and MariaDB: oltp_read_write and the others of its family, hot-row, tpcc; \
               `prony workloads` lists them"
            .to_owned(),
    })
}
