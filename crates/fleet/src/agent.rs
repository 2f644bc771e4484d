//! The agent's side: prepares a part of a run, drives it, and sends what it measures.
//!
//! In: the frames of its coordinator. Out: its own. Must never: take a plan of anybody but its coordinator, run a
//! command, or go on without its coordinator: when that is gone or silent, the load ends.

use crate::carrier::{HEARTBEAT, SILENCE_MAX, lock};
use crate::commit_gap::CommitGaps;
use crate::coordinator::boot_id;
use crate::frame::{FrameError, GREETING, read_any_frame, read_frame, write_frame};
use crate::keep::{Keeping, KeptEnd, KeptHeader, kept, remove};
use crate::loading::load_part;
use crate::login::{hosts_of, resolve_target};
use crate::message::{
    AgentDescription, AgentFailure, FailureKind, FinishedPart, FromAgent, PartEvent, PartHost,
    PartRoundTrips, PartRow, ReadyPart, RowCounts, RunPart, ServerLogin, ServerProbe, ToAgent,
    WorkDescription, add_counts,
};
use prony_drive::clock::Clock;
use prony_drive::{DriveJob, DriveResult, LoadStart, Observer, ReadySlice, RunSlice, connect};
use prony_measure::{IntervalRow, ProcessHealth, RunSchedule};
use prony_plan::{ErrorParts, Plan, PlanInput, ServerPlan, UserError, to_toml};
use prony_server::settings::{find_reach, set_in_sessions};
use prony_server::{Control, Target, read_server_facts};
use prony_store::{Build, DoctorReport, Host};
use prony_workload::ReadyWorkload;
use sha2::{Digest, Sha256};
use std::env::args_os;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, sleep};
use std::time::Duration;

/// How long an agent without a coordinator may take to end its load; then the process exits.
const END_TIMEOUT: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

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

/// What an agent is, and what its program does for it.
pub struct AgentSetup {
    /// This machine and program.
    pub host: Host,
    pub build: Build,
    /// Examines this machine, as `prony doctor` does.
    pub examine: fn() -> Option<DoctorReport>,
    /// Whether the process begins anew, with its arguments, when a load without a coordinator does not end: an agent that
    /// waits for others.
    pub begins_anew: bool,
    /// Where to keep what is measured until the coordinator has it.
    pub folder: Option<PathBuf>,
}

/// Serves one coordinator until it is gone.
///
/// # Errors
/// If the input is not that of a coordinator.
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
    let link = Arc::new(Link {
        output: Mutex::new(Box::new(output)),
        run,
        interrupt: AtomicBool::new(false),
        stop: Arc::default(),
        is_lost: AtomicBool::new(false),
        has_ended: AtomicBool::new(false),
        begins_anew: setup.begins_anew,
        heard_ns: AtomicU64::new(Clock::System.now_ns()),
    });
    let (sender, requests) = channel();
    let reading = Arc::clone(&link);
    Builder::new().spawn(move || reading.read_all(&mut input, &sender))?;
    let beating = Arc::clone(&link);
    Builder::new().spawn(move || beating.beat())?;
    let watching = Arc::clone(&link);
    Builder::new().spawn(move || watching.watch())?;
    let result = serve_requests(&link, &requests, setup);
    link.has_ended.store(true, Ordering::Relaxed);
    // What carries the frames ends, and with it the thread that reads.
    *lock(&link.output) = Box::new(io::sink());
    result
}

/// Waits at a NATS server (`nats://HOST:PORT/NAME`) for coordinators, and serves one after the other. `notice` takes
/// warnings and the errors of each.
///
/// # Errors
/// If the server cannot be reached, or refuses.
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
///
/// # Errors
/// Always.
#[cfg(not(feature = "nats"))]
pub fn serve_nats(
    _: &str,
    _: &AgentSetup,
    _: &mut dyn FnMut(&str),
) -> Result<std::convert::Infallible, AgentError> {
    Err(io::Error::other("this build has no NATS").into())
}

fn serve_requests(
    link: &Link,
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
            Err(RecvTimeoutError::Timeout) if !link.is_lost.load(Ordering::Relaxed) => continue,
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
                link.send(&FromAgent::Kept(folder.map(kept).unwrap_or_default()))?;
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

/// The connection to the coordinator.
pub(crate) struct Link {
    output: Mutex<Box<dyn Write + Send>>,
    run: u64,
    /// Ends the load.
    pub interrupt: AtomicBool,
    /// Ends the waits of the control connection.
    pub stop: Arc<AtomicUsize>,
    is_lost: AtomicBool,
    /// All requests have been served.
    has_ended: AtomicBool,
    /// Whether a process whose load hangs begins anew rather than ends.
    begins_anew: bool,
    /// When the coordinator was heard last, on the agent's clock.
    heard_ns: AtomicU64,
}

impl Link {
    pub fn send(&self, message: &FromAgent) -> io::Result<()> {
        let mut output = lock(&self.output);
        write_frame(&mut **output, self.run, message)
    }

    /// Ends what is being done.
    fn stop(&self) {
        self.stop.store(libc::SIGTERM as usize, Ordering::Relaxed);
        self.interrupt.store(true, Ordering::Relaxed);
    }

    fn lose(&self) {
        self.is_lost.store(true, Ordering::Relaxed);
        self.stop();
    }

    /// Reads all frames: answers pings, stops at once, and passes the others on. Ends with the input.
    fn read_all(&self, input: &mut dyn Read, requests: &Sender<ToAgent>) {
        loop {
            let message = read_frame(input, self.run);
            let now_ns = Clock::System.now_ns();
            self.heard_ns.store(now_ns, Ordering::Relaxed);
            let result = match message {
                Ok(ToAgent::Ping(number)) => self.send(&FromAgent::Pong(number, now_ns)),
                Ok(ToAgent::Alive) => Ok(()),
                Ok(message) => {
                    if matches!(message, ToAgent::Stop) {
                        self.stop();
                    }
                    requests
                        .send(message)
                        .map_err(|_| io::ErrorKind::BrokenPipe.into())
                }
                Err(FrameError::Closed) => Err(io::ErrorKind::UnexpectedEof.into()),
                Err(error) => Err(io::Error::other(error.to_string())),
            };
            if result.is_err() {
                return self.lose();
            }
        }
    }

    /// Says that the agent is there.
    fn beat(&self) {
        while !self.is_over() && self.send(&FromAgent::Alive).is_ok() {
            sleep(HEARTBEAT);
        }
        if !self.has_ended.load(Ordering::Relaxed) {
            self.lose();
        }
    }

    fn is_over(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed) || self.has_ended.load(Ordering::Relaxed)
    }

    /// Watches whether the coordinator is there. If not, the load ends soon, or else the process does, even if a write
    /// to the coordinator hangs.
    fn watch(&self) {
        while !self.is_over() {
            let silent_ns = Clock::System
                .now_ns()
                .saturating_sub(self.heard_ns.load(Ordering::Relaxed));
            if Duration::from_nanos(silent_ns) > SILENCE_MAX {
                self.lose();
            }
            sleep(HEARTBEAT);
        }
        if self.is_lost.load(Ordering::Relaxed) {
            sleep(END_TIMEOUT);
            if !self.has_ended.load(Ordering::Relaxed) {
                if self.begins_anew {
                    // An error: it did not begin.
                    let _ = Command::new("/proc/self/exe")
                        .args(args_os().skip(1))
                        .exec();
                }
                std::process::exit(1);
            }
        }
    }
}

pub(crate) fn failure(kind: FailureKind, error: &dyn UserError) -> AgentFailure {
    AgentFailure::new(kind, error.parts())
}

const PROBE_STATEMENTS: usize = 50;

/// Measures the way to the server.
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

/// A part that is prepared on the server.
struct PreparedPart {
    plan: Plan,
    target: Target,
    ready: ReadyWorkload,
    service: Option<prony_document::Service>,
    work: WorkDescription,
}

/// Executes one part of a run, and sends its end.
fn run_part(
    link: &Link,
    requests: &Receiver<ToAgent>,
    setup: &AgentSetup,
    part: RunPart,
    keeping: &mut Keeping,
) -> Result<(), AgentFailure> {
    let prepared = prepare(link, &part)?;
    let slice = RunSlice::of_workers(&prepared.plan.drive, part.first_worker..part.end_worker);
    let header = KeptHeader {
        run: format!("{:016x}", link.run),
        machine: setup.host.name.clone(),
        workload: prepared.plan.workload.name.clone(),
        kinds: prepared.work.kinds.clone(),
        clients: slice.clients.len() as u32,
        first_worker: part.first_worker,
        end_worker: part.end_worker,
    };
    let gaps = (part.measures_gaps).then(|| CommitGaps::of(&*prepared.ready.program));
    let gap_listener = gaps.clone();
    let gap_listener = gap_listener.map(|gaps| move |_: usize| gaps.listener());
    let job = DriveJob {
        program: &*prepared.ready.program,
        target: &prepared.target,
        tcp_target: None,
        plan: &prepared.plan.drive,
        seed: part.seed,
        interrupt: &link.interrupt,
        new_sample_listener: gap_listener.as_ref().map(|new| new as _),
        service: prepared.service,
        on_connect_refused: None,
        kept: None,
    };
    let mut sender = RowSender {
        link,
        start_ns: 0,
        rows: 0,
        counts: RowCounts::default(),
        keeping,
    };
    let driven = connect(&job, &slice, |ready| {
        let state = ready_part(&ready, prepared.work.clone());
        link.send(&FromAgent::Ready(Box::new(state))).ok()?;
        let start_ns = wait_for_start(link, requests)?;
        *sender.keeping = Keeping::begin(setup.folder.as_deref(), &header);
        Some(ready.start_at(start_ns, &mut sender))
    });
    match driven {
        // The coordinator ended the run before its start, or is gone.
        Ok(None) => Err(interrupted()),
        Ok(Some(result)) => {
            let program = &prepared.ready.program;
            let shares = program.action_shares();
            let finished = FinishedPart {
                shares: shares
                    .iter()
                    .map(|share| (share.count, share.total))
                    .collect(),
                commit_gaps: gaps
                    .map(|gaps| gaps.since(result.start.schedule.start_ns))
                    .unwrap_or_default(),
                ..sender.finish(&result)
            };
            // If nobody listens, the load has ended.
            let _ = link.send(&FromAgent::Finished(Box::new(finished)));
            Ok(())
        }
        Err(error) => Err(start_failure(&error)),
    }
}

fn interrupted() -> AgentFailure {
    let parts = ErrorParts::new("interrupted before the load started");
    AgentFailure::new(FailureKind::Interrupted, parts)
}

fn start_failure(error: &prony_drive::Error) -> AgentFailure {
    use prony_drive::Error;
    let kind = match error {
        Error::Interrupted => FailureKind::Interrupted,
        Error::Connect { .. } | Error::UserNotReady(_) => FailureKind::Connect,
        Error::FileLimit { .. } | Error::ThreadStart { .. } | Error::RingUnavailable(_) => {
            FailureKind::Usage
        }
    };
    failure(kind, error)
}

/// The time of the start; `None` if there will be none.
fn wait_for_start(link: &Link, requests: &Receiver<ToAgent>) -> Option<u64> {
    while !link.interrupt.load(Ordering::Relaxed) {
        match requests.recv_timeout(POLL_INTERVAL) {
            Ok(ToAgent::Start(start_ns)) => return Some(start_ns),
            Ok(_) | Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
    None
}

fn ready_part(ready: &ReadySlice<'_>, work: WorkDescription) -> ReadyPart {
    let LoadStart {
        engine,
        engine_reason,
        network,
        tls,
        connect_s,
        layout,
        ..
    } = ready.load_start(0);
    ReadyPart {
        work,
        engine: engine.name().to_owned(),
        engine_reason,
        network,
        tls,
        connect_s,
        layout,
    }
}

fn usage(problem: String) -> AgentFailure {
    AgentFailure::new(FailureKind::Usage, ErrorParts::new(problem))
}

pub(crate) fn read_plan(text: &str) -> Result<Plan, AgentFailure> {
    PlanInput::from_toml("the coordinator's plan", text)
        .and_then(PlanInput::check)
        .map_err(|problems| usage(problems.to_string()))
}

/// Reads the plan, connects to the server, and reads the data's description.
fn prepare(link: &Link, part: &RunPart) -> Result<PreparedPart, AgentFailure> {
    let plan = read_plan(&part.plan)?;
    let mut target = resolve_target(link, &part.login)?;
    target.spread = plan.drive.spread.unwrap_or(target.spread);
    if let Some(login) = &part.read_login {
        let mut reads = resolve_target(link, login)?;
        reads.spread = target.spread;
        target.read_target = Some(Box::new(reads));
    }
    let connect_failure = |error: &dyn UserError| failure(FailureKind::Connect, error);
    let mut control = Control::connect(&target).map_err(|error| connect_failure(&error))?;
    if !plan.settings.is_empty() {
        let wanted = find_reach(&mut control, &plan.settings);
        let wanted = wanted.map_err(|error| connect_failure(&error))?;
        set_in_sessions(&mut target, &wanted);
    }
    let workload = prony_workload::find(&plan.workload.name);
    let workload = workload.map_err(|error| failure(FailureKind::Usage, &error))?;
    target.has_own_statements = !workload.has_users_statements();
    if let Some(reads) = &mut target.read_target {
        reads.has_own_statements = target.has_own_statements;
    }
    let ready = workload
        .program(&mut control, &plan.workload)
        .map_err(|error| failure(FailureKind::Data, &error))?;
    let facts = read_server_facts(&mut control).map_err(|error| connect_failure(&error))?;
    let url = url_of(&plan);
    let text = to_toml(&plan, Some(url)).map_err(|error| usage(error.to_string()))?;
    let work = describe_work(&text, &ready, facts.version, &target);
    Ok(PreparedPart {
        plan,
        target,
        ready,
        service: facts.service,
        work,
    })
}

pub(crate) fn url_of(plan: &Plan) -> &str {
    match &plan.server {
        ServerPlan::Url(url) => url,
        ServerPlan::Embedded => "",
    }
}

/// The work of a plan, as this program would do it. `plan`: the text of the plan.
pub(crate) fn describe_work(
    plan: &str,
    ready: &ReadyWorkload,
    server_version: String,
    target: &Target,
) -> WorkDescription {
    let hash = Sha256::digest(plan.as_bytes());
    let settings = ready.program.settings().into_iter();
    WorkDescription {
        plan_hash: hash.iter().map(|byte| format!("{byte:02x}")).collect(),
        scale: ready.scale,
        kinds: ready
            .program
            .kinds()
            .iter()
            .map(|kind| (*kind).to_owned())
            .collect(),
        settings: settings
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
        server_version,
        hosts: hosts_of(target),
    }
}

/// Sends each row.
struct RowSender<'a> {
    link: &'a Link,
    start_ns: u64,
    rows: u64,
    counts: RowCounts,
    keeping: &'a mut Keeping,
}

impl RowSender<'_> {
    fn finish(self, result: &DriveResult) -> FinishedPart {
        self.keeping.end(&KeptEnd {
            rows: self.rows,
            counts: self.counts,
            failure: result.failure.clone(),
        });
        let drain = result.collected.drain.clone();
        let drain = drain.map(|interval| {
            let row = IntervalRow {
                interval,
                worker_cpu_ns: Vec::new(),
                process: ProcessHealth::default(),
            };
            PartRow::new(&row, self.start_ns)
        });
        let events = result.events.iter();
        FinishedPart {
            drain,
            events: events
                .map(|event| PartEvent::new(event, self.start_ns))
                .collect(),
            shares: Vec::new(),
            commit_gaps: Vec::new(),
            start_delay_ns: result.start_delay_ns,
            rows: self.rows,
            counts: self.counts,
            failure: result.failure.clone(),
            hosts: result.hosts.iter().map(PartHost::new).collect(),
            round_trips: result.round_trips.as_ref().map(PartRoundTrips::new),
        }
    }
}

impl Observer for RowSender<'_> {
    fn started(&mut self, start: &LoadStart) {
        self.start_ns = start.schedule.start_ns;
    }

    fn interval_ended(&mut self, row: &IntervalRow, _: &RunSchedule) {
        self.rows += 1;
        add_counts(&mut self.counts, row);
        let row = PartRow::new(row, self.start_ns);
        self.keeping.add_row(&row);
        if self.link.send(&FromAgent::Row(Box::new(row))).is_err() {
            self.link.lose();
        }
    }
}
