//! A reader of command lines in a folder with a script and some files of options.

use prony_dialect::sysbench::{Compat, Host, Invocation, Native, Refused, Script, read};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A folder with a script and some files of options.
pub struct Folder;

impl Host for Folder {
    fn find_script(&self, name: &str) -> Option<PathBuf> {
        let there = [
            "./my.lua",
            "/usr/share/sysbench/oltp_insert.lua",
            "./oltp_delete.lua",
        ];
        there.contains(&name).then(|| PathBuf::from(name))
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

pub fn of(compat: Compat, line: &str) -> Result<Invocation, Refused> {
    let arguments: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
    read(&arguments, compat, &Folder)
}

pub fn native(line: &str) -> Native {
    match of(Compat::V1_0, line) {
        Ok(Invocation::Native(native)) => *native,
        other => panic!("{line}: {other:?}"),
    }
}

pub fn script(line: &str) -> Script {
    match of(Compat::V1_0, line) {
        Ok(Invocation::Script(script)) => *script,
        other => panic!("{line}: {other:?}"),
    }
}

pub const BANNER: &str = "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\n";

/// What is printed to the log behind the banner, if it got so far, to standard error, and the status.
pub fn refusal(line: &str) -> (bool, String, String) {
    let refused = of(Compat::V1_0, line).expect_err(line);
    assert_eq!(refused.exit_status, 1, "{line}");
    let out = &refused.printed.stdout;
    let (bannered, log) = match out.split_once(BANNER) {
        Some((before, log)) => (true, before.to_owned() + log),
        None => (false, out.clone()),
    };
    (bannered, log, refused.printed.stderr)
}
