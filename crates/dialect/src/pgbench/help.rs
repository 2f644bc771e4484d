//! The text of `--help`.
//!
//! Must never: list an option that the level does not have. The headings and options in `help.txt` are
//! pgbench's; the descriptions are Prony's.

use super::level::Level;
use crate::table;

pub(crate) fn help(progname: &str, level: &Level) -> String {
    let mut text = format!(
        "{progname} is a benchmarking tool for PostgreSQL.\n\
         This is Prony, emulating {level}.\n\n\
         Usage:\n  {progname} [OPTION]... [DBNAME]\n"
    );
    let mut last = "";
    for (heading, [majors, option, description]) in table::rows(include_str!("help.txt")) {
        if heading != last {
            text += &format!("\n{heading}\n");
            last = heading;
        }
        if includes_major(majors, level.major()) {
            push_option(&mut text, option, description);
        }
    }
    text + "\nReport bugs to <https://github.com/prony-bench/prony/issues>.\n\
            Set PRONY_PGBENCH_COMPAT to 13 to 19 to emulate another version.\n"
}

/// Whether a range of majors such as `13-14` or `15-` contains a major.
fn includes_major(majors: &str, major: u16) -> bool {
    let (first, last) = majors.split_once('-').unwrap_or((majors, majors));
    let bound = |text: &str| text.parse::<u16>().ok();
    bound(first).is_none_or(|first| first <= major) && bound(last).is_none_or(|last| major <= last)
}

/// Appends one option. The description begins at column 28 and wraps at column 95, as PostgreSQL's tests
/// require of all programs.
fn push_option(text: &mut String, option: &str, description: &str) {
    const INDENT: usize = 27;
    const WIDTH: usize = 95;
    let mut line = format!("  {option}");
    if line.len() >= INDENT {
        *text += &line;
        *text += "\n";
        line.clear();
    }
    line += &" ".repeat(INDENT.saturating_sub(line.len()));
    let mut line_is_empty = true;
    for word in description.split(' ') {
        if !line_is_empty && line.len() + 1 + word.len() > WIDTH {
            *text += &line;
            *text += "\n";
            line = " ".repeat(INDENT);
            line_is_empty = true;
        }
        if !line_is_empty {
            line += " ";
        }
        line += word;
        line_is_empty = false;
    }
    *text += &line;
    *text += "\n";
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;

    #[test]
    fn each_level_lists_its_own_options() {
        let text = |major| help("pgbench", &Level::of_major(major).unwrap());
        for heading in [
            "Usage:",
            "Initialization options:",
            "--scale",
            "Common options:",
            "Report bugs to",
        ] {
            text(15).assert_contains(heading);
        }
        text(14).assert_contains("--report-latencies");
        text(14).assert_lacks("--max-tries");
        text(16).assert_contains("-d, --debug");
        text(17).assert_contains("-d, --dbname");
        text(19).assert_contains("--continue-on-error");
        text(18).assert_lacks("--continue-on-error");
        for major in 13..=19 {
            let widest = text(major).lines().map(str::len).max();
            assert!(widest <= Some(95), "{major}: {widest:?}");
        }
    }
}
