//! Stalls that whole seconds do not show: of all clients for less than a second, and of single clients.
//!
//! In: a Run. Out: `short-stall`, `client-stall`. Must never: take think time, a low rate or long transactions for a
//! stall. A gap between ends is one only if a transaction waited in it, if it is longer than chance and the usual
//! transactions explain, and, with few clients, if the gap is rare or comes regularly.

use crate::checks::{Finding, new_finding};
use crate::errors::severity_unless_outage_expected;
use crate::formatting::{count, percent, time};
use crate::stall::{ActiveSeconds, connected_seconds, slowest_kind_median_s, stops_by_count};
use crate::thresholds::{
    CLIENT_STALL_MAXIMA_RATIO, CLIENT_STALL_MIN_S, REGULAR_MAX_DEVIATION, REGULAR_MIN_SHARE,
    REGULAR_MIN_STALLS, SHORT_STALL_FEW_CLIENTS, SHORT_STALL_IDLE_SHARE, SHORT_STALL_MEAN_GAPS,
    SHORT_STALL_MIN_S, SHORT_STALL_WAITED_SHARE, STALL_INVALID_MIN_S, STALL_MIN_TXN_DURATIONS,
    severity_of_effect,
};
use crate::{all_kinds, stall};
use prony_store::{IntervalHistograms, KindFigures, RecordedTimes, Run, Severity, TransactionTime};

/// Most stalls of single clients that are judged: a foreign document may have one in each of many seconds.
const MAX_CLIENT_STALLS: usize = 1_000;

/// A time in which clients waited, seconds from the start of the load.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Stall {
    at_s: f64,
    length_s: f64,
}

impl Stall {
    fn end_s(&self) -> f64 {
        self.at_s + self.length_s
    }

    /// How much of this time is in `others`, which are in order of time, seconds.
    fn overlap_s(&self, others: &[Stall]) -> f64 {
        let first = others.partition_point(|other| other.end_s() <= self.at_s);
        let overlapping = others[first..].iter();
        overlapping
            .take_while(|other| other.at_s < self.end_s())
            .map(|other| self.end_s().min(other.end_s()) - self.at_s.max(other.at_s))
            .sum()
    }
}

pub(crate) fn check_short_stall(run: &Run) -> Option<Finding> {
    let stalls = stalls_of_all(run);
    let whole_seconds = stretches(run);
    let is_short = |stall: &Stall| stall.overlap_s(&whole_seconds) == 0.0;
    // `stall` reports the others.
    if !stalls.iter().any(is_short) {
        return None;
    }
    let stalled_s: f64 = stalls.iter().map(|stall| stall.length_s).sum();
    let share = stalled_s / run.measured.length_s.max(stalled_s);
    let severity = match severity_of_effect(share)? {
        Severity::Invalid if stalled_s <= STALL_INVALID_MIN_S => Severity::Caveat,
        Severity::Note if rhythm_s(&stalls).is_some() => Severity::Caveat,
        severity => severity,
    };
    new_finding(
        severity_unless_outage_expected(run, severity),
        format!(
            "All clients waited {}: no transaction ended for {} of the window.",
            describe(&stalls),
            percent(share)
        ),
        "The throughput includes these times. Look for what happens in the server then: a lock that others hold, a \
         checkpoint, a scheduled job, a disk or a replica that stops; or for what stops this machine.",
    )
}

pub(crate) fn check_client_stall(run: &Run) -> Option<Finding> {
    // Of one client, or if nothing ended, no others went on: that is a stall of all.
    let has_others = |all: &&KindFigures| run.drive.clients > 1 && all.response.samples > 0;
    let all = all_kinds(run).filter(has_others)?;
    let (stalls, most_clients) = stalls_of_clients(run, all);
    let stalled_s: f64 = stalls.iter().map(|stall| stall.length_s).sum();
    let share = stalled_s / run.measured.length_s.max(stalled_s);
    let severity = severity_of_effect(share)?.min(Severity::Caveat);
    let who = match most_clients {
        0 | 1 => "One client".to_owned(),
        clients => format!("Up to {}", count(clients, "client")),
    };
    let usual = match all.response.p99_ns {
        Some(p99_ns) => format!(
            "99 % of the transactions took no longer than {}",
            time(p99_ns as f64)
        ),
        None => format!(
            "a transaction took {} on average",
            time(all.response.mean_ns)
        ),
    };
    new_finding(
        severity_unless_outage_expected(run, severity),
        format!(
            "{who} of {} waited {}, while others went on: {usual}.",
            run.drive.clients,
            describe(&stalls)
        ),
        "Look for what stops single sessions of the server: a row or a table that others lock, a process that the \
         system stopped, a deadlock that the server waits for, packets that are lost.",
    )
}

/// When the stalls that `stall` reports come, if they come regularly: ` They came every 5.0 s.`
pub(crate) fn describe_rhythm(run: &Run) -> String {
    match rhythm_s(&stalls_of_all(run)) {
        Some(every_s) => format!(" They came every {every_s:.1} s."),
        None => String::new(),
    }
}

/// The stalls of whole seconds.
fn stretches(run: &Run) -> Vec<Stall> {
    let stretches = stall::stretches(run).map_or(Vec::new(), |(stretches, _)| stretches);
    let stall = |stretch: &stall::StalledStretch| Stall {
        at_s: stretch.start_s,
        length_s: stretch.end_s - stretch.start_s,
    };
    stretches.iter().map(stall).collect()
}

/// The gaps between ends of transactions in which clients waited for much longer than usual.
fn stalls_of_all(run: &Run) -> Vec<Stall> {
    let mut seconds = connected_seconds(run);
    let (Some(active), Some(all)) = (ActiveSeconds::new(&seconds), all_kinds(run)) else {
        return Vec::new();
    };
    if stops_by_count(run) {
        let minimum = SHORT_STALL_IDLE_SHARE * active.typical_rate;
        let last = seconds
            .iter()
            .rposition(|second| second.ended_per_second() >= minimum);
        seconds.truncate(last.map_or(0, |last| last + 1));
    }
    let Some(begin_s) = seconds.first().map(|second| second.at_s) else {
        return Vec::new();
    };
    let mut stalls: Vec<Stall> = Vec::new();
    for gap in seconds.iter().flat_map(|second| &second.gaps) {
        match stalls.last_mut() {
            Some(last) if gap.at_s - last.end_s() < 1e-3 => {
                last.length_s = gap.at_s + gap.length_s - last.at_s
            }
            _ => stalls.push(Stall {
                at_s: gap.at_s,
                length_s: gap.length_s,
            }),
        }
    }
    if stalls.is_empty() {
        return stalls;
    }
    let usual_s = time_weighted_median_s(run, all);
    let busy_clients = (all.busy_s / run.measured.length_s.max(f64::MIN_POSITIVE)).max(1.0);
    let minima_s = [
        SHORT_STALL_MIN_S,
        // An open loop catches up after a stall; its schedule says how often a transaction was due.
        SHORT_STALL_MEAN_GAPS / run.drive.rate_tps.unwrap_or(active.typical_rate),
        SHORT_STALL_MEAN_GAPS * usual_s / busy_clients,
        STALL_MIN_TXN_DURATIONS * usual_s,
        STALL_MIN_TXN_DURATIONS * slowest_kind_median_s(run),
    ];
    let minimum_s = minima_s.into_iter().fold(0.0, f64::max);
    stalls.retain(|stall| {
        stall.length_s > minimum_s && stall.at_s > begin_s + 1e-3 && has_waited(run, stall)
    });
    if f64::from(run.drive.clients) < SHORT_STALL_FEW_CLIENTS && rhythm_s(&stalls).is_none() {
        // A slow transaction of the only client is a gap, too.
        let rare_s = all
            .response
            .p999_ns
            .map_or(f64::INFINITY, |ns| ns as f64 / 1e9);
        stalls.retain(|stall| stall.length_s > STALL_MIN_TXN_DURATIONS * rare_s);
    }
    stalls
}

/// Whether a transaction waited for almost all of this time: it ended when the gap did, or not in the window.
fn has_waited(run: &Run, stall: &Stall) -> bool {
    let end_s = stall.end_s() - 1e-6;
    let series = &run.series;
    let first = series.partition_point(|second| second.at_s + second.length_s <= end_s);
    let seconds = &series[first..series.len().min(first + 2)];
    let at_window_end_s = match seconds.len() {
        0 | 1 => run.measured.in_flight_max_s.unwrap_or(0.0),
        _ => 0.0,
    };
    let longest_s = seconds
        .iter()
        .map(|second| second.max_ns as f64 / 1e9)
        .fold(at_window_end_s, f64::max);
    longest_s >= SHORT_STALL_WAITED_SHARE * stall.length_s
}

/// The length of transactions, seconds, so that half of the clients' time passed in transactions of this length or longer;
/// 0 if the clients were idle for more than half of it, as clients that think, or for which an open loop has no transaction.
fn time_weighted_median_s(run: &Run, all: &KindFigures) -> f64 {
    let clients_s = f64::from(run.drive.clients) * run.measured.length_s;
    let has_service = !all.service.histogram.is_empty();
    let latency = if has_service { &all.service } else { &all.response };
    let Ok(times) = RecordedTimes::decode(&latency.histogram) else {
        let is_idle = 2.0 * all.busy_s < clients_s;
        return if is_idle { 0.0 } else { 2.0 * latency.mean_ns / 1e9 };
    };
    let spent_ns = |(value, count): (u64, u64)| value as f64 * count as f64;
    let busy_ns: f64 = times.counts().map(spent_ns).sum();
    let mut left_ns = busy_ns - busy_ns.max(clients_s * 1e9) / 2.0;
    if left_ns <= 0.0 {
        return 0.0;
    }
    for (value_ns, count) in times.counts() {
        left_ns -= spent_ns((value_ns, count));
        if left_ns <= 0.0 {
            return value_ns as f64 / 1e9;
        }
    }
    0.0
}

/// Transactions that took far longer than the longest of most seconds, while others ended; and in how many clients such a
/// stall ended within one second at most, 0 if that is not known.
fn stalls_of_clients(run: &Run, all: &KindFigures) -> (Vec<Stall>, u64) {
    let seconds = connected_seconds(run);
    let Some(begin_s) = seconds.first().map(|second| second.at_s) else {
        return (Vec::new(), 0);
    };
    let mut maxima: Vec<u64> = seconds.iter().map(|second| second.max_ns).collect();
    maxima.sort_unstable();
    let typical_s = maxima[maxima.len() / 2] as f64 / 1e9;
    let minimum_s = (CLIENT_STALL_MAXIMA_RATIO * typical_s)
        .max(CLIENT_STALL_MAXIMA_RATIO * all.response.mean_ns / 1e9)
        .max(SHORT_STALL_MIN_S);
    let mut of_all = stalls_of_all(run);
    of_all.extend(stretches(run));
    of_all.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    let mut stalls: Vec<Stall> = seconds
        .iter()
        .map(|second| {
            let length_s = second.max_ns as f64 / 1e9;
            Stall {
                at_s: second.at_s + second.length_s - length_s,
                length_s,
            }
        })
        .collect();
    if let (Some(length_s), Some(last)) = (run.measured.in_flight_max_s, seconds.last()) {
        let end_s = last.at_s + last.length_s;
        stalls.push(Stall {
            at_s: end_s - length_s,
            length_s,
        });
    }
    // A transaction may have ended at any time in its second.
    let with_margin = |stall: &Stall| Stall {
        at_s: stall.at_s - 1.0,
        length_s: stall.length_s + 1.0,
    };
    // The second of the start of a load has the slowest transactions.
    stalls.retain(|stall| stall.length_s >= minimum_s && stall.at_s >= begin_s);
    stalls.truncate(MAX_CLIENT_STALLS);
    stalls.retain(|stall| with_margin(stall).overlap_s(&of_all) < stall.length_s / 2.0);
    if rhythm_s(&stalls).is_none() {
        stalls.retain(|stall| stall.length_s >= CLIENT_STALL_MIN_S);
    }
    let counts = client_counts(run, &stalls);
    // A queue that starts of an open loop wait in delays far more transactions than there are clients.
    let is_queue = |clients: &u64| *clients > u64::from(run.drive.clients);
    if counts.iter().any(is_queue) || (run.drive.open_loop && counts.is_empty()) {
        (Vec::new(), 0)
    } else {
        (stalls, counts.into_iter().max().unwrap_or(0))
    }
}

/// How many transactions about as long as each stall ended in the same second; empty if it is not known.
fn client_counts(run: &Run, stalls: &[Stall]) -> Vec<u64> {
    if stalls.is_empty() {
        return Vec::new();
    }
    let Some(histograms) = &run.histograms else {
        return Vec::new();
    };
    let intervals = histograms.intervals(TransactionTime::Response, None, &run.series);
    let intervals = intervals.unwrap_or_default();
    let of_stall = |stall: &Stall| {
        let end_s = stall.end_s() - 1e-6;
        let before_end =
            |interval: &IntervalHistograms<'_>| interval.at_s() + interval.length_s() <= end_s;
        let interval = intervals.get(intervals.partition_point(before_end))?;
        let long = interval
            .histogram
            .buckets()
            .filter(|(low_ns, _, _)| *low_ns as f64 / 1e9 >= stall.length_s / 2.0);
        Some(long.map(|(_, _, count)| count).sum::<u64>())
    };
    stalls.iter().filter_map(of_stall).collect()
}

/// The time from one stall to the next, if almost all come at this spacing or a multiple of it, seconds.
fn rhythm_s(stalls: &[Stall]) -> Option<f64> {
    if stalls.len() < REGULAR_MIN_STALLS {
        return None;
    }
    let spacings: Vec<f64> = stalls
        .windows(2)
        .map(|pair| pair[1].at_s - pair[0].at_s)
        .collect();
    let mut sorted = spacings.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let every_s = sorted[(sorted.len() - 1) / 2];
    let fits = |spacing_s: &&f64| {
        // One stall in between may be too short to be found.
        let times = (*spacing_s / every_s).round().clamp(1.0, 2.0);
        (*spacing_s - times * every_s).abs() <= REGULAR_MAX_DEVIATION * every_s
    };
    let fitting = spacings.iter().filter(fits).count();
    (fitting as f64 >= REGULAR_MIN_SHARE * spacings.len() as f64).then_some(every_s)
}

/// `0.40 s every 5.0 s (6 times, first 12.3 s after the start of the load)`.
fn describe(stalls: &[Stall]) -> String {
    let mut lengths_s: Vec<f64> = stalls.iter().map(|stall| stall.length_s).collect();
    lengths_s.sort_unstable_by(f64::total_cmp);
    let (Some(first), Some(longest_s)) = (stalls.first(), lengths_s.last()) else {
        return String::new();
    };
    let start = format!("{:.1} s after the start of the load", first.at_s);
    let times = count(stalls.len() as u64, "time");
    match rhythm_s(stalls) {
        Some(every_s) => format!(
            "{:.2} s every {every_s:.1} s ({times}, first {start})",
            lengths_s[lengths_s.len() / 2]
        ),
        None if stalls.len() == 1 => format!("{longest_s:.2} s, {start}"),
        None => format!("{times}, up to {longest_s:.2} s, first {start}"),
    }
}

#[cfg(test)]
mod tests;
