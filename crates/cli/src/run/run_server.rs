//! The server of a run: the one at the given URL, or one that Prony starts.
//!
//! Returns the targets and, for a throw-away server, the value that stops it when dropped. A password is
//! never shown.

use crate::command::{embedded, output, server};
use crate::exit::{Exit, Failure};
use prony_plan::{Plan, ServerPlan};
use prony_runner::RunServer;
use prony_runner::signals;
use prony_server::{Address, Environment, Target};
use std::mem::discriminant;
use std::net::Ipv4Addr;

pub fn find_or_start(plan: &Plan, may_download: bool) -> Result<RunServer, Failure> {
    let with_tcp_sample = plan.drive.tcp_sample > 0;
    let mut server = match &plan.server {
        ServerPlan::Embedded => start_embedded(plan, may_download, with_tcp_sample)?,
        ServerPlan::Url(url) => {
            let mut target = server::resolve_target(Some(url))?;
            server::require_protocol(&target, server::find_workload(&plan.workload.name)?)?;
            target.spread = plan.drive.spread.unwrap_or(target.spread);
            target.read_target = read_target(plan, &target)?.map(Box::new);
            let tcp_target = if with_tcp_sample { tcp_target_of(&target)? } else { None };
            RunServer {
                tcp_target,
                ..RunServer::existing(target, prony_server::redact(url))
            }
        }
    };
    server.notice = Some(output::waiting_for);
    Ok(server)
}

/// The server that takes the read-only transactions, if another one does.
fn read_target(plan: &Plan, main: &Target) -> Result<Option<Target>, Failure> {
    let Some(ServerPlan::Url(url)) = &plan.read_from else {
        return Ok(None);
    };
    let mut target = server::resolve_target(Some(url))?;
    target.spread = plan.drive.spread.unwrap_or(target.spread);
    if discriminant(&target.protocol) != discriminant(&main.protocol) {
        let message = "the server of --read-from speaks another protocol than the one of the URL";
        let hint = "give the URL of a server with the same data, such as a standby";
        return Err(Failure::new(Exit::Usage, message, hint));
    }
    Ok(Some(target))
}

/// Starts a throw-away server. Clients use TCP, so that the parts of the service time can be measured; with
/// `--tcp-sample`, only the clients of the sample use TCP, and the others the unix socket. PGOPTIONS and
/// similar variables do not apply to this server.
fn start_embedded(
    plan: &Plan,
    may_download: bool,
    with_tcp_sample: bool,
) -> Result<RunServer, Failure> {
    let server = embedded::start(plan.drive.clients, may_download)?;
    let environment = Environment::without_home("postgres");
    let resolve = |url: &str| -> Result<Target, Failure> {
        let mut target = prony_server::resolve(url, &environment)
            .map_err(|error| Failure::of(Exit::Unexpected, &error))?;
        signals::interrupt_waits_of(&mut target);
        Ok(target)
    };
    let tcp = resolve(server.tcp_url_with_password().reveal())?;
    let (target, tcp_target) =
        if with_tcp_sample { (resolve(&server.url())?, Some(tcp)) } else { (tcp, None) };
    Ok(RunServer {
        tcp_target,
        embedded: Some(server),
        ..RunServer::existing(target, "embedded".to_owned())
    })
}

/// The same server over loopback TCP, on the port in the name of its unix socket; `None` if the target uses
/// TCP already.
fn tcp_target_of(target: &Target) -> Result<Option<Target>, Failure> {
    let is_unix = |address: &Address| matches!(address, Address::Unix(_));
    let endpoints = &target.endpoints;
    let Some(endpoint) = endpoints.iter().find(|endpoint| is_unix(&endpoint.address)) else {
        return Ok(None);
    };
    if target.endpoints.len() > 1 {
        let hint = "name one unix socket in the URL";
        let message = "--tcp-sample needs one server, but several hosts are named";
        return Err(Failure::usage(message, hint));
    }
    let mut endpoint = endpoint.clone();
    endpoint.address = Address::Tcp((Ipv4Addr::LOCALHOST, endpoint.port).into());
    endpoint.host = Ipv4Addr::LOCALHOST.to_string();
    let mut tcp = target.clone();
    tcp.endpoints = vec![endpoint];
    Ok(Some(tcp))
}
