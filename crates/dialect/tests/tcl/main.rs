//! Results of Tcl scripts match tclsh 8.6.

#[path = "../hammer/mod.rs"]
#[allow(dead_code)]
mod hammer;

mod commands;
mod language;

use hammer::MemoryHost;
use prony_dialect::hammerdb::tcl::{Flow, Interp};

/// Scripts and the results of tclsh 8.6.13: the value, or the first line of the error.
type Cases = [(&'static str, Result<&'static str, &'static str>)];

fn check_results(cases: &Cases) {
    let mut failures = Vec::new();
    for (script, expected) in cases {
        let (_, result) = run(script);
        let result = match &result {
            Ok(value) => Ok(value.lines().next().unwrap_or("")),
            Err(Flow::Error(message)) => Err(message.lines().next().unwrap_or("")),
            Err(other) => panic!("{script}: {other:?}"),
        };
        if result != *expected {
            failures.push(format!(
                "{script}\n  tclsh {expected:?}\n  Prony {result:?}"
            ));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Runs a script in a folder with `lib.tcl`.
fn run(script: &str) -> (MemoryHost, Result<String, Flow>) {
    let mut memory = MemoryHost::default();
    memory.files.insert(
        "lib.tcl".to_owned(),
        "proc twice {x} { expr {$x * 2} }\r\nset loaded 1\r\n".to_owned(),
    );
    let outcome = Interp::new().eval(&mut memory, script);
    (memory, outcome)
}
