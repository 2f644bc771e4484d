//! The figures of a run for Prometheus, while it goes on.
//!
//! In: an address, the rows of the loop, what was seen of the server. Out: a page at /metrics. Must
//! never: hold up the run or touch the loop's threads: the page is made of a copy, by a thread that
//! sleeps until somebody asks.

mod figures;
mod http;
mod listener;

pub use figures::Figures;

use crate::exit::Failure;
use listener::Listener;
use prony_measure::Row;
use prony_plan::Listen;
use prony_report::metrics::Exposition;
use prony_store::{Run, Second, ServerSecond};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

/// What is shown, as of the last second; nothing before the run has begun.
#[derive(Clone, Default)]
pub struct Page(Arc<Mutex<Option<Arc<Exposition>>>>);

impl Page {
    /// Shows this from now on.
    pub fn show(&self, all: Exposition) {
        let all = Some(Arc::new(all));
        *self.0.lock().unwrap_or_else(|poison| poison.into_inner()) = all;
    }

    /// What is shown. The lock is held for the copy of a pointer.
    pub fn shown(&self) -> Option<Arc<Exposition>> {
        let shown = self.0.lock();
        shown.unwrap_or_else(|poison| poison.into_inner()).clone()
    }
}

/// An address that is listened on, for one run or for several after each other: between two of them
/// it shows the figures of the last.
pub struct Metrics {
    page: Page,
    listener: Listener,
}

/// What a run shows there.
pub struct Shown {
    page: Page,
    figures: Figures,
}

impl Metrics {
    /// Listens; `named` is who named the address: a flag, or a place in a plan.
    ///
    /// # Errors
    /// If it is no address of this machine, or in use.
    pub fn listen(address: &Listen, named: &str) -> Result<Metrics, Failure> {
        let page = Page::default();
        let listener = Listener::start(address, named, page.clone())?;
        Ok(Metrics { page, listener })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    /// A run is known: its figures take the place of those of the run before.
    pub fn begin(&self, run: &Run) -> Shown {
        let figures = Figures::of(run);
        self.page.show(figures.shown());
        Shown {
            page: self.page.clone(),
            figures,
        }
    }
}

impl Shown {
    /// A second is complete; `servers` is what was seen of the server since the last one.
    pub fn row(&mut self, row: &Row, second: &Second, servers: &[ServerSecond]) {
        let figures = &mut self.figures;
        servers.iter().for_each(|server| figures.server(server));
        figures.row(row, second);
        self.page.show(figures.shown());
    }
}

#[cfg(test)]
mod tests;
