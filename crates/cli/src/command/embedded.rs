//! The throw-away server of a run.
//!
//! Starts PostgreSQL and reports it on stderr. Nothing is downloaded without consent, and the server
//! never outlives the command.

use super::output;
use crate::exit::{Exit, Failure};
use prony_report::{LoadProgressView, LoadStepProgress, Style, units};
use prony_runner::signals;
use prony_server::embedded::{
    self, EmbeddedOptions, EmbeddedPostgres, Error, Installation, Source,
};
use std::io::stderr;
use std::time::Instant;

/// Connections besides those of the clients: control, loaders, watchers of autovacuum.
const SPARE_CONNECTIONS: u32 = 20;

/// Starts a server that accepts connections of this many clients.
pub fn start(clients: u32, download: bool) -> Result<EmbeddedPostgres, Failure> {
    let installation = installation(download)?;
    let options = EmbeddedOptions {
        stop: signals::stop(),
        max_connections: clients.saturating_add(SPARE_CONNECTIONS).max(100),
        ..EmbeddedOptions::default()
    };
    let server =
        EmbeddedPostgres::start(&installation, &options).map_err(|error| failure(&error))?;
    output::notice(&format!(
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
        result => result.map_err(|error| failure(&error)),
    }
}

fn fetch() -> Result<Installation, Failure> {
    let began = Instant::now();
    let mut view = LoadProgressView::new(stderr(), Style::of(&stderr()));
    let fetched = embedded::download(&signals::stop(), &mut |progress| {
        let amount = LoadStepProgress {
            step: "kB of PostgreSQL downloaded".into(),
            done: progress.done_bytes / 1000,
            total: progress.total_bytes / 1000,
            at_s: began.elapsed().as_secs_f64(),
        };
        // If stderr is closed, nobody can read it.
        let _ = view.show(&amount);
    });
    let _ = view.finish("");
    let installation = fetched.map_err(|error| failure(&error))?;
    if installation.source == Source::Downloaded {
        output::notice(&format!(
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
        Error::NotFound { .. } | Error::EnvVariable { .. } | Error::Platform { .. } => Exit::Usage,
        Error::Start { .. } | Error::NotReady { .. } | Error::NotRunning => Exit::Connect,
        _ => Exit::Unexpected,
    };
    Failure::of(exit, error)
}
