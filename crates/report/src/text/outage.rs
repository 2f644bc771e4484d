//! How long nobody could commit.

use crate::text::joined;
use crate::units::{count_of, seconds, span, time};
use prony_judge::outage::{
    NOT_BACK, Recovery, commit_gap, gap_length_s, longest_outage_s, recovery, shortest_outage_s,
};
use prony_store::Run;

/// The longest time without a commit, in clauses without an end.
pub(crate) struct OutageText {
    /// How long nobody committed.
    pub outage: String,
    /// The same with the times of clients, in a line; this and what follows are `None` without an outage.
    pub brief: Option<String>,
    /// How long single clients did not commit.
    pub clients: Option<String>,
    /// When the throughput was back.
    pub recovery: Option<String>,
}

/// The longest time without a commit and what followed; `None` if the run did not measure it.
pub(crate) fn outage_clauses(run: &Run) -> Option<OutageText> {
    run.commit_gap.as_ref()?;
    let Some(gap) = commit_gap(run) else {
        let limit = seconds(shortest_outage_s(run));
        let outage = match longest_outage_s(run) {
            Ok(lost_s) if lost_s > 0.0 => {
                let lost = seconds(lost_s);
                format!("No time of {limit} without a commit; connections were lost for {lost}")
            }
            _ => format!("No outage: there was no time of {limit} without a commit"),
        };
        return Some(OutageText {
            outage,
            brief: None,
            clients: None,
            recovery: None,
        });
    };
    let length = seconds(gap_length_s(run, gap));
    let mut outage = match gap.until_s {
        Some(_) => format!(
            "Nobody committed for {length}, from {} on",
            span(gap.from_s)
        ),
        None => format!(
            "Nobody committed from {} to the end of the load, {length} later",
            span(gap.from_s)
        ),
    };
    let mut brief = match gap.until_s {
        Some(_) => format!("{length} from {} on", span(gap.from_s)),
        None => format!("{length} from {} to the end", span(gap.from_s)),
    };
    if let Some(bound_s) = gap.clock_bound_s {
        let bound = format!(", ± {}", time(bound_s * 1e9));
        outage += &format!("{bound} by the machines' clocks");
        brief += &bound;
    }
    // A requirement on the outage is judged by the longer of the two.
    let longest_s = longest_outage_s(run).unwrap_or_default();
    let is_longer = seconds(longest_s) != length && longest_s > gap_length_s(run, gap);
    if is_longer {
        outage += &format!("; connections were lost for {}", seconds(longest_s));
        brief += &format!(" (connections {})", seconds(longest_s));
    }
    let clients = &gap.clients;
    let [shortest, median, longest] = [clients.min_s, clients.p50_s, clients.max_s].map(seconds);
    let mut of_clients = format!("one client for {shortest} to {longest}, median {median}");
    if clients.not_back > 0 {
        let not_back = count_of(clients.not_back.into(), "client");
        of_clients += &format!("; {not_back} did not commit again");
    }
    brief += &match (clients.not_back, is_longer) {
        (0, false) => format!("; {of_clients}"),
        (0, true) => format!("; a client {shortest} to {longest}"),
        (not_back, _) => format!("; {} not back", count_of(not_back.into(), "client")),
    };
    let recovery = match recovery(run) {
        Ok(Recovery::After(after_s)) => {
            format!("after {} the throughput was back at 95 %", seconds(after_s))
        }
        Ok(Recovery::NotWithin(_)) => NOT_BACK.to_owned(),
        Err(reason) => reason.to_owned(),
    };
    Some(OutageText {
        outage,
        brief: Some(brief),
        clients: Some(of_clients),
        recovery: Some(recovery),
    })
}

/// The same as sentences; `None` if the run did not measure it.
pub(crate) fn outage_text(run: &Run) -> Option<String> {
    let text = outage_clauses(run)?;
    let clauses = [Some(text.outage), text.clients, text.recovery];
    Some(joined(clauses.into_iter().flatten(), "; ") + ".")
}
