//! Observes each of several servers before, during and after the load, and adds what the load did there.
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
use prony_store::{EndpointFigures, EndpointSecond, Event, Observed, Product, ServerState, Spread};
use std::time::Duration;

/// How long a server may take to accept the observer's connection.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// The hosts of a target, and then those for reads, each with whether it is only for reads.
fn all_hosts(target: &Target) -> Vec<(Target, bool)> {
    let main = target.targets_of_hosts().into_iter();
    let reads = target.targets_for_reads().into_iter();
    main.map(|host| (host, false))
        .chain(reads.map(|host| (host, true)))
        .collect()
}

/// The servers of a target, as they are before the load; empty if there is only one. `observes`: whether to read their
/// state.
pub(crate) fn endpoints_before(target: &Target, observes: bool) -> Vec<EndpointFigures> {
    let hosts = all_hosts(target);
    if hosts.len() < 2 {
        return Vec::new();
    }
    let has_reads = target.read_target.is_some();
    let mut previous = None;
    let before = |(host, only_reads): &(Target, bool)| {
        let mut endpoint = EndpointFigures {
            address: host.describe(),
            only_reads: *only_reads,
            ..EndpointFigures::default()
        };
        let is_first = previous.replace(*only_reads) != Some(*only_reads);
        // The others of a list are for the case that the first does not answer.
        let is_used = host.spread != Spread::First || (is_first && has_reads);
        match (observes && is_used).then(|| read(host)).transpose() {
            Ok(Some((product, version, state))) => {
                endpoint.product = Some(product);
                endpoint.version = version;
                endpoint.before = Some(state);
            }
            Ok(None) => {}
            Err(error) => endpoint.not_observed = Some(format!("before the load: {error}")),
        }
        endpoint
    };
    hosts.iter().map(before).collect()
}

/// What observes the servers beside the first, which the run's own observer reads, during the load.
#[derive(Default)]
pub(crate) struct EndpointObservers {
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
        let hosts = (0..).zip(endpoints.iter().zip(all_hosts(target)));
        let observed =
            hosts.filter(|(index, (endpoint, _))| *index > 0 && endpoint.before.is_some());
        let start = |(index, (_, (host, _)))| {
            let input = ServerObserverInput {
                target: of_prony(&host),
                facts: facts.clone(),
                exporter: None,
                colocation: Colocation::unknown("its observer has not connected yet"),
                queries_server: true,
                reads_others_after: false,
            };
            Some((index, ServerObserver::start(input, schedule)?))
        };
        EndpointObservers {
            observers: observed.filter_map(start).collect(),
        }
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

/// Adds what the load did at each server, and their state after it if that before it was read and that after it was not.
pub(crate) fn add_load(
    endpoints: &mut [EndpointFigures],
    target: &Target,
    totals: &[HostTotals<u64>],
    [warmup_s, window_s]: [f64; 2],
) {
    // What ends after the window is no second of it.
    let seconds = (warmup_s + window_s - 0.01).ceil() as usize;
    for (endpoint, totals) in endpoints.iter_mut().zip(totals) {
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
    for (endpoint, (host, _)) in endpoints.iter_mut().zip(all_hosts(target)) {
        let is_missing = endpoint.after.is_none() && endpoint.not_observed.is_none();
        if endpoint.before.is_none() || !is_missing {
            continue;
        }
        match read(&host) {
            Ok((_, _, state)) => endpoint.after = Some(state),
            Err(error) => endpoint.not_observed = Some(format!("after the load: {error}")),
        }
    }
}

/// The server for a connection of Prony's own.
fn of_prony(host: &Target) -> Target {
    let mut target = host.clone();
    target.set_program_name("prony");
    target.has_own_statements = true;
    target.connect_timeout = Some(target.connect_limit().min(CONNECT_LIMIT));
    target
}

fn read(host: &Target) -> Result<(Product, String, ServerState), Error> {
    let mut control = Control::connect(&of_prony(host))?;
    let facts = read_server_facts(&mut control)?;
    let (mut state, _) = read_server_state(&mut control, &facts)?;
    // The tables are in the observation of the first server.
    (state.tables, state.table_ids) = (Vec::new(), None);
    let reader = CounterReader::new(&mut control)?;
    let counters = reader.of_service(facts.service).read(&mut control)?;
    Ok((
        facts.product(control.product()),
        facts.version,
        with_counters(state, &counters),
    ))
}
