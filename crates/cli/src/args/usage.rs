//! Errors of the command line: what is wrong, and what was probably meant, or where the options are explained.
//!
//! Converts clap's errors to failures. Their parts are data; clap's own text is read only for what is in no part: the
//! form of a command, the range of a number, and errors that have no parts.

use super::{Cli, is_url, misplaced_url_failure};
use crate::exit::{Exit, Failure};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory};
use prony_plan::suggest::{name_for_term, nearest, suggestion};
use prony_plan::{DurationError, UserError};
use std::error::Error;
use std::ffi::OsString;
use std::num::ParseIntError;

/// Options that other tools have in one letter, each with the option that Prony has in its place, if the command
/// has it.
const SHORT_TERMS: [(&str, &str); 10] = [
    ("-j", "jobs"),
    ("-o", "output"),
    ("-U", "url"),
    ("-H", "url"),
    ("-u", "url"),
    ("-p", "url"),
    ("-d", "url"),
    ("-P", "progress"),
    ("-r", "repeats"),
    ("-w", "warmup"),
];

/// Longest value that is repeated in full.
const MAX_VALUE_CHARS: usize = 40;

/// Longest hint that fits into a line of 100 characters.
const MAX_HINT_CHARS: usize = 92;

/// The hint for an argument that is not UTF-8: one that may name a run or a workload instead of a file must be text.
const UTF8_HINT: &str =
    "give text in UTF-8; a file with another name can be linked: ln -s FILE NAME";

/// The exit code if clap's error is help or the version, asked for or shown because a command is missing; `None` for
/// other errors.
pub(super) fn exit_of_help(error: &clap::Error) -> Option<Exit> {
    match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => Some(Exit::Usage),
        _ => (!error.use_stderr()).then_some(Exit::Success),
    }
}

/// Converts an error other than help to a failure.
pub(super) fn failure(error: &clap::Error, arguments: &[OsString]) -> Failure {
    let invalid = text(error, ContextKind::InvalidArg).unwrap_or_default();
    if error.kind() == ErrorKind::UnknownArgument && is_url(&invalid) && !invalid.starts_with('-') {
        return misplaced_url_failure(&invalid, "see --help");
    }
    let (command, path) = command_of(arguments);
    let (message, hint) = match error.kind() {
        ErrorKind::UnknownArgument => unknown_argument(&invalid, &command, &path),
        ErrorKind::InvalidSubcommand => {
            let word = text(error, ContextKind::InvalidSubcommand).unwrap_or_default();
            unknown_command(&word, &command, &path)
        }
        // One of several values of a flag, whose message is complete.
        ErrorKind::ValueValidation if invalid.is_empty() => (first_lines(error), see_help(&path)),
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            invalid_value(error, &invalid, &path)
        }
        ErrorKind::InvalidUtf8 => (no_utf8(arguments), UTF8_HINT.to_owned()),
        ErrorKind::MissingRequiredArgument => (
            format!("missing: {}", invalid.replace('\n', ", ")),
            usage(&command, &path),
        ),
        _ => (first_lines(error), see_help(&path)),
    };
    Failure::usage(message, hint)
}

/// Names the argument that is not UTF-8 by its place: its text may contain a password, and in text that is not valid none is
/// found.
fn no_utf8(arguments: &[OsString]) -> String {
    let invalid = |argument: &OsString| argument.to_str().is_none();
    let place = arguments.iter().position(invalid).unwrap_or_default();
    format!("argument {place} is not UTF-8")
}

/// A part of an error as text; the parts of a list on lines of their own.
fn text(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => Some(texts.join("\n")),
        other => Some(other.to_string()),
    }
}

/// The command that the arguments name, and its name with those of the commands above it.
fn command_of(arguments: &[OsString]) -> (Command, String) {
    let mut command = Cli::command();
    command.build();
    let mut path = command.get_name().to_owned();
    for argument in arguments.iter().skip(1) {
        let name = argument.to_string_lossy();
        let Some(found) = command.find_subcommand(&*name).cloned() else {
            break;
        };
        path = format!("{path} {name}");
        command = found;
    }
    (command, path)
}

fn see_help(path: &str) -> String {
    format!("`{path} --help` lists the options")
}

/// The form of a command, without its options.
fn usage(command: &Command, path: &str) -> String {
    let mut command = command.clone();
    let usage = command.render_usage().to_string();
    let first = usage.lines().next().unwrap_or_default();
    let form = first.trim_start_matches("Usage: ");
    let with_help = format!("{form}; `{path} --help` explains it");
    if !form.starts_with("prony") {
        see_help(path)
    } else if with_help.chars().count() <= MAX_HINT_CHARS {
        with_help
    } else {
        form.to_owned()
    }
}

/// The message and the hint for an unknown option, or for a word where none is expected.
fn unknown_argument(word: &str, command: &Command, path: &str) -> (String, String) {
    if !word.starts_with('-') {
        let message = format!("unexpected argument '{}'", shorten(word));
        return (message, usage(command, path));
    }
    let message = format!("unknown option {}", shorten(word));
    let hint = match guess_option(word, command) {
        Some(guess) => format!("did you mean {guess}? {}", see_help(path)),
        None => see_help(path),
    };
    (message, hint)
}

/// What was probably meant by an unknown option of a command.
fn guess_option(word: &str, command: &Command) -> Option<String> {
    let arguments = command
        .get_arguments()
        .filter(|argument| !argument.is_hide_set());
    let names: Vec<&str> = arguments.filter_map(clap::Arg::get_long).collect();
    let Some(long) = word.strip_prefix("--") else {
        let letter: String = word.chars().take(2).collect();
        let (_, name) = SHORT_TERMS.iter().find(|(term, _)| *term == letter)?;
        return names.contains(name).then(|| format!("--{name}"));
    };
    let long = long.split('=').next().unwrap_or_default();
    let by_term = name_for_term(long, &names)
        // What drives clients in a run loads tables in a load.
        .or_else(|| (long == "threads" && names.contains(&"jobs")).then_some("jobs"));
    if let Some(name) = by_term {
        return Some(format!("--{name}"));
    }
    let accepts_options = names.contains(&"option");
    let workloads = prony_workload::list().iter();
    let options = workloads.flat_map(|workload| workload.options());
    let option_names: Vec<&str> = options.map(|option| option.name).collect();
    let is_workload_option = option_names.contains(&long.replace('-', "_").as_str());
    // pgbench and sysbench accept an option's first letters.
    let beginning_alike = || {
        let mut names = names.iter().copied();
        names.find(|name| long.len() >= 2 && name.starts_with(long))
    };
    if accepts_options && is_workload_option {
        return Some(format!("-o {}=VALUE", long.replace('-', "_")));
    }
    let name = nearest(long, &names).or_else(beginning_alike)?;
    Some(format!("--{name}"))
}

/// The message and the hint for an unknown command.
fn unknown_command(word: &str, command: &Command, path: &str) -> (String, String) {
    let message = format!("there is no command \"{path} {}\"", shorten(word));
    let all = format!("`{path} --help` lists the commands");
    if prony_workload::find(word).is_ok() {
        // `run` is a command of the program alone, not of `runs` or `plan`.
        let program = path.split(' ').next().unwrap_or_default();
        return (message, format!("did you mean {program} run {word}? {all}"));
    }
    let names: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
    match nearest(word, &names) {
        Some(name) => (message, format!("did you mean {path} {name}? {all}")),
        None => (message, all),
    }
}

/// The message and the hint for a value that its option does not accept.
fn invalid_value(error: &clap::Error, option: &str, path: &str) -> (String, String) {
    let value = text(error, ContextKind::InvalidValue).unwrap_or_default();
    if value.is_empty() && error.kind() == ErrorKind::InvalidValue {
        return (format!("{option} has no value"), see_help(path));
    }
    let message = format!("invalid value '{}' for {option}", shorten(&value));
    if let Some(ContextValue::Strings(valid)) = error.get(ContextKind::ValidValue) {
        let names: Vec<&str> = valid.iter().map(String::as_str).collect();
        let all = format!("write one of {}", names.join(", "));
        return (message, suggestion(&value, &names, &all));
    }
    let hint = match error.source() {
        Some(cause) if cause.is::<ParseIntError>() => "give a whole number from 0".to_owned(),
        Some(cause) => match cause.downcast_ref::<DurationError>() {
            Some(error) => error.parts().hint.unwrap_or_default(),
            None => range_in_words(&cause.to_string()),
        },
        None => see_help(path),
    };
    (message, hint)
}

/// clap's text for a number out of its range, `0 is not in 1..=100`, in words; any other text as it is.
fn range_in_words(text: &str) -> String {
    let range = text.split_once(" is not in ");
    match range.and_then(|(_, range)| range.split_once("..=")) {
        Some((first, "")) => format!("give a number from {first} on"),
        Some((first, last)) => format!("give a number from {first} to {last}"),
        None => text.to_owned(),
    }
}

/// The first paragraph of clap's text in one line.
fn first_lines(error: &clap::Error) -> String {
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    let lines: Vec<&str> = paragraph.lines().map(str::trim).collect();
    lines.join(" ")
}

/// The start of a long value.
fn shorten(value: &str) -> String {
    if value.chars().count() > MAX_VALUE_CHARS {
        value
            .chars()
            .take(MAX_VALUE_CHARS)
            .chain("...".chars())
            .collect()
    } else {
        value.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::parse;
    use std::os::unix::ffi::OsStringExt;

    /// Message and hint.
    fn error_of(line: &str) -> (String, String) {
        let arguments: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let failure = parse(&arguments).expect_err(line);
        let [problem] = &failure.problems[..] else {
            panic!("{line}: {failure:?}");
        };
        assert_eq!(problem.details, None, "{line}");
        (
            problem.problem.clone(),
            problem.hint.clone().unwrap_or_default(),
        )
    }

    #[test]
    fn a_range_is_in_words() {
        let (_, hint) = error_of("prony find tpcb --max-steps 0");
        assert_eq!(hint, "give a number from 1 to 100");
    }

    #[test]
    fn what_is_not_utf8_is_named_without_its_text() {
        let message_of = |arguments: &[&[u8]]| {
            let arguments = arguments.iter().map(|it| OsString::from_vec(it.to_vec()));
            let arguments: Vec<OsString> = arguments.collect();
            let failure = parse(&arguments).expect_err("not UTF-8");
            let hint = failure.problems[0].hint.as_deref();
            assert_eq!(hint, Some(super::UTF8_HINT));
            failure.problems[0].problem.clone()
        };
        let url = b"postgres://bench:geheim\xff@h/d";
        for (message, place) in [
            (message_of(&[b"prony", b"show", b"a\xff"]), 2),
            (message_of(&[b"prony", b"run", b"tpcb", b"--url", url]), 4),
            (message_of(&[b"prony", b"run", url]), 2),
        ] {
            assert_eq!(message, format!("argument {place} is not UTF-8"));
        }
    }

    #[test]
    fn unknown_names_get_one_guess() {
        for (line, guess) in [
            ("prony run tpcb --cleints 3", "--clients"),
            ("prony run tpcb --client=3", "--clients"),
            ("prony run tpcb --jobs 3", "--threads"),
            ("prony run tpcb --vus 3", "--clients"),
            ("prony run tpcb --time 60", "--duration"),
            ("prony run tpcb --host db1", "--url"),
            ("prony run tpcb -U bench", "--url"),
            ("prony run tpcb --runs 3", "--repeats"),
            ("prony run tpcb --cached 30%", "--expect-cached"),
            (
                "prony run oltp_read_only --table-size 10",
                "-o table_size=VALUE",
            ),
            ("prony load tpcc -j 4", "--jobs"),
            ("prony load tpcc --threads 4", "--jobs"),
            ("prony report last -o x.html", "--output"),
            ("prony rnu tpcb", "prony run"),
            ("prony tpcb", "prony run tpcb"),
            ("prony runs delet 1", "prony runs delete"),
            ("prony runs tpcb", "prony run tpcb"),
            ("prony plan ycsb", "prony run ycsb"),
            ("prony plan chekc x", "prony plan check"),
            ("prony run tpcb --protocol prepard", "prepared"),
            ("prony runs --verdict invald", "invalid"),
        ] {
            let (message, hint) = error_of(line);
            let guess = format!("did you mean {guess}? ");
            assert!(hint.starts_with(&guess), "{line}: {message}: {hint}");
        }
        for line in ["prony run tpcb --xyzzy", "prony run tpcb -y", "prony xyzzy"] {
            let (_, hint) = error_of(line);
            assert!(!hint.contains("did you mean"), "{line}: {hint}");
        }
    }

    #[test]
    fn a_guessed_command_exists() {
        let mut program = Cli::command();
        program.build();
        let has_commands = |command: &&Command| command.has_subcommands();
        let groups = program.get_subcommands().filter(has_commands);
        let groups: Vec<&str> = groups.map(Command::get_name).collect();
        assert!(groups.contains(&"runs"), "{groups:?}");
        for group in groups
            .iter()
            .map(|group| format!("{group} "))
            .chain([String::new()])
        {
            for word in ["tpcb", "ycsb", "delet", "chekc", "rnu", "lisst"] {
                let line = format!("prony {group}{word}");
                let (_, hint) = error_of(&line);
                let guess = hint.strip_prefix("did you mean ");
                let Some((guess, _)) = guess.and_then(|guess| guess.split_once('?')) else {
                    continue;
                };
                let words: Vec<OsString> = guess.split(' ').map(OsString::from).collect();
                let (_, path) = command_of(&words);
                let rest = guess.strip_prefix(&path).expect("it begins with a command");
                assert!(["", " tpcb", " ycsb"].contains(&rest), "{line}: {hint}");
                let takes_word = rest.is_empty() || path == "prony run";
                assert!(takes_word, "{line}: {hint}");
            }
        }
    }

    #[test]
    fn errors_fit_lines_of_100_columns_and_say_what_to_do() {
        let long_number = "9".repeat(200);
        let long_line = format!("prony run tpcb --clients {long_number}");
        for line in [
            long_line.as_str(),
            "prony run tpcb --duration tomorrow",
            "prony run tpcb --duration 1e300",
            "prony run tpcb -o table_size",
            "prony run tpcb -o",
            "prony load tpcb --jobs 0",
            "prony load tpcb --seed x",
            "prony load tpcb --cached 1e300",
            "prony load tpcb --cached 30% --scale 3",
            "prony runs --since yesterday",
            "prony report last",
            "prony diff-settings a",
            "prony diff-settings a b c",
            "prony price --load abc",
        ] {
            let (message, hint) = error_of(line);
            assert!(
                "prony: ".len() + message.chars().count() <= 100,
                "{line}: {message}"
            );
            assert!(
                "  hint: ".len() + hint.chars().count() <= 100,
                "{line}: {hint}"
            );
            assert!(!hint.is_empty() && !hint.contains("..="), "{line}: {hint}");
        }
    }
}
