//! Observes each of several servers before and after the load, and adds what the load did there.
//!
//! In: a target with several hosts, the totals of the load. Out: [`EndpointFigures`]. Must never: fail a run because a
//! server does not answer, or connect to one that a replaced tool would not.

use crate::observing::with_counters;
use prony_drive::HostTotals;
use prony_server::control::Error;
use prony_server::observe::{CounterReader, read_server_facts, read_server_state};
use prony_server::{Control, Target};
use prony_store::{EndpointFigures, Product, ServerState, Spread};
use std::time::Duration;

/// How long a server may take to accept the observer's connection.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// The servers of a target, as they are before the load; empty if there is only one. `observes`: whether to read their state.
pub(crate) fn endpoints_before(target: &Target, observes: bool) -> Vec<EndpointFigures> {
    let hosts = target.targets_of_hosts();
    if hosts.len() < 2 {
        return Vec::new();
    }
    // The others of a list are for the case that the first does not answer.
    let observes = observes && target.spread != Spread::First;
    let before = |host: &Target| {
        let mut endpoint = EndpointFigures {
            address: host.describe(),
            ..EndpointFigures::default()
        };
        match observes.then(|| read(host)).transpose() {
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

/// Adds what the load did at each server, and their state after it if that before it was read.
pub(crate) fn add_load(
    endpoints: &mut [EndpointFigures],
    target: &Target,
    totals: &[HostTotals<u64>],
    window_s: f64,
) {
    for (endpoint, totals) in endpoints.iter_mut().zip(totals) {
        endpoint.connections_at_start = totals.up_at_start;
        endpoint.connections_at_end = totals.up_at_end;
        endpoint.lost = totals.lost;
        endpoint.arrived = totals.arrived;
        endpoint.failed = totals.failed;
        endpoint.tps = totals.response.samples as f64 / window_s.max(f64::MIN_POSITIVE);
        endpoint.response = prony_store::latency(&totals.response);
    }
    for (endpoint, host) in endpoints.iter_mut().zip(target.targets_of_hosts()) {
        if endpoint.before.is_none() {
            continue;
        }
        match read(&host) {
            Ok((_, _, state)) => endpoint.after = Some(state),
            Err(error) => endpoint.not_observed = Some(format!("after the load: {error}")),
        }
    }
}

/// The product, version and state of a server.
fn read(host: &Target) -> Result<(Product, String, ServerState), Error> {
    let mut target = host.clone();
    target.set_program_name("prony");
    target.has_own_statements = true;
    target.connect_timeout = Some(target.connect_limit().min(CONNECT_LIMIT));
    let mut control = Control::connect(&target)?;
    let facts = read_server_facts(&mut control)?;
    let (mut state, _) = read_server_state(&mut control, &facts)?;
    // The tables are in the observation of the first server.
    (state.tables, state.table_ids) = (Vec::new(), None);
    let counters = CounterReader::new(&mut control)?.read(&mut control)?;
    Ok((
        control.product(),
        facts.version,
        with_counters(state, &counters),
    ))
}
