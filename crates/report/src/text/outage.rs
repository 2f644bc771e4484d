//! How long nobody could commit.

use crate::units::{count_with_noun, seconds, span, time};
use prony_judge::outage::{
    NOT_BACK, Recovery, commit_gap, gap_length_s, recovery, shortest_outage_s,
};
use prony_store::Run;

/// The longest time without a commit and what followed; `None` if the run did not measure it.
pub(crate) fn outage_text(run: &Run) -> Option<String> {
    run.commit_gap.as_ref()?;
    let Some(gap) = commit_gap(run) else {
        let limit = seconds(shortest_outage_s(run));
        return Some(format!(
            "No outage: there was no time of {limit} without a commit."
        ));
    };
    let length = seconds(gap_length_s(run, gap));
    let mut text = match gap.until_s {
        Some(_) => format!(
            "Nobody committed for {length}, from {} on",
            span(gap.from_s)
        ),
        None => format!(
            "Nobody committed from {} to the end of the load, {length} later",
            span(gap.from_s)
        ),
    };
    let clients = &gap.clients;
    let [shortest, median, longest] = [clients.min_s, clients.p50_s, clients.max_s].map(seconds);
    text += &format!("; one client for {shortest} to {longest}, median {median}");
    if clients.not_back > 0 {
        let not_back = count_with_noun(clients.not_back.into(), "client", "clients");
        text += &format!("; {not_back} did not commit again");
    }
    if let Some(bound_s) = gap.clock_bound_s {
        text += &format!("; ± {} by the machines' clocks", time(bound_s * 1e9));
    }
    text += &match recovery(run) {
        Ok(Recovery::After(after_s)) => format!(
            "; after {} the throughput was back at 95 %",
            seconds(after_s)
        ),
        Ok(Recovery::NotWithin(_)) => format!("; {NOT_BACK}"),
        Err(reason) => format!("; {reason}"),
    };
    Some(text + ".")
}
