//! Times of a document that its seconds bound: percentiles, the longest transaction, the longest time without a commit.

use super::{Contradictions, LONGEST_NS, MAX_S};
use crate::run::{Figures, Run, Second};

/// The end of a second is known with an error of this, seconds.
const EDGE_S: f64 = 0.01;
/// A time of the phase that is more than this factor outside of those of its seconds contradicts them. It is that large
/// because the percentiles of seconds with few transactions are rounded to one of these.
const FACTOR: f64 = 3.0;
/// The shortest time without a commit that is kept, seconds.
const KEPT_GAP_S: f64 = 0.1;

/// The seconds follow one another.
pub(super) fn check_order(found: &mut Contradictions, run: &Run) {
    for pair in run.series.windows(2) {
        let (end_s, next_s) = (pair[0].at_s + pair[0].length_s, pair[1].at_s);
        if end_s > next_s + EDGE_S {
            found.require(false, || {
                format!("the second at {next_s} s begins before the end of the one before it")
            });
            return;
        }
    }
}

/// A percentile of a phase is about between the lowest and the highest of its seconds, and its longest time about that of
/// one.
pub(super) fn check_bounds<'a>(
    found: &mut Contradictions,
    phase: &str,
    figures: &Figures,
    rows: impl Iterator<Item = &'a Second> + Clone,
) {
    let Some(all) = figures.all_kinds().filter(|all| all.committed > 0) else {
        return;
    };
    let committing = || rows.clone().filter(|row| row.committed > 0);
    type Percentile = fn(&Second) -> Option<u64>;
    let percentiles: [(&str, Percentile, Option<u64>); 3] = [
        ("p50_ns", |row| row.p50_ns, all.response.p50_ns),
        ("p95_ns", |row| row.p95_ns, all.response.p95_ns),
        ("p99_ns", |row| row.p99_ns, all.response.p99_ns),
    ];
    let server = all.parts.as_ref().map(|parts| parts.server.mean_ns);
    let mut require = |name: &str, stated: Option<f64>, of: &dyn Fn(&Second) -> Option<f64>| {
        // A second with too few transactions has none, and may have any times.
        let values: Option<Vec<f64>> = committing().map(of).collect();
        let (Some(stated), Some(values)) = (stated, values) else {
            return;
        };
        let low = values.iter().copied().fold(f64::INFINITY, f64::min) / FACTOR;
        let high = values.iter().copied().fold(0.0, f64::max) * FACTOR;
        found.require((low..=high).contains(&stated), || {
            format!("{name} of {phase} is {stated}, outside of what its seconds have")
        });
    };
    for (name, of, stated) in percentiles {
        let of = |row: &Second| of(row).map(|ns| ns as f64);
        require(name, stated.map(|ns| ns as f64), &of);
    }
    require("mean of the server time", server, &|row| row.server_mean_ns);
    let highest_ns = rows.map(|row| row.max_ns).max().unwrap_or(0);
    let longest_ns = all.response.max_ns.min(LONGEST_NS);
    found.require(longest_ns as f64 <= highest_ns as f64 * FACTOR, || {
        format!("the longest response time of {phase} is in none of its seconds")
    });
}

/// The longest time without a commit covers all seconds without one that others follow.
pub(super) fn check_commit_gap(found: &mut Contradictions, run: &Run) {
    let Some(gap) = &run.commit_gap else { return };
    let window = &run.window;
    let end_s = window.warmup_s + run.measured.length_s + window.drain_s;
    let until_s = gap.until_s.unwrap_or(end_s.max(gap.from_s));
    let is_possible = (0.0..=MAX_S).contains(&gap.from_s)
        && (gap.from_s..=MAX_S).contains(&until_s)
        && [gap.clients.min_s, gap.clients.p50_s, gap.clients.max_s].is_sorted();
    found.require(is_possible, || {
        "the longest time without a commit is impossible".to_owned()
    });
    let (mut without_s, mut longest_s, mut has_begun) = (0.0, 0.0_f64, false);
    for row in &run.series {
        if row.committed > 0 {
            longest_s = longest_s.max(without_s);
            (without_s, has_begun) = (0.0, true);
        } else if has_begun {
            without_s += row.length_s;
        }
    }
    let length_s = until_s - gap.from_s + gap.clock_bound_s.unwrap_or(0.0);
    // Shorter times without a commit are not kept, and a row may be shorter than a second.
    found.require(longest_s <= length_s.max(KEPT_GAP_S) + EDGE_S, || {
        format!(
            "the longest time without a commit is {length_s:.3} s, but seconds without one follow each other for {longest_s:.3} s"
        )
    });
}
