//! Commands for paths: `file`, `glob`, `cd`, `pwd`.
//!
//! Must never: access files except through the [`Host`].

use super::interp::{Interp, error, wrong_args};
use super::{Flow, Host, PathKind, TclResult, list, pattern};

/// The most names that a pattern with braces expands to, and that `glob` returns.
const NAMES_MAX: usize = 10_000;

impl Interp {
    /// Runs a command of this module; none if the name is not among them.
    pub(super) fn path_command(
        &mut self,
        host: &mut dyn Host,
        name: &str,
        args: &[String],
    ) -> Option<TclResult> {
        Some(match (name, args) {
            ("file", args) => file(host, args),
            ("pwd", []) => Ok(host.working_directory()),
            ("pwd", _) => wrong_args("pwd"),
            ("cd", [] | [_]) => {
                let home = || host.env_var("HOME").unwrap_or_else(|| "/".to_owned());
                let path = args.first().cloned().unwrap_or_else(home);
                let moved = host.change_directory(&path).map_err(|reason| {
                    Flow::Error(format!(
                        "couldn't change working directory to \"{path}\": {reason}"
                    ))
                });
                moved.map(|()| String::new())
            }
            ("cd", _) => wrong_args("cd ?dirName?"),
            ("glob", args) => glob(host, args),
            _ => return None,
        })
    }
}

fn file(host: &mut dyn Host, args: &[String]) -> TclResult {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let flag = |value: bool| Ok(i64::from(value).to_string());
    match words.as_slice() {
        ["exists" | "readable" | "writable", path] => {
            flag(host.path_kind(path) != PathKind::Missing)
        }
        ["isfile", path] => flag(host.path_kind(path) == PathKind::File),
        ["isdirectory", path] => flag(host.path_kind(path) == PathKind::Directory),
        ["mkdir", paths @ ..] => {
            for path in paths {
                host.create_directory(path).map_err(|reason| {
                    Flow::Error(format!("can't create directory \"{path}\": {reason}"))
                })?;
            }
            Ok(String::new())
        }
        ["delete", rest @ ..] => {
            let is_option = |word: &&&str| matches!(**word, "-force" | "--");
            let options = rest.iter().take_while(is_option).count();
            let force = rest[..options].contains(&"-force");
            for path in &rest[options..] {
                host.delete_path(path, force).map_err(|reason| {
                    Flow::Error(format!("error deleting \"{path}\": {reason}"))
                })?;
            }
            Ok(String::new())
        }
        ["join", parts @ ..] => Ok(join_path(parts)),
        ["split", path] => {
            let root = path.starts_with('/').then_some("/");
            let parts = path.split('/').filter(|part| !part.is_empty());
            Ok(list::join(
                &root.into_iter().chain(parts).collect::<Vec<_>>(),
            ))
        }
        ["dirname", path] => Ok(match path.trim_end_matches('/').rsplit_once('/') {
            Some(("", _)) => "/".to_owned(),
            Some((folder, _)) => folder.to_owned(),
            None => ".".to_owned(),
        }),
        ["tail", path] => Ok(tail(path).to_owned()),
        ["extension", path] => {
            let tail = tail(path);
            Ok(tail.rfind('.').map_or("", |at| &tail[at..]).to_owned())
        }
        ["rootname", path] => {
            let extension = tail(path).rfind('.').map_or(0, |at| tail(path).len() - at);
            Ok(path[..path.len() - extension].to_owned())
        }
        ["normalize", path] => Ok(normalize(&join_path(&[&host.working_directory(), path]))),
        ["nativename", path] => Ok((*path).to_owned()),
        ["separator"] => Ok("/".to_owned()),
        _ => error(
            "file: use exists, isfile, isdirectory, mkdir, delete, join, split, dirname, tail, \
             extension, rootname or normalize",
        ),
    }
}

/// Joins parts of a path; an absolute part replaces those before it.
fn join_path(parts: &[&str]) -> String {
    let mut path = String::new();
    for part in parts {
        if part.starts_with('/') {
            path.clear();
        } else if !path.is_empty() && !path.ends_with('/') {
            path.push('/');
        }
        path.push_str(part);
    }
    path
}

/// An absolute path without `.` and `..`.
fn normalize(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

fn tail(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn glob(host: &dyn Host, args: &[String]) -> TclResult {
    let (mut quiet, mut tails, mut folder, mut kind) = (false, false, "", None);
    let mut rest = args;
    while let [option, after @ ..] = rest
        && option.starts_with('-')
    {
        rest = after;
        match (option.as_str(), after) {
            ("-nocomplain", _) => quiet = true,
            ("-tails", _) => tails = true,
            ("--", _) => break,
            ("-directory", [path, after @ ..]) => (folder, rest) = (path, after),
            ("-types" | "-type", [types, after @ ..]) => {
                kind = match types.as_str() {
                    "d" => Some(PathKind::Directory),
                    "f" => Some(PathKind::File),
                    other => return error(format!("glob: type \"{other}\" is not supported")),
                };
                rest = after;
            }
            (other, _) => {
                return error(format!(
                    "bad option \"{other}\": must be -directory, -nocomplain, -tails, -types, or --"
                ));
            }
        }
    }
    if rest.is_empty() {
        return wrong_args("glob ?-option value ...? ?name ...?");
    }
    let mut found = Vec::new();
    for wanted in rest {
        for wanted in expand_braces(wanted) {
            let start = if wanted.starts_with('/') { "/" } else { folder };
            let parts: Vec<&str> = wanted.split('/').filter(|part| !part.is_empty()).collect();
            walk(host, start, &parts, &mut found);
        }
    }
    found.retain(|path| kind.is_none_or(|kind| host.path_kind(path) == kind));
    found.sort();
    found.dedup();
    if found.is_empty() && !quiet {
        let plural = if rest.len() == 1 { "" } else { "s" };
        return error(format!(
            "no files matched glob pattern{plural} \"{}\"",
            rest.join(" ")
        ));
    }
    if tails && !folder.is_empty() {
        for path in &mut found {
            let tail = path.strip_prefix(folder).unwrap_or(path);
            *path = tail.trim_start_matches('/').to_owned();
        }
    }
    Ok(list::join(&found))
}

/// Collects the paths under a folder that match the parts of a pattern.
fn walk(host: &dyn Host, under: &str, parts: &[&str], found: &mut Vec<String>) {
    let Some((part, rest)) = parts.split_first() else {
        found.push(under.to_owned());
        return;
    };
    if !part.contains(['*', '?', '[', '\\']) {
        let path = join_path(&[under, part]);
        if host.path_kind(&path) != PathKind::Missing {
            walk(host, &path, rest, found);
        }
        return;
    }
    let folder = if under.is_empty() { "." } else { under };
    for name in host.list_directory(folder).unwrap_or_default() {
        let is_hidden = name.starts_with('.') && !part.starts_with('.');
        if !is_hidden && pattern::matches(part, &name) && found.len() < NAMES_MAX {
            walk(host, &join_path(&[under, &name]), rest, found);
        }
    }
}

/// Expands `{a,b}` in a pattern.
fn expand_braces(pattern: &str) -> Vec<String> {
    let mut done = Vec::new();
    let mut open = vec![pattern.to_owned()];
    while let Some(next) = open.pop() {
        let inner = next
            .find('{')
            .and_then(|from| Some((from, from + next[from..].find('}')?)));
        match inner {
            Some((from, to)) if done.len() + open.len() < NAMES_MAX => {
                for choice in next[from + 1..to].split(',') {
                    open.push(format!("{}{choice}{}", &next[..from], &next[to + 1..]));
                }
            }
            _ => done.push(next),
        }
    }
    done
}
