//! The command line as a user sees it: help, version and errors, word by word.
//!
//! `TRYCMD=overwrite cargo test -p prony-cli --test cmd` writes the files anew; read the difference.

use std::path::Path;

#[test]
fn help_and_errors_read_as_recorded() {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PG") {
            // SAFETY: this is the only test of its binary, and no other thread runs yet that could
            // read the environment.
            unsafe { std::env::remove_var(&name) };
        }
    }
    let cases = trycmd::TestCases::new();
    cases
        .register_bin("prony", Path::new(env!("CARGO_BIN_EXE_prony")))
        // Neither the runs nor the servers of whoever runs the tests.
        .env("PRONY_HOME", "no-such-folder")
        .env("HOME", "/nonexistent")
        .env("NO_COLOR", "1");
    cases.case("tests/cmd/*.trycmd");
}
