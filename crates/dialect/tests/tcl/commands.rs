//! Results of commands that HammerDB's users call in scripts match tclsh 8.6.

use crate::hammer::MemoryHost;
use crate::{check_results, run};
use prony_dialect::hammerdb::tcl::{Flow, Interp};

fn eval_ok(memory: &mut MemoryHost, script: &str) -> String {
    let outcome = Interp::new().eval(memory, script);
    outcome.unwrap_or_else(|flow| panic!("{script}: {flow:?}"))
}

#[test]
fn results_match_tclsh() {
    check_results(include_str!("commands.txt"));
}

#[test]
fn unsupported_features_are_named_in_errors() {
    for (script, text) in [
        ("exec ls", "it starts no other programs"),
        ("socket localhost 80", "does not support socket"),
        ("interp create", "does not support interp"),
        (
            "namespace children",
            "namespace: \"children\" is not supported",
        ),
        (
            r"regexp {(a)\1} aa",
            "couldn't compile regular expression pattern",
        ),
        (
            r"regexp {a(?=b)} ab",
            "couldn't compile regular expression pattern",
        ),
        (
            "regexp {(} x",
            "couldn't compile regular expression pattern",
        ),
        ("regexp {(((a{200}){200}){200}){200}} x", "it is too large"),
        ("regexp -nosuch a b", "bad option \"-nosuch\""),
        ("scan 1 %q", "bad scan conversion character \"q\""),
        (
            "clock scan soon",
            "unable to convert date-time string \"soon\"",
        ),
    ] {
        match run(script).1 {
            Err(Flow::Error(message)) => assert!(message.contains(text), "{script}: {message}"),
            other => panic!("{script}: {other:?}"),
        }
    }
}

#[test]
fn scripts_create_list_and_delete_files() {
    let mut memory = MemoryHost::default();
    let script = "file mkdir /t/out; foreach n {b.log a.log c.txt} { close [open /t/out/$n w] }; \
         list [glob /t/out/*.log] [glob -directory /t/out -tails *.{txt,log}] \
         [glob -nocomplain /t/out/*.nosuch] [catch {glob /t/out/x*} m] $m";
    assert_eq!(
        eval_ok(&mut memory, script),
        "{/t/out/a.log /t/out/b.log} {a.log b.log c.txt} {} 1 {no files matched glob pattern \
         \"/t/out/x*\"}"
    );
    let script = "list [catch {file delete /t/out} m] $m [file delete -force /t/out /t/nosuch] \
         [file exists /t/out/a.log] [pid]";
    assert_eq!(
        eval_ok(&mut memory, script),
        "1 {error deleting \"/t/out\": directory not empty} {} 0 4242"
    );
    let script = "cd /t/deep; list [pwd] [file normalize ../x] [file normalize /a/./b/../c]";
    assert_eq!(eval_ok(&mut memory, script), "/t/deep /t/x /a/c");
}

#[test]
fn a_redefined_puts_receives_output_of_host_commands() {
    let script = "rename puts __puts; \
         proc puts args { __puts \"<[string trim [lindex $args end]]>\" }; \
         say hello; puts there; rename puts {}; rename __puts puts; say plainly";
    let (memory, outcome) = run(script);
    outcome.expect("a valid script");
    assert_eq!(memory.out, "<hello>\n<there>\n\rplainly\n");
}
