//! Figures of a document that contradict one another.
//!
//! In: a Run. Out: a sentence for each contradiction, at most [`MAX_SENTENCES`] and one for those left out. Must never:
//! find one in a document that Prony wrote, also of a run that was cut off; or change a figure.
//!
//! A document is a file that anybody can edit. What a report shows and can be computed from other figures is computed
//! again: rates, sums over kinds and seconds, and what histograms contain.

mod counts;
mod series;

use crate::id::is_id;
use crate::run::{Figures, KindFigures, Latency, PartLatencies, Run, Second};
use prony_document::{NOPM, RunState, SecondPhase, ServerSecond, TPM, TransactionTime};
use serde_json::Value;

const MAX_SENTENCES: usize = 6;

/// Difference that rounding explains, as a share of the larger figure.
const ROUNDING: f64 = 1e-3;

/// The largest error of a figure that is read from a histogram, as a share of it.
const BUCKET_ERROR: f64 = 0.03;

/// Histograms count longer times as this one, nanoseconds.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// No time of a run is longer: 300 years, in seconds.
const MAX_S: f64 = 1e10;

/// No count, rate or time in nanoseconds is larger.
const MAX_NUMBER: f64 = 1e18;

/// No share of a CPU or a disk is larger: two clocks measure it, which differ in a short time.
const SHARE_MAX: f64 = 1.5;

/// A sentence for each contradiction in a document; none for every document that Prony writes.
pub fn contradictions(run: &Run) -> Vec<String> {
    let mut found = Contradictions::default();
    check_identity(&mut found, run);
    check_ranges(&mut found, run);
    for (phase, name, figures) in [
        (SecondPhase::Warmup, "the warm-up", run.warmup.as_ref()),
        (SecondPhase::Measured, "the window", Some(&run.measured)),
    ] {
        let Some(figures) = figures else { continue };
        check_phase(&mut found, name, figures);
        counts::check_counts(&mut found, name, figures);
        // A run that was cut off may lack rows.
        let rows = run.series.iter().filter(|row| row.phase == phase);
        if run.state == RunState::Complete && rows.clone().next().is_some() {
            check_sums(&mut found, name, figures, rows.clone());
            counts::check_queries(&mut found, name, figures, rows.clone());
            series::check_bounds(&mut found, name, figures, rows);
        }
    }
    series::check_order(&mut found, run);
    series::check_commit_gap(&mut found, run);
    counts::check_ledger(&mut found, run);
    check_parts_of_load(&mut found, run);
    check_costs_and_events(&mut found, run);
    check_metrics(&mut found, run);
    check_machines(&mut found, run);
    check_load(&mut found, run);
    check_histograms(&mut found, run);
    found.into_sentences()
}

#[derive(Default)]
struct Contradictions {
    sentences: Vec<String>,
    omitted: usize,
}

impl Contradictions {
    fn require(&mut self, holds: bool, sentence: impl FnOnce() -> String) {
        if holds {
            return;
        }
        if self.sentences.len() < MAX_SENTENCES {
            self.sentences.push(sentence());
        } else {
            self.omitted += 1;
        }
    }

    /// Requires that a figure is the one computed from others, within a share of the larger one.
    fn require_near(&mut self, what: &str, stated: f64, computed: f64, tolerance: f64) {
        let largest = stated.abs().max(computed.abs());
        // Less than a millionth is rounding of a figure near zero.
        let holds = (stated - computed).abs() <= tolerance * largest + 1e-6;
        self.require(holds, || format!("{what} is {stated}, computed {computed}"));
    }

    /// Requires that a count is the sum of others.
    fn require_equal(&mut self, what: &str, stated: u64, computed: u64) {
        self.require(stated == computed, || {
            format!("{what} is {stated}, computed {computed}")
        });
    }

    fn into_sentences(mut self) -> Vec<String> {
        if self.omitted > 0 {
            self.sentences.push(format!("{} more", self.omitted));
        }
        self.sentences
    }
}

/// The id, and the number of clients.
fn check_identity(found: &mut Contradictions, run: &Run) {
    // Readers make a path of the id. A run that is not stored has none.
    found.require(run.id.is_empty() || is_id(&run.id), || {
        "its id is not one of a run".to_owned()
    });
    let connections = run.series.iter().map(|row| row.connections).max();
    let connections = connections.unwrap_or(0);
    found.require(run.drive.clients > 0 || connections == 0, || {
        format!("clients is 0, but {connections} connections were open")
    });
}

/// Numbers that no run can have. JSON has no infinite ones.
fn check_ranges(found: &mut Contradictions, run: &Run) {
    fn walk(found: &mut Contradictions, key: &str, value: &Value) {
        match value {
            Value::Number(number) => {
                let number = number.as_f64().unwrap_or(f64::NAN);
                let max = if key.ends_with("_s") { MAX_S } else { MAX_NUMBER };
                found.require((0.0..=max).contains(&number), || {
                    format!("{key} is {number}, which is impossible")
                });
            }
            Value::Array(values) => values.iter().for_each(|value| walk(found, key, value)),
            Value::Object(fields) => fields
                .iter()
                .for_each(|(key, value)| walk(found, key, value)),
            _ => {}
        }
    }
    let parts = [
        ("window", serde_json::to_value(&run.window)),
        ("measured", serde_json::to_value(&run.measured)),
        ("warmup", serde_json::to_value(&run.warmup)),
        ("rates", serde_json::to_value(&run.rates)),
    ];
    for (name, part) in parts {
        walk(found, name, &part.unwrap_or_default());
    }
    // It has no maximum, because it was requested and not measured.
    let is_rate = run.drive.rate_tps.is_none_or(|rate_tps| rate_tps > 0.0);
    found.require(is_rate, || "rate_tps is not above 0".to_owned());
    for row in &run.series {
        let max_ns = (row.max_ns as f64 * (1.0 + BUCKET_ERROR)) as u64;
        let times_s = [row.at_s, row.length_s, row.client_cpu_s.unwrap_or(0.0)];
        let times_ns = [
            row.mean_ns,
            row.server_mean_ns.unwrap_or(0.0),
            row.max_ns as f64,
        ];
        let percentiles = [row.p50_ns, row.p95_ns, row.p99_ns];
        let are_in_range = times_s.iter().all(|s| (0.0..=MAX_S).contains(s))
            && times_ns.iter().all(|ns| (0.0..=MAX_NUMBER).contains(ns));
        let are_ascending = percentiles.iter().flatten().chain([&max_ns]).is_sorted();
        found.require(are_in_range && are_ascending, || {
            format!("the second at {} s has impossible times", row.at_s)
        });
    }
}

/// Loads of CPUs, disks and threads. The link is left out: its speed may be higher than what the system says.
fn check_machines(found: &mut Contradictions, run: &Run) {
    let mut require = |what: &str, value: Option<f64>, max: f64| {
        let is_possible = value.is_none_or(|value| (0.0..=max).contains(&value));
        found.require(is_possible, || {
            let value = value.unwrap_or_default();
            format!("{what} is {value}, which is impossible")
        });
    };
    for health in run.machines.iter().map(|machine| &machine.health) {
        let busiest = health.busiest_thread_share;
        require("cpu_user_s", health.cpu_user_s, MAX_S);
        require("cpu_system_s", health.cpu_system_s, MAX_S);
        require("run_queue_s", health.run_queue_s, MAX_S);
        require("busiest_thread_share", busiest, SHARE_MAX);
        require("steal_share", health.steal_share, SHARE_MAX);
    }
    for row in run.observed.iter().flat_map(|observed| &observed.series) {
        require("length_s of an observation", Some(row.length_s), MAX_S);
        for machine in [&row.machine, &row.client].into_iter().flatten() {
            require("server_cpu_s", machine.server_cpu_s, MAX_S);
            for (what, share) in [
                ("busy_share", machine.busy_share),
                ("busiest_cpu_share", machine.busiest_cpu_share),
                ("io_wait_share", machine.io_wait_share),
                ("steal_share", machine.steal_share),
                ("disk_busy_share", machine.disk_busy_share),
            ] {
                require(what, share, SHARE_MAX);
            }
        }
    }
}

/// The client's CPU time per transaction, and when events were.
fn check_costs_and_events(found: &mut Contradictions, run: &Run) {
    let committed = run.measured.all_kinds().map_or(0, |all| all.committed);
    if let [machine] = &run.machines[..]
        && let (Some(user_s), Some(system_s), Some(stated)) = (
            machine.health.cpu_user_s,
            machine.health.cpu_system_s,
            machine.health.cpu_per_transaction_us,
        )
        && committed > 0
    {
        let computed = (user_s + system_s) * 1e6 / committed as f64;
        found.require_near("cpu_per_transaction_us", stated, computed, ROUNDING);
    }
    let observed = run.observed.iter().flat_map(|observed| &observed.events);
    for event in run.events.iter().chain(observed) {
        let until_s = event.until_s.unwrap_or(event.at_s);
        let is_possible =
            (-MAX_S..=MAX_S).contains(&event.at_s) && (event.at_s..=MAX_S).contains(&until_s);
        found.require(is_possible, || {
            format!("an event is from {} s to {until_s} s", event.at_s)
        });
    }
}

/// The figures of a phase: sums over the kinds, rates, and times.
fn check_phase(found: &mut Contradictions, phase: &str, figures: &Figures) {
    let Some(all) = figures.all_kinds() else {
        return;
    };
    let kinds = || figures.kinds.iter().filter(|kind| kind.kind.is_some());
    type Count = fn(&KindFigures) -> u64;
    let counts: [(&str, Count); 4] = [
        ("committed", |kind| kind.committed),
        ("rolled_back", |kind| kind.rolled_back),
        ("failed", |kind| kind.failed),
        ("skipped", |kind| kind.skipped),
    ];
    for (name, count) in counts.iter().filter(|_| kinds().next().is_some()) {
        let name = format!("{name} in {phase}, by the sum of its kinds,");
        found.require_equal(&name, count(all), saturating_sum(kinds().map(count)));
    }
    for kind in &figures.kinds {
        let name = |figure: &str| format!("{figure} of {} in {phase}", kind.name());
        let tps =
            if figures.length_s > 0.0 { kind.committed as f64 / figures.length_s } else { 0.0 };
        found.require_near(&name("tps"), kind.tps, tps, ROUNDING);
        let part = |time: &'static str, part: fn(&PartLatencies) -> &Latency| {
            (time, kind.parts.as_ref().map(part), None)
        };
        // Each time, if it was measured, with the number of transactions that it is of, if the document has that.
        for (time, latency, samples) in [
            ("response time", Some(&kind.response), Some(kind.committed)),
            ("service time", Some(&kind.service), Some(kind.committed)),
            (
                "time of failures",
                kind.failed_response.as_ref(),
                Some(kind.failed),
            ),
            ("time of attempts", kind.attempts.as_ref(), None),
            ("lag", kind.lag.as_ref(), None),
            ("time to connect", kind.connect.as_ref(), None),
            part("send wait", |parts| &parts.send_wait),
            part("server time", |parts| &parts.server),
            part("client wait", |parts| &parts.client_wait),
        ] {
            let Some(latency) = latency else { continue };
            // Without samples nothing is claimed.
            if let Some(samples) = samples.filter(|_| latency.samples > 0) {
                found.require_equal(
                    &name(&format!("samples of the {time}")),
                    latency.samples,
                    samples,
                );
            }
            check_latency(found, &name(time), latency);
        }
        check_parts(found, &name("service time"), kind);
    }
    let mut named = kinds();
    if let (Some(only), None) = (named.next(), named.next()) {
        check_same(found, &format!("of {} in {phase}", only.name()), only, all);
    }
}

/// The parts of the service time are at most the whole: a user may also sleep or compute.
fn check_parts(found: &mut Contradictions, name: &str, kind: &KindFigures) {
    let Some(parts) = &kind.parts else { return };
    let all = [&parts.send_wait, &parts.server, &parts.client_wait];
    if all.iter().any(|part| part.samples != kind.service.samples) {
        return;
    }
    let sum_ns: f64 = all.iter().map(|part| part.mean_ns).sum();
    found.require(
        sum_ns <= kind.service.mean_ns * (1.0 + BUCKET_ERROR),
        || format!("the {name} is shorter than its parts"),
    );
}

/// The times of the only kind are those of all.
fn check_same(found: &mut Contradictions, of_kind: &str, only: &KindFigures, all: &KindFigures) {
    fn server(kind: &KindFigures) -> Option<&Latency> {
        kind.parts.as_ref().map(|parts| &parts.server)
    }
    for (time, only, all) in [
        ("response time", Some(&only.response), Some(&all.response)),
        ("service time", Some(&only.service), Some(&all.service)),
        ("server time", server(only), server(all)),
    ] {
        let (Some(only), Some(all)) = (only, all) else {
            continue;
        };
        let name = |figure: &str| format!("{figure} of the {time} {of_kind}");
        found.require_near(&name("mean_ns"), only.mean_ns, all.mean_ns, ROUNDING);
        found.require_equal(&name("max_ns"), only.max_ns, all.max_ns);
    }
}

/// The figures of statements and of servers.
fn check_parts_of_load(found: &mut Contradictions, run: &Run) {
    for statement in run.statements.iter().flatten() {
        let name = format!("time of the statement {}", statement.name);
        check_latency(found, &name, &statement.latency);
        let share = statement.service_time_share.unwrap_or_default();
        found.require((0.0..=SHARE_MAX).contains(&share), || {
            format!("the {name} is {share} of the service time")
        });
    }
    for endpoint in &run.endpoints {
        let name = format!("response time of {}", endpoint.address);
        check_latency(found, &name, &endpoint.response);
    }
    let all = run.measured.all_kinds();
    if let Some(all) = all.filter(|_| run.state == RunState::Complete && !run.endpoints.is_empty())
    {
        let sum = run.endpoints.iter().map(|endpoint| endpoint.tps).sum();
        found.require_near(
            "tps, by the sum of its servers,",
            all.tps,
            sum,
            BUCKET_ERROR,
        );
    }
}

/// A distribution of times, and its histogram.
fn check_latency(found: &mut Contradictions, name: &str, latency: &Latency) {
    if latency.samples == 0 {
        return;
    }
    let percentiles = [
        (0.5, latency.p50_ns),
        (0.9, latency.p90_ns),
        (0.95, latency.p95_ns),
        (0.99, latency.p99_ns),
        (0.999, latency.p999_ns),
    ];
    let (min, max) = (latency.min_ns as f64, latency.max_ns as f64);
    let known = || percentiles.iter().filter_map(|(_, ns)| *ns);
    let highest = known().fold(latency.mean_ns, |highest, ns| highest.max(ns as f64));
    let is_possible = known().is_sorted()
        && latency.mean_ns >= min * (1.0 - BUCKET_ERROR)
        && highest <= max * (1.0 + BUCKET_ERROR);
    found.require(is_possible, || {
        format!("the mean or a percentile of the {name} is impossible")
    });
    if latency.histogram.is_empty() {
        return;
    }
    let times = match latency.recorded_times() {
        Ok(times) => times,
        Err(reason) => return found.require(false, || format!("{name}: {reason}")),
    };
    let mut near = |figure: &str, stated: f64, computed: f64| {
        found.require_near(
            &format!("{figure} of the {name}"),
            stated,
            computed,
            BUCKET_ERROR,
        );
    };
    for (quantile, stated) in percentiles {
        let Some(stated) = stated else { continue };
        let computed = (times.quantile_ns(quantile) as f64).clamp(min, max.max(min));
        near(&format!("p{}", quantile * 100.0), stated as f64, computed);
    }
    if times.max_ns() < LONGEST_NS {
        near("max_ns", max, times.max_ns() as f64);
        near("mean_ns", latency.mean_ns, times.mean_ns());
    }
}

/// The sums over the seconds of a phase.
fn check_sums<'a>(
    found: &mut Contradictions,
    phase: &str,
    figures: &Figures,
    rows: impl Iterator<Item = &'a Second> + Clone,
) {
    let Some(all) = figures.all_kinds() else {
        return;
    };
    type Count = fn(&Second) -> u64;
    let counts: [(&str, Count, u64); 3] = [
        ("committed", |row| row.committed, all.committed),
        ("rolled_back", |row| row.rolled_back, all.rolled_back),
        ("failed", |row| row.failed, all.failed),
    ];
    let what = |name: &str| format!("{name} in {phase}, by its seconds,");
    for (name, count, stated) in counts {
        found.require_equal(&what(name), stated, saturating_sum(rows.clone().map(count)));
    }
    let longest = [
        Some(&all.response),
        all.attempts.as_ref(),
        all.failed_response.as_ref(),
    ];
    let longest_ns = longest.iter().flatten().map(|latency| latency.max_ns).max();
    let highest_ns = rows.clone().map(|row| row.max_ns).max();
    found.require(
        highest_ns.unwrap_or(0) as f64 <= longest_ns.unwrap_or(0) as f64 * (1.0 + BUCKET_ERROR),
        || format!("max_ns of a second of {phase} exceeds the longest time"),
    );
    let length_s: f64 = rows.clone().map(|row| row.length_s).sum();
    found.require_near(&what("length_s"), figures.length_s, length_s, ROUNDING);
    if all.response.samples == all.committed && all.committed > 0 {
        let sum_ns: f64 = rows.map(|row| row.mean_ns * row.committed as f64).sum();
        let mean_ns = sum_ns / all.committed as f64;
        found.require_near(
            &what("mean_ns"),
            all.response.mean_ns,
            mean_ns,
            BUCKET_ERROR,
        );
    }
}

/// NOPM is the rate of a kind of transaction, TPM that of the server's transactions.
fn check_metrics(found: &mut Contradictions, run: &Run) {
    let scale = f64::from(run.workload.scale.max(1));
    let kinds = &run.measured.kinds;
    let has_named = kinds.iter().any(|kind| kind.kind.is_some());
    for rate in &run.rates {
        let name = format!("{} per unit of scale", rate.name);
        found.require_near(&name, rate.per_scale, rate.value / scale, ROUNDING);
        let is_rate_of = |kind: &KindFigures| {
            kind.kind.is_some() == has_named
                && (rate.value - kind.tps * 60.0).abs() <= ROUNDING * rate.value.abs() + 1e-6
        };
        match &*rate.name {
            NOPM => found.require(kinds.iter().any(is_rate_of), || {
                format!(
                    "NOPM is {}, which is the rate of no kind of transaction",
                    rate.value
                )
            }),
            TPM => {
                let max = server_tpm_max(run).unwrap_or(f64::INFINITY);
                found.require(rate.value <= max, || {
                    format!(
                        "TPM is {}, which exceeds the server's transactions",
                        rate.value
                    )
                });
            }
            _ => {}
        }
    }
}

/// The highest TPM by what the server's counters grew in the seconds of the window; `None` if a second lacks one. The
/// readings for TPM lie inside the window, so that they see no more; but the time between them is shorter, by 1.1 s as
/// they are averages over a second, and by what they are late.
fn server_tpm_max(run: &Run) -> Option<f64> {
    let begin_s = run.window.warmup_s;
    let end_s = begin_s + run.measured.length_s;
    let series = run.observed.as_ref()?.series.iter();
    let rows: Vec<_> = series
        .filter(|row| row.at_s < end_s && row.at_s + row.length_s > begin_s)
        .collect();
    let (first, last) = (rows.first()?, rows.last()?);
    let is_covered = first.at_s < begin_s + 0.2 && last.at_s + last.length_s > end_s - 0.2;
    let sum = |count: fn(&ServerSecond) -> Option<u64>| {
        let mut counts = rows.iter().map(|row| count(row));
        counts.try_fold(0_u64, |sum, count| Some(sum.saturating_add(count?)))
    };
    let commits = sum(|row| row.commits)?;
    let rollbacks = sum(|row| row.rollbacks)?;
    let others = [
        sum(|row| row.other_commits)?,
        sum(|row| row.other_rollbacks)?,
    ];
    let ended = saturating_sum([commits, rollbacks].into_iter().chain(others));
    // Behind a URL of several servers, or a proxy, TPM may be those of another one.
    let is_of_load = commits >= run.measured.all_kinds()?.committed / 2;
    let least_s = 0.8 * run.measured.length_s - 2.0;
    (is_covered && is_of_load && least_s > 0.0)
        .then(|| ended.saturating_add(100) as f64 * 60.0 / least_s)
}

/// The window, the rate that limits an open loop, and the commits for which the server was asked. A run that was cut off
/// may lack seconds in which starts became due.
fn check_load(found: &mut Contradictions, run: &Run) {
    if run.state != RunState::Complete {
        return;
    }
    let phases = || run.warmup.iter().chain([&run.measured]);
    for (name, stated_s, figures) in [
        ("measured_s", run.window.measured_s, Some(&run.measured)),
        ("warmup_s", run.window.warmup_s, run.warmup.as_ref()),
    ] {
        // A length of zero is one that is not recorded.
        if let Some(figures) = figures.filter(|_| stated_s != 0.0) {
            let name = format!("{name} of the window");
            found.require_near(&name, stated_s, figures.length_s, ROUNDING);
        }
    }
    if let Some(rate_tps) = run.drive.rate_tps {
        let due = rate_tps * phases().map(|figures| figures.length_s).sum::<f64>();
        let all = phases().filter_map(Figures::all_kinds);
        let committed = saturating_sum(all.map(|all| all.committed));
        // Starts scatter by the square root of their number, and each thread begins with one.
        let maximum =
            due * (1.0 + ROUNDING) + 8.0 * due.sqrt() + 10.0 + f64::from(run.drive.threads);
        found.require(committed as f64 <= maximum, || {
            format!(
                "rate_tps is {rate_tps}, by which {due:.0} transactions were due, but {committed} committed"
            )
        });
    }
    for reading in &run.growth {
        let kinds = phases().flat_map(|figures| &figures.kinds);
        let adds = |kind: &&KindFigures| {
            let name = kind.kind.as_ref();
            name.is_some_and(|name| reading.kinds.contains(name))
        };
        let committed = saturating_sum(kinds.filter(adds).map(|kind| kind.committed));
        found.require(reading.committed >= committed, || {
            format!(
                "{} commits that add {} are fewer than the {committed} of the load",
                reading.committed, reading.what
            )
        });
    }
}

/// The histograms over time: their counts.
fn check_histograms(found: &mut Contradictions, run: &Run) {
    let Some(series) = &run.histograms else {
        return;
    };
    match series.intervals(TransactionTime::Response, None, &run.series) {
        Err(reason) => found.require(false, || format!("histograms: {reason}")),
        Ok(intervals) => {
            for interval in &intervals {
                let committed = saturating_sum(interval.rows.iter().map(|row| row.committed));
                let name = format!("committed at {} s, by its histogram,", interval.at_s());
                found.require_equal(&name, committed, interval.histogram.samples());
            }
        }
    }
}

fn saturating_sum(counts: impl IntoIterator<Item = u64>) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}
