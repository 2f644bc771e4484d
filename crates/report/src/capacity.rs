//! How much a server can take: the answer of `prony find`, and its steps.
//!
//! In: `judge`'s answer. Out: a line for each step, the answer in one line with what limits it, and the table of the
//! steps; or JSON. Must never: claim a limit that no step showed.

use crate::answer::write_annotation;
use crate::experiment::write_curves;
use crate::junit::{TestCase, TestSuite, write_document};
use crate::printer::Printer;
use crate::style::Style;
use crate::table::Table;
use crate::text::answer::{requirement_text, result_sentence};
use crate::text::{joined, plain};
use crate::units::{self, count_of, or_dash, percent, rate, time_or_dash};
use AnswerVerdict::{Fail, Pass, Undecided};
use prony_judge::capacity::{
    CapacityResult, CapacityState, CapacityStep, ClientsResult, ClientsStep,
};
use prony_judge::sweep::Limiter;
use prony_store::{AnswerVerdict, Requirement};
use std::io::{self, Write};
use std::time::Duration;

/// The line before a step: `step 3: 4,310 /s for 20 s`.
pub fn step_header(position: u32, rate: f64, length: Duration) -> String {
    format!(
        "step {position}: {} for {}",
        units::per_second(rate),
        units::span(length.as_secs_f64())
    )
}

/// The line after a step: `4,310 /s: p99 12.1 ms; pass`.
pub fn step_line(step: &CapacityStep) -> String {
    format!(
        "{}: p99 {}; {}",
        units::per_second(step.rate),
        time_or_dash(step.p99_ns),
        verdict_text(step)
    )
}

/// The answer of a search for a CI server.
pub struct SearchAnswer<'a> {
    /// What was searched for.
    name: &'static str,
    workload: &'a str,
    verdict: AnswerVerdict,
    sentence: String,
    /// What it rests on, and what would make it better.
    remarks: Vec<String>,
}

impl<'a> SearchAnswer<'a> {
    pub fn of_rates(found: &'a CapacityResult) -> SearchAnswer<'a> {
        SearchAnswer {
            name: "highest rate",
            workload: &found.workload,
            verdict: found.verdict(),
            sentence: answer_sentence(found),
            remarks: remarks(found),
        }
    }

    pub fn of_clients(found: &'a ClientsResult) -> SearchAnswer<'a> {
        SearchAnswer {
            name: "highest throughput",
            workload: &found.workload,
            verdict: found.verdict(),
            sentence: clients_sentence(found),
            remarks: clients_remark(found).into_iter().collect(),
        }
    }

    fn with_verdict(&self) -> String {
        format!("{}: {}", self.verdict.name(), self.sentence)
    }

    /// Writes it as JUnit XML, in one case; one that is not certain fails.
    pub fn write_junit(&self, out: &mut dyn Write) -> io::Result<()> {
        let case = TestCase {
            name: self.name.to_owned(),
            message: self.with_verdict(),
            failed: self.verdict != Pass,
        };
        let suite = TestSuite {
            title: self.workload.to_owned(),
            cases: vec![case],
        };
        write_document(out, "prony find", &[suite])
    }

    /// Writes it with its remarks as an annotation of GitHub's workflows.
    pub fn write_github(&self, out: &mut dyn Write) -> io::Result<()> {
        let lines = [vec![self.with_verdict()], self.remarks.clone()].concat();
        write_annotation(out, self.verdict, self.workload, &lines.join("\n"))
    }
}

/// Writes the answer, what it rests on, and the steps.
pub fn write(out: &mut dyn Write, style: &Style, found: &CapacityResult) -> io::Result<()> {
    let out = &mut Printer::new(out, style);
    let format = match found.capacity.state {
        CapacityState::Found if found.invalid_by().is_empty() => Style::bold,
        CapacityState::Below => Style::alarm,
        _ => Style::caution,
    };
    out.wrapped(format, &answer_sentence(found))?;
    out.paragraphs(remarks(found))?;
    out.line("")?;
    out.table(&steps_table(found))?;
    if !found.experiment.is_empty() {
        let id = plain(&found.experiment);
        out.line(format!(
            "\nThe curve as a page: prony report {id} --output curve.html"
        ))?;
    }
    Ok(())
}

pub(crate) fn steps_by_rate(found: &CapacityResult) -> Vec<&CapacityStep> {
    let mut steps: Vec<&CapacityStep> = found.steps.iter().collect();
    steps.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    steps
}

pub(crate) fn steps_table(found: &CapacityResult) -> Table {
    let mut table = Table::new(&["rate"])
        .with_numbers(&["achieved", "p50", "p99", "server CPUs"])
        .with_texts(&["verdict"]);
    for step in steps_by_rate(found) {
        table.row([
            rate(step.rate),
            or_dash(step.achieved, rate),
            time_or_dash(step.p50_ns),
            time_or_dash(step.p99_ns),
            or_dash(step.server_cpu_share, percent),
            verdict_text(step),
        ]);
    }
    table
}

/// The line after a step of a search over clients: `16 clients: 4,310 /s; pass`.
pub fn clients_line(step: &ClientsStep) -> String {
    format!(
        "{}: {}; {}",
        count_of(step.clients.into(), "client"),
        units::per_second(step.tps),
        step.verdict.name().to_lowercase()
    )
}

/// Writes the answer of a search over clients, and its curve.
pub fn write_clients(out: &mut dyn Write, style: &Style, found: &ClientsResult) -> io::Result<()> {
    let format = match found.verdict() {
        Pass => Style::bold,
        Fail => Style::alarm,
        Undecided => Style::caution,
    };
    let printer = &mut Printer::new(out, style);
    printer.wrapped(format, &clients_sentence(found))?;
    printer.paragraphs(clients_remark(found))?;
    let Some(sweep) = &found.sweep else {
        return Ok(());
    };
    write_curves(out, style, sweep)
}

/// The answer of a search over clients: `4,310 /s at p99 below 20.0 ms, with 16 clients`.
pub(crate) fn clients_sentence(found: &ClientsResult) -> String {
    let limits = limits_text(&found.requirements);
    let Some(best) = &found.best else {
        return format!("no number of clients{limits}");
    };
    let mut text = format!(
        "{}{limits}, with {}",
        units::per_second(best.tps),
        count_of(best.clients.into(), "client")
    );
    let sweep = found.sweep.as_ref();
    let limiter = sweep.and_then(|sweep| sweep.curves.first()?.limiter.as_ref());
    if Some(best.clients) == found.max_clients {
        text += "; limit: the server's max_connections";
    } else if best.is_client_limit {
        text += "; limit: the client, not the server";
    } else if let Some(known) = limiter.filter(|known| known.limiter != Limiter::Unknown) {
        text += &format!("; limit: {}", known.limiter.text());
    }
    text + &reliance_text(found.invalid_by())
}

/// How to go on with a search over clients that has not ended.
pub(crate) fn clients_remark(found: &ClientsResult) -> Option<String> {
    let steps = count_of(found.steps.len() as u64, "step");
    let id = plain(&found.experiment);
    found.is_unfinished.then(|| {
        format!(
            "The search has not ended after {steps}: another number of clients may be better. The same command with \
             --resume {id} goes on with it, if --max-steps allows more."
        )
    })
}

/// What is required, after a figure; empty if nothing is.
pub(crate) fn limits_text(requirements: &[Requirement]) -> String {
    let limits = joined(requirements.iter().map(requirement_text), " and ");
    if limits.is_empty() { String::new() } else { format!(" at {limits}") }
}

/// That an answer rests on runs which must not be used; empty if it does not.
fn reliance_text(invalid_by: &[impl AsRef<str>]) -> String {
    let ids = plain(&joined(invalid_by.iter().map(AsRef::as_ref), ", "));
    if ids.is_empty() { String::new() } else { format!("; not to be relied on: {ids}") }
}

/// The answer: `4,310 /s (4,180 to 4,420) at p99 below 20.0 ms; limit: the server's CPUs`.
pub fn answer_sentence(found: &CapacityResult) -> String {
    let capacity = &found.capacity;
    let limits = limits_text(&found.requirements);
    let limiter = found.limiter.as_ref().map(|finding| finding.limiter);
    // What the client could drive is a lower bound of what the server can take.
    let is_client = limiter == Some(Limiter::ClientCpus);
    let high = capacity
        .high
        .filter(|_| !is_client || capacity.low.is_none());
    let figure = match (capacity.rate, capacity.low, high) {
        (Some(value), Some(low), Some(high)) => format!(
            "{} ({} to {})",
            units::per_second(value),
            rate(low),
            rate(high)
        ),
        (_, Some(low), None) => format!("at least {}", units::per_second(low)),
        (_, None, Some(high)) => format!("less than {}", units::per_second(high)),
        _ => "no answer".to_owned(),
    };
    let mut text = format!("{figure}{limits}");
    match limiter {
        Some(Limiter::ClientCpus) => text += "; limit: the client, not the server",
        Some(Limiter::Unknown) => text += "; limit: not known",
        Some(limiter) => text += &format!("; limit: {}", limiter.text()),
        None if capacity.state == CapacityState::AtLeast => text += "; no rate failed",
        None => {}
    }
    text + &reliance_text(&found.invalid_by())
}

/// What the answer rests on, and what would make it better.
pub(crate) fn remarks(found: &CapacityResult) -> Vec<String> {
    let mut texts = Vec::new();
    if let Some(limiter) = &found.limiter {
        let at = limiter.at.parse().map_or_else(|_| limiter.at.clone(), rate);
        let mut text = format!("At {} /s, {}.", plain(&at), plain(&limiter.evidence));
        if limiter.limiter == Limiter::Unknown {
            text += " If all clients were busy, more of them (--clients) may bring more.";
        }
        texts.push(text);
    }
    texts.extend(state_remark(found));
    let is_bound =
        |step: &&CapacityStep| [found.capacity.low, found.capacity.high].contains(&Some(step.rate));
    let mut bounds = found.steps.iter().filter(is_bound);
    if bounds.any(|step| !step.is_certain) {
        texts.push(
            "Steps at the bounds were too short for intervals, or had seconds without transactions, and were decided by \
             their figures alone: the bounds are not at 95 %."
                .to_owned(),
        );
    }
    texts
}

/// How the search ended, and what would make its answer better; `None` if it found the rate.
fn state_remark(found: &CapacityResult) -> Option<String> {
    let steps = count_of(found.steps.len() as u64, "step");
    if found.is_unfinished {
        let id = plain(&found.experiment);
        return Some(format!(
            "The search ended early, after {steps}: the same command with --resume {id} goes on with it."
        ));
    }
    Some(match found.capacity.state {
        CapacityState::Found => return None,
        CapacityState::Imprecise => {
            format!("{steps} did not make it as precise as it was asked for: longer ones (--step) do.")
        }
        CapacityState::Contradictory => {
            "A lower rate failed and a higher one did not, also when they were repeated: the server or its neighbours \
             changed in between."
                .to_owned()
        }
        CapacityState::AtLeast => {
            format!("No rate failed in {steps}: start higher (--from), or allow more steps (--max-steps).")
        }
        CapacityState::Below => "No rate that was measured meets it.".to_owned(),
        CapacityState::Unknown => "No step decided: longer ones (--step) may.".to_owned(),
    })
}

/// The verdict of a step with its reason: `fail: p99 31.0 ms, required below 20.0 ms`.
fn verdict_text(step: &CapacityStep) -> String {
    let first_result = |verdict: AnswerVerdict| {
        let mut results = step.answer.iter().flat_map(|answer| &answer.results);
        let found = results.find(|result| result.verdict == verdict);
        found.map(|result| result_sentence(result, None))
    };
    let reason = match step.verdict {
        Pass => None,
        Fail if !step.keeps_up => Some("the load fell behind".to_owned()),
        Fail => first_result(Fail).or_else(|| first_result(Undecided)),
        Undecided => first_result(Undecided),
    };
    let mut text = step.verdict.name().to_lowercase();
    if let Some(reason) = reason {
        text += &format!(": {reason}");
    }
    if step.is_client_limit {
        text += "; the client was the limit";
    }
    if !step.invalid_by.is_empty() {
        text += &format!("; invalid ({})", plain(&step.invalid_by.join(", ")));
    }
    text
}

#[cfg(test)]
pub(crate) mod sample {
    use super::*;
    use prony_judge::capacity::Capacity;
    use prony_judge::sweep::LimiterFinding;

    pub fn step(rate: f64, verdict: AnswerVerdict) -> CapacityStep {
        CapacityStep {
            run: "20261121-1".to_owned(),
            rate,
            length_s: 20.0,
            achieved: Some(rate),
            p50_ns: Some(1_000_000),
            p99_ns: Some(12_100_000),
            client_wait_ns: None,
            server_cpu_share: Some(0.97),
            verdict,
            share_of_limit: None,
            keeps_up: verdict != Fail,
            is_certain: true,
            is_client_limit: false,
            invalid_by: Vec::new(),
            answer: None,
        }
    }

    pub fn found() -> CapacityResult {
        CapacityResult {
            experiment: "20261121-1".to_owned(),
            workload: "tpcb".to_owned(),
            requirements: vec![Requirement::parse("p99<20ms").unwrap()],
            capacity: Capacity {
                rate: Some(4_310.0),
                low: Some(4_180.0),
                high: Some(4_420.0),
                state: CapacityState::Found,
            },
            is_unfinished: false,
            limiter: Some(LimiterFinding {
                limiter: Limiter::ServerCpus,
                at: "4420".to_owned(),
                evidence: "the CPUs of its machine were 97 % busy".to_owned(),
            }),
            steps: vec![step(4_420.0, Fail), step(4_180.0, Pass)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::sample::found;
    use super::*;
    use prony_assertions::TextAssertions;
    use prony_judge::capacity::Capacity;

    fn written(found: &CapacityResult) -> String {
        let mut out = Vec::new();
        write(&mut out, &Style::plain(), found).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_search_that_ended_early_says_so_and_how_to_go_on() {
        let mut cut = found();
        (cut.is_unfinished, cut.capacity.state) = (true, CapacityState::Unknown);
        let text = written(&cut);
        text.assert_contains("ended early, after 2 steps: ");
        text.assert_contains("--resume\n  20261121-1 ");
        text.assert_lacks("No step decided");
    }

    #[test]
    fn the_answer_is_the_first_line_and_the_steps_are_sorted_by_rate() {
        let text = written(&found());
        let first = "4,310 /s (4,180 to 4,420) at p99 below 20.0 ms; limit: the server's CPUs\n";
        text.assert_starts_with(first);
        let [low, high] = [
            "4,180     4,180  1.00 ms  12.1 ms         97 %  pass",
            "fail: the load fell behind",
        ]
        .map(|part| text.find(part).unwrap_or_else(|| panic!("{part}:\n{text}")));
        assert!(low < high, "{text}");
        text.assert_contains("At 4,420 /s, the CPUs of its machine were 97 % busy.");
        text.assert_ends_with("prony report 20261121-1 --output curve.html\n");
    }

    #[test]
    fn the_client_as_the_limit_and_faults_are_in_the_first_line() {
        let mut limited = found();
        limited.limiter.as_mut().unwrap().limiter = Limiter::ClientCpus;
        limited.steps[1].invalid_by = vec!["steal".to_owned()];
        assert_eq!(
            answer_sentence(&limited),
            "at least 4,180 /s at p99 below 20.0 ms; limit: the client, not the server; not to be relied on: steal"
        );
        let text = written(&limited);
        text.assert_contains("pass; invalid (steal)");
    }

    #[test]
    fn a_search_without_both_bounds_says_which_is_missing() {
        let with = |low, high, state| {
            let mut found = found();
            found.capacity = Capacity {
                rate: None,
                low,
                high,
                state,
            };
            found.limiter = None;
            written(&found)
        };
        for (text, parts) in [
            (
                with(Some(900.0), None, CapacityState::AtLeast),
                [
                    "at least 900 /s at p99 below 20.0 ms; no rate failed",
                    "--from",
                ],
            ),
            (
                with(None, Some(80.0), CapacityState::Below),
                [
                    "less than 80.0 /s at p99",
                    "No rate that was measured meets it.",
                ],
            ),
            (
                with(None, None, CapacityState::Unknown),
                ["no answer at p99 below 20.0 ms", "No step decided"],
            ),
        ] {
            for part in parts {
                text.assert_contains(part);
            }
        }
    }
}
