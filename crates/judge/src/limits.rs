//! Whether transactions met the response times that their specification requires.
//!
//! In: a Run. Out: `response-limits`. Must never: report a percentile with too few samples.

use crate::checks::{Finding, caveat};
use crate::formatting::time;
use prony_store::{ResponseTimeLimit, Run};

pub(crate) fn check(run: &Run) -> Option<Finding> {
    let limits = run.workload.limits.iter();
    let exceeded_limits: Vec<String> = limits
        .filter_map(|limit| describe_if_exceeded(run, limit))
        .collect();
    if exceeded_limits.is_empty() {
        return None;
    }
    caveat(
        format!(
            "90th percentiles above their limits: {}.",
            exceeded_limits.join("; ")
        ),
        "By the specification, the throughput is then not valid: use fewer warehouses and users, or \
         a faster server.",
    )
}

/// A text such as `payment 79.0 s, 5 s allowed`; `None` if the limit is not exceeded, or there are too few samples.
fn describe_if_exceeded(run: &Run, limit: &ResponseTimeLimit) -> Option<String> {
    let mut kinds = run.measured.kinds.iter();
    let p90_ns = kinds
        .find(|kind| kind.kind.as_ref() == Some(&limit.kind))?
        .response
        .p90_ns? as f64;
    let note = if limit.deferred { " (deferred)" } else { "" };
    if p90_ns <= limit.p90_s * 1e9 {
        return None;
    }
    let (kind, p90, limit_s) = (&limit.kind, time(p90_ns), limit.p90_s);
    Some(format!("{kind}{note} {p90}, {limit_s:.0} s allowed"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::healthy;
    use prony_assertions::TextAssertions;
    use prony_store::{KindFigures, Latency};

    #[test]
    fn each_kind_has_its_own_limit() {
        let mut run = healthy();
        run.workload.limits = vec![
            ResponseTimeLimit {
                kind: "payment".to_owned(),
                p90_s: 5.0,
                deferred: false,
            },
            ResponseTimeLimit {
                kind: "delivery".to_owned(),
                p90_s: 80.0,
                deferred: true,
            },
        ];
        assert_eq!(check(&run), None, "nothing was measured of either");
        for kind in ["payment", "delivery"] {
            run.measured.kinds.push(KindFigures {
                kind: Some(kind.to_owned()),
                response: Latency {
                    p90_ns: Some(79_000_000_000),
                    ..Latency::default()
                },
                ..KindFigures::default()
            });
        }
        let finding = check(&run).expect("a payment of 79 s").finding;
        finding.assert_ends_with("limits: payment 79.0 s, 5 s allowed.");
        run.measured.kinds[2].response.p90_ns = Some(81_000_000_000);
        let finding = check(&run).expect("payments and deliveries").finding;
        finding.assert_contains("; delivery (deferred) 81.0 s, 80 s");
    }
}
