//! Passes the commit of the sources to the compiler, if they are a git checkout and git is installed.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // A checkout of a different project may contain a copy of the sources.
    let is_tracked = git_output(&["ls-files", "build.rs"]).is_some();
    let Some(commit) = git_output(&["rev-parse", "HEAD"]).filter(|_| is_tracked) else {
        return;
    };
    println!("cargo:rustc-env=PRONY_COMMIT={commit}");
    // The log of HEAD grows with each commit and checkout.
    let log = git_output(&["rev-parse", "--git-path", "logs/HEAD"]);
    if let Some(log) = log.filter(|log| Path::new(log).exists()) {
        println!("cargo:rerun-if-changed={log}");
    }
}

fn git_output(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim();
    (output.status.success() && !text.is_empty()).then(|| text.to_owned())
}
