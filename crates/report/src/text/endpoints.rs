//! What happened at each of several servers.
//!
//! In: a Run. Out: a table, and a sentence below. Must never: give a percentile that the document does not contain.

use crate::table::Table;
use crate::text::{TableSection, plain};
use crate::units::{self, count, percent, time_or_dash};
use prony_store::{Choice, Replication, Run};

/// The servers over which the connections were spread; `None` if there was only one.
pub(crate) fn endpoints(run: &Run) -> Option<TableSection> {
    let spread = run.drive.spread.filter(|_| !run.endpoints.is_empty())?;
    let titles = [
        "server",
        "connections",
        "lost",
        "arrived",
        "returned",
        "TPS",
        "share",
        "failed",
        "p50",
        "p99",
        "state",
    ];
    let mut table = Table::new(&titles);
    let all_tps: f64 = run.endpoints.iter().map(|endpoint| endpoint.tps).sum();
    for endpoint in &run.endpoints {
        let state = match (&endpoint.not_observed, &endpoint.before) {
            (Some(_), _) => "not observed".to_owned(),
            (None, None) => "–".to_owned(),
            (None, Some(state)) if state.is_replica == Some(true) => "replica".to_owned(),
            (None, Some(state)) => match state.replication {
                Some(replication) if replication != Replication::NotVisible => {
                    format!("primary, {}", replication.name())
                }
                _ => "primary".to_owned(),
            },
        };
        let only_reads = if endpoint.only_reads { ", reads" } else { "" };
        table.row([
            plain(&endpoint.address) + only_reads,
            format!(
                "{} to {}",
                count(endpoint.connections_at_start.into()),
                count(endpoint.connections_at_end.into())
            ),
            count(endpoint.lost),
            count(endpoint.arrived),
            count(endpoint.returned),
            units::rate(endpoint.tps),
            percent(endpoint.tps / all_tps.max(f64::MIN_POSITIVE)),
            count(endpoint.failed),
            time_or_dash(endpoint.response.p50_ns),
            time_or_dash(endpoint.response.p99_ns),
            state,
        ]);
    }
    let mut text = format!(
        "Connections begin with a server by the rule {}. Connections: when the load began, and at its end. Arrived: \
         because another server did not answer. Returned: when it answered again.",
        spread.name()
    );
    if let Some(percent) = run.drive.read_share_percent {
        text += &format!(
            " A server marked with reads takes {percent} % of the read-only transactions; each client has a connection \
             to it too."
        );
    }
    for endpoint in &run.endpoints {
        if let Some(reason) = &endpoint.not_observed {
            text += &format!(
                " {} was not observed {}",
                plain(&endpoint.address),
                plain(reason)
            );
            text += if reason.ends_with('.') { "" } else { "." };
        }
    }
    Some(TableSection {
        heading: "Servers",
        table: Some(table),
        text,
    })
}
