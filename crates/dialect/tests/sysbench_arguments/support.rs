//! Parses command lines in a folder with a script and some option files.

use prony_dialect::sysbench::{
    Compat, Host, Invocation, NativeCommand, ScriptCommand, UsageError, parse_args,
};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A folder with a script and some option files.
pub struct FolderHost;

impl Host for FolderHost {
    fn find_script(&self, name: &str) -> Option<PathBuf> {
        let existing = [
            "./my.lua",
            "/usr/share/sysbench/oltp_insert.lua",
            "./oltp_delete.lua",
        ];
        existing.contains(&name).then(|| PathBuf::from(name))
    }

    fn read_file(&self, path: &Path) -> Result<String, String> {
        Ok(match path.to_str() {
            Some("three") => "threads=3\nrand-seed=7\n",
            Some("bad") => "threads=abc\n",
            Some("odd") => "nosuch=3\nskip_trx=on\nmysql-host='a b',c # two\nvalidate=off\n",
            Some("open") => "threads=3\nmysql-user='x\ntime=4\n",
            Some("self") => "config-file=self\nthreads=2\n",
            _ => return Err("No such file or directory".to_owned()),
        }
        .to_owned())
    }
}

pub fn parse(compat: Compat, line: &str) -> Result<Invocation, UsageError> {
    let arguments: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
    parse_args(&arguments, compat, &FolderHost)
}

pub fn parse_native(line: &str) -> NativeCommand {
    parse_native_of(Compat::V1_0, line)
}

pub fn parse_native_of(compat: Compat, line: &str) -> NativeCommand {
    match parse(compat, line) {
        Ok(Invocation::Native(native)) => *native,
        other => panic!("{line}: {other:?}"),
    }
}

pub fn parse_script(line: &str) -> ScriptCommand {
    match parse(Compat::V1_0, line) {
        Ok(Invocation::Script(script)) => *script,
        other => panic!("{line}: {other:?}"),
    }
}

pub const BANNER: &str = "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\n";

/// Parses an invalid command line. Returns whether the banner was printed, the remaining text of the log, and
/// standard error.
pub fn error_output(line: &str) -> (bool, String, String) {
    let UsageError(output) = parse(Compat::V1_0, line).expect_err(line);
    let (has_banner, log) = match output.stdout.split_once(BANNER) {
        Some((before, log)) => (true, before.to_owned() + log),
        None => (false, output.stdout),
    };
    (has_banner, log, output.warnings + &output.stderr)
}
