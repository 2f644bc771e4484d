//! Error messages: what happened, where, and what to do.
//!
//! In: one problem, or all problems of a plan. Out: a few lines on stderr. Must never: show a
//! password; callers pass text without any.

use crate::style::Style;
use crate::text::wrap;
use crate::visible::visible;
use prony_plan::ErrorParts;
use std::io::{self, Write};

/// Writes one problem: `prony: what`, then its details and its hint, each indented.
pub fn write_problem(out: &mut dyn Write, style: &Style, problem: &ErrorParts) -> io::Result<()> {
    let message = visible(&problem.problem);
    let mut lines = message.lines();
    writeln!(
        out,
        "{} {}",
        style.alarm("prony:"),
        lines.next().unwrap_or_default()
    )?;
    for line in lines {
        writeln!(out, "  {}", line.trim_start())?;
    }
    write_details(out, style, problem)
}

pub fn write_problems(
    out: &mut dyn Write,
    style: &Style,
    subject: &str,
    problems: &[ErrorParts],
) -> io::Result<()> {
    if let [problem] = problems {
        return write_problem(out, style, problem);
    }
    let heading = format!("{} has {} problems", visible(subject), problems.len());
    writeln!(out, "{} {heading}", style.alarm("prony:"))?;
    for problem in problems {
        writeln!(out, "- {}", visible(&problem.problem))?;
        write_details(out, style, problem)?;
    }
    Ok(())
}

/// Before the text of a hint.
const HINT_LABEL: &str = "hint: ";

fn write_details(out: &mut dyn Write, style: &Style, problem: &ErrorParts) -> io::Result<()> {
    for line in visible(problem.details.as_deref().unwrap_or_default()).lines() {
        writeln!(out, "  {line}")?;
    }
    // A hint retains its line breaks: it may contain a command to copy.
    let hint = visible(problem.hint.as_deref().unwrap_or_default());
    // The indent of two, the label, and a column that stays free.
    let width = style.width.saturating_sub(2 + HINT_LABEL.len() + 1);
    let lines = hint.lines().flat_map(|paragraph| wrap(paragraph, width));
    for (row, line) in lines.enumerate() {
        let label = if row == 0 { HINT_LABEL } else { "" };
        writeln!(out, "  {label:indent$}{line}", indent = HINT_LABEL.len())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::written;
    use prony_assertions::TextAssertions;

    fn problem(message: &str) -> ErrorParts {
        ErrorParts::new(message)
            .with_details("drive.clients")
            .with_hint("give a whole number from 1 up")
    }

    #[test]
    fn a_single_problem_is_printed_with_details_and_hint() {
        let mut out = Vec::new();
        write_problem(&mut out, &Style::plain(), &problem("clients is 0")).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "prony: clients is 0\n  drive.clients\n  hint: give a whole number from 1 up\n"
        );
    }

    #[test]
    fn all_problems_are_listed() {
        let five: Vec<ErrorParts> = (1..=5).map(|i| problem(&format!("mistake {i}"))).collect();
        let text = written(|out| write_problems(out, &Style::plain(), "plan.toml", &five));
        text.assert_starts_with("prony: plan.toml has 5 problems\n");
        for i in 1..=5 {
            text.assert_contains(&format!("- mistake {i}\n"));
        }
    }

    #[test]
    fn server_messages_cannot_control_the_terminal() {
        let hostile = ErrorParts::new("FATAL: \x1b]0;title\x07\x1b[2Jno")
            .with_details("at \u{9b}2J\tfile")
            .with_hint("try\n\x1b[8msecret");
        let mut out = Vec::new();
        write_problem(&mut out, &Style::plain(), &hostile).unwrap();
        write_problems(
            &mut out,
            &Style::plain(),
            "\x1bplan",
            &[hostile.clone(), hostile],
        )
        .unwrap();
        let text = String::from_utf8(out).unwrap();
        let raw = |c: char| c != '\n' && c != '\t' && crate::visible::is_control(c);
        assert!(!text.contains(raw), "{text:?}");
        text.assert_contains("FATAL: \\x1b]0;title\\x07\\x1b[2Jno\n");
    }
}
