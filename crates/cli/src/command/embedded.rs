//! The throw-away server of a run.
//!
//! Starts PostgreSQL and reports it on stderr. Nothing is downloaded without consent, and the server
//! never outlives the command.

use super::output;
use crate::exit::{Exit, Failure};
use prony_report::{LoadProgressView, LoadStepProgress, Style, units};
use prony_runner::signals;
use prony_server::embedded::{
    self, EmbeddedOptions, EmbeddedPostgres, Error, Installation, InstallationSource,
};
use std::io::stderr;
use std::time::Instant;

/// Connections in addition to those of the clients: for control, loaders, and the observation of autovacuum.
const SPARE_CONNECTIONS: u32 = 20;

/// Starts a server that accepts the connections of `clients` clients.
pub fn start(clients: u32, may_download: bool) -> Result<EmbeddedPostgres, Failure> {
    start_with(&options(clients), may_download)
}

/// The options of a server that accepts the connections of `clients` clients.
pub fn options(clients: u32) -> EmbeddedOptions {
    EmbeddedOptions {
        stop: signals::stop_signal(),
        max_connections: clients.saturating_add(SPARE_CONNECTIONS).max(100),
        ..EmbeddedOptions::default()
    }
}

pub fn start_with(
    options: &EmbeddedOptions,
    may_download: bool,
) -> Result<EmbeddedPostgres, Failure> {
    let installation = find_or_download(may_download)?;
    let server =
        EmbeddedPostgres::start(&installation, options).map_err(|error| failure(&error))?;
    output::notice(&format!(
        "Started PostgreSQL {} from {} in {}; it is removed at the end.",
        installation.version,
        installation.bin_dir.display(),
        server.directory().display(),
    ));
    Ok(server)
}

pub fn start_standby(
    primary: &EmbeddedPostgres,
    options: &EmbeddedOptions,
) -> Result<EmbeddedPostgres, Failure> {
    let standby = primary
        .start_standby(options)
        .map_err(|error| failure(&error))?;
    let directory = standby.directory().display();
    output::notice(&format!("Started a standby of it in {directory}."));
    Ok(standby)
}

fn find_or_download(may_download: bool) -> Result<Installation, Failure> {
    match embedded::find() {
        Err(Error::NotFound { .. }) if may_download => download(),
        result => result.map_err(|error| failure(&error)),
    }
}

fn download() -> Result<Installation, Failure> {
    let started = Instant::now();
    let mut view = LoadProgressView::new(stderr(), Style::of(&stderr()));
    let result = embedded::download(&signals::stop_signal(), &mut |progress| {
        let download_progress = LoadStepProgress {
            step: "kB of PostgreSQL downloaded".into(),
            done: progress.done_bytes / 1000,
            total: progress.total_bytes / 1000,
            at_s: started.elapsed().as_secs_f64(),
        };
        // An error means that stderr is closed, so that nobody reads the progress.
        let _ = view.show(&download_progress);
    });
    let _ = view.finish("");
    let installation = result.map_err(|error| failure(&error))?;
    if installation.source == InstallationSource::Downloaded {
        output::notice(&format!(
            "Downloaded PostgreSQL {} in {}; kept in {}.",
            installation.version,
            units::seconds(started.elapsed().as_secs_f64()),
            installation.bin_dir.display(),
        ));
    }
    Ok(installation)
}

fn failure(error: &Error) -> Failure {
    let exit = match error {
        Error::NotFound { .. } | Error::EnvVariable { .. } | Error::UnsupportedPlatform { .. } => {
            Exit::Usage
        }
        Error::Start { .. } | Error::NotReady { .. } => Exit::Connect,
        _ => Exit::Unexpected,
    };
    Failure::of(exit, error)
}
