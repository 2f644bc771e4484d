//! Reads time profiles: calls and times of each kind of transaction, per virtual user and in total.
//!
//! In: the lines of a profile. Out: kinds with their shares, and pairs of figures that must agree. Must
//! never: merge percentiles of several users.

use super::text::TransactionKind;
use crate::reading::{PrintedNumber, add_relation, count, number};
use prony_store::{ObservedShare, RelationKind, ReportedKind, ReportedRun};

/// The section of one virtual user, or the summary.
#[derive(Default)]
pub(super) struct Section {
    is_summary: bool,
    users: u64,
    elapsed_ms: Option<f64>,
    routines: Vec<Routine>,
}

#[derive(Clone, Default)]
struct Routine {
    name: String,
    calls: u64,
    /// Figures by name: MIN, AVG, MAX, TOTAL, P99, P95 and P50 in ms, RATIO in per cent.
    figures: Vec<(&'static str, PrintedNumber)>,
}

impl Routine {
    fn figure(&self, name: &str) -> Option<PrintedNumber> {
        let mut figures = self.figures.iter();
        let (_, figure) = figures.find(|(figure_name, _)| *figure_name == name)?;
        Some(*figure)
    }

    fn value(&self, name: &str) -> Option<f64> {
        self.figure(name).map(|figure| figure.value)
    }
}

/// The figures of a routine in a time profile, besides CALLS.
const FIGURES: [&str; 8] = ["MIN", "AVG", "MAX", "TOTAL", "P99", "P95", "P50", "RATIO"];

/// Reads `PROC: NEWORD`, `VIRTUAL USER 2 : ELAPSED TIME : 60068ms`, or the header of the summary.
pub(super) fn read_header(profile: &mut Vec<Section>, text: &str) {
    if let Some(name) = text.strip_prefix("PROC: ") {
        if profile.is_empty() {
            profile.push(Section::default());
        }
        if let Some(section) = profile.last_mut()
            && section.routines.len() < 100
        {
            section.routines.push(Routine {
                name: name.chars().take(40).collect(),
                ..Routine::default()
            });
        }
        return;
    }
    let elapsed = text.rsplit_once("ELAPSED TIME : ");
    let summary = text.strip_prefix("SUMMARY OF ");
    if profile.len() < 100_000 {
        profile.push(Section {
            is_summary: summary.is_some(),
            users: summary.and_then(count).unwrap_or(1),
            elapsed_ms: elapsed.and_then(|(_, time)| Some(number(time)?.value)),
            routines: Vec::new(),
        });
    }
}

/// Reads `CALLS: 12515  MIN: 0.199ms ...`, or the line of percentiles below it.
pub(super) fn read_figures(profile: &mut [Section], line: &str) {
    let last = profile
        .last_mut()
        .and_then(|section| section.routines.last_mut());
    let Some(routine) = last else {
        return;
    };
    let fields: Vec<&str> = line.split_whitespace().collect();
    for pair in fields.windows(2) {
        let Some(name) = pair[0].strip_suffix(':') else {
            continue;
        };
        if name == "CALLS" {
            routine.calls = count(pair[1]).unwrap_or(0);
        } else if let (Some(name), Some(number)) = (
            FIGURES.iter().find(|figure| **figure == name),
            number(pair[1]),
        ) && routine.figure(name).is_none()
        {
            routine.figures.push((name, number));
        }
    }
}

/// Adds a profile to its run: kinds, shares, and relations between figures. Figures that the run already has stay.
pub(super) fn add_to_run(run: &mut ReportedRun, sections: &[Section]) {
    let (summaries, users): (Vec<&Section>, Vec<&Section>) =
        sections.iter().partition(|section| section.is_summary);
    let summary = summaries.first().copied();
    let is_summary_doubled = summary.is_some_and(|summary| counts_calls_twice(summary, &users));
    if is_summary_doubled {
        run.messages.push(
            "the summary of the time profile counts each call twice, as HammerDB 4.6 does: its CALLS, TOTAL \
             and RATIO are double; the users' own figures are used instead"
                .to_owned(),
        );
    }
    let is_usable = |section: &&Section| !(section.is_summary && is_summary_doubled);
    for section in sections.iter().filter(is_usable) {
        add_section_relations(run, section);
    }
    if let Some(summary) = summary
        && !users.is_empty()
        && !is_summary_doubled
    {
        for routine in &summary.routines {
            let calls = format!("calls of {} in the summary", routine.name);
            let names = [calls.as_str(), "the sum over virtual users"];
            let sum = total_calls(&users, &routine.name);
            let figures = [routine.calls as f64, sum as f64];
            add_relation(run, RelationKind::Sum, names, figures, 0.0);
        }
    }
    let section = summary.or(users.first().copied());
    if run.nopm.is_none() {
        let number = u32::try_from(users.len()).ok().filter(|users| *users > 0);
        run.clients = run.clients.or(number);
        let elapsed_ms = section.and_then(|section| section.elapsed_ms);
        run.actual_s = run.actual_s.or(elapsed_ms.map(|ms| ms / 1e3));
    }
    let calls = add_kinds(run, &users, summary);
    if run.nopm.is_none() && calls > 0 {
        run.transactions = Some(calls);
        let actual_s = run.actual_s.filter(|actual_s| *actual_s > 0.0);
        run.tps = actual_s.map(|actual_s| calls as f64 / actual_s);
    }
    add_shares(run, calls);
}

/// Adds the observed share of each kind beside the intended one, if the profile contains all kinds.
fn add_shares(run: &mut ReportedRun, transactions: u64) {
    if run.kinds.len() != TransactionKind::ALL.len() || transactions == 0 {
        return;
    }
    for (kind, reported) in TransactionKind::ALL.iter().zip(&run.kinds) {
        run.shares.push(ObservedShare {
            name: reported.name.clone(),
            base: "transactions".to_owned(),
            count: reported.count,
            total: transactions,
            expected_share: Some(f64::from(kind.cards) / f64::from(TransactionKind::DECK_SIZE)),
            ..ObservedShare::default()
        });
    }
}

/// The calls of a routine by all users together.
fn total_calls(users: &[&Section], name: &str) -> u64 {
    let routines = users.iter().flat_map(|section| &section.routines);
    let matching = routines.filter(|routine| routine.name == name);
    matching.fold(0_u64, |sum, routine| sum.saturating_add(routine.calls))
}

/// Whether the summary has twice as many calls as the users together, an error of HammerDB 4.6. Such a
/// summary is ignored.
fn counts_calls_twice(summary: &Section, users: &[&Section]) -> bool {
    let has_double_calls = |routine: &Routine| {
        routine.calls > 0 && routine.calls == total_calls(users, &routine.name).saturating_mul(2)
    };
    !summary.routines.is_empty() && summary.routines.iter().all(has_double_calls)
}

/// Adds each kind of transaction; returns the total number of calls.
fn add_kinds(run: &mut ReportedRun, users: &[&Section], summary: Option<&Section>) -> u64 {
    let mut total = 0_u64;
    for kind in TransactionKind::ALL {
        let name = kind.routine;
        let count = total_calls(users, name);
        if count == 0 {
            continue;
        }
        total = total.saturating_add(count);
        // Of several users, only the summary has percentiles: those of the users cannot be merged.
        let section = match users {
            [user] => Some(*user),
            _ => summary,
        };
        let routine = section
            .and_then(|section| section.routines.iter().find(|routine| routine.name == name));
        let value = |figure: &str| routine.and_then(|routine| routine.value(figure));
        let percentiles = [("P50", 50.0), ("P95", 95.0), ("P99", 99.0)].into_iter();
        run.kinds.push(ReportedKind {
            name: kind.workload_name.to_owned(),
            count,
            mean_ms: value("AVG"),
            max_ms: value("MAX"),
            percentiles_ms: percentiles
                .filter_map(|(figure, percent)| Some((percent, value(figure)?)))
                .collect(),
        });
    }
    total
}

/// Adds the relations between figures that must hold within one section.
fn add_section_relations(run: &mut ReportedRun, section: &Section) {
    use RelationKind::{AtMost, Share};
    let prefix = if section.is_summary { "summary, " } else { "" };
    let mut busy_ms = 0.0;
    for routine in &section.routines {
        let name = format!("{prefix}{}", routine.name);
        let mut add = |kind, [figure, computed_from]: [&str; 2], figures, tolerance| {
            let figure = format!("{name}: {figure}");
            add_relation(run, kind, [&figure, computed_from], figures, tolerance);
        };
        let total_ms = routine.value("TOTAL");
        // Tolerances are doubled, because HammerDB truncates the last digit instead of rounding it.
        if routine.calls > 0
            && let (Some(avg), Some(total_ms)) = (routine.figure("AVG"), total_ms)
        {
            let names = ["AVG, ms", "TOTAL / CALLS"];
            let figures = [avg.value, total_ms / routine.calls as f64];
            add(Share, names, figures, 2.0 * avg.tolerance);
            busy_ms += total_ms;
        }
        let elapsed_ms = section.elapsed_ms.filter(|ms| *ms > 0.0);
        if let (Some(ratio), Some(total_ms), Some(elapsed_ms)) =
            (routine.figure("RATIO"), total_ms, elapsed_ms)
        {
            let user_time_ms = elapsed_ms * section.users.max(1) as f64;
            let names = ["RATIO, %", "TOTAL / ELAPSED TIME"];
            let figures = [ratio.value, 100.0 * total_ms / user_time_ms];
            add(Share, names, figures, 2.0 * ratio.tolerance);
        }
        let order = ["MIN", "P50", "P95", "P99", "MAX"];
        for pair in order.windows(2) {
            if let (Some(smaller), Some(larger)) =
                (routine.figure(pair[0]), routine.figure(pair[1]))
            {
                let names = [format!("{}, ms", pair[0]), format!("its {}", pair[1])];
                let figures = [smaller.value, larger.value];
                add(AtMost, [&names[0], &names[1]], figures, smaller.tolerance);
            }
        }
    }
    // A user executes one transaction at a time.
    if let Some(elapsed_ms) = section.elapsed_ms
        && !section.routines.is_empty()
    {
        let figure = format!("{prefix}TOTAL of all routines, ms");
        let user_time = elapsed_ms * section.users.max(1) as f64;
        let names = [figure.as_str(), "ELAPSED TIME of its users"];
        add_relation(run, AtMost, names, [busy_ms, user_time], 0.01 * user_time);
    }
}
