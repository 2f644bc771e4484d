//! Executes one run.

use crate::check_after;
use crate::client_timeouts::client_timeouts;
use crate::document;
use crate::endpoints::{EndpointObservers, endpoints_before, record_load};
use crate::error::Error;
use crate::fleet::{FleetParts, machines};
use crate::job::{RunJob, StorePolicy};
use crate::ledger::RunLedger;
use crate::marks::Marks;
use crate::no_server::NoServerDetector;
use crate::observing::{self, LoadEnd, Observation, ServerObserver};
use crate::recording::{Recording, RecordingState};
use crate::refused::{RefusalDetector, Refused};
use crate::server_tpm::{ServerRates, ServerTpm};
use prony_drive::clock::Clock;
use prony_drive::{DriveResult, LoadStart, Observer};
use prony_fleet::{Fleet, FleetJob, FleetResult};
use prony_judge::WarmingUp;
use prony_measure::{CommitGapTimes, CommitGaps, IntervalRow, RunSchedule};
use prony_plan::{DrivePlan, Pace};
use prony_server::Target;
use prony_server::embedded::EmbeddedPostgres;
use prony_session::Program;
use prony_store::{
    ClientGaps, CommitGap, EndpointFigures, MissingObservation, ObservedTopic, RequiredFigure, Run,
    RunStore, RunWriter, Second, ServerSecond, StoreError, WarmupEnd,
};
use prony_workload::{MetricSource, RateMetric};
use std::path::PathBuf;

/// Follows a run in progress: terminals, live views, dialects, exporters. All calls come from one thread.
pub trait RunObserver {
    /// The document exists, and the clients are about to connect. `recording` holds the document
    /// during the run.
    fn begun(&mut self, _run: &Run, _recording: &Recording) {}
    /// The run continues without being stored.
    fn not_stored(&mut self, _error: &StoreError) {}
    /// The journal could not be written; the run continues.
    fn journal_failed(&mut self, _error: &StoreError) {}
    /// All users are ready. They start after this call, so that the observer's output comes before the
    /// output of their scripts.
    fn ready(&mut self) {}
    /// The load starts at the time in `start`. Users may have started already.
    fn started(&mut self, _start: &LoadStart) {}
    /// The warm-up, which had no fixed length, ends as in this schedule.
    fn warmup_ends(&mut self, _schedule: &RunSchedule, _end: WarmupEnd) {}
    fn second_ended(&mut self, _second: &RunSecond<'_>) {}
    /// The window of a timed run has ended, but transactions are still in flight; called once.
    fn draining(&mut self) {}
    /// The load has ended; the run is judged and stored next. Returns the server's transactions per minute,
    /// if the observer has measured them.
    fn ended(&mut self, _driven: &DriveResult) -> Option<f64> {
        None
    }
}

pub struct RunSecond<'a> {
    /// What the load generator measured in this second.
    pub row: &'a IntervalRow,
    pub schedule: &'a RunSchedule,
    /// The row in the form of the document; `None` if the recording has ended.
    pub second: Option<&'a Second>,
    /// Observations of the server since the last call, one per second.
    pub server_seconds: &'a [ServerSecond],
}

pub struct FinishedRun {
    pub run: Run,
    /// The path of the document, or why it could not be stored; `None` if the run was not to be
    /// stored.
    pub store_result: Option<Result<PathBuf, StoreError>>,
    /// The result of [`prony_drive::run`].
    pub drive_result: DriveResult,
}

/// Executes a run, judges and stores it.
///
/// # Errors
/// If the run must be stored but cannot be, or the load cannot start. A run that fails later is a partial
/// run.
pub fn run(mut job: RunJob<'_>, observer: &mut dyn RunObserver) -> Result<FinishedRun, Error> {
    if job.server.target.read_target.is_some() && !has_read_only_kind(&job) {
        return Err(Error::NoReads(job.plan.workload.name.clone()));
    }
    let fleet = job.fleet.take();
    let mut run = document::new_run(&job);
    if let Some(fleet) = &fleet {
        run.machines = machines(fleet);
    }
    if let Some(growth) = &job.growth {
        run.growth = growth.readings();
    }
    let observation = job.observation.take();
    let observer_input = Some(record_servers(&job, observation, &mut run));
    let endpoints = run.endpoints.clone();
    let storage = open_storage(&job, &mut run, observer)?;
    let ledger = match RunLedger::create(&job, &run.id) {
        Ok(ledger) => ledger,
        Err(error) => {
            if let Some((_, writer)) = storage {
                writer.discard();
            }
            return Err(error);
        }
    };
    let ledger_program = ledger
        .as_ref()
        .map(|ledger| ledger.program(&*job.ready_workload.program));
    let recording = Recording::default();
    observer.begun(&run, &recording);
    recording.begin(RecordingState::new(storage, run));
    let mut recorder = RunRecorder {
        observer,
        recording,
        tpm_target: must_read_txn_count(&job).then(|| job.server.target.clone()),
        tpm_measurement: None,
        observer_input,
        server_observer: None,
        job: &job,
        endpoints,
        endpoint_observers: EndpointObservers::default(),
        embedded: job.server.embedded.as_ref(),
        failure: None,
        refusal_detector: job.ends_if_refused.then(RefusalDetector::default),
        refused: None,
        no_server_detector: NoServerDetector::of(job.plan.drive.stop),
        ledger,
        is_fleet: fleet.is_some(),
        marks: None,
        commit_gaps: measures_gaps(&job).then(|| {
            let program = &job.ready_workload.program;
            CommitGaps::new(program.kinds().len(), |kind| program.only_reads(kind))
        }),
        warmup: OpenWarmup::of(&job.plan.drive),
    };
    let program = match &ledger_program {
        Some(program) => program,
        None => &*job.ready_workload.program,
    };
    let drive_result = drive(&job, program, fleet, &mut recorder);
    let error = match drive_result {
        Ok((drive_result, parts)) => match recorder.take_refusal() {
            Some(refused) if !drive_result.interrupted => Error::Refused(refused),
            _ => return Ok(recorder.finish(drive_result, parts)),
        },
        Err(error) => error,
    };
    if let (_, Some(writer)) = recorder.recording.end() {
        writer.discard();
    }
    if let Some(ledger) = recorder.ledger {
        ledger.discard(&job.server.target);
    }
    Err(error)
}

/// Records the servers as they are before the load; returns the input of the thread that observes the first.
fn record_servers(
    job: &RunJob<'_>,
    observation: Option<Observation>,
    run: &mut Run,
) -> observing::ServerObserverInput {
    let target = &job.server.target;
    // Replaced tools connect only where the tool would.
    let observes = observation.as_ref().is_some_and(|observation| {
        observation.observed.off.is_none() && !observation.reads_others_after
    });
    run.endpoints = endpoints_before(target, observes);
    run.drive.spread = (!run.endpoints.is_empty()).then_some(target.spread);
    let has_read_target = target.read_target.is_some();
    run.drive.read_share_percent = has_read_target.then_some(job.plan.drive.read_share);
    let observation =
        observation.unwrap_or_else(|| Observation::before_and_after(job.connection, None));
    let input = observing::ServerObserverInput {
        target: target.clone(),
        facts: job.facts.clone(),
        exporter: observation.exporter,
        colocation: job.connection.colocation.clone(),
        queries_server: observation.observed.off.is_none(),
        reads_others_after: observation.reads_others_after,
    };
    run.observed = Some(observation.observed);
    input
}

/// Drives the load from this machine, or from those of a fleet, whose agents have then ended and whose parts are returned.
fn drive(
    job: &RunJob<'_>,
    program: &dyn Program,
    fleet: Option<Fleet>,
    recorder: &mut RunRecorder<'_>,
) -> Result<(DriveResult, Option<FleetParts>), Error> {
    let Some(mut fleet) = fleet else {
        let gap_listener = recorder.commit_gaps.as_ref().map(prony_drive::gap_listener);
        // As the trait object that the job takes.
        let gap_listener = gap_listener.as_ref().map(|new| new as _);
        let driven = prony_drive::run(
            &prony_drive::DriveJob {
                program,
                target: &job.server.target,
                tcp_target: job.server.tcp_target.as_ref(),
                plan: &job.plan.drive,
                seed: job.seed,
                interrupt: job.interrupt.flag(),
                new_sample_listener: job.new_sample_listener.or(gap_listener),
                service: job.facts.service,
                on_connect_refused: job.on_connect_refused,
                // The statement of a ledger names a table of this run alone.
                kept: job.kept_connections.filter(|_| !job.plan.ledger),
            },
            recorder,
        );
        return driven
            .map(|driven| (driven, None))
            .map_err(Error::NotStarted);
    };
    let commit_gaps = recorder.commit_gaps.clone();
    let ledger = recorder.ledger.as_ref().map(RunLedger::for_fleet);
    let driven = fleet.drive(
        &FleetJob {
            ledger: ledger.as_ref(),
            tool: job.fleet_tool,
            commit_gaps: commit_gaps.as_ref(),
            plan: job.plan,
            target: &job.server.target,
            ready_workload: job.ready_workload,
            server_version: &job.facts.version,
            seed: job.seed,
            interrupt: job.interrupt.flag(),
        },
        recorder,
    );
    let FleetResult {
        driven,
        agents,
        shares,
    } = driven.map_err(Error::Fleet)?;
    let parts = FleetParts {
        agents,
        shares,
        is_elsewhere: fleet.is_elsewhere(),
    };
    Ok((driven, Some(parts)))
}

/// Opens the store and begins the journal; `None` if the run is not stored.
fn open_storage(
    job: &RunJob<'_>,
    run: &mut Run,
    observer: &mut dyn RunObserver,
) -> Result<Option<(RunStore, RunWriter)>, Error> {
    if job.store_policy == StorePolicy::DoNotStore {
        return Ok(None);
    }
    let begin = |store: RunStore| store.begin(run).map(|writer| (store, writer));
    match RunStore::open(job.store_folder).and_then(begin) {
        Ok(storage) => Ok(Some(storage)),
        Err(error) if job.store_policy == StorePolicy::Required => Err(Error::NotStored(error)),
        Err(error) => {
            observer.not_stored(&error);
            Ok(None)
        }
    }
}

/// Whether there is a kind of transactions that only read.
fn has_read_only_kind(job: &RunJob<'_>) -> bool {
    let program = &job.ready_workload.program;
    (0..program.kinds().len()).any(|kind| program.only_reads(kind))
}

/// Whether to measure the longest time without a commit of each client, which costs a few nanoseconds a transaction.
fn measures_gaps(job: &RunJob<'_>) -> bool {
    let plan = job.plan;
    let mut required = plan.require.0.iter().map(|requirement| &requirement.figure);
    plan.expect_outage
        || plan.ledger
        || !plan.at.is_empty()
        || required
            .any(|figure| matches!(figure, RequiredFigure::Outage | RequiredFigure::Recovery))
}

/// The times without a commit, for the document.
fn commit_gap(times: &CommitGapTimes) -> CommitGap {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let in_seconds =
        |(from_ns, until_ns): (u64, Option<u64>)| (seconds(from_ns), until_ns.map(seconds));
    let (from_s, until_s) = in_seconds(times.longest);
    let [min_s, p50_s, max_s] = times.clients_ns.map(seconds);
    CommitGap {
        from_s,
        until_s,
        all: times.all.iter().copied().map(in_seconds).collect(),
        clients: ClientGaps {
            min_s,
            p50_s,
            max_s,
            not_back: times.not_back,
        },
        ..CommitGap::default()
    }
}

/// Whether a metric of the workload needs the server's transaction count, and the run may read it.
fn must_read_txn_count(job: &RunJob<'_>) -> bool {
    let is_counted_by_server = |metric: &RateMetric| metric.source == MetricSource::ServerCounters;
    job.read_server_txn_count && job.workload.rate_metrics().iter().any(is_counted_by_server)
}

/// Stores each second, collects observations of the server, and calls the observer.
struct RunRecorder<'a> {
    observer: &'a mut dyn RunObserver,
    recording: Recording,
    /// The server whose transaction count is read; taken at the start of the load.
    tpm_target: Option<Target>,
    tpm_measurement: Option<ServerTpm>,
    /// Input of the observing thread; taken at the start of the load.
    observer_input: Option<observing::ServerObserverInput>,
    server_observer: Option<ServerObserver>,
    job: &'a RunJob<'a>,
    /// The servers as they were before the load; empty if there is only one.
    endpoints: Vec<EndpointFigures>,
    endpoint_observers: EndpointObservers,
    /// The throw-away server; if it exits, the run fails.
    embedded: Option<&'a EmbeddedPostgres>,
    /// Why the run must end, if it must.
    failure: Option<String>,
    refusal_detector: Option<RefusalDetector>,
    refused: Option<Refused>,
    no_server_detector: Option<NoServerDetector>,
    ledger: Option<RunLedger>,
    /// Whether other machines drive the clients.
    is_fleet: bool,
    marks: Option<Marks>,
    commit_gaps: Option<CommitGaps>,
    warmup: OpenWarmup,
}

/// A warm-up that may have no fixed length.
struct OpenWarmup {
    /// Whether its end is not known yet.
    is_open: bool,
    /// Whether the load has a rate, which its throughput then only follows.
    at_rate: bool,
    /// The seconds so far, which tell whether the load is steady.
    seconds: WarmingUp,
    /// What ended it; `None` before, and for a fixed length.
    end: Option<WarmupEnd>,
}

impl OpenWarmup {
    fn of(plan: &DrivePlan) -> OpenWarmup {
        OpenWarmup {
            is_open: plan.warmup_max.is_some(),
            at_rate: plan.pace != Pace::Closed,
            seconds: WarmingUp::default(),
            end: None,
        }
    }
}

impl RunRecorder<'_> {
    /// The refusal that ended the run, or would have ended a longer one.
    fn take_refusal(&mut self) -> Option<Refused> {
        let detector = self.refusal_detector.as_mut();
        self.refused
            .take()
            .or(detector.and_then(RefusalDetector::at_end))
    }

    fn report_journal_failure(&mut self, result: Result<(), StoreError>) {
        if let Err(error) = result {
            self.observer.journal_failed(&error);
        }
    }

    /// Starts to read the server's own count, whose series need the times of the window.
    fn measure_tpm(&mut self, schedule: &RunSchedule) {
        let target = self.tpm_target.take();
        self.tpm_measurement = target.and_then(|target| ServerTpm::start(&target, *schedule));
    }

    fn finish(mut self, drive_result: DriveResult, parts: Option<FleetParts>) -> FinishedRun {
        let job = self.job;
        if let Some(marks) = &self.marks {
            marks.load_has_ended();
        }
        if let Some(ledger) = &mut self.ledger {
            ledger.load_has_ended();
        }
        let observer_tpm = self.observer.ended(&drive_result);
        let load_end = LoadEnd::of(&drive_result);
        let tpm_measurement = self.tpm_measurement.take();
        let is_unresponsive = self
            .server_observer
            .as_ref()
            .is_some_and(ServerObserver::is_unresponsive);
        let server_rates = tpm_measurement
            .and_then(|measurement| measurement.end(load_end, is_unresponsive))
            .transpose();
        let (mut run, writer) = self.recording.end();
        if let Err(why) = &server_rates {
            let missing = MissingObservation::new(ObservedTopic::TransactionRate, why);
            let observed = run.observed.get_or_insert_default();
            observed.missing.push(missing);
        }
        if let Some(server_observer) = self.server_observer.take() {
            server_observer.end(load_end, run.observed.get_or_insert_default());
        }
        let observer_rates = observer_tpm.map(|tpm| ServerRates { tpm, begun: None });
        document::record_end(
            &mut run,
            job,
            &drive_result,
            server_rates.ok().flatten().or(observer_rates),
        );
        run.window.warmup_end = self.warmup.end;
        if let Some(parts) = &parts {
            parts.record(&mut run);
        }
        let events = self.endpoint_observers.end(load_end, &mut run.endpoints);
        if !events.is_empty() {
            run.observed.get_or_insert_default().events.extend(events);
        }
        record_load(&mut run, &job.server.target, &drive_result.hosts);
        run.commit_gap = self
            .commit_gaps
            .and_then(|gaps| gaps.longest(&drive_result.start.schedule))
            .map(|times| CommitGap {
                clock_bound_s: parts.as_ref().map(FleetParts::clock_bound_s),
                timeouts: client_timeouts(&job.server.target),
                ..commit_gap(&times)
            });
        // A command may still be bringing back the server, which is read next.
        run.events
            .extend(self.marks.take().into_iter().flat_map(Marks::end));
        run.events.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
        if let Some(growth) = &job.growth {
            run.growth = growth.read_after(job, &drive_result);
        }
        // A lost agent has not reported what its clients knew last.
        let knows_all =
            parts.is_none_or(|parts| parts.agents.iter().all(|agent| agent.lost.is_none()));
        run.ledger = self
            .ledger
            .map(|ledger| ledger.account(job, &drive_result, run.window.load_end_s(), knows_all));
        run.consistency = check_after::check_after(job, &drive_result);
        prony_judge::judge_run_beside(&mut run, &job.purpose.baselines);
        FinishedRun {
            store_result: writer.map(|writer| writer.finish(&run)),
            run,
            drive_result,
        }
    }
}

impl Observer for RunRecorder<'_> {
    fn ready(&mut self) {
        self.observer.ready();
    }

    fn started(&mut self, start: &LoadStart) {
        self.observer.started(start);
        if !self.warmup.is_open {
            self.measure_tpm(&start.schedule);
        }
        let observer_input = self.observer_input.take();
        self.server_observer =
            observer_input.and_then(|input| ServerObserver::start(input, start.schedule));
        let (target, facts) = (&self.job.server.target, self.job.facts);
        self.endpoint_observers =
            EndpointObservers::start(&self.endpoints, target, facts, start.schedule);
        let plan = self.job.plan;
        if self.job.store_policy != StorePolicy::DoNotStore || !plan.at.is_empty() {
            let (marks, target) = (&plan.at, &self.job.server.target);
            self.marks = Some(Marks::start(marks, target, start.schedule.start_ns));
        }
        if let Some(ledger) = &mut self.ledger {
            ledger.observe_replicas(&self.job.server.target);
        }
        let result = self.recording.record_start(start);
        self.report_journal_failure(result);
    }

    fn interval_ended(&mut self, row: &IntervalRow, schedule: &RunSchedule) {
        if self.embedded.is_some_and(EmbeddedPostgres::has_ended) {
            self.embedded = None;
            self.failure = Some("the throw-away server has ended".to_owned());
        }
        if let Some(detector) = &mut self.refusal_detector
            && let Some(refused) = detector.add(row, self.job.ready_workload.program.kinds())
        {
            self.failure = Some(refused.to_string());
            self.refused = Some(refused);
        }
        if let Some(detector) = &mut self.no_server_detector
            && let Some(reason) = detector.add(row)
        {
            self.failure = Some(reason);
        }
        let (second, result) = self.recording.record_row(row, schedule);
        self.report_journal_failure(result);
        if let Some(ledger) = &mut self.ledger {
            let since_ns = Clock::System.now_ns().saturating_sub(schedule.start_ns);
            // Each machine reports what its clients know at the end of a second before it sends the row.
            let complete_ns = row.interval.span.end_ns.saturating_sub(schedule.start_ns);
            let complete_s = self.is_fleet.then_some(complete_ns as f64 / 1e9);
            let state = ledger.mark(since_ns as f64 / 1e9, complete_s);
            let result = self.recording.record_ledger(&state);
            self.report_journal_failure(result);
        }
        if let Some(second) = second.as_ref().filter(|_| self.warmup.is_open) {
            self.warmup.seconds.add(second, self.warmup.at_rate);
        }
        let mut server_seconds = Vec::new();
        if let Some(server_observer) = &self.server_observer {
            let (seconds, result) = self.recording.record_server(server_observer);
            server_seconds = seconds;
            self.report_journal_failure(result);
        }
        self.observer.second_ended(&RunSecond {
            row,
            schedule,
            second: second.as_ref(),
            server_seconds: &server_seconds,
        });
    }

    fn is_steady(&mut self) -> bool {
        self.warmup.seconds.is_steady()
    }

    fn warmup_ends(&mut self, schedule: &RunSchedule) {
        let end =
            if self.warmup.seconds.is_steady() { WarmupEnd::Steady } else { WarmupEnd::Limit };
        self.warmup.is_open = false;
        self.warmup.end = Some(end);
        self.measure_tpm(schedule);
        self.observer.warmup_ends(schedule, end);
    }

    fn draining(&mut self) {
        self.observer.draining();
    }

    fn reason_to_end(&mut self) -> Option<String> {
        self.failure.take()
    }
}
