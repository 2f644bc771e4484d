//! Response times and service times of transactions, and the parts of the service time.
//!
//! In: a Run. Out: tables of percentiles. Must never: print a percentile that the document does not
//! contain.

use crate::printer::Printer;
use crate::text::latency::{
    ATTEMPTS, FAILED, FROM_SCHEDULE, FROM_START, RESPONSE, SPLIT, intervals_text, latency_table,
    names_and_latencies, unavailable_reason, with_no_break_spaces,
};
use crate::text::plain;
use crate::units::{self, count, count_of, count_with_noun};
use prony_store::{KindFigures, Latency, PartLatencies, Run};
use std::io;

/// A latency of a kind of transaction; `None` if the kind does not have it.
type LatencyOf = fn(&KindFigures) -> Option<&Latency>;

/// Writes response time by kind; in an open loop, service time as well.
pub fn write_response_times(out: &mut Printer<'_>, run: &Run) -> io::Result<()> {
    let kinds = kinds_to_show(run);
    let open = run.drive.open_loop;
    out.heading(if open { FROM_SCHEDULE } else { RESPONSE })?;
    let mut absent = write_latency_table(out, &kinds, |kind| Some(&kind.response))?;
    out.paragraphs(intervals_text(run))?;
    if open {
        out.heading(FROM_START)?;
        absent |= write_latency_table(out, &kinds, |kind| Some(&kind.service))?;
    }
    let others: [(&str, LatencyOf); 3] = [
        (ATTEMPTS, |kind| kind.attempts.as_ref()),
        (FAILED, |kind| kind.failed_response.as_ref()),
        ("Of this, connecting", |kind| kind.connect.as_ref()),
    ];
    for (heading, latency_of) in others {
        if kinds.iter().any(|kind| latency_of(kind).is_some()) {
            out.heading(heading)?;
            absent |= write_latency_table(out, &kinds, latency_of)?;
        }
    }
    if absent {
        let note = "– too few transactions: percentile q needs at least 10 / (1 – q) of them.";
        out.line(format!("  {}", out.style.dim(note)))?;
    }
    Ok(())
}

/// Writes send wait, server time and client wait, or the reason why they are unknown.
pub fn write_service_time_parts(out: &mut Printer<'_>, run: &Run) -> io::Result<()> {
    let kinds = kinds_to_show(run);
    let Some(all) = kinds.first() else {
        return Ok(());
    };
    let timing = &run.timing;
    out.heading(SPLIT)?;
    let Some(parts) = &all.parts else {
        let reason = unavailable_reason(&timing.parts_source, all.committed)
            .unwrap_or_else(|| timing.parts_source.to_string());
        return out.paragraph(&format!("Not known: {reason}."));
    };
    // Server time by kind is the figure for comparing servers.
    let server_times = kinds.iter().skip(1).filter_map(|kind| {
        let name = format!("server, {}", plain(kind.name()));
        Some((name, &kind.parts.as_ref()?.server))
    });
    let all_parts = names_and_latencies(parts).into_iter().chain(server_times);
    out.table(&latency_table("part", all_parts))?;
    out.paragraph(&parts_summary(parts, all.connect.is_some()))?;
    let covered = parts.server.samples;
    if covered < all.service.samples {
        let all = count_of(all.service.samples, "committed transaction");
        out.paragraph(&format!(
            "This split covers {} of the {}.",
            with_no_break_spaces(&count(covered)),
            with_no_break_spaces(&all)
        ))?;
    }
    let mut source = format!(
        "Source: {}; {} with a timestamp, {} without, {} impossible, {} doubtful",
        plain(&timing.parts_source.to_string()),
        count_with_noun(timing.with_timestamp, "reply", "replies"),
        count(timing.without_timestamp),
        count(timing.impossible),
        count(timing.doubtful),
    );
    if parts.server_times_upper_bound > 0 {
        source += &format!(
            "; {} server times are upper bounds (several replies in one read)",
            count(parts.server_times_upper_bound)
        );
    }
    out.paragraph(&format!("{source}."))
}

/// Sentences about the mean of each part. `connects`: each transaction opened a connection first, which is
/// not one of the parts.
fn parts_summary(parts: &PartLatencies, connects: bool) -> String {
    let means = names_and_latencies(parts).map(|(_, latency)| latency.mean_ns);
    let sum: f64 = means.iter().sum();
    if sum <= 0.0 {
        return "No time was measured.".into();
    }
    let [send, server, client] = means.map(|ns| {
        let (time, share) = (units::time(ns), units::percent(ns / sum));
        format!(
            "{} ({})",
            with_no_break_spaces(&time),
            with_no_break_spaces(&share)
        )
    });
    format!(
        "Of a mean service time of {}{}, the server took {server}: its response time under the load \
         that this client actually offered. Requests waited {send} in this client before they were \
         sent, and replies {client} until it read them.",
        with_no_break_spaces(&units::time(sum)),
        if connects { " after connecting" } else { "" },
    )
}

/// `all` and every kind; if there is only one kind, that kind without `all`.
fn kinds_to_show(run: &Run) -> Vec<&KindFigures> {
    match run.measured.kinds.as_slice() {
        [_, only] => vec![only],
        kinds => kinds.iter().collect(),
    }
}

/// Writes a table of one latency by kind; returns whether a percentile is absent.
fn write_latency_table(
    out: &mut Printer<'_>,
    kinds: &[&KindFigures],
    latency_of: LatencyOf,
) -> io::Result<bool> {
    let kinds = kinds.iter();
    let latencies = kinds.filter_map(|kind| Some((plain(kind.name()), latency_of(kind)?)));
    let latencies: Vec<(String, &Latency)> = latencies.collect();
    let is_absent = latencies
        .iter()
        .any(|(_, latency)| latency.p999_ns.is_none());
    out.table(&latency_table("kind", latencies))?;
    Ok(is_absent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::{closed, latency_of};
    use prony_assertions::TextAssertions;
    use prony_store::{Second, SecondPhase};

    /// A run of 30 s with the same response times in each.
    fn run_with_intervals() -> Run {
        let mut run = closed();
        run.events.clear();
        run.measured.errors.clear();
        let second = |at: u32| Second {
            at_s: f64::from(at),
            length_s: 1.0,
            phase: SecondPhase::Measured,
            committed: 1000,
            mean_ns: 5e6,
            p50_ns: Some(5_000_000),
            p95_ns: Some(9_500_000),
            p99_ns: Some(9_900_000),
            ..Second::default()
        };
        run.series = (0..30).map(second).collect();
        run.measured.kinds[0].response = Latency {
            p50_ns: Some(5_000_000),
            p95_ns: Some(9_500_000),
            p99_ns: Some(9_900_000),
            ..latency_of((1..=1000).map(|n| (n * 10_000, 30)))
        };
        run
    }

    #[test]
    fn percentiles_have_intervals_in_the_text_and_in_the_json() {
        assert_eq!(intervals_text(&closed()), None, "five seconds");
        let run = run_with_intervals();
        let text = intervals_text(&run)
            .expect("intervals")
            .replace('\u{a0}', " ");
        for part in [
            "95 % intervals",
            "p50 4.9",
            "p95 9.4",
            "p99 9.90 ms to 9.92 ms",
        ] {
            text.assert_contains(part);
        }
        let mut out = Vec::new();
        crate::json::write_shown(&mut out, &run).expect("writes");
        let shown: serde_json::Value = serde_json::from_slice(&out).expect("JSON");
        assert_eq!(shown["response_intervals"][2]["percentile"], 99.0);
        assert_eq!(shown["response_intervals"][2]["value_ns"], 9_900_000);
        let document: Run = serde_json::from_slice(&out).expect("a document");
        assert_eq!(
            document, run,
            "the shown JSON still contains the whole document"
        );
    }
}
