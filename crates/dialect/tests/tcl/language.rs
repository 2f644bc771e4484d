//! Results of the language's own commands, and the limits of scripts.

use crate::hammer::MemoryHost;
use crate::{check_results, run};
use prony_dialect::hammerdb::tcl::{Flow, Interp, is_complete, join_list, split_list};
use proptest::prelude::*;

#[test]
fn results_match_tclsh() {
    check_results(include_str!("language.txt"));
}

#[test]
fn commands_use_the_host() {
    let (memory, outcome) = run(
        "puts a; puts -nonewline b; puts stderr c; after 1500
         set tmpdir $::env(FOLDER)
         set of [ open $tmpdir/jobid w ]; puts $of 1; puts $of 2; close $of
         set of [ open $tmpdir/jobid a ]; puts $of 3; close $of
         set in [ open $tmpdir/jobid r ]; gets $in first; set rest [read -nonewline $in]; close $in
         source lib.tcl
         list $first $rest [twice 4] [ask x y] [info exists env(FOLDER)] [info exists env(NONE)] $loaded",
    );
    assert_eq!(outcome, Ok("1 {2\n3} 8 {asked x,y} 1 0 1".to_owned()));
    assert_eq!(memory.out, "a\nb");
    assert_eq!(memory.error, "c\n");
    assert_eq!(memory.slept_ms, 1500);
    assert_eq!(memory.files["/t/jobid"], "1\n2\n3\n");
}

#[test]
fn commands_before_a_syntax_error_run() {
    let (memory, outcome) = run("puts a\nputs \"b\nputs c");
    assert_eq!(memory.out, "a\n");
    assert_eq!(outcome, Err(Flow::Error("missing \"".to_owned())));
    let (_, outcome) = run("source nosuch.tcl");
    let expected = "couldn't read file \"nosuch.tcl\": no such file or directory";
    assert_eq!(outcome, Err(Flow::Error(expected.to_owned())));
}

#[test]
fn scripts_cannot_catch_exit_or_a_stop() {
    assert_eq!(run("catch {exit 3}; puts never").1, Err(Flow::Exit(3)));
    let mut memory = MemoryHost::stopping_after(1000);
    let outcome = Interp::new().eval(&mut memory, "while 1 { catch { while 1 {} } }");
    assert!(matches!(outcome, Err(Flow::Stopped(_))));
}

#[test]
fn long_texts_are_processed_quickly_or_stopped() {
    for script in [
        "regexp -all a [string repeat a 100000]",
        "regexp -all -indices é [string repeat é 200000] place",
        "regexp -all -inline b* [string repeat a 100000]",
        "regsub -all a [string repeat a 100000] b",
    ] {
        let outcome = Interp::new().eval(&mut MemoryHost::stopping_after(1000), script);
        assert!(matches!(outcome, Err(Flow::Stopped(_))), "{script}");
    }
    // These commands take time linear in the length of their texts.
    let positions = "regexp -all -indices é [string repeat é 100000] place; set place";
    assert_eq!(run(positions).1.as_deref(), Ok("99999 99999"));
    let number = "scan [string repeat 1e 500000] %f%n number length; list $number $length";
    assert_eq!(run(number).1.as_deref(), Ok("10.0 3"));
}

#[test]
fn depth_and_size_are_limited() {
    let deep = [
        format!("set x {}1{}", "[expr ".repeat(5000), "]".repeat(5000)),
        format!("expr {{{}1{}}}", "(".repeat(5000), ")".repeat(5000)),
        format!("expr {{{}1}}", "-".repeat(5000)),
        format!("expr {{{}1}}", "1 ** ".repeat(5000)),
        format!("expr {{1{}}}", " + 1".repeat(5000)),
        format!("set x ${}1{}", "a($".repeat(5000), ")".repeat(5000)),
        "proc f {} { expr {(((((((((([f]))))))))))} }; f".to_owned(),
        "proc f {} { eval { if 1 { foreach x 1 { catch { f } m; error $m } } } }; f".to_owned(),
        "source loop.tcl".to_owned(),
        "string repeat abc 999999999999".to_owned(),
        "lrepeat 99999999999 a".to_owned(),
        "format %999999999999d 1".to_owned(),
        "set a x; while 1 { set a $a$a }".to_owned(),
    ];
    for script in deep {
        let mut memory = MemoryHost::default();
        memory
            .files
            .insert("loop.tcl".to_owned(), "source loop.tcl".to_owned());
        let outcome = Interp::new().eval(&mut memory, &script);
        assert!(
            matches!(outcome, Err(Flow::Error(_))),
            "{:.60}: {outcome:?}",
            script
        );
    }
}

#[test]
fn incomplete_commands_are_recognized() {
    for incomplete in [
        "if {1} {",
        "set a \"x",
        "set a [list b",
        "set a \\\n",
        "set a ${x",
    ] {
        assert!(!is_complete(incomplete), "{incomplete}");
    }
    for complete in ["", "# {", "set a {b}", "set a }", "set a \\\\", "foo {a}b"] {
        assert!(is_complete(complete), "{complete}");
    }
}

/// Parts of scripts, separated by bars.
const PARTS: &str = "set |a|b|(|)|{|}|[|]|\"|$|\\|\n|;| |#|1|9223372036854775807|-|*|/|%|**|<<|expr |while |if |proc f |\
     foreach |lindex |end|string range |format %|d|é|{*}|list |catch |incr |0x|1e308|?|:|&&|eq |abs(|split |f |lsort |\
     switch |upvar |global |string map |dict set |lreplace |5 |$a|$a(";

fn any_script() -> impl Strategy<Value = String> {
    let parts = prop::sample::select(PARTS.split('|').collect::<Vec<_>>());
    prop::collection::vec(parts, 0..40).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_script_panics(script in prop_oneof![any_script(), any::<String>()]) {
        let mut interp = Interp::new();
        let mut memory = MemoryHost::stopping_after(2000);
        let _ = interp.eval(&mut memory, &script);
        let _ = interp.eval(&mut memory, &format!("expr {{{script}}}"));
        is_complete(&script);
    }

    #[test]
    fn lists_round_trip(
        elements in prop::collection::vec("[a-c{}\\[\\]$\"\\\\ #;\n\té]{0,6}", 0..6)
    ) {
        prop_assert_eq!(split_list(&join_list(&elements)), Ok(elements));
    }
}
