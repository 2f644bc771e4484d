//! How long nobody could commit.

use crate::units::{count_with_noun, seconds, span};
use prony_judge::outage::{commit_gap, gap_length_s, recovery_s};
use prony_store::Run;

/// The longest time without a commit and what followed; `None` if the run did not measure it.
pub(crate) fn outage_text(run: &Run) -> Option<String> {
    run.commit_gap.as_ref()?;
    let Some(gap) = commit_gap(run) else {
        return Some("Nobody was without a commit for 0.1 s or longer.".to_owned());
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
    text += &match recovery_s(run) {
        Ok(recovery) => format!(
            "; after {} the throughput was back at 95 %",
            seconds(recovery)
        ),
        Err(reason) => format!("; {reason}"),
    };
    Some(text + ".")
}
