//! Whether runs meet what was required of them, for a terminal and for CI servers.
//!
//! In: answers, each with the name of its run or variant. Out: lines, JUnit XML, or commands of GitHub's workflows. Must
//! never: let a name or a message end a command or an element.

use crate::junit::{TestCase, TestSuite, write_document};
use crate::printer::Printer;
use crate::style::Style;
use crate::terminal;
use crate::text::answer::{answer_lines, result_sentence};
use crate::text::drill::drill_facts;
use crate::text::plain;
use prony_store::{Answer, AnswerVerdict, Run};
use std::io::{self, Write};

/// Writes the answers of variants, each with its name; that of a single one without a name.
pub fn write(out: &mut dyn Write, style: &Style, answers: &[(String, Answer)]) -> io::Result<()> {
    let out = &mut Printer::new(out, style);
    for (name, answer) in answers {
        let prefix = match answers.len() {
            1 => String::new(),
            _ => format!("{}: ", plain(name)),
        };
        terminal::write_answer(out, &prefix, answer)?;
    }
    Ok(())
}

/// Writes a suite for each answer, with a case for each requirement; one that is undecided fails.
pub fn write_junit(out: &mut dyn Write, answers: &[(String, Answer)]) -> io::Result<()> {
    let suites = answers.iter().map(|(name, answer)| TestSuite {
        title: name.clone(),
        cases: test_cases(answer, UndecidedCase::Fails),
    });
    write_document(out, "prony", &suites.collect::<Vec<_>>())
}

/// Writes one suite of a run: a case for each requirement, and what a drill found, so that the CI server shows it.
pub fn write_junit_of_run(out: &mut dyn Write, run: &Run) -> io::Result<()> {
    let mut cases = Vec::new();
    if let Some(answer) = &run.answer {
        cases = test_cases(answer, UndecidedCase::Fails);
    }
    for fact in drill_facts(run) {
        cases.push(TestCase {
            name: format!("drill: {}", fact.label),
            message: fact.full,
            failed: false,
        });
    }
    let title = run.id.clone();
    write_document(out, "prony", &[TestSuite { title, cases }])
}

/// Whether the case of an undecided requirement fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UndecidedCase {
    Fails,
    Passes,
}

/// A case for each requirement, and one for figures that must not be used although they meet all of them.
pub(crate) fn test_cases(answer: &Answer, undecided: UndecidedCase) -> Vec<TestCase> {
    let fails = |verdict| match verdict {
        AnswerVerdict::Fail => true,
        AnswerVerdict::Undecided => undecided == UndecidedCase::Fails,
        AnswerVerdict::Pass => false,
    };
    let mut cases = Vec::new();
    for result in &answer.results {
        let sentence = result_sentence(result, result.reason.as_deref());
        cases.push(TestCase {
            name: result.requirement.to_string(),
            message: format!("{}: {sentence}", result.verdict.name()),
            failed: fails(result.verdict),
        });
    }
    let worst = answer.results.iter().map(|result| result.verdict).min();
    if worst.is_none_or(|worst| answer.verdict < worst) {
        cases.push(TestCase {
            name: "usable figures".to_owned(),
            message: answer_lines(answer)[0].clone(),
            failed: fails(answer.verdict),
        });
    }
    cases
}

/// The lines of the answers, with the name in front if there are several.
pub(crate) fn named_lines(answers: &[(String, Answer)]) -> Vec<String> {
    let lines = answers.iter().flat_map(|(name, answer)| {
        let lines = answer_lines(answer).into_iter();
        lines.map(move |line| match answers.len() {
            1 => line.trim_start().to_owned(),
            _ => format!("{}: {}", plain(name), line.trim_start()),
        })
    });
    lines.collect()
}

/// Writes an annotation for each answer, as a command of GitHub's workflows.
pub fn write_github(out: &mut dyn Write, answers: &[(String, Answer)]) -> io::Result<()> {
    answers.iter().try_for_each(|(name, answer)| {
        write_annotation(out, answer.verdict, name, &answer_lines(answer).join("\n"))
    })
}

/// Writes a command of GitHub's workflows that annotates with a verdict.
pub(crate) fn write_annotation(
    out: &mut dyn Write,
    verdict: AnswerVerdict,
    title: &str,
    message: &str,
) -> io::Result<()> {
    let command = match verdict {
        AnswerVerdict::Pass => "notice",
        AnswerVerdict::Undecided => "warning",
        AnswerVerdict::Fail => "error",
    };
    let title = escape(&plain(title))
        .replace(':', "%3A")
        .replace(',', "%2C");
    writeln!(out, "::{command} title=prony {title}::{}", escape(message))
}

/// A message of a command: the characters that would end it.
fn escape(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;
    use prony_store::{Requirement, RequirementResult};

    fn answers() -> [(String, Answer); 1] {
        let result = RequirementResult {
            requirement: Requirement::parse("errors<0.1%").unwrap(),
            verdict: AnswerVerdict::Fail,
            value: Some(0.02),
            interval: None,
            compared: None,
            reason: None,
        };
        let answer = Answer {
            verdict: AnswerVerdict::Fail,
            results: vec![result],
        };
        [("a::b, <c>".to_owned(), answer)]
    }

    #[test]
    fn names_and_messages_end_no_command_and_no_element() {
        let mut out = Vec::new();
        write_github(&mut out, &answers()).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "::error title=prony a%3A%3Ab%2C <c>::FAIL: errors 2.0 %25, required below 0.10 %25\n"
        );
        let mut out = Vec::new();
        write_junit(&mut out, &answers()).unwrap();
        let text = String::from_utf8(out).unwrap();
        for part in [
            "<testsuite name=\"a::b, &lt;c&gt;\" tests=\"1\" failures=\"1\"",
            "name=\"errors&lt;0.1%\"",
            "<failure message=\"FAIL: errors 2.0 %, required below 0.10 %\"/>",
        ] {
            text.assert_contains(part);
        }
        // It meets what is required, and must not be used.
        let [(_, mut answer)] = answers();
        answer.results[0].verdict = AnswerVerdict::Pass;
        answer.verdict = AnswerVerdict::Undecided;
        let cases = test_cases(&answer, UndecidedCase::Fails);
        let failed: Vec<bool> = cases.iter().map(|case| case.failed).collect();
        assert_eq!(failed, [false, true]);
        cases[1].message.assert_contains("must not be used");
    }
}
