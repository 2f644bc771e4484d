//! temporary
use prony_dialect::pgbench::Connection;
use prony_server::control::{Cause, Error, Failure};
use prony_server::{Environment, Target};

pub fn target(connection: &Connection) -> Result<Target, String> {
    let db = &connection.dbname;
    let text = if db.contains('=') || db.contains("://") {
        db.clone()
    } else {
        let mut t = format!("dbname='{}'", db.replace('\\', "\\\\").replace('\'', "\\'"));
        for (k, v) in [
            ("host", &connection.host),
            ("port", &connection.port),
            ("user", &connection.user),
        ] {
            if let Some(v) = v {
                t += &format!(" {k}='{v}'");
            }
        }
        t + " fallback_application_name=pgbench"
    };
    prony_server::resolve(&text, &Environment::from_process()).map_err(|e| e.to_string())
}

/// Why no connection could be made, as libpq words it.
pub fn refused(error: &Error) -> String {
    match error {
        Error::Connect(all) => failures(all),
        other => other.to_string(),
    }
}

/// The same for each way that was tried; libpq's own hints only.
pub fn failures(failures: &[Failure]) -> String {
    let mut text = String::new();
    for failure in failures {
        text += &format!("{failure}\n");
        if let (Cause::Io(_), Some(hint)) = (&failure.cause, failure.hint()) {
            text += &format!("\t{hint}\n");
        }
    }
    text
}
