//! The throw-away server of a run.
//!
//! In: consent to a download, the number of clients. Out: a running PostgreSQL, told of on stderr.
//! Must never: download without consent, or outlive the command.

use super::{output, server};
use crate::exit::{Exit, Failure};
use prony_report::{Amount, Loading, Style, units};
use prony_server::embedded::{self, Error, Installation, Options, Server, Source};
use std::io::stderr;
use std::time::Instant;

/// Connections beside those of the clients: control, loaders, autovacuum's watchers.
const SPARE_CONNECTIONS: u32 = 20;

/// Starts a server with room for so many clients.
pub fn start(clients: u32, download: bool) -> Result<Server, Failure> {
    let installation = installation(download)?;
    let options = Options {
        max_connections: clients.saturating_add(SPARE_CONNECTIONS).max(100),
        ..Options::default()
    };
    let server = Server::start(&installation, &options).map_err(|error| failure(&error))?;
    output::tell(&format!(
        "Started PostgreSQL {} from {} in {}; it is removed at the end.",
        installation.version,
        installation.bin_dir.display(),
        server.directory().display(),
    ));
    Ok(server)
}

fn installation(download: bool) -> Result<Installation, Failure> {
    match embedded::find() {
        Err(Error::NotFound { .. }) if download => fetch(),
        found => found.map_err(|error| failure(&error)),
    }
}

fn fetch() -> Result<Installation, Failure> {
    let began = Instant::now();
    let mut view = Loading::new(stderr(), Style::of(&stderr()));
    let fetched = embedded::download(&mut |progress| {
        let amount = Amount {
            step: "kB of PostgreSQL downloaded".into(),
            done: progress.done_bytes / 1000,
            total: progress.total_bytes / 1000,
            at_s: began.elapsed().as_secs_f64(),
        };
        // Where stderr is closed there is nobody to show it to.
        let _ = view.show(&amount);
    });
    let _ = view.finish("");
    let installation = fetched.map_err(|error| failure(&error))?;
    if installation.source == Source::Downloaded {
        output::tell(&format!(
            "Downloaded PostgreSQL {} in {}; kept in {}.",
            installation.version,
            units::seconds(began.elapsed().as_secs_f64()),
            installation.bin_dir.display(),
        ));
    }
    Ok(installation)
}

fn failure(error: &Error) -> Failure {
    let exit = match error {
        Error::NotFound { .. } | Error::Given { .. } | Error::Platform { .. } => Exit::Usage,
        Error::Start { .. } | Error::NotReady { .. } | Error::NotRunning => Exit::Connect,
        _ => Exit::Unexpected,
    };
    server::told(exit, &error.to_string())
}
