//! The service file: named sets of options (`[name]`, then `keyword=value` lines).
//!
//! Sets only options that have no value yet. Must never: show a value.

use super::environment::Environment;
use super::options;
use crate::error::Error;
use crate::option_values::{OptionValues, Origin};
use std::path::{Path, PathBuf};

/// Adds the options of the service named by `service=` or PGSERVICE, if any.
pub(crate) fn apply(options: &mut OptionValues, env: &Environment) -> Result<(), Error> {
    let Some(service) = options
        .get("service")
        .or(env.var("PGSERVICE"))
        .map(str::to_owned)
    else {
        return Ok(());
    };
    let mut searched = Vec::new();
    for (path, must_exist) in service_files(env) {
        if !path.exists() && !must_exist {
            searched.push(path);
            continue;
        }
        let text = std::fs::read(&path).map_err(|e| Error::Service {
            problem: format!("service file \"{}\" cannot be read: {e}", path.display()),
            hint: "correct PGSERVICEFILE, or the file's permissions".into(),
        })?;
        if apply_section(&String::from_utf8_lossy(&text), &path, &service, options)? {
            return Ok(());
        }
        searched.push(path);
    }
    let paths: Vec<String> = searched
        .iter()
        .map(|p| format!("\"{}\"", p.display()))
        .collect();
    Err(Error::Service {
        problem: format!("definition of service \"{service}\" not found"),
        hint: format!("add a section [{service}] to one of: {}", paths.join(", ")),
    })
}

/// The service files to search in order, and whether each must exist.
fn service_files(env: &Environment) -> Vec<(PathBuf, bool)> {
    let mut files = Vec::new();
    match env.var("PGSERVICEFILE") {
        Some(path) => files.push((PathBuf::from(path), true)),
        None => files.extend(env.in_home(".pg_service.conf").map(|path| (path, false))),
    }
    match env.var("PGSYSCONFDIR") {
        Some(dir) => files.push((Path::new(dir).join("pg_service.conf"), false)),
        None => {
            files.extend(
                env.system_dirs
                    .iter()
                    .map(|dir| (dir.join("pg_service.conf"), false)),
            );
        }
    }
    files
}

/// Sets the options of the first section with the name of the service; returns whether there is one.
fn apply_section(
    text: &str,
    path: &Path,
    service: &str,
    options: &mut OptionValues,
) -> Result<bool, Error> {
    let mut in_section = false;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim_matches(super::conninfo::is_whitespace);
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(section) = line.strip_prefix('[') {
            if in_section {
                break;
            }
            // libpq compares "name]" and ignores the rest of the line.
            in_section = section
                .strip_prefix(service)
                .is_some_and(|rest| rest.starts_with(']'));
            continue;
        }
        if !in_section {
            continue;
        }
        let fail = |problem: &str, hint: String| Error::Service {
            problem: format!(
                "{problem} in service file \"{}\", line {}",
                path.display(),
                number + 1
            ),
            hint,
        };
        if line.starts_with("ldap") {
            return Err(fail(
                "LDAP lookup",
                "Prony does not query LDAP: write the options into this section instead".into(),
            ));
        }
        let Some((name, value)) = line.split_once('=') else {
            return Err(fail(
                "syntax error",
                "write keyword=value, one per line".into(),
            ));
        };
        if name == "service" {
            let hint = "remove the line service=...".into();
            return Err(fail(
                "nested service specifications are not supported",
                hint,
            ));
        }
        let Some(keyword) = options::find(name) else {
            return Err(fail("unknown option", options::suggestion(name)));
        };
        let origin = format!("service file \"{}\"", path.display());
        options.set_default(keyword.name, value, Origin::Other(origin.into()));
    }
    Ok(in_section)
}
