//! Results of commands that HammerDB's users call in scripts match tclsh 8.6.

use crate::hammer::MemoryHost;
use crate::{Cases, check_results, run};
use prony_dialect::hammerdb::tcl::{Flow, Interp};

const CASES: &Cases = &[
    (
        "rename puts __puts; set r [info commands __puts][info commands puts]; rename __puts puts; set r",
        Ok("__puts"),
    ),
    ("proc f {} {return 7}; rename f g; g", Ok("7")),
    (
        "rename nosuch x",
        Err("can't rename \"nosuch\": command doesn't exist"),
    ),
    (
        "proc f {} {}; rename f {}; f",
        Err("invalid command name \"f\""),
    ),
    (
        "proc h {} {}; rename set h",
        Err("can't rename to \"h\": command already exists"),
    ),
    (
        "namespace eval a { proc f x {return \"<[g $x]>\"}; proc g x {return $x$x} }; a::f 1",
        Ok("<11>"),
    ),
    (
        "namespace eval a { variable n 5; proc f {} {variable n; incr n} }; a::f; ::a::f; set a::n",
        Ok("7"),
    ),
    (
        "namespace eval a { namespace eval b { proc f {} {namespace current} } }; a::b::f",
        Ok("::a::b"),
    ),
    (
        "namespace eval a { namespace export f; proc f {} {return 8} }; namespace import a::*; f",
        Ok("8"),
    ),
    (
        "proc f {} {return outer}; namespace eval a { proc f {} {return inner}; proc h {} {list [f] [::f]} }; a::h",
        Ok("inner outer"),
    ),
    (
        "namespace eval a { proc f {} {} }; f",
        Err("invalid command name \"f\""),
    ),
    (
        "list [namespace tail ::a::b] [namespace qualifiers ::a::b] [namespace current]",
        Ok("b ::a ::"),
    ),
    (
        "set x 1; namespace eval a { list $x [set x 2] }; set x",
        Ok("2"),
    ),
    ("apply {{x {y 2}} {expr {$x * $y}}} 21", Ok("42")),
    ("apply {{args} {llength $args}} a b c", Ok("3")),
    (
        "apply {{x} {set x}}",
        Err("wrong # args: should be \"apply lambdaExpr x\""),
    ),
    (
        "apply x",
        Err("can't interpret \"x\" as a lambda expression"),
    ),
    ("proc f {} {uplevel {set a 5}}; f; set a", Ok("5")),
    ("proc f {} {uplevel #0 set b 6}; f; set b", Ok("6")),
    ("proc f {} {uplevel 1 {return 3}; set x 4}; f", Ok("3")),
    ("proc f {} {uplevel 9 {set x}}; f", Err("bad level \"9\"")),
    ("set x 3; subst {a $x [expr {1+1}] \\t|}", Ok("a 3 2 \t|")),
    (
        "set x 3; subst -nocommands {a $x [expr 1] \\$x}",
        Ok("a 3 [expr 1] $x"),
    ),
    ("set x 3; subst -novariables {a $x [expr 1]}", Ok("a $x 1")),
    ("set x 3; subst -nobackslashes {a\\t$x}", Ok("a\\t3")),
    (
        "regexp {(\\d+)-(\\w+)} {ab 12-cd ef} all n w; list $all $n $w",
        Ok("12-cd 12 cd"),
    ),
    ("regexp -inline -all {[a-c]+} {abc xx ba}", Ok("abc ba")),
    (
        "regexp -indices {b(c)?} abd m s; list $m $s",
        Ok("{1 1} {-1 -1}"),
    ),
    (
        "regexp -all -inline -indices {b(c)?} aébcéb",
        Ok("{2 3} {3 3} {5 5} {-1 -1}"),
    ),
    (
        "regexp -all -indices {b(c)?} aébcéb m s; list $m $s",
        Ok("{5 5} {-1 -1}"),
    ),
    ("regexp -start 2 -inline -indices {b} aéb", Ok("{2 2}")),
    ("regexp -nocase {HELLO} {say hello}", Ok("1")),
    ("regexp {^a.c$} \"a\\nc\"", Ok("1")),
    ("regexp -line {^b$} \"a\\nb\\nc\"", Ok("1")),
    ("regexp -start 2 {a} {abc}", Ok("0")),
    ("regexp {\\mfoo\\M} {a foo b}", Ok("1")),
    ("regexp {\\yfoo\\y} {afoo b}", Ok("0")),
    ("regexp -all {a*} baac", Ok("3")),
    ("regexp {[[:digit:]]{2,3}} x1234", Ok("1")),
    (
        "regexp -inline {([0-9]+) NOPM from ([0-9]+)} {System achieved 252970 NOPM from 582385 PostgreSQL TPM}",
        Ok("{252970 NOPM from 582385} 252970 582385"),
    ),
    ("regexp {[]x]} {]}", Ok("1")),
    ("regexp {***=a.c} {a.c}", Ok("1")),
    ("regsub {a(b+)} {xabbby} {[\\1&]}", Ok("x[bbbabbb]y")),
    (
        "regsub -all {[aeiou]} {education} {<&>} v; set v",
        Ok("<e>d<u>c<a>t<i><o>n"),
    ),
    ("regsub -all {o} {foo boo} {\\&}", Ok("f&& b&&")),
    ("regsub -all -nocase {X} {axbX} {} v", Ok("2")),
    ("regsub {z} abc y v; set v", Ok("abc")),
    ("regsub -all {^} abc {>}", Ok(">abc")),
    ("regsub -all {b*} abc {-}", Ok("-a--c-")),
    (
        "switch -regexp -- {foo12} {{^[0-9]+$} {set r num} {o\\d+} {set r mixed} default {set r none}}",
        Ok("mixed"),
    ),
    ("lsearch -regexp {ab cd ef} {^c}", Ok("1")),
    (
        "lsearch -all -inline -regexp {a1 b2 c a3} {^a\\d}",
        Ok("a1 a3"),
    ),
    ("scan \"12 abc 3.5\" \"%d %s %f\"", Ok("12 abc 3.5")),
    (
        "scan \"12 abc 3.5\" \"%d %s %f\" a b c; list $a $b $c",
        Ok("12 abc 3.5"),
    ),
    ("scan \"0x1F\" %x", Ok("31")),
    ("scan \"-1.5e+3x\" %f%s", Ok("-1500.0 x")),
    (
        "scan \"1e5e7 .5. 2.e\" {%f%s %f%s %f%s}",
        Ok("100000.0 e7 0.5 . 2.0 e"),
    ),
    ("scan \"1e-\" %f%s", Ok("1.0 e-")),
    ("scan \".e1\" %f v", Ok("0")),
    ("scan \"1234\" %3f%f", Ok("123.0 4.0")),
    ("scan \"zyxa\" {%[x-za]}", Ok("zyxa")),
    ("scan \"ab\" \"%c%c\"", Ok("97 98")),
    ("scan \"k=v\" {%[^=]=%s} k v; list $k $v", Ok("k v")),
    ("scan \"\" %d v", Ok("-1")),
    ("scan \"x\" %d v", Ok("0")),
    (
        "scan \"1 2\" \"%d %d\" a",
        Err("different numbers of variable names and field specifiers"),
    ),
    ("scan \"17 of 40\" \"%d of %d\"", Ok("17 40")),
    ("scan \"12345\" \"%2d%n\"", Ok("12 2")),
    ("scan \"-7 +8\" \"%d %d\"", Ok("-7 8")),
    ("string is integer -strict 1x", Ok("0")),
    ("file join a b /c d", Ok("/c/d")),
    ("file extension a/b.tar.gz", Ok(".gz")),
    ("file split /a/b/c", Ok("/ a b c")),
    ("info commands nosuch", Ok("")),
    ("info exists ::env(NOSUCHENV)", Ok("0")),
    ("lindex [time {set x 1} 2] 1", Ok("microseconds")),
];

fn eval_ok(memory: &mut MemoryHost, script: &str) -> String {
    let outcome = Interp::new().eval(memory, script);
    outcome.unwrap_or_else(|flow| panic!("{script}: {flow:?}"))
}

#[test]
fn results_match_tclsh() {
    check_results(CASES);
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
