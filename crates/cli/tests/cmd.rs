//! The command line as a user sees it: help, version and errors, word for word.
//!
//! `TRYCMD=overwrite cargo test -p prony-cli --test cmd` rewrites the files; review the difference.

use std::path::Path;

#[test]
fn help_and_errors_match_the_recordings() {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PG") {
            // SAFETY: this is the only test of its binary, and no other thread runs yet that could
            // read the environment.
            unsafe { std::env::remove_var(&name) };
        }
    }
    let home = std::env::temp_dir().join(format!("prony-no-home-{}", std::process::id()));
    let cases = trycmd::TestCases::new();
    cases
        .register_bin("prony", Path::new(env!("CARGO_BIN_EXE_prony")))
        // Neither the developer's runs nor the developer's servers.
        .env("PRONY_HOME", "no-such-folder")
        .env("HOME", home.to_str().expect("UTF-8"))
        .env("NO_COLOR", "1");
    cases.case("tests/cmd/*.trycmd");
}
