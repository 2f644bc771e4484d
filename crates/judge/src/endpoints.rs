//! Whether all of several servers took their part of the load, and which of them lost connections.
//!
//! In: a Run. Out: `endpoints`. Must never: report on servers that only stand in if the first one does not answer
//! ([`Spread::First`]), unless reads go to other servers.

use crate::checks::{Finding, new_finding};
use crate::formatting::{count, joined};
use prony_store::{EndpointFigures, Run, Severity, Spread};

pub(crate) fn check_endpoints(run: &Run) -> Option<Finding> {
    let endpoints = &run.endpoints;
    let is_spread = run
        .drive
        .spread
        .is_some_and(|spread| spread != Spread::First);
    let has_reads = run.drive.read_share_percent.is_some();
    if !(is_spread || has_reads) || run.drive.connect_per_transaction {
        return None;
    }
    let addresses = |is_listed: fn(&EndpointFigures) -> bool| {
        let listed = endpoints.iter().filter(|endpoint| is_listed(endpoint));
        joined(listed.map(|endpoint| &endpoint.address), ", ")
    };
    let absent = addresses(|endpoint| endpoint.connections_at_start == 0);
    if is_spread && !absent.is_empty() && (run.drive.clients as usize) >= endpoints.len() {
        return new_finding(
            Severity::Caveat,
            format!(
                "Of the servers over which the connections are spread, some had none when the load began: {absent}."
            ),
            "Look whether they accept connections, or use more clients.",
        );
    }
    let lost = addresses(|endpoint| endpoint.lost > 0);
    if lost.is_empty() {
        return None;
    }
    let arrived: u64 = endpoints.iter().map(|endpoint| endpoint.arrived).sum();
    let returned: u64 = endpoints.iter().map(|endpoint| endpoint.returned).sum();
    let came_back = match returned {
        0 => String::new(),
        _ => format!(
            ", and {} came back when the server answered again",
            count(returned, "connection")
        ),
    };
    new_finding(
        Severity::Note,
        format!(
            "Connections to {lost} were lost; {} went on at another server{came_back}.",
            count(arrived, "connection")
        ),
        "The figures of each server say what each of them did.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::healthy;
    use prony_assertions::TextAssertions;

    #[test]
    fn servers_without_connections_and_lost_ones_are_named() {
        let endpoint = |address: &str, at_start, lost, arrived| EndpointFigures {
            address: address.to_owned(),
            connections_at_start: at_start,
            lost,
            arrived,
            ..EndpointFigures::default()
        };
        let found = |endpoints: &[EndpointFigures], spread| {
            let mut run = healthy();
            run.drive.spread = Some(spread);
            run.endpoints = endpoints.to_vec();
            check_endpoints(&run).map(|found| (found.severity, found.finding))
        };
        let even = [endpoint("a", 4, 0, 0), endpoint("b", 4, 0, 0)];
        assert_eq!(found(&even, Spread::RoundRobin), None);
        let absent = [endpoint("a", 8, 0, 4), endpoint("b", 0, 0, 0)];
        let (severity, text) = found(&absent, Spread::RoundRobin).unwrap();
        assert_eq!(severity, Severity::Caveat);
        text.assert_ends_with("began: b.");
        assert_eq!(found(&absent, Spread::First), None);
        let lost = [endpoint("a", 4, 0, 4), endpoint("b", 4, 4, 0)];
        let (severity, text) = found(&lost, Spread::Random).unwrap();
        assert_eq!(severity, Severity::Note);
        assert_eq!(
            text,
            "Connections to b were lost; 4 connections went on at another server."
        );
        let mut returned = lost.clone();
        returned[1].returned = 3;
        let (_, text) = found(&returned, Spread::RoundRobin).unwrap();
        assert!(
            text.ends_with(
                "another server, and 3 connections came back when the server answered again."
            ),
            "{text}"
        );
        // The clients' servers only stand in for the first, but reads go to others.
        let mut run = healthy();
        run.drive.spread = Some(Spread::First);
        run.endpoints = lost.to_vec();
        run.drive.read_share_percent = Some(100);
        assert!(check_endpoints(&run).is_some());
    }
}
