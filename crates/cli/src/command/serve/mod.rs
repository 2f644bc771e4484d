//! `prony serve`.
//!
//! Serves the store as pages until a signal ends it. Nothing in the store is changed, and only runs of the store are
//! read, by their ids: no path of a request names a file. A page on another site cannot read them, because the host that
//! a request names must be an address or the name to listen on (DNS rebinding).

mod live;
mod pages;

use super::{output, stored};
use crate::args::ServeArgs;
use crate::exit::{Exit, Failure};
use crate::http::HttpServer;
use pages::StorePages;
use prony_runner::Signals;
use std::time::Duration;

pub fn serve(args: &ServeArgs) -> Result<Exit, Failure> {
    let store = stored::open_store()?;
    let signals = Signals::listen()?;
    let folder = store.folder().display().to_string();
    let pages = StorePages::new(store, &args.listen.host);
    let server = HttpServer::listen(&args.listen, "--listen", pages)?;
    let address = server.address();
    output::notice(&format!(
        "prony: {folder} at http://{address}/ (Ctrl-C ends it)"
    ));
    if !address.ip().is_loopback() {
        output::notice(&format!(
            "prony: warning: anyone who can reach {address} can read all stored runs: there is no password and no \
             encryption"
        ));
    }
    while signals.wait(Duration::from_secs(3600)).is_none() {}
    Ok(Exit::Success)
}

#[cfg(test)]
mod tests;
