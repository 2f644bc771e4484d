//! Help, version and errors of the command line equal recordings.
//!
//! `TRYCMD=overwrite cargo test -p prony-cli --test cmd` rewrites the files; review the difference.

use std::path::Path;

#[test]
fn help_and_errors_match_the_recordings() {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PG") {
            // SAFETY: this is the only test of its binary, and no other thread reads the environment yet.
            unsafe { std::env::remove_var(&name) };
        }
    }
    let home = std::env::temp_dir().join(format!("prony-no-home-{}", std::process::id()));
    let cases = trycmd::TestCases::new();
    cases
        .register_bin("prony", Path::new(env!("CARGO_BIN_EXE_prony")))
        // Hide the developer's runs and servers.
        .env("PRONY_HOME", "no-such-folder")
        .env("HOME", home.to_str().expect("UTF-8"))
        .env("NO_COLOR", "1");
    cases.case("tests/cmd/*.trycmd");
}
