//! Publishes the figures of a run for Prometheus during the run.
//!
//! Serves a page at /metrics with the figures of the event loop and of the server. Never delays the run or the threads of
//! the loop: the page is made from a copy, on the threads of the [`HttpServer`]. Dropping [`MetricsServer`] releases the
//! port.

mod figures;

pub use figures::RunMetrics;

use crate::exit::Failure;
use crate::http::{Answer, HttpServer, PageRequest, Pages};
use prony_plan::ListenAddress;
use prony_report::metrics::{CONTENT_TYPE, Exposition};
use prony_store::Run;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

/// The page with the figures of the last second; empty before the run starts.
#[derive(Clone, Default)]
pub struct MetricsPage(Arc<Mutex<Option<Arc<Exposition>>>>);

impl MetricsPage {
    pub fn publish(&self, exposition: Exposition) {
        let exposition = Some(Arc::new(exposition));
        *self.0.lock().unwrap_or_else(|poison| poison.into_inner()) = exposition;
    }

    /// The current figures. Locks only to copy a pointer, so that a slow client never delays the run.
    pub fn current(&self) -> Option<Arc<Exposition>> {
        let page = self.0.lock();
        page.unwrap_or_else(|poison| poison.into_inner()).clone()
    }
}

impl Pages for MetricsPage {
    const MAX_CONNECTIONS: usize = 4;

    fn answer(&self, request: &PageRequest) -> Answer {
        if request.path != "/metrics" {
            return Answer::text(404, "the figures are at /metrics");
        }
        let Some(figures) = self.current() else {
            return Answer::text(503, "the run has not started");
        };
        let mut body = Vec::new();
        // Writing to a vector never fails.
        let _ = figures.write(&mut body);
        Answer::new(CONTENT_TYPE, body)
    }
}

/// A server for the figures of one run, or of several runs in sequence; between two runs it serves the figures of the
/// previous one.
pub struct MetricsServer {
    page: MetricsPage,
    server: HttpServer,
}

impl MetricsServer {
    /// Starts to listen; `origin` is where the address was given: a flag, or a place in a plan.
    pub fn listen(listen: &ListenAddress, origin: &str) -> Result<MetricsServer, Failure> {
        let page = MetricsPage::default();
        let server = HttpServer::listen(listen, origin, page.clone())?;
        Ok(MetricsServer { page, server })
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Starts the figures of a new run, which replace those of the previous one.
    pub fn begin_run(&self, run: &Run) -> RunMetrics {
        RunMetrics::new(run, self.page.clone())
    }
}

#[cfg(test)]
mod tests;
