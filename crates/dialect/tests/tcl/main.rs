//! Results of Tcl scripts match tclsh 8.6.

#[path = "../hammer/mod.rs"]
#[allow(dead_code)]
mod hammer;

mod commands;
mod language;

use hammer::MemoryHost;
use prony_dialect::hammerdb::tcl::{Flow, Interp};

/// Checks scripts, whose lines begin with `% `, against the results of tclsh 8.6.13: the line after a script has its
/// value, or after `! ` the first line of its error.
fn check_results(transcript: &str) {
    let (mut script, mut failures) = (Vec::new(), Vec::new());
    for line in transcript.lines() {
        if let Some(text) = line.strip_prefix("% ") {
            script.push(text);
            continue;
        }
        let text = std::mem::take(&mut script).join("\n");
        assert_ne!(text, "", "{line} belongs to no script");
        let (_, result) = run(&text);
        let result = match &result {
            Ok(value) => value.lines().next().unwrap_or("").to_owned(),
            Err(Flow::Error(message)) => format!("! {}", message.lines().next().unwrap_or("")),
            Err(other) => panic!("{text}: {other:?}"),
        };
        if result != line {
            failures.push(format!("{text}\n  tclsh {line:?}\n  Prony {result:?}"));
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
