//! Whether a result meets what was required of it, in words.
//!
//! In: an answer. Out: a line for each requirement, the worst first; the first begins with PASS, FAIL or UNDECIDED.
//! Must never: let what is undecided look like what is met.

use super::plain;
use crate::style::Style;
use crate::units;
use prony_store::{
    Answer, AnswerVerdict, Comparator, RequiredFigure, RequiredLimit, Requirement,
    RequirementResult,
};

pub(crate) fn answer_lines(answer: &Answer) -> Vec<String> {
    let mut results: Vec<&RequirementResult> = answer.results.iter().collect();
    results.sort_by_key(|result| result.verdict);
    let verdict = answer.verdict.name();
    let shared_reason = shared_reason(&results);
    let worst = results.first().map(|result| result.verdict);
    let mut lines = Vec::new();
    if let Some(reason) = shared_reason {
        lines.push(plain(&format!("{verdict}: {reason}")));
    } else if worst != Some(answer.verdict) {
        lines.push(format!("{verdict}: the figures must not be used"));
    }
    for result in results {
        let own_reason = result.reason.as_deref();
        let sentence = result_sentence(result, own_reason.filter(|_| shared_reason.is_none()));
        lines.push(if lines.is_empty() {
            format!("{verdict}: {sentence}")
        } else {
            format!("  {}: {sentence}", result.verdict.name().to_lowercase())
        });
    }
    lines
}

/// The reason that several results all have, such as that the run is invalid: it is said once. `None` if there is none.
fn shared_reason<'a>(results: &[&'a RequirementResult]) -> Option<&'a str> {
    let [first, others @ ..] = results else {
        return None;
    };
    let reason = first.reason.as_deref()?;
    let is_shared = !others.is_empty() && others.iter().all(|other| other.reason == first.reason);
    is_shared.then_some(reason)
}

pub(crate) fn answer_format(verdict: AnswerVerdict) -> fn(&Style, &str) -> String {
    match verdict {
        AnswerVerdict::Pass => Style::bold,
        AnswerVerdict::Undecided => Style::caution,
        AnswerVerdict::Fail => Style::alarm,
    }
}

/// A requirement with its figure, such as `p99 12.1 ms (11.8 ms to 12.4 ms), required below 20.0 ms`. `reason`: the reason of
/// the result, unless it is said elsewhere.
pub(crate) fn result_sentence(result: &RequirementResult, reason: Option<&str>) -> String {
    let requirement = &result.requirement;
    let show = format_of(&requirement.limit);
    let reason_clause = reason.map_or(String::new(), |reason| format!("; {reason}"));
    let limit = limit_text(requirement);
    if let (RequiredLimit::Of { label, .. }, RequiredFigure::Primary, None) =
        (&requirement.limit, &requirement.figure, result.value)
    {
        // Which figure that is depends on both.
        return plain(&format!(
            "the run could not be compared with {label}, required {limit}{reason_clause}"
        ));
    }
    let (of, figure) = match &requirement.limit {
        RequiredLimit::Of { label, .. } => (format!(" of {label}'s"), relative_name(result)),
        _ => (String::new(), requirement.figure.to_string()),
    };
    let value = result.value.map_or("is not known".to_owned(), |value| {
        let interval = result.interval.map(|[low, high]| {
            let [low, high] = [low, high].map(&show);
            format!(" ({low} to {high})")
        });
        format!("{}{of}{}", show(value), interval.unwrap_or_default())
    });
    plain(&format!(
        "{figure} {value}, required {limit}{reason_clause}"
    ))
}

/// A limit in words, such as `below 20.0 ms`.
fn limit_text(requirement: &Requirement) -> String {
    let show = format_of(&requirement.limit);
    let limit = match (&requirement.figure, &requirement.limit) {
        (RequiredFigure::Primary, _) => requirement.to_string(),
        (_, RequiredLimit::Of { share, .. }) => show(*share),
        (_, limit) => show(limit.value().unwrap_or_default()),
    };
    let comparator = match (&requirement.figure, requirement.comparator) {
        (RequiredFigure::Primary, _) | (_, Comparator::Equal) => String::new(),
        (_, comparator) => format!("{} ", comparator.words()),
    };
    format!("{comparator}{limit}")
}

/// A requirement in words, such as `p99 below 20.0 ms`.
pub(crate) fn requirement_text(requirement: &Requirement) -> String {
    let figure = &requirement.figure;
    plain(&format!("{figure} {}", limit_text(requirement)))
}

/// What a figure relative to other runs is called.
fn relative_name(result: &RequirementResult) -> String {
    match (&result.requirement.figure, &result.compared) {
        (RequiredFigure::Primary, Some(name)) => name.clone(),
        (figure, _) => figure.to_string(),
    }
}

fn format_of(limit: &RequiredLimit) -> fn(f64) -> String {
    match limit {
        RequiredLimit::PerSecond(_) => units::per_second,
        // The names of metrics have their unit: NOPM.
        RequiredLimit::PerMinute(_) => units::rate,
        RequiredLimit::Time(_) => units::time,
        RequiredLimit::Count(_) => |number| units::count(number as u64),
        RequiredLimit::Share(_) => units::percent,
        RequiredLimit::Of { .. } => units::percent_with_tenths,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use AnswerVerdict::{Fail, Pass, Undecided};
    use prony_store::Requirement;

    fn result(
        requirement: &str,
        verdict: AnswerVerdict,
        value: Option<f64>,
        interval: Option<[f64; 2]>,
    ) -> RequirementResult {
        RequirementResult {
            requirement: Requirement::parse(requirement).unwrap(),
            verdict,
            value,
            interval,
            compared: requirement.contains("main").then(|| "TPS".to_owned()),
            reason: (verdict == Undecided).then(|| "why".to_owned()),
        }
    }

    #[test]
    fn the_worst_result_is_the_first_line() {
        let answer = Answer {
            verdict: Fail,
            results: vec![
                result(
                    "throughput>5000",
                    Pass,
                    Some(5_210.0),
                    Some([5_150.0, 5_270.0]),
                ),
                result("p99<20ms", Fail, Some(31.2e6), Some([30.1e6, 32.5e6])),
                result("errors<0.1%", Pass, Some(0.0), None),
                result(
                    "not slower than main by 3%",
                    Undecided,
                    Some(0.981),
                    Some([0.95, 1.01]),
                ),
            ],
        };
        assert_eq!(
            answer_lines(&answer),
            [
                "FAIL: p99 31.2 ms (30.1 ms to 32.5 ms), required below 20.0 ms",
                "  undecided: TPS 98.1 % of main's (95.0 % to 101.0 %), required not slower than main by 3%; why",
                "  pass: throughput 5,210 /s (5,150 /s to 5,270 /s), required above 5,000 /s",
                "  pass: errors 0 %, required below 0.10 %",
            ]
        );
    }

    #[test]
    fn a_run_that_cannot_be_compared_says_with_what() {
        let result = result("not slower than main by 3%", Undecided, None, None);
        assert_eq!(
            result_sentence(&result, Some("why")),
            "the run could not be compared with main, required not slower than main by 3%; why"
        );
    }

    #[test]
    fn an_invalid_run_meets_nothing() {
        let answer = Answer {
            verdict: Undecided,
            results: vec![result("lost=0", Pass, Some(0.0), None)],
        };
        assert_eq!(
            answer_lines(&answer),
            [
                "UNDECIDED: the figures must not be used",
                "  pass: lost 0, required 0"
            ]
        );
        let answer = Answer {
            verdict: Undecided,
            results: vec![
                result("lost=0", Undecided, Some(0.0), None),
                result("p99<20ms", Undecided, None, None),
            ],
        };
        assert_eq!(
            answer_lines(&answer),
            [
                "UNDECIDED: why",
                "  undecided: lost 0, required 0",
                "  undecided: p99 is not known, required below 20.0 ms"
            ]
        );
    }
}
