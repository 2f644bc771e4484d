//! The agent's side: serves the requests of a coordinator.
//!
//! In: the frames of its coordinator. Out: its own. Must never: take a plan of anybody but its coordinator, or run a
//! command.

use crate::coordinator::{POLL_INTERVAL, boot_id};
use crate::frame::{GREETING, read_any_frame};
use crate::keep::{Keeping, remove, send_kept};
use crate::link::Link;
use crate::loading::load_part;
use crate::login::resolve_target;
use crate::message::{
    AgentDescription, AgentFailure, FailureKind, FromAgent, ServerLogin, ServerProbe, ToAgent,
    failure,
};
use crate::run_part::run_part;
use crate::tool::MakeToolProgram;
use prony_drive::clock::Clock;
use prony_plan::UserError;
use prony_server::{Control, read_server_facts};
use prony_store::{Build, DoctorReport, Host};
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};

/// Why an agent could not serve.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// What speaks to it is no coordinator.
    #[error(
        "the standard input is not that of a coordinator: `prony run --agent COMMAND` starts agents"
    )]
    NoCoordinator,
    /// The carrier failed.
    #[error("the coordinator cannot be reached: {0}")]
    Carrier(#[from] io::Error),
}

impl AgentError {
    /// Whether the user named something that cannot be.
    pub fn is_usage(&self) -> bool {
        match self {
            AgentError::NoCoordinator => true,
            AgentError::Carrier(error) => error.kind() == io::ErrorKind::InvalidInput,
        }
    }
}

pub struct AgentSetup {
    pub host: Host,
    pub build: Build,
    /// Examines this machine, as `prony doctor` does.
    pub examine: fn() -> Option<DoctorReport>,
    pub make_tool_program: MakeToolProgram,
    /// Whether the process begins anew, with its arguments, when a load without a coordinator does not end: an agent that
    /// waits for others.
    pub begins_anew: bool,
    /// Where to keep what is measured until the coordinator has it.
    pub folder: Option<PathBuf>,
}

/// Serves one coordinator until it is gone.
pub fn serve(
    mut input: impl Read + Send + 'static,
    mut output: impl Write + Send + 'static,
    setup: &AgentSetup,
) -> Result<(), AgentError> {
    output.write_all(&GREETING)?;
    output.flush()?;
    let mut greeting = [0; GREETING.len()];
    if input.read_exact(&mut greeting).is_err() || greeting != GREETING {
        return Err(AgentError::NoCoordinator);
    }
    let Ok((run, ToAgent::Hello(_))) = read_any_frame(&mut input) else {
        return Err(AgentError::NoCoordinator);
    };
    let (link, requests) = Link::start(input, output, run, setup.begins_anew)?;
    let result = serve_requests(&link, &requests, setup);
    link.end();
    result
}

/// Waits at a NATS server (`nats://HOST:PORT/NAME`) for coordinators, and serves one after the other. `notice` takes
/// warnings and the errors of each.
#[cfg(feature = "nats")]
pub fn serve_nats(
    url: &str,
    setup: &AgentSetup,
    notice: &mut dyn FnMut(&str),
) -> Result<std::convert::Infallible, AgentError> {
    use crate::nats::{NatsAddress, NatsAgent, open_server_warning};
    let address = NatsAddress::parse(url, Some(&setup.host.name))?;
    end_on_signals();
    let agent = NatsAgent::connect(&address)?;
    let missing = match agent.is_open() {
        Some(_) => "",
        None => "; the NATS server does not answer yet",
    };
    notice(&format!(
        "agent {} waits for a coordinator{missing}",
        address.agent
    ));
    loop {
        let (input, output) = agent.next_coordinator()?;
        if agent.is_open() == Some(true) {
            notice(&format!(
                "warning: {}",
                open_server_warning(&address.server)
            ));
        }
        if let Err(error) = serve(input, output, setup) {
            notice(&error.to_string());
        }
        agent.rest();
    }
}

/// Ends the process as signals do by default: the kernel ignores those that process 1, as in a container, does not handle.
#[cfg(feature = "nats")]
fn end_on_signals() {
    extern "C" fn end(signal: libc::c_int) {
        // SAFETY: _exit is async-signal-safe.
        unsafe { libc::_exit(128 + signal) }
    }
    for signal in [libc::SIGTERM, libc::SIGINT] {
        // SAFETY: the handler calls nothing but _exit.
        unsafe { libc::signal(signal, end as *const () as libc::sighandler_t) };
    }
}

/// A build without NATS.
#[cfg(not(feature = "nats"))]
pub fn serve_nats(
    _: &str,
    _: &AgentSetup,
    _: &mut dyn FnMut(&str),
) -> Result<std::convert::Infallible, AgentError> {
    Err(io::Error::other("this build has no NATS").into())
}

fn serve_requests(
    link: &Arc<Link>,
    requests: &Receiver<ToAgent>,
    setup: &AgentSetup,
) -> Result<(), AgentError> {
    link.send(&FromAgent::Welcome(Box::new(AgentDescription {
        build: setup.build.clone(),
        host: setup.host.clone(),
        boot_id: boot_id(),
    })))?;
    let folder = setup.folder.as_deref();
    let mut keeping = Keeping::default();
    loop {
        let request = match requests.recv_timeout(POLL_INTERVAL) {
            Ok(request) => request,
            // What arrived before the coordinator went is served first.
            Err(RecvTimeoutError::Timeout) if !link.is_lost() => continue,
            Err(_) => break,
        };
        match request {
            ToAgent::Prepare(part) => {
                if let Err(failure) = run_part(link, requests, setup, *part, &mut keeping) {
                    link.send(&FromAgent::Failed(failure))?;
                }
            }
            ToAgent::Probe(login) => {
                let answer = match probe(link, &login) {
                    Ok(probe) => FromAgent::Probed(probe),
                    Err(failure) => FromAgent::Failed(failure),
                };
                link.send(&answer)?;
            }
            ToAgent::Load(part) => {
                if let Err(failure) = load_part(link, *part) {
                    link.send(&FromAgent::Failed(failure))?;
                }
            }
            ToAgent::Examine => {
                let report = (setup.examine)();
                link.send(&FromAgent::Examined(report.map(Box::new)))?;
            }
            ToAgent::Collect => {
                if let Some(folder) = folder {
                    send_kept(folder, &mut |piece| {
                        link.send(&FromAgent::Kept(Some(piece)))
                    })?;
                }
                link.send(&FromAgent::Kept(None))?;
            }
            ToAgent::Discard(name) => {
                if let Some(folder) = folder {
                    remove(folder, &name);
                }
            }
            ToAgent::End => {
                keeping.discard();
                break;
            }
            // A stop that arrives when the part has ended.
            _ => {}
        }
    }
    Ok(())
}

const PROBE_STATEMENTS: usize = 50;

fn probe(link: &Link, login: &ServerLogin) -> Result<ServerProbe, AgentFailure> {
    let target = resolve_target(link, login)?;
    let connect_failure = |error: &dyn UserError| failure(FailureKind::Connect, error);
    let mut control = Control::connect(&target).map_err(|error| connect_failure(&error))?;
    let facts = read_server_facts(&mut control).map_err(|error| connect_failure(&error))?;
    let mut times_ns = Vec::with_capacity(PROBE_STATEMENTS);
    for _ in 0..PROBE_STATEMENTS {
        let sent_ns = Clock::System.now_ns();
        let answer = control.query_value("SELECT 1");
        answer.map_err(|error| connect_failure(&error))?;
        times_ns.push(Clock::System.now_ns() - sent_ns);
    }
    times_ns.sort_unstable();
    Ok(ServerProbe {
        version: facts.version,
        shortest_ns: times_ns[0],
        median_ns: times_ns[PROBE_STATEMENTS / 2],
    })
}
