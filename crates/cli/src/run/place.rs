//! Where a run takes place: the server asked for, or one of Prony's own.
//!
//! In: a plan, the environment. Out: targets, and the throw-away server as long as it is needed.
//! Must never: show a password.

use crate::command::{embedded, server};
use crate::exit::{Exit, Failure};
use prony_plan::{Plan, ServerPlan};
use prony_server::embedded::Server;
use prony_server::{Address, Environment, Target};
use std::net::Ipv4Addr;
use std::path::Path;

/// The server of a run.
pub struct Place {
    /// How it is reached.
    pub target: Target,
    /// The same server over TCP, where `tcp_sample` asks for it beside a unix socket.
    pub tcp_target: Option<Target>,
    /// What was asked, without a password, for the document.
    pub shown: String,
    /// Ends with this value.
    server: Option<Server>,
}

impl Place {
    /// Finds the server, or starts it.
    pub fn find(plan: &Plan, download: bool) -> Result<Place, Failure> {
        let sample = plan.drive.tcp_sample > 0;
        match &plan.server {
            ServerPlan::Embedded => own(plan, download, sample),
            ServerPlan::Url(url) => {
                let target = server::target(Some(url))?;
                let tcp_target = if sample { over_tcp(&target)? } else { None };
                Ok(Place {
                    target,
                    tcp_target,
                    shown: prony_server::redact(url),
                    server: None,
                })
            }
        }
    }

    /// A server that is already known; `shown` is how it was named, without a password.
    pub fn given(target: Target, shown: String) -> Place {
        Place {
            target,
            tcp_target: None,
            shown,
            server: None,
        }
    }

    /// Whether it is a throw-away server.
    pub fn is_embedded(&self) -> bool {
        self.server.is_some()
    }
}

/// A throw-away server, over TCP so that the response time can be split; over its unix socket where
/// a sample of TCP clients beside it is asked for. PGOPTIONS and its kin are not meant for it.
fn own(plan: &Plan, download: bool, sample: bool) -> Result<Place, Failure> {
    let server = embedded::start(plan.drive.clients, download)?;
    let environment = Environment::new("postgres", Path::new("/nonexistent"));
    let resolve = |url: &str| {
        prony_server::resolve(url, &environment)
            .map_err(|error| server::told(Exit::Unexpected, &error.to_string()))
    };
    let tcp = resolve(server.tcp_url_with_password().reveal())?;
    let (target, tcp_target) = if sample {
        (resolve(&server.url())?, Some(tcp))
    } else {
        (tcp, None)
    };
    Ok(Place {
        target,
        tcp_target,
        shown: "embedded".to_owned(),
        server: Some(server),
    })
}

/// The same server by way of the loopback address, on the port that names its unix socket. `None`
/// where it is reached over TCP anyway.
fn over_tcp(target: &Target) -> Result<Option<Target>, Failure> {
    let unix = |address: &Address| matches!(address, Address::Unix(_));
    let Some(endpoint) = target.endpoints.iter().find(|one| unix(&one.address)) else {
        return Ok(None);
    };
    if target.endpoints.len() > 1 {
        let hint = "name one unix socket in the URL";
        let what = "--tcp-sample needs one server, and several hosts are named";
        return Err(Failure::new(Exit::Usage, what, hint));
    }
    let mut endpoint = endpoint.clone();
    endpoint.address = Address::Tcp((Ipv4Addr::LOCALHOST, endpoint.port).into());
    endpoint.host = Ipv4Addr::LOCALHOST.to_string();
    let mut tcp = target.clone();
    tcp.endpoints = vec![endpoint];
    Ok(Some(tcp))
}
