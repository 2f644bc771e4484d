//! A run to drive, who follows it, and its result; and what follows from a job alone.
//!
//! Must never: depend on how the run is driven.

use crate::hosts::{HostTotals, RouteTable};
use crate::io_engine::EngineKind;
use crate::kept::KeptConnections;
use crate::run_event::RunEvent;
use prony_document::{Network, Service};
use prony_measure::{
    CollectedFigures, CommitGaps, GapRecorder, IntervalRow, RecorderLayout, RoundTripTimes,
    RunSchedule, Sample,
};
use prony_plan::{DrivePlan, Pace, Stop};
use prony_server::control::ConnectFailure;
use prony_server::{Address, Target};
use prony_session::{Conn, Program, StartRules};
use std::sync::atomic::AtomicBool;

/// A run to drive.
pub struct DriveJob<'a> {
    pub program: &'a dyn Program,
    pub target: &'a Target,
    /// The same server over TCP, for the first `tcp_sample` clients of the plan.
    pub tcp_target: Option<&'a Target>,
    /// Clients, threads, pace and end of the run.
    pub plan: &'a DrivePlan,
    pub seed: u64,
    /// When another thread or a signal sets this, the run ends at once, with what it has measured.
    pub interrupt: &'a AtomicBool,
    /// Creates the listener that receives the samples of a worker, given by its index.
    pub new_sample_listener: Option<&'a (dyn Fn(usize) -> Box<dyn SampleListener> + Sync)>,
    /// The service of the server, which has errors of its own.
    pub service: Option<Service>,
    /// Called with the reasons when a connection that a user requested is refused, before the user is
    /// resumed.
    pub on_connect_refused: Option<OnConnectRefused<'a>>,
    /// Where connections come from and go to that stay open between loads of the same program on the same server.
    pub kept: Option<&'a KeptConnections>,
}

impl<'a> DriveJob<'a> {
    /// A run of one program on one target that nobody listens to, with seed 1.
    pub fn new(
        program: &'a dyn Program,
        target: &'a Target,
        plan: &'a DrivePlan,
        interrupt: &'a AtomicBool,
    ) -> DriveJob<'a> {
        DriveJob {
            program,
            target,
            tcp_target: None,
            plan,
            seed: 1,
            interrupt,
            new_sample_listener: None,
            service: None,
            on_connect_refused: None,
            kept: None,
        }
    }
}

/// Called with the reasons why a connection was refused, one for each route that was tried.
pub type OnConnectRefused<'a> = &'a (dyn Fn(&[ConnectFailure]) + Sync);

/// Receives a worker's samples as they occur, on the worker's thread.
pub trait SampleListener {
    /// The load starts now, on the run's clock (`CLOCK_MONOTONIC`).
    fn started(&mut self, start_ns: u64);
    /// A transaction of this client of the run ended. Must be quick: the loop waits.
    fn sample(&mut self, client: u32, sample: &Sample);
    fn ended(&mut self, now_ns: u64);
}

impl SampleListener for GapRecorder {
    fn started(&mut self, _start_ns: u64) {}

    fn sample(&mut self, client: u32, sample: &Sample) {
        GapRecorder::sample(self, client, sample);
    }

    fn ended(&mut self, now_ns: u64) {
        GapRecorder::ended(self, now_ns);
    }
}

/// Makes the listeners that record a worker's pauses between commits.
pub fn gap_listener(gaps: &CommitGaps) -> impl Fn(usize) -> Box<dyn SampleListener> + Sync + use<> {
    let gaps = gaps.clone();
    move |_| Box::new(gaps.recorder())
}

/// Watches a run from the collecting thread.
pub trait Observer {
    /// All users are ready. They start after this call, so that the observer's output precedes that of users.
    fn ready(&mut self) {}
    /// The load starts at the time in `start`. Users may have started already.
    fn started(&mut self, _start: &LoadStart) {}
    fn interval_ended(&mut self, _row: &IntervalRow, _schedule: &RunSchedule) {}
    /// The window of a timed run ended a while ago, and some of its transactions have not ended; called once.
    fn draining(&mut self) {}
    /// Whether the load is steady; called after each row of a warm-up that goes on until it is
    /// ([`DrivePlan::warmup_max`]).
    fn is_steady(&mut self) -> bool {
        true
    }
    /// Such a warm-up ends as in this schedule.
    fn warmup_ends(&mut self, _schedule: &RunSchedule) {}
    /// The reason why the run must end at once, or `None` if it may continue; called after each row.
    fn reason_to_end(&mut self) -> Option<String> {
        None
    }
}

impl Observer for () {}

/// The state of a run when its load starts.
#[derive(Clone, Debug)]
pub struct LoadStart {
    /// The I/O engine that drives the sockets.
    pub engine: EngineKind,
    pub engine_reason: String,
    /// How the clients reach the server.
    pub network: Network,
    /// TLS version and cipher; `None` without TLS.
    pub tls: Option<String>,
    /// Time to connect all clients, seconds.
    pub connect_s: f64,
    /// When warm-up, window and intervals begin and end.
    pub schedule: RunSchedule,
    pub layout: RecorderLayout,
}

/// The result of a run.
#[derive(Debug)]
pub struct DriveResult {
    pub start: LoadStart,
    /// How long after the start of the load the last worker began it, nanoseconds.
    pub start_delay_ns: u64,
    pub collected: CollectedFigures,
    /// Events, in order of time.
    pub events: Vec<RunEvent>,
    /// The times of the window's round trips, by index in the program's statement table; present if the plan
    /// asks for the latency of each statement.
    pub round_trips: Option<RoundTripTimes<u64>>,
    /// What happened at each host; empty if there is only one.
    pub hosts: Vec<HostTotals<u64>>,
    pub interrupted: bool,
    /// A failure of the client side that ended the run early, as text.
    pub failure: Option<String>,
}

impl DriveJob<'_> {
    /// The servers, without the TCP route to one of them.
    fn servers(&self) -> impl Iterator<Item = &Target> {
        let targets = std::iter::once(self.target).chain(&self.target.additional_targets);
        targets.chain(self.target.read_target.as_deref())
    }

    pub(crate) fn addresses(&self) -> impl Iterator<Item = &Address> {
        let endpoints = self.servers().flat_map(|target| &target.endpoints);
        endpoints.map(|endpoint| &endpoint.address)
    }

    /// The routes to each server, and then those of the TCP sample.
    pub(crate) fn routes(&self) -> RouteTable {
        RouteTable::new(self.target, self.tcp_target)
    }

    /// Whether a client uses TCP while others use the unix socket.
    pub(crate) fn is_in_tcp_sample(&self, client: u32) -> bool {
        client < self.tcp_sample_clients()
    }

    /// Number of clients that use TCP while the others use the unix socket; 0 if all take the same route.
    fn tcp_sample_clients(&self) -> u32 {
        self.tcp_target.map_or(0, |_| self.plan.tcp_sample)
    }

    pub(crate) fn network(&self) -> Network {
        let is_unix = |address: &Address| matches!(address, Address::Unix(_));
        match self.tcp_sample_clients() {
            _ if !self.addresses().all(is_unix) => Network::Tcp,
            0 => Network::Unix,
            clients => Network::UnixWithTcpSample { clients },
        }
    }

    pub(crate) fn connections_per_client(&self) -> u32 {
        1 + u32::from(self.target.read_target.is_some())
    }

    /// Where the clients' own connections are kept, if each of them has one for the whole load, to one server.
    pub(crate) fn kept(&self) -> Option<&KeptConnections> {
        let has_several = self.connections_per_client() > 1
            || self.addresses().nth(1).is_some()
            || self.tcp_target.is_some();
        let opens_others = self.plan.connect_per_transaction || self.program.opens_connections();
        self.kept.filter(|_| !has_several && !opens_others)
    }

    /// The record of a connection that is not up yet.
    pub(crate) fn new_conn(&self) -> Conn {
        Conn::new(self.target.exchange(self.plan.protocol, self.plan.describe))
    }

    /// Which figures the recorders of a run record. `has_parts`: whether timestamps split the service time into
    /// parts.
    pub(crate) fn recorder_layout(&self, has_parts: bool) -> RecorderLayout {
        RecorderLayout {
            kinds: self.program.kinds().len(),
            open_loop: self.plan.pace != Pace::Closed,
            has_parts,
            has_connect_time: self.plan.connect_per_transaction,
            latency_limit_ns: self.latency_limit_ns().unwrap_or(u64::MAX),
        }
    }

    pub(crate) fn start_rules(&self) -> StartRules {
        StartRules {
            is_paced: matches!(self.plan.pace, Pace::Rate { .. }),
            connect_per_transaction: self.plan.connect_per_transaction,
            max_transactions: match self.plan.stop {
                Stop::Transactions(count) => count,
                Stop::After(_)
                | Stop::NoStartsAfter(_)
                | Stop::SharedTransactions { .. }
                | Stop::WorkDone => 0,
            },
            latency_limit_ns: self.latency_limit_ns(),
            includes_connect_time: self.plan.connect_time_counts,
            reopens_lost_connections: self.plan.reconnect,
            has_other_hosts: self.target.hosts().len() + self.target.additional_targets.len() > 1,
        }
    }

    fn latency_limit_ns(&self) -> Option<u64> {
        let limit = self.plan.latency_limit;
        limit.map(|limit| limit.as_nanos() as u64)
    }
}
