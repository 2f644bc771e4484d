//! Commands for paths: `file`, `glob`, `cd`, `pwd`.
//!
//! Must never: access files except through the [`Host`].

use super::interp::{Interp, bool_result, error, wrong_args};
use super::{Call, CommandResult, Host, PathKind, TclResult, list, pattern};

/// The maximum number of names that a pattern with braces expands to, and that `glob` returns.
const MAX_NAMES: usize = 10_000;

impl Interp {
    pub(super) fn path_command(&mut self, host: &mut dyn Host, call: Call<'_>) -> CommandResult {
        Some(match call {
            ("file", args) => file_command(host, args),
            ("pwd", []) => Ok(host.system().working_directory()),
            ("pwd", _) => wrong_args("pwd"),
            ("cd", args @ ([] | [_])) => {
                let home = || host.system().env_var("HOME");
                let path = args.first().cloned().or_else(home);
                let path = path.unwrap_or_else(|| "/".to_owned());
                match host.system_mut().change_directory(&path) {
                    Ok(()) => Ok(String::new()),
                    Err(reason) => error(format!(
                        "couldn't change working directory to \"{path}\": {reason}"
                    )),
                }
            }
            ("cd", _) => wrong_args("cd ?dirName?"),
            ("glob", args) => glob(host, args),
            _ => return None,
        })
    }
}

fn file_command(host: &mut dyn Host, args: &[String]) -> TclResult {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["exists" | "readable" | "writable", path] => {
            bool_result(host.system().path_kind(path) != PathKind::Missing)
        }
        ["isfile", path] => bool_result(host.system().path_kind(path) == PathKind::File),
        ["isdirectory", path] => bool_result(host.system().path_kind(path) == PathKind::Directory),
        ["mkdir", paths @ ..] => {
            for path in paths {
                (host.system_mut().create_directory(path))
                    .map_err(|reason| format!("can't create directory \"{path}\": {reason}"))?;
            }
            Ok(String::new())
        }
        ["delete", operands @ ..] => {
            let is_option = |operand: &&&str| matches!(**operand, "-force" | "--");
            let options = operands.iter().take_while(is_option).count();
            let force = operands[..options].contains(&"-force");
            for path in &operands[options..] {
                (host.system_mut().delete_path(path, force))
                    .map_err(|reason| format!("error deleting \"{path}\": {reason}"))?;
            }
            Ok(String::new())
        }
        ["join", parts @ ..] => Ok(join_path(parts)),
        ["split", path] => {
            let root = path.starts_with('/').then_some("/");
            let parts = path.split('/').filter(|part| !part.is_empty());
            let all: Vec<&str> = root.into_iter().chain(parts).collect();
            Ok(list::join(&all))
        }
        ["dirname", path] => Ok(match path.trim_end_matches('/').rsplit_once('/') {
            Some(("", _)) => "/".to_owned(),
            Some((folder, _)) => folder.to_owned(),
            None => ".".to_owned(),
        }),
        ["tail", path] => Ok(tail(path).to_owned()),
        ["extension", path] => {
            let tail = tail(path);
            Ok(tail.rfind('.').map_or("", |dot| &tail[dot..]).to_owned())
        }
        ["rootname", path] => {
            let tail = tail(path);
            let extension_length = tail.rfind('.').map_or(0, |dot| tail.len() - dot);
            Ok(path[..path.len() - extension_length].to_owned())
        }
        ["normalize", path] => Ok(normalize(&join_path(&[
            &host.system().working_directory(),
            path,
        ]))),
        ["nativename", path] => Ok((*path).to_owned()),
        ["separator"] => Ok("/".to_owned()),
        _ => error(
            "file: use exists, isfile, isdirectory, mkdir, delete, join, split, dirname, tail, \
             extension, rootname or normalize",
        ),
    }
}

/// Joins parts of a path. An absolute part replaces the parts before it.
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
    let mut allows_no_match = false;
    let mut tails = false;
    let mut folder = "";
    let mut kind = None;
    let mut patterns = args;
    while let [option, remaining @ ..] = patterns
        && option.starts_with('-')
    {
        patterns = remaining;
        match (option.as_str(), remaining) {
            ("-nocomplain", _) => allows_no_match = true,
            ("-tails", _) => tails = true,
            ("--", _) => break,
            ("-directory", [path, remaining @ ..]) => {
                folder = path;
                patterns = remaining;
            }
            ("-types" | "-type", [types, remaining @ ..]) => {
                kind = match types.as_str() {
                    "d" => Some(PathKind::Directory),
                    "f" => Some(PathKind::File),
                    other => return error(format!("glob: type \"{other}\" is not supported")),
                };
                patterns = remaining;
            }
            (other, _) => {
                return error(format!(
                    "bad option \"{other}\": must be -directory, -nocomplain, -tails, -types, or --"
                ));
            }
        }
    }
    if patterns.is_empty() {
        return wrong_args("glob ?-option value ...? ?name ...?");
    }
    let mut paths = Vec::new();
    for pattern in patterns {
        for expanded in expand_braces(pattern) {
            let start = if expanded.starts_with('/') { "/" } else { folder };
            let parts: Vec<&str> = expanded
                .split('/')
                .filter(|part| !part.is_empty())
                .collect();
            collect_matches(host, start, &parts, &mut paths);
        }
    }
    paths.retain(|path| kind.is_none_or(|kind| host.system().path_kind(path) == kind));
    paths.sort();
    paths.dedup();
    if paths.is_empty() && !allows_no_match {
        let plural = if patterns.len() == 1 { "" } else { "s" };
        return error(format!(
            "no files matched glob pattern{plural} \"{}\"",
            patterns.join(" ")
        ));
    }
    if tails && !folder.is_empty() {
        for path in &mut paths {
            let tail = path.strip_prefix(folder).unwrap_or(path);
            *path = tail.trim_start_matches('/').to_owned();
        }
    }
    Ok(list::join(&paths))
}

/// Collects the paths under a folder that match the parts of a pattern.
fn collect_matches(host: &dyn Host, base: &str, parts: &[&str], paths: &mut Vec<String>) {
    let Some((part, remaining)) = parts.split_first() else {
        paths.push(base.to_owned());
        return;
    };
    if !part.contains(['*', '?', '[', '\\']) {
        let path = join_path(&[base, part]);
        if host.system().path_kind(&path) != PathKind::Missing {
            collect_matches(host, &path, remaining, paths);
        }
        return;
    }
    let folder = if base.is_empty() { "." } else { base };
    for name in host.system().list_directory(folder).unwrap_or_default() {
        let is_hidden = name.starts_with('.') && !part.starts_with('.');
        if !is_hidden && pattern::matches(part, &name) && paths.len() < MAX_NAMES {
            collect_matches(host, &join_path(&[base, &name]), remaining, paths);
        }
    }
}

/// Expands `{a,b}` in a pattern.
fn expand_braces(pattern: &str) -> Vec<String> {
    let mut expanded = Vec::new();
    let mut unexpanded = vec![pattern.to_owned()];
    while let Some(pattern) = unexpanded.pop() {
        let braces = pattern
            .find('{')
            .and_then(|start| Some((start, start + pattern[start..].find('}')?)));
        match braces {
            Some((start, end)) if expanded.len() + unexpanded.len() < MAX_NAMES => {
                for choice in pattern[start + 1..end].split(',') {
                    unexpanded.push(format!(
                        "{}{choice}{}",
                        &pattern[..start],
                        &pattern[end + 1..]
                    ));
                }
            }
            _ => expanded.push(pattern),
        }
    }
    expanded
}
