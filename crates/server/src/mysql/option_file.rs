//! Option files: `/etc/my.cnf`, `~/.my.cnf` and what they include.
//!
//! In: files. Out: options of the groups that concern a client. Must never: repeat a line, which may
//! hold a password; read a file that anybody could have written.
//! Source: MySQL documentation, "Using Option Files".

use super::options::{Options, Origin};
use crate::error::Error;
use crate::postgres::Environment;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The groups that are read, as every client reads its own beside the common ones.
const GROUPS: [&str; 4] = ["client", "client-server", "client-mariadb", "prony"];

/// How deep files may include each other.
const DEPTH_MAX: u32 = 10;

/// Reads the system's files and the user's; of an option set twice the last counts.
pub(super) fn read_all(
    options: &mut Options,
    env: &Environment,
    warnings: &mut Vec<String>,
) -> Result<(), Error> {
    let own = env.in_home(".my.cnf");
    for path in env.option_files.iter().chain(&own) {
        if path.exists() {
            read(path, 0, options, warnings)?;
        }
    }
    Ok(())
}

fn read(
    path: &Path,
    depth: u32,
    options: &mut Options,
    warnings: &mut Vec<String>,
) -> Result<(), Error> {
    let fail = |problem: String, hint: &str| Error::File {
        what: "option file",
        path: path.to_owned(),
        problem,
        hint: hint.to_owned(),
    };
    if depth > DEPTH_MAX {
        let hint = "see whether files include each other in a circle";
        return Err(fail("is included too deep".into(), hint));
    }
    let check = "check the path and its permissions";
    let text = std::fs::read(path).map_err(|error| fail(error.to_string(), check))?;
    let mode = std::fs::metadata(path).map_or(0, |meta| meta.permissions().mode());
    if mode & 0o002 != 0 {
        warnings.push(format!(
            "option file \"{}\" can be written by anybody: ignored",
            path.display()
        ));
        return Ok(());
    }
    let text = String::from_utf8_lossy(&text);
    let mut concerns = false;
    for (number, line) in text.lines().enumerate() {
        match Line::read(line) {
            Line::Nothing => {}
            Line::Directive(directive) => include(path, directive, depth, options, warnings)?,
            Line::Unclosed => {
                let problem = format!("line {}: a group lacks its \"]\"", number + 1);
                return Err(fail(problem, "write [client] on a line of its own"));
            }
            Line::Group(group) => concerns = GROUPS.contains(&group),
            // Options of other clients are none of our business.
            Line::Option(line) if concerns => set(line, path, options),
            Line::Option(_) => {}
        }
    }
    Ok(())
}

/// Takes the options of these groups from a text that is read already; gives the groups that are there.
pub(super) fn take<'a>(
    text: &str,
    groups: &[&'a str],
    path: &Path,
    options: &mut Options,
) -> Vec<&'a str> {
    let (mut found, mut concerns) = (Vec::new(), false);
    for line in text.lines() {
        match Line::read(line) {
            Line::Group(name) => {
                let group = groups.iter().find(|group| **group == name);
                found.extend(group);
                concerns = group.is_some();
            }
            Line::Option(line) if concerns => set(line, path, options),
            _ => {}
        }
    }
    found
}

/// What a line is.
enum Line<'a> {
    /// Empty, or a comment.
    Nothing,
    /// What stands behind a `!`.
    Directive(&'a str),
    /// The name of a group.
    Group(&'a str),
    /// A group without its end.
    Unclosed,
    /// An option.
    Option(&'a str),
}

impl Line<'_> {
    fn read(line: &str) -> Line<'_> {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            Line::Nothing
        } else if let Some(directive) = line.strip_prefix('!') {
            Line::Directive(directive)
        } else if let Some(group) = line.strip_prefix('[') {
            let name = group.split_once(']').map(|(name, _)| name.trim());
            name.map_or(Line::Unclosed, Line::Group)
        } else {
            Line::Option(line)
        }
    }
}

/// Sets the option of a line, if it is one that Prony takes.
fn set(line: &str, path: &Path, options: &mut Options) {
    let line = uncommented(line);
    let (name, value) = match line.split_once('=') {
        Some((name, value)) => (name.trim(), Some(unquoted(value.trim()))),
        None => (line.trim(), None),
    };
    options.set(name, value.as_deref(), Origin::File(path.to_owned()));
}

/// `!include FILE` or `!includedir FOLDER`; a relative path is taken from where the process runs, as
/// MySQL's client does.
fn include(
    from: &Path,
    directive: &str,
    depth: u32,
    options: &mut Options,
    warnings: &mut Vec<String>,
) -> Result<(), Error> {
    let (word, place) = directive
        .split_once(char::is_whitespace)
        .unwrap_or((directive, ""));
    let place = Path::new(place.trim());
    let mut files: Vec<PathBuf> = match word {
        "include" => vec![place.to_owned()],
        "includedir" => {
            let entries = std::fs::read_dir(place).map_err(|error| Error::File {
                what: "folder of option files",
                path: place.to_owned(),
                problem: error.to_string(),
                hint: format!("!includedir in {} names it", from.display()),
            })?;
            let paths = entries.flatten().map(|entry| entry.path());
            let is_option_file = |path: &PathBuf| path.extension().is_some_and(|end| end == "cnf");
            paths.filter(is_option_file).collect()
        }
        _ => {
            return Err(Error::File {
                what: "option file",
                path: from.to_owned(),
                problem: "holds an unknown directive behind a \"!\"".into(),
                hint: "write !include FILE or !includedir FOLDER".into(),
            });
        }
    };
    files.sort();
    for file in files {
        read(&file, depth + 1, options, warnings)?;
    }
    Ok(())
}

/// The line without a comment at its end: a `#` outside quotes begins one.
fn uncommented(line: &str) -> &str {
    let mut quote = None;
    let mut escaped = false;
    for (at, letter) in line.char_indices() {
        match (quote, letter) {
            (None, '#') => return line[..at].trim_end(),
            (None, '\'' | '"') if !escaped => quote = Some(letter),
            (Some(open), letter) if letter == open && !escaped => quote = None,
            _ => {}
        }
        escaped = letter == '\\' && !escaped;
    }
    line
}

/// A value without its quotes, its escapes undone.
fn unquoted(value: &str) -> String {
    let inner = ['\'', '"']
        .into_iter()
        .find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote));
    let mut text = String::new();
    let mut letters = inner.unwrap_or(value).chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            text.push(letter);
            continue;
        }
        match letters.next() {
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('r') => text.push('\r'),
            Some('b') => text.push('\u{8}'),
            Some('s') => text.push(' '),
            Some(quoted @ ('"' | '\'' | '\\')) => text.push(quoted),
            Some(other) => text.extend(['\\', other]),
            None => text.push('\\'),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_the_client_reads_them() {
        for (line, wanted) in [
            ("secret", "secret"),
            ("'a b#c'", "a b#c"),
            ("\"a b\"", "a b"),
            ("a#b", "a"),
            (r"C:\\temp\s1", r"C:\temp 1"),
            (r"'it\'s' # so", "it's"),
            (r"\q", r"\q"),
        ] {
            assert_eq!(unquoted(uncommented(line)), wanted, "{line}");
        }
    }
}
