//! A sweep in words, and its table.
//!
//! In: `judge`'s curves. Out: a sentence for the knee and its limit, sentences for the rest, one table. Must never:
//! claim a knee that `judge` did not find.

use super::joined;
use crate::table::Table;
use crate::text::plain;
use crate::units::{self, count_of, or_dash, percent, rate, time};
use prony_judge::statistics::{MIN_USL_POINTS, Usl, UslFit};
use prony_judge::sweep::{CPUS_AXIS, Curve, KneeState, Limiter, Sweep, SweepPoint};
use std::collections::BTreeSet;

/// What the table's columns mean.
const SWEEP_LEGEND: &str = "Medians of the runs that count, with the interval of the median at 95 %; for a point with two runs, \
    the runs of its neighbours are included in the estimate of their scatter. Times are of committed transactions.";
/// What a check behind a point means.
const INVALID_LEGEND: &str = "A check that is named behind a point made runs of it invalid.";
/// What the mark of the knee means.
const KNEE_LEGEND: &str = "The knee is the last point before more load brings little more.";

/// The value of a point with its axis: `16 clients`, `scale 10`.
fn at(axis: &str, value: &str) -> String {
    match (axis, value.parse()) {
        ("clients", Ok(count)) => count_of(count, "client"),
        (CPUS_AXIS, _) => format!("machine {}", plain(value)),
        _ => format!("{} {}", plain(axis), plain(value)),
    }
}

/// What the table says of machines.
const EFFICIENCY_LEGEND: &str = "Efficiency: throughput for a CPU, against the smallest machine.";

/// What the columns of the table mean.
pub(crate) fn sweep_legend(sweep: &Sweep) -> String {
    let has_invalid = sweep.points().any(|point| !point.invalid_by.is_empty());
    let of_invalid = has_invalid.then_some(INVALID_LEGEND);
    let of_machines = (sweep.axis == CPUS_AXIS).then_some(EFFICIENCY_LEGEND);
    let parts = [Some(SWEEP_LEGEND), of_invalid, of_machines];
    joined(parts.into_iter().flatten(), " ")
}

/// The settings of a curve: `protocol simple`; empty if the sweep has one curve.
pub(crate) fn curve_name(curve: &Curve) -> String {
    let settings = curve.settings.iter();
    let settings = settings.map(|setting| plain(&setting.to_string()));
    joined(settings, ", ")
}

/// The knee of each curve and what limits it there; empty if the axis has no numbers.
pub(crate) fn knee_sentences(sweep: &Sweep) -> Vec<String> {
    let curves = sweep.curves.iter();
    curves
        .filter_map(|curve| knee_sentence(sweep, curve))
        .collect()
}

/// What the universal scalability law says of each curve that it describes.
pub(crate) fn law_sentences(sweep: &Sweep) -> Vec<String> {
    let sentence = |curve: &Curve| {
        let sentence = usl_sentence(curve)?;
        Some(match curve_name(curve) {
            name if name.is_empty() => sentence,
            name => format!("{name}: {sentence}"),
        })
    };
    sweep.curves.iter().filter_map(sentence).collect()
}

/// What the columns of the table mean, and the mark of the knee.
pub(crate) fn curves_legend(sweep: &Sweep) -> String {
    format!("{} {KNEE_LEGEND}", sweep_legend(sweep))
}

/// The knee of a curve and what limits it there, in one sentence; `None` if the axis has no numbers.
fn knee_sentence(sweep: &Sweep, curve: &Curve) -> Option<String> {
    let text = knee_text(sweep, curve)?;
    let name = curve_name(curve);
    Some(if name.is_empty() { capitalized(&text) } else { format!("{name}: {text}") })
}

fn capitalized(text: &str) -> String {
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => format!("{}{}", first.to_uppercase(), characters.as_str()),
        None => String::new(),
    }
}

/// The sentence about the knee, which begins in lower case.
fn knee_text(sweep: &Sweep, curve: &Curve) -> Option<String> {
    let knee = curve.knee.map(|index| &curve.points[index]);
    Some(match (curve.knee_state?, knee) {
        (KneeState::Found, Some(knee)) => format!(
            "the knee is at {}, with {}; {}",
            at(&sweep.axis, &knee.value),
            figures(sweep, knee),
            limiter_text(sweep, curve, knee)
        ),
        (KneeState::BeforeFirst, Some(knee)) => format!(
            "throughput does not rise from {} on ({}); {}",
            at(&sweep.axis, &knee.value),
            figures(sweep, knee),
            limiter_text(sweep, curve, knee)
        ),
        (KneeState::Unclear, _) => {
            "no knee is found: the runs of a point scatter too much to tell where throughput \
             stops to rise. Measure for longer, or repeat more often."
                .to_owned()
        }
        (KneeState::TooFewPoints, _) => {
            "no knee is sought: fewer than three points have figures.".to_owned()
        }
        _ => return not_reached_text(sweep, curve),
    })
}

/// That throughput rises up to the last point with figures, and why that is the last one; `None` if no point has any.
fn not_reached_text(sweep: &Sweep, curve: &Curve) -> Option<String> {
    let mut points = curve.points.iter();
    let last = points.rposition(|point| point.rate.is_some())?;
    let (last, after) = (&curve.points[last], &curve.points[last + 1..]);
    let causes = after.iter().flat_map(|point| &point.invalid_by);
    let causes: BTreeSet<&str> = causes.map(String::as_str).collect();
    let advice = if after.is_empty() {
        "Sweep further to find it.".to_owned()
    } else if causes.is_empty() {
        "The points after it have no run that counts.".to_owned()
    } else {
        let causes = plain(&joined(causes, ", "));
        format!("The points after it must not be used ({causes}).")
    };
    Some(format!(
        "no knee up to {}: throughput still rises there ({}). {advice}",
        at(&sweep.axis, &last.value),
        figures(sweep, last)
    ))
}

/// `4,210 transactions/s (95 % interval 4,100 to 4,300), p99 9.2 ms`.
fn figures(sweep: &Sweep, point: &SweepPoint) -> String {
    let unit = if sweep.by_nopm { "NOPM" } else { "transactions/s" };
    let mut text = format!("{} {unit}", or_dash(point.rate, rate));
    if let Some([low, high]) = point.rate_interval {
        text += &format!(" (95 % interval {} to {})", rate(low), rate(high));
    }
    if let Some(p99) = point.p99_ns {
        text += &format!(", p99 {}", time(p99));
    }
    text
}

fn limiter_text(sweep: &Sweep, curve: &Curve, knee: &SweepPoint) -> String {
    let Some(found) = &curve.limiter else {
        return String::new();
    };
    let elsewhere = if found.at == knee.value {
        String::new()
    } else {
        format!(" (seen at {})", at(&sweep.axis, &found.at))
    };
    let evidence = plain(&found.evidence);
    match found.limiter {
        Limiter::Unknown => format!("what limits it is not known: {evidence}."),
        limiter => format!(
            "it is limited by {}{elsewhere}: {evidence}.",
            limiter.text()
        ),
    }
}

/// How the universal scalability law explains a curve; `None` if the axis is no concurrency.
pub(crate) fn usl_sentence(curve: &Curve) -> Option<String> {
    let law = "The universal scalability law";
    Some(match curve.usl? {
        UslFit::TooFewPoints => {
            format!("{law} is not fitted: that takes {MIN_USL_POINTS} points with figures.")
        }
        UslFit::DoesNotFit { deviation } => format!(
            "{law} does not describe this curve: the points deviate from it by {}, so it explains nothing here.",
            percent(deviation)
        ),
        UslFit::Fits(usl) => format!(
            "{law} explains the curve, with a deviation of {}: {} transactions/s for one, contention (sigma) {}, \
             coherency (kappa) {}; {}.",
            percent(usl.deviation),
            rate(usl.lambda),
            percent(usl.sigma),
            percent(usl.kappa),
            peak_text(curve, &usl)
        ),
    })
}

fn peak_text(curve: &Curve, usl: &Usl) -> String {
    let measured = curve.points.iter().filter_map(|point| point.x);
    let highest = measured.fold(0.0, f64::max);
    match usl.peak() {
        None => "throughput does not fall again".to_owned(),
        Some(peak) if peak > highest => {
            "the highest throughput lies beyond the measured points".to_owned()
        }
        Some(peak) => format!(
            "the highest throughput is at about {}",
            units::whole(peak.round())
        ),
    }
}

pub(crate) fn sweep_table(sweep: &Sweep) -> Table {
    let currency = sweep.currency.as_deref().map(plain);
    let rate_title = if sweep.by_nopm { "NOPM" } else { "TPS" };
    let money_title = currency.map(|currency| format!("TPS per {currency} a month"));
    let axis = plain(if sweep.axis == CPUS_AXIS { "machine" } else { &sweep.axis });
    let has_names = sweep.curves.iter().any(|curve| !curve.settings.is_empty());
    let per_cpu = format!("{rate_title} per CPU");
    let is_over_machines = sweep.axis == CPUS_AXIS;
    let mut titles = vec![
        "runs",
        rate_title,
        "95 % interval",
        "p50",
        "p99",
        "server CPUs",
        &per_cpu,
    ];
    titles.extend(is_over_machines.then_some("efficiency"));
    titles.extend(money_title.as_deref());
    let mut table =
        if has_names { Table::new(&["curve"]).with_texts(&[&axis]) } else { Table::new(&[&axis]) };
    table = table.with_numbers(&titles).with_texts(&[""]);
    for curve in &sweep.curves {
        for (index, point) in curve.points.iter().enumerate() {
            let mut cells = Vec::new();
            cells.extend(has_names.then(|| curve_name(curve)));
            cells.push(plain(&point.value));
            cells.extend(point_cells(point));
            if is_over_machines {
                cells.push(or_dash(curve.efficiency(point), units::whole_percent));
            }
            if money_title.is_some() {
                cells.push(or_dash(point.tps_per_money, rate));
            }
            cells.push(if curve.knee == Some(index) {
                "knee".to_owned()
            } else {
                plain(&point.invalid_by.join(", "))
            });
            table.row(cells);
        }
    }
    table
}

fn point_cells(point: &SweepPoint) -> [String; 7] {
    let runs = if point.counted == point.runs {
        point.runs.to_string()
    } else {
        format!("{} of {}", point.counted, point.runs)
    };
    [
        runs,
        or_dash(point.rate, rate),
        or_dash(point.rate_interval, |[low, high]| {
            format!("{} to {}", rate(low), rate(high))
        }),
        or_dash(point.p50_ns, time),
        or_dash(point.p99_ns, time),
        or_dash(point.server_cpu_share, percent),
        or_dash(point.rate_per_cpu, rate),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::clients_sentence;
    use prony_assertions::TextAssertions;
    use prony_judge::capacity::{ClientsResult, ClientsStep};
    use prony_judge::sweep::LimiterFinding;
    use prony_store::{AnswerVerdict, Setting};

    fn point(value: &str, rate: f64) -> SweepPoint {
        SweepPoint {
            name: format!("clients-{value}"),
            value: value.to_owned(),
            x: value.parse().ok(),
            runs: 3,
            counted: 2,
            invalid_by: Vec::new(),
            rate: Some(rate),
            rate_interval: Some([rate - 10.0, rate + 10.0]),
            p50_ns: Some(1e6),
            p99_ns: Some(9_240_000.0),
            server_cpu_share: None,
            cpus: None,
            rate_per_cpu: None,
            monthly_cost: None,
            tps_per_money: Some(12.0),
        }
    }

    fn sweep(state: KneeState, knee: Option<usize>, limiter: Limiter) -> Sweep {
        let curve = Curve {
            settings: Vec::new(),
            points: vec![
                point("1", 500.0),
                point("16", 4_210.0),
                point("32", 4_200.0),
            ],
            knee,
            knee_state: Some(state),
            limiter: knee.map(|_| LimiterFinding {
                limiter,
                at: "32".to_owned(),
                evidence: "the CPUs of its machine were 97 % busy".to_owned(),
            }),
            usl: None,
        };
        Sweep {
            axis: "clients".to_owned(),
            by_nopm: false,
            currency: Some("USD".to_owned()),
            curves: vec![curve],
        }
    }

    fn sentence(sweep: &Sweep) -> String {
        knee_sentence(sweep, &sweep.curves[0]).unwrap()
    }

    #[test]
    fn the_answer_of_a_search_over_clients_names_the_limit() {
        let best = ClientsStep {
            clients: 16,
            tps: 4_210.0,
            verdict: AnswerVerdict::Pass,
            is_client_limit: false,
            invalid_by: Vec::new(),
        };
        let mut found = ClientsResult {
            experiment: String::new(),
            workload: "tpcb".to_owned(),
            requirements: Vec::new(),
            best: Some(best),
            is_unfinished: false,
            max_clients: None,
            steps: Vec::new(),
            sweep: Some(sweep(KneeState::Found, Some(1), Limiter::ServerCpus)),
        };
        let sentence = clients_sentence(&found);
        assert_eq!(
            sentence,
            "4,210 /s, with 16 clients; limit: the server's CPUs"
        );
        found.sweep = Some(sweep(KneeState::Found, Some(1), Limiter::Unknown));
        clients_sentence(&found).assert_lacks("limit");
        found.max_clients = Some(16);
        clients_sentence(&found).assert_ends_with("; limit: the server's max_connections");
    }

    #[test]
    fn the_knee_and_its_limit_are_one_sentence() {
        let mut found = sweep(KneeState::Found, Some(1), Limiter::ServerCpus);
        assert_eq!(
            sentence(&found),
            "The knee is at 16 clients, with 4,210 transactions/s (95 % interval 4,200 to 4,220), p99 9.24 ms; it is limited by \
             the server's CPUs (seen at 32 clients): the CPUs of its machine were 97 % busy."
        );
        found.curves[0].settings = vec![Setting::new("protocol", "simple")];
        sentence(&found).assert_starts_with("protocol simple: the knee is at 16 clients");
        let unknown = sweep(KneeState::BeforeFirst, Some(0), Limiter::Unknown);
        let text = sentence(&unknown);
        text.assert_starts_with("Throughput does not rise from 1 client on");
        text.assert_contains("what limits it is not known: ");
        let rising = sentence(&sweep(KneeState::NotReached, None, Limiter::Unknown));
        rising.assert_starts_with("No knee up to 32 clients: throughput still rises");
    }

    #[test]
    fn points_that_must_not_be_used_are_no_end_of_the_curve() {
        let mut rising = sweep(KneeState::NotReached, None, Limiter::Unknown);
        let last = &mut rising.curves[0].points[2];
        (last.rate, last.counted) = (None, 0);
        last.invalid_by = vec!["client-limit".to_owned()];
        let text = sentence(&rising);
        text.assert_starts_with("No knee up to 16 clients");
        text.assert_ends_with("The points after it must not be used (client-limit).");
        let table = sweep_table(&rising);
        assert_eq!(table.rows()[2].last().unwrap(), "client-limit");
        sweep_legend(&rising).assert_contains(INVALID_LEGEND);
        let all_valid = sweep(KneeState::NotReached, None, Limiter::Unknown);
        sweep_legend(&all_valid).assert_lacks(INVALID_LEGEND);
    }

    #[test]
    fn the_table_marks_the_knee_and_has_prices_if_there_are_any() {
        let mut found = sweep(KneeState::Found, Some(1), Limiter::ServerCpus);
        let table = sweep_table(&found);
        let titles: Vec<&str> = table.titles().collect();
        assert_eq!(titles[0], "clients");
        assert!(titles.contains(&"TPS per USD a month"), "{titles:?}");
        let rows = table.rows();
        assert_eq!(
            (rows[0][1].as_str(), rows[0].last().unwrap().as_str()),
            ("2 of 3", "")
        );
        assert_eq!(rows[1].last().unwrap(), "knee");
        found.currency = None;
        assert_eq!(sweep_table(&found).titles().count(), titles.len() - 1);
    }

    #[test]
    fn the_law_is_told_with_its_limits() {
        let mut found = sweep(KneeState::Found, Some(1), Limiter::ServerCpus);
        let curve = &mut found.curves[0];
        assert_eq!(usl_sentence(curve), None);
        let law = |kappa| {
            UslFit::Fits(Usl {
                lambda: 500.0,
                sigma: 0.05,
                kappa,
                deviation: 0.01,
            })
        };
        for (fit, expected) in [
            (law(0.0), "throughput does not fall again"),
            (law(0.01), "the highest throughput is at about 10"),
            (law(0.0001), "lies beyond the measured points"),
            (
                UslFit::DoesNotFit { deviation: 0.2 },
                "explains nothing here",
            ),
            (UslFit::TooFewPoints, "takes 4 points"),
        ] {
            curve.usl = Some(fit);
            let text = usl_sentence(curve).unwrap();
            text.assert_contains(expected);
        }
    }
}
