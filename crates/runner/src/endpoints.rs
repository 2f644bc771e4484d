//! Observes each of several servers before, during and after the load, and records what the load did there.
//!
//! In: a target with several hosts, the totals of the load. Out: [`EndpointFigures`]. Must never: fail a run because a
//! server does not answer, or connect to one that a replaced tool would not.

use crate::observing::{LoadEnd, ServerObserver, ServerObserverInput, with_counters};
use prony_drive::HostTotals;
use prony_measure::RunSchedule;
use prony_server::control::Error;
use prony_server::observe::machine::Colocation;
use prony_server::observe::{CounterReader, ServerFacts, read_server_facts, read_server_state};
use prony_server::{Control, Target};
use prony_store::{
    EndpointFigures, EndpointSecond, Event, Observed, Product, Run, ServerState, Spread,
};
use std::time::Duration;

/// How long a server may take to accept the observer's connection.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// One server of a target.
struct Host {
    target: Target,
    /// Whether it is in the list of servers for reads.
    only_reads: bool,
}

/// The hosts of a target, and then those for reads.
fn all_hosts(target: &Target) -> Vec<Host> {
    let main = target.targets_of_hosts().into_iter().map(|target| Host {
        target,
        only_reads: false,
    });
    let reads = target.targets_for_reads().into_iter().map(|target| Host {
        target,
        only_reads: true,
    });
    main.chain(reads).collect()
}

/// The servers of a target, as they are before the load; empty if there is only one. `observes`: whether to read their
/// state.
pub(crate) fn endpoints_before(target: &Target, observes: bool) -> Vec<EndpointFigures> {
    let hosts = all_hosts(target);
    if hosts.len() < 2 {
        return Vec::new();
    }
    let has_reads = target.read_target.is_some();
    let mut endpoints: Vec<EndpointFigures> = Vec::new();
    for host in &hosts {
        let mut endpoint = EndpointFigures {
            address: host.target.describe(),
            only_reads: host.only_reads,
            ..EndpointFigures::default()
        };
        let previous = endpoints.last();
        let is_first_of_list = previous.is_none_or(|last| last.only_reads != host.only_reads);
        // The others of a list are for the case that the first does not answer.
        let is_used = host.target.spread != Spread::First || (is_first_of_list && has_reads);
        if observes && is_used {
            match read(&host.target) {
                Ok(reading) => {
                    endpoint.product = Some(reading.product);
                    endpoint.version = reading.version;
                    endpoint.before = Some(reading.state);
                }
                Err(error) => endpoint.not_observed = Some(format!("before the load: {error}")),
            }
        }
        endpoints.push(endpoint);
    }
    endpoints
}

/// What observes the servers beside the first, which the run's own observer reads, during the load.
#[derive(Default)]
pub(crate) struct EndpointObservers {
    /// Each with the index of its server among the endpoints.
    observers: Vec<(usize, ServerObserver)>,
}

impl EndpointObservers {
    /// Starts to observe the servers whose state was read before the load.
    pub fn start(
        endpoints: &[EndpointFigures],
        target: &Target,
        facts: &ServerFacts,
        schedule: RunSchedule,
    ) -> EndpointObservers {
        let mut observers = Vec::new();
        for (index, host) in all_hosts(target).iter().enumerate().skip(1) {
            let was_read = endpoints
                .get(index)
                .is_some_and(|endpoint| endpoint.before.is_some());
            if !was_read {
                continue;
            }
            let input = ServerObserverInput {
                target: with_own_statements(&host.target),
                facts: facts.clone(),
                exporter: None,
                colocation: Colocation::unknown("its observer has not connected yet"),
                queries_server: true,
                reads_others_after: false,
            };
            let observer = ServerObserver::start(input, schedule);
            observers.extend(observer.map(|observer| (index, observer)));
        }
        EndpointObservers { observers }
    }

    /// Stops observing, and adds what was read. Returns the events of these servers.
    pub fn end(self, load_end: LoadEnd, endpoints: &mut [EndpointFigures]) -> Vec<Event> {
        let mut events = Vec::new();
        for (index, observer) in self.observers {
            let mut observed = Observed::default();
            observer.end(load_end, &mut observed);
            let endpoint = &mut endpoints[index];
            let address = &endpoint.address;
            events.extend(observed.events.into_iter().map(|event| Event {
                detail: format!("{address}: {}", event.detail),
                ..event
            }));
            endpoint.after = observed.after;
            endpoint.series = observed.series;
            for second in &mut endpoint.series {
                // It is the same for all servers, and in the series of the first.
                second.client = None;
            }
            if endpoint.after.is_none() {
                let reason = observed.missing.last();
                endpoint.not_observed =
                    reason.map(|missing| format!("after the load: {}", missing.why));
            }
        }
        events
    }
}

/// Records what the load did at each server of a run whose window is recorded. Reads the state of servers after the load if
/// that before it was read and no observer has read that after it.
pub(crate) fn record_load(run: &mut Run, target: &Target, totals: &[HostTotals<u64>]) {
    let window_s = run.measured.length_s;
    // What ends after the window is not recorded by seconds. Less than 10 ms of another second are no second.
    let seconds = (run.window.warmup_s + window_s - 0.01).ceil() as usize;
    for (endpoint, totals) in run.endpoints.iter_mut().zip(totals) {
        endpoint.connections_at_start = totals.connections.up_at_start;
        endpoint.connections_at_end = totals.connections.up;
        endpoint.lost = totals.connections.lost;
        endpoint.arrived = totals.connections.arrived;
        endpoint.returned = totals.connections.returned;
        endpoint.seconds = (totals.seconds.iter().take(seconds))
            .map(|second| EndpointSecond {
                committed: second.committed,
                failed: second.failed,
                connections: second.connections,
            })
            .collect();
        endpoint.failed = totals.failed;
        endpoint.tps = totals.response.samples as f64 / window_s.max(f64::MIN_POSITIVE);
        endpoint.response = prony_store::latency(&totals.response);
    }
    for (endpoint, host) in run.endpoints.iter_mut().zip(all_hosts(target)) {
        let is_missing = endpoint.after.is_none() && endpoint.not_observed.is_none();
        if endpoint.before.is_none() || !is_missing {
            continue;
        }
        match read(&host.target) {
            Ok(reading) => endpoint.after = Some(reading.state),
            Err(error) => endpoint.not_observed = Some(format!("after the load: {error}")),
        }
    }
}

/// The server, for a connection of Prony's own, whatever the run is called as.
fn with_own_statements(host: &Target) -> Target {
    let mut target = host.clone();
    target.set_program_name("prony");
    target.has_own_statements = true;
    target.connect_timeout = Some(target.connect_limit().min(CONNECT_LIMIT));
    target
}

struct ServerReading {
    product: Product,
    version: String,
    state: ServerState,
}

fn read(host: &Target) -> Result<ServerReading, Error> {
    let mut control = Control::connect(&with_own_statements(host))?;
    let facts = read_server_facts(&mut control)?;
    let (mut state, _) = read_server_state(&mut control, &facts)?;
    // The tables are in the observation of the first server.
    state.tables.clear();
    state.table_ids = None;
    let reader = CounterReader::new(&mut control)?;
    let counters = reader.of_service(facts.service).read(&mut control)?;
    Ok(ServerReading {
        product: facts.product(control.product()),
        version: facts.version,
        state: with_counters(state, &counters),
    })
}
