//! Reads option files: `/etc/my.cnf`, `~/.my.cnf` and the files they include.
//!
//! Only the groups for clients are used. Must never: show a line, which may contain a password; use
//! a file that any user can write. Source: MySQL documentation, "Using Option Files".

use super::options;
use crate::error::Error;
use crate::option_values::{OptionValues, Origin};
use crate::postgres::Environment;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The groups that are read: the common ones and Prony's.
const GROUPS: [&str; 4] = ["client", "client-server", "client-mariadb", "prony"];

const INCLUDE_DEPTH_MAX: u32 = 10;

/// Reads the system's files, then the user's; later values override earlier ones.
pub(super) fn read_all(
    options: &mut OptionValues,
    env: &Environment,
    warnings: &mut Vec<String>,
) -> Result<(), Error> {
    let user_file = env.in_home(".my.cnf");
    for path in env.option_files.iter().chain(&user_file) {
        if path.exists() {
            read(path, 0, options, warnings)?;
        }
    }
    Ok(())
}

fn read(
    path: &Path,
    depth: u32,
    options: &mut OptionValues,
    warnings: &mut Vec<String>,
) -> Result<(), Error> {
    let file_error = |problem: String, hint: &str| Error::File {
        purpose: "option file",
        path: path.to_owned(),
        problem,
        hint: hint.to_owned(),
    };
    if depth > INCLUDE_DEPTH_MAX {
        let hint = "check whether files include each other in a cycle";
        return Err(file_error(
            "has includes that are nested too deeply".into(),
            hint,
        ));
    }
    let hint = "check the path and its permissions";
    let text = std::fs::read(path).map_err(|error| file_error(error.to_string(), hint))?;
    let mode = std::fs::metadata(path).map_or(0, |meta| meta.permissions().mode());
    if mode & 0o002 != 0 {
        warnings.push(format!(
            "option file \"{}\" can be written by any user: ignored",
            path.display()
        ));
        return Ok(());
    }
    let text = String::from_utf8_lossy(&text);
    let mut is_in_group = false;
    for (number, line) in text.lines().enumerate() {
        match Line::read(line) {
            Line::Blank => {}
            Line::Directive(directive) => include(path, directive, depth, options, warnings)?,
            Line::UnclosedGroup => {
                let problem = format!("line {}: a group lacks its \"]\"", number + 1);
                return Err(file_error(problem, "write [client] on a separate line"));
            }
            Line::Group(group) => is_in_group = GROUPS.contains(&group),
            Line::Option(line) if is_in_group => set_option(line, path, options),
            // The option of a different program: ignore it.
            Line::Option(_) => {}
        }
    }
    Ok(())
}

/// Sets the options of these groups from the text of a file; returns the groups that the file has.
pub(super) fn apply_groups<'a>(
    text: &str,
    groups: &[&'a str],
    path: &Path,
    options: &mut OptionValues,
) -> Vec<&'a str> {
    let (mut found_groups, mut is_in_group) = (Vec::new(), false);
    for line in text.lines() {
        match Line::read(line) {
            Line::Group(name) => {
                let group = groups.iter().find(|group| **group == name);
                found_groups.extend(group);
                is_in_group = group.is_some();
            }
            Line::Option(line) if is_in_group => set_option(line, path, options),
            _ => {}
        }
    }
    found_groups
}

enum Line<'a> {
    /// An empty line, or a comment.
    Blank,
    /// The text after a `!`.
    Directive(&'a str),
    Group(&'a str),
    /// A group without its closing bracket.
    UnclosedGroup,
    Option(&'a str),
}

impl Line<'_> {
    fn read(line: &str) -> Line<'_> {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            Line::Blank
        } else if let Some(directive) = line.strip_prefix('!') {
            Line::Directive(directive)
        } else if let Some(group) = line.strip_prefix('[') {
            let name = group.split_once(']').map(|(name, _)| name.trim());
            name.map_or(Line::UnclosedGroup, Line::Group)
        } else {
            Line::Option(line)
        }
    }
}

fn set_option(line: &str, path: &Path, options: &mut OptionValues) {
    let line = strip_comment(line);
    let (name, value) = match line.split_once('=') {
        Some((name, value)) => (name.trim(), Some(unquote(value.trim()))),
        None => (line.trim(), None),
    };
    let origin = Origin::Other(path.display().to_string().into());
    options::set(options, name, value.as_deref(), origin);
}

/// Reads the files that `!include FILE` or `!includedir FOLDER` names. A relative path is relative
/// to the working directory, as in MySQL's client.
fn include(
    from: &Path,
    directive: &str,
    depth: u32,
    options: &mut OptionValues,
    warnings: &mut Vec<String>,
) -> Result<(), Error> {
    let (word, path) = directive
        .split_once(char::is_whitespace)
        .unwrap_or((directive, ""));
    let path = Path::new(path.trim());
    let mut files: Vec<PathBuf> = match word {
        "include" => vec![path.to_owned()],
        "includedir" => {
            let entries = std::fs::read_dir(path).map_err(|error| Error::File {
                purpose: "folder of option files",
                path: path.to_owned(),
                problem: error.to_string(),
                hint: format!("!includedir in {} names it", from.display()),
            })?;
            let paths = entries.flatten().map(|entry| entry.path());
            let is_option_file =
                |path: &PathBuf| path.extension().is_some_and(|extension| extension == "cnf");
            paths.filter(is_option_file).collect()
        }
        _ => {
            return Err(Error::File {
                purpose: "option file",
                path: from.to_owned(),
                problem: "contains an unknown directive after a \"!\"".into(),
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

/// Removes a comment at the end of a line, which begins with a `#` outside quotes.
fn strip_comment(line: &str) -> &str {
    let mut quote = None;
    let mut escaped = false;
    for (index, letter) in line.char_indices() {
        match (quote, letter) {
            (None, '#') => return line[..index].trim_end(),
            (None, '\'' | '"') if !escaped => quote = Some(letter),
            (Some(opening), letter) if letter == opening && !escaped => quote = None,
            _ => {}
        }
        escaped = letter == '\\' && !escaped;
    }
    line
}

/// Removes quotes and resolves escapes.
fn unquote(value: &str) -> String {
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
    fn values_are_parsed_as_by_mysqls_client() {
        for (line, expected) in [
            ("secret", "secret"),
            ("'a b#c'", "a b#c"),
            ("\"a b\"", "a b"),
            ("a#b", "a"),
            (r"C:\\temp\s1", r"C:\temp 1"),
            (r"'it\'s' # so", "it's"),
            (r"\q", r"\q"),
        ] {
            assert_eq!(unquote(strip_comment(line)), expected, "{line}");
        }
    }
}
