//! A part of a run that an agent drives: prepares it, and sends what it measures.
//!
//! In: the coordinator's plan. Out: rows, and the end of the part. Must never: read another plan, or a file that the plan
//! names.

use crate::agent::AgentSetup;
use crate::coordinator::POLL_INTERVAL;
use crate::keep::{Keeping, KeptEnd, KeptHeader};
use crate::ledger::{LedgerPart, drive_and_tell};
use crate::link::Link;
use crate::login::{hosts_of, resolve_target};
use crate::message::{
    AgentFailure, FailureKind, FinishedPart, FromAgent, PartHost, PartPlan, PartRoundTrips,
    ReadyPart, RowCounts, RunPart, ToAgent, WorkDescription, add_counts, failure,
};
use crate::tool::{ToolListening, ToolOutput, ToolRequest};
use prony_document::hex;
use prony_drive::{DriveJob, DriveResult, LoadStart, Observer, ReadySlice, RunSlice, connect};
use prony_measure::{CommitGaps, IntervalRow, ProcessHealth, RunSchedule, SerializedRow};
use prony_plan::{ErrorParts, Plan, PlanInput, ServerPlan, UserError, to_toml};
use prony_server::settings::{find_reach, set_in_sessions};
use prony_server::{Control, Target, read_server_facts};
use prony_session::{Ledger, LedgerProgram};
use prony_workload::ReadyWorkload;
use prony_workload::ledger::LedgerTable;
use sha2::{Digest, Sha256};
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};

struct PreparedPart {
    plan: Plan,
    target: Target,
    ready: ReadyWorkload,
    service: Option<prony_document::Service>,
    ledger: Option<Arc<Ledger>>,
    tool: Option<ToolListening>,
    work: WorkDescription,
}

/// Executes one part of a run, and sends its end.
pub(crate) fn run_part(
    link: &Arc<Link>,
    requests: &Receiver<ToAgent>,
    setup: &AgentSetup,
    part: RunPart,
    keeping: &mut Keeping,
) -> Result<(), AgentFailure> {
    let prepared = prepare(link, &part, setup)?;
    let slice = RunSlice::of_workers(&prepared.plan.drive, part.first_worker..part.end_worker);
    let header = kept_header(link, setup, &prepared, &slice);
    let program = &*prepared.ready.program;
    let gaps = (part.measures_gaps)
        .then(|| CommitGaps::new(program.kinds().len(), |kind| program.only_reads(kind)));
    let gap_listener = gaps.as_ref().map(prony_drive::gap_listener);
    let (ledger, tool) = (prepared.ledger.as_ref(), prepared.tool.as_ref());
    let ledger_program = ledger.map(|ledger| LedgerProgram::new(program, ledger));
    let job = DriveJob {
        program: match &ledger_program {
            Some(program) => program,
            None => program,
        },
        target: &prepared.target,
        tcp_target: None,
        plan: &prepared.plan.drive,
        seed: part.seed,
        interrupt: &link.interrupt,
        new_sample_listener: tool
            .and_then(|tool| tool.new_sample_listener.as_deref())
            .or(gap_listener.as_ref().map(|new| new as _)),
        service: prepared.service,
        on_connect_refused: tool.and_then(|tool| tool.on_connect_refused.as_deref()),
        kept: None,
    };
    let mut sender = RowSender {
        link,
        start_ns: 0,
        rows: 0,
        counts: RowCounts::default(),
        keeping,
        ledger: ledger.map(|ledger| (&**ledger, slice.clients.clone())),
        tool_report: tool.and_then(|tool| tool.report.as_deref()),
    };
    let driven = connect(&job, &slice, |ready| {
        let state = ready_part(&ready, prepared.work.clone());
        link.send(&FromAgent::Ready(Box::new(state))).ok()?;
        let start_ns = wait_for_start(link, requests)?;
        *sender.keeping = Keeping::begin(setup.folder.as_deref(), &header);
        let told = sender.ledger.clone().filter(|_| part.read_login.is_some());
        let drive = || ready.start_at(start_ns, &mut sender);
        Some(drive_and_tell(link, told, start_ns, drive))
    });
    match driven {
        // The coordinator ended the run before its start, or is gone.
        Ok(None) => Err(interrupted()),
        Ok(Some(result)) => {
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
            // The coordinator waits for an end, even if this one is too long to be sent.
            let finished = FromAgent::Finished(Box::new(finished));
            link.send(&finished).map_err(|error| {
                let problem = format!("cannot send the end of its part: {error}");
                AgentFailure::new(FailureKind::Connect, ErrorParts::new(problem))
            })
        }
        Err(error) => Err(start_failure(&error)),
    }
}

fn kept_header(
    link: &Link,
    setup: &AgentSetup,
    prepared: &PreparedPart,
    slice: &RunSlice,
) -> KeptHeader {
    KeptHeader {
        run: format!("{:016x}", link.run),
        machine: setup.host.name.clone(),
        workload: prepared.plan.workload.name.clone(),
        kinds: prepared.work.kinds.clone(),
        clients: slice.clients.len() as u32,
        first_worker: slice.workers.start,
        end_worker: slice.workers.end,
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
fn prepare(
    link: &Arc<Link>,
    part: &RunPart,
    setup: &AgentSetup,
) -> Result<PreparedPart, AgentFailure> {
    let plan = match &part.plan {
        PartPlan::Toml(text) => read_plan(text)?,
        PartPlan::Tool(tool) => tool.plan(),
    };
    if part.first_worker >= part.end_worker || part.end_worker > plan.drive.workers() {
        return Err(usage(
            "it was asked to drive threads that the run does not have".to_owned(),
        ));
    }
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
    let (ready, tool) = match &part.plan {
        PartPlan::Toml(_) => (prepare_workload(&plan, &mut target, &mut control)?, None),
        PartPlan::Tool(tool) => {
            let request = ToolRequest {
                tool: &tool.tool,
                program: &tool.program,
                workload: &plan.workload,
                drive: &plan.drive,
                control: &mut control,
                output: ToolOutput(Arc::clone(link)),
                is_called: setup.begins_anew,
                seed: part.seed,
                first_worker: part.first_worker,
            };
            let made = (setup.make_tool_program)(request);
            let made = made.map_err(|parts| AgentFailure::new(FailureKind::Data, parts))?;
            (made.ready, Some(made.listening))
        }
    };
    let facts = read_server_facts(&mut control).map_err(|error| connect_failure(&error))?;
    let text = match &part.plan {
        PartPlan::Toml(_) => to_toml(&plan, Some(url_of(&plan))).map_err(|error| error.to_string()),
        tool @ PartPlan::Tool(_) => tool.text(),
    };
    let work = describe_work(&text.map_err(usage)?, &ready, facts.version, &target);
    let ledger = part.ledger_table.clone().map(|table| {
        let (clients, statements) = (plan.drive.clients, ready.program.statement_table());
        Arc::new(LedgerTable::named(table).ledger(&mut control, clients, &statements))
    });
    Ok(PreparedPart {
        plan,
        target,
        ready,
        service: facts.service,
        ledger,
        tool,
        work,
    })
}

/// The program of a workload. The sessions of its clients are as it needs them.
fn prepare_workload(
    plan: &Plan,
    target: &mut Target,
    control: &mut Control,
) -> Result<ReadyWorkload, AgentFailure> {
    let workload = prony_workload::find(&plan.workload.name);
    let workload = workload.map_err(|error| failure(FailureKind::Usage, &error))?;
    target.has_own_statements = !workload.has_users_statements();
    if let Some(reads) = &mut target.read_target {
        reads.has_own_statements = target.has_own_statements;
    }
    workload
        .program(control, &plan.workload)
        .map_err(|error| failure(FailureKind::Data, &error))
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
    let settings = ready.program.settings().into_iter();
    WorkDescription {
        plan_hash: hex(&Sha256::digest(plan.as_bytes())),
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

struct RowSender<'a> {
    link: &'a Link,
    start_ns: u64,
    rows: u64,
    counts: RowCounts,
    keeping: &'a mut Keeping,
    /// The account of the commits, and the clients of this machine.
    ledger: Option<(&'a Ledger, Range<u32>)>,
    /// What the side of a replaced tool says.
    tool_report: Option<&'a dyn Fn() -> String>,
}

impl RowSender<'_> {
    fn ledger_part(&self) -> Option<LedgerPart> {
        let (ledger, clients) = self.ledger.as_ref()?;
        Some(LedgerPart::of(ledger, clients, self.start_ns))
    }

    /// Sends what the side of a replaced tool says.
    fn report_of_tool(&self) -> io::Result<()> {
        match self.tool_report {
            Some(report) => self.link.send(&FromAgent::Tool(report())),
            None => Ok(()),
        }
    }

    fn finish(self, result: &DriveResult) -> FinishedPart {
        // If the coordinator is gone, the end does not arrive either.
        let _ = self.report_of_tool();
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
            SerializedRow::new(&row, self.start_ns)
        });
        let events = result.events.iter().cloned();
        FinishedPart {
            drain,
            events: events
                .map(|event| event.on_clock(|ns| ns.saturating_sub(self.start_ns)))
                .collect(),
            shares: Vec::new(),
            commit_gaps: Vec::new(),
            ledger: self.ledger_part(),
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
        let row = SerializedRow::new(row, self.start_ns);
        add_counts(&mut self.counts, &row);
        self.keeping.add_row(&row);
        let mut sent = self.report_of_tool();
        if let (Some(part), Ok(())) = (self.ledger_part(), &sent) {
            sent = self.link.send(&FromAgent::Ledger(Box::new(part)));
        }
        if sent
            .and_then(|()| self.link.send(&FromAgent::Row(Box::new(row))))
            .is_err()
        {
            self.link.lose();
        }
    }
}
