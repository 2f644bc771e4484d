//! From a URL to a server, and from the errors on that way to exit codes.
//!
//! In: `--url`, the environment, errors of the other rooms. Out: a target, a control connection, a
//! failure with its exit code. Must never: repeat a URL as it stands.

use crate::exit::{Exit, Failure};
use crate::signals::Signals;
use prony_report::Problem;
use prony_server::{Control, Environment, Target};
use prony_workload::{Error, Workload};

/// The workload of this name.
pub fn workload(name: &str) -> Result<&'static dyn Workload, Failure> {
    prony_workload::find(name).map_err(|error| told(Exit::Usage, &error.to_string()))
}

/// Where to connect, by a URL (or nothing) and the customary environment.
pub fn target(url: Option<&str>) -> Result<Target, Failure> {
    prony_server::resolve(url.unwrap_or_default(), &Environment::from_process())
        .map_err(|error| told(unresolved(&error), &error.to_string()))
}

/// A name service that does not know or answer is a server out of reach; the rest is a mistake.
fn unresolved(error: &prony_server::Error) -> Exit {
    match error {
        prony_server::Error::NoAddress { .. } => Exit::Connect,
        _ => Exit::Usage,
    }
}

/// A connection for everything but the load.
pub fn connect(target: &Target) -> Result<Control, Failure> {
    Control::connect(target).map_err(|error| told(Exit::Connect, &error.to_string()))
}

/// The failure of a workload's load, check, clean or program. `signals` tell which signal stopped
/// a load.
pub fn workload_failure(error: &Error, signals: Option<&Signals>) -> Failure {
    let stopped = || {
        signals
            .and_then(Signals::asked)
            .map_or(Exit::Interrupted, |(exit, _)| exit)
    };
    let exit = match error {
        Error::UnknownWorkload { .. } | Error::Asked { .. } | Error::Value { .. } => Exit::Usage,
        Error::Data { .. } => Exit::Data,
        Error::Server { .. } => Exit::Connect,
        Error::LoadFailed { .. } => Exit::Load,
        Error::Stopped { .. } => stopped(),
    };
    told(exit, &error.to_string())
}

/// An error's text as a problem, whichever way its room writes hints: its first line is what
/// happened; a line that begins with `hint:` or with a tab (as libpq's do) says what to do, and so
/// does what follows a semicolon where there is nothing else; the lines between are its place, and
/// so is what a load left behind, which stands after the server's own hint.
pub fn told(exit: Exit, text: &str) -> Failure {
    let mut lines = text.lines();
    let mut problem = Problem {
        what: lines.next().unwrap_or_default().to_owned(),
        ..Problem::default()
    };
    for line in lines {
        let hint = line
            .strip_prefix('\t')
            .or_else(|| line.trim_start().strip_prefix("hint: "));
        match hint {
            Some(hint) => add_line(&mut problem.hint, hint),
            None if problem.hint.is_empty() || line.trim_start().starts_with("left behind: ") => {
                add_line(&mut problem.place, line);
            }
            // A hint may go on in further lines.
            None => add_line(&mut problem.hint, line),
        }
    }
    if problem.hint.is_empty()
        && problem.place.is_empty()
        && let Some((what, hint)) = at_semicolon(&problem.what)
    {
        (problem.hint, problem.what) = (hint.to_owned(), what.to_owned());
    }
    Failure {
        exit,
        of: String::new(),
        problems: vec![problem],
    }
}

/// The two sides of the first semicolon that stands in no brackets.
fn at_semicolon(text: &str) -> Option<(&str, &str)> {
    let mut places = text.match_indices("; ").map(|(place, _)| place);
    let place = places.find(|place| {
        let before = &text[..*place];
        before.matches('(').count() <= before.matches(')').count()
    })?;
    Some((&text[..place], &text[place + 2..]))
}

fn add_line(text: &mut String, line: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line.trim());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_several_lines_becomes_what_where_and_hint() {
        let text = "the load failed: disk full\n  left behind: pgbench_accounts\n  hint: make room";
        let failure = told(Exit::Load, text);
        assert_eq!(
            failure.problems,
            [Problem {
                what: "the load failed: disk full".into(),
                place: "left behind: pgbench_accounts".into(),
                hint: "make room".into(),
            }]
        );
    }

    #[test]
    fn what_a_load_left_behind_is_no_part_of_the_servers_hint() {
        let text =
            "it closed\n\tthe server ended\n\tor was ended\n  left behind: half\n  hint: again";
        let problem = told(Exit::Load, text).problems.remove(0);
        assert_eq!(problem.place, "left behind: half");
        assert_eq!(problem.hint, "the server ended\nor was ended\nagain");
    }

    #[test]
    fn a_semicolon_in_brackets_begins_no_hint() {
        let problem = |text| told(Exit::Usage, text).problems.remove(0);
        let both = problem("it is too new (that one; this one); use that one");
        assert_eq!(
            (both.what.as_str(), both.hint.as_str()),
            ("it is too new (that one; this one)", "use that one")
        );
        assert_eq!(problem("it is too new (that; this)").hint, "");
    }

    #[test]
    fn a_host_without_an_address_is_a_server_out_of_reach() {
        // RFC 6761: names under .invalid never resolve.
        let failure = target(Some("postgres://u@host.invalid/d")).unwrap_err();
        assert_eq!(failure.exit, Exit::Connect, "{failure:?}");
        let failure = target(Some("host=a,b hostaddr=127.0.0.1 user=u")).unwrap_err();
        assert_eq!(failure.exit, Exit::Usage, "{failure:?}");
    }

    #[test]
    fn hints_are_found_in_every_rooms_way_of_writing_them() {
        for text in [
            "no such port; give a number",
            "no such port\n\tgive a number",
        ] {
            let problem = told(Exit::Usage, text).problems.remove(0);
            assert_eq!(
                (problem.what.as_str(), problem.hint.as_str()),
                ("no such port", "give a number")
            );
        }
    }
}
