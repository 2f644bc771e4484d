//! What went wrong, where, and what to do about it.
//!
//! In: one problem, or all the problems of a plan. Out: a few lines on stderr. Must never: show a
//! password; the callers hand over text that has none.

use crate::style::Style;
use crate::text::wrap;
use std::io::{self, Write};

/// One problem.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problem {
    /// What happened.
    pub what: String,
    /// Where: a place in a plan, an option, a file, an address. Empty if there is none to name.
    pub place: String,
    /// What to do. Empty if that is plain.
    pub hint: String,
}

/// Writes one problem: `prony: what`, then its place and its hint, each indented.
pub fn one(out: &mut dyn Write, style: &Style, problem: &Problem) -> io::Result<()> {
    let mut lines = problem.what.lines();
    writeln!(
        out,
        "{} {}",
        style.alarm("prony:"),
        lines.next().unwrap_or_default()
    )?;
    for line in lines {
        writeln!(out, "  {}", line.trim_start())?;
    }
    details(out, style, problem)
}

/// Writes all problems of a plan, with their number first.
pub fn all(out: &mut dyn Write, style: &Style, of: &str, problems: &[Problem]) -> io::Result<()> {
    if let [problem] = problems {
        return one(out, style, problem);
    }
    let head = format!("{of} has {} problems", problems.len());
    writeln!(out, "{} {head}", style.alarm("prony:"))?;
    for problem in problems {
        writeln!(out, "- {}", problem.what)?;
        details(out, style, problem)?;
    }
    Ok(())
}

fn details(out: &mut dyn Write, style: &Style, problem: &Problem) -> io::Result<()> {
    if !problem.place.is_empty() {
        for line in problem.place.lines() {
            writeln!(out, "  {line}")?;
        }
    }
    // A hint keeps its own line breaks: it may hold a command to copy.
    for (number, paragraph) in problem.hint.lines().enumerate() {
        for (row, line) in wrap(paragraph, style.width.saturating_sub(9))
            .iter()
            .enumerate()
        {
            let label = if (number, row) == (0, 0) {
                "hint: "
            } else {
                "      "
            };
            writeln!(out, "  {label}{line}")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(what: &str) -> Problem {
        Problem {
            what: what.into(),
            place: "drive.clients".into(),
            hint: "give a whole number from 1 up".into(),
        }
    }

    #[test]
    fn one_problem_says_what_where_and_what_to_do() {
        let mut out = Vec::new();
        one(&mut out, &Style::plain(), &problem("clients is 0")).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "prony: clients is 0\n  drive.clients\n  hint: give a whole number from 1 up\n"
        );
    }

    #[test]
    fn five_problems_are_all_named() {
        let five: Vec<Problem> = (1..=5).map(|i| problem(&format!("mistake {i}"))).collect();
        let mut out = Vec::new();
        all(&mut out, &Style::plain(), "plan.toml", &five).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("prony: plan.toml has 5 problems\n"));
        for i in 1..=5 {
            assert!(text.contains(&format!("- mistake {i}\n")));
        }
    }
}
