//! Results of the language's own commands, and the limits of scripts.

use crate::hammer::MemoryHost;
use crate::{Cases, check_results, run};
use prony_dialect::hammerdb::tcl::{Flow, Interp, is_complete, join_list, split_list};
use proptest::prelude::*;

const CASES: &Cases = &[
    ("set x 5; set y \"a $x b\"", Ok("a 5 b")),
    ("set x 5; incr x 3; expr {$x * 2 + 1}", Ok("17")),
    ("expr {7 / -2}", Ok("-4")),
    ("expr {-7 % 3}", Ok("2")),
    ("expr {7 % -3}", Ok("-2")),
    ("expr {1 / 3.0}", Ok("0.3333333333333333")),
    ("expr {2 ** 10}", Ok("1024")),
    ("expr 3 + 4 * 2", Ok("11")),
    ("expr {\"abc\" eq \"abc\" && 1 < 2 || 0}", Ok("1")),
    ("expr {5 > 3 ? \"yes\" : \"no\"}", Ok("yes")),
    ("expr {\"10\" == \"10.0\"}", Ok("1")),
    ("expr {\"a\" in {a b c}}", Ok("1")),
    ("expr {!0}", Ok("1")),
    ("expr {~5 & 0xff}", Ok("250")),
    ("expr {1e20}", Ok("1e+20")),
    ("expr {1e-5}", Ok("1e-5")),
    ("expr {0.1 + 0.2}", Ok("0.30000000000000004")),
    ("expr {100000000.0 * 10}", Ok("1000000000.0")),
    ("expr {int(3.7) + round(2.5) + abs(-4)}", Ok("10")),
    ("expr {max(1, 2.5, 2)}", Ok("2.5")),
    ("expr {double(3)}", Ok("3.0")),
    ("expr {010}", Ok("8")),
    ("expr {1 << 4 | 3}", Ok("19")),
    ("expr {2 ** 3 ** 2}", Ok("512")),
    ("expr {1 ? 2 : [error x]}", Ok("2")),
    ("expr {0 && [error x]}", Ok("0")),
    ("expr {sqrt(16)}", Ok("4.0")),
    ("expr {1 == 1.0 ? \"same\" : \"other\"}", Ok("same")),
    ("expr {\"abc\" < \"abd\"}", Ok("1")),
    ("expr {3 - 2 - 1}", Ok("0")),
    ("expr {  -  3 + +2 }", Ok("-1")),
    ("expr {ceil(1.2)}", Ok("2.0")),
    ("expr {1.5e3}", Ok("1500.0")),
    ("expr {$::tcl_platform(platform) eq \"unix\"}", Ok("1")),
    ("expr {1 +}", Err("missing operand at _@_")),
    ("expr {1 / 0}", Err("divide by zero")),
    ("expr {(-9223372036854775807 - 1) % -1}", Ok("0")),
    (
        "expr {- \"\"}",
        Err("can't use empty string as operand of \"-\""),
    ),
    (
        "expr {sqrt(1, 2)}",
        Err("too many arguments for math function \"sqrt\""),
    ),
    (
        "expr {rand(1)}",
        Err("too many arguments for math function \"rand\""),
    ),
    (
        "expr {abs()}",
        Err("not enough arguments for math function \"abs\""),
    ),
    (
        "expr {min()}",
        Err("not enough arguments to math function \"min\""),
    ),
    ("expr {foo}", Err("invalid bareword \"foo\"")),
    (
        "expr {\"x\" + 1}",
        Err("can't use non-numeric string as operand of \"+\""),
    ),
    ("expr {(1 + 2}", Err("unbalanced open paren")),
    (
        "list a \"b c\" {} {d{e} \\$x \"q\\\"r\"",
        Err("missing close-brace"),
    ),
    ("list #a #b", Ok("{#a} #b")),
    ("llength {a {b c} d}", Ok("3")),
    ("lindex {a {b c} d} 1", Ok("b c")),
    ("lindex {a b c} end", Ok("c")),
    ("lindex {a b c} end-1", Ok("b")),
    ("lindex {a {b {c d}}} 1 1 0", Ok("c")),
    ("lrange {a b c d e} 1 end-1", Ok("b c d")),
    ("lsearch {a b c} c", Ok("2")),
    (
        "lsearch -all -inline {apple bat avocado} a*",
        Ok("apple avocado"),
    ),
    ("lsort -integer {10 9 2 33}", Ok("2 9 10 33")),
    ("lsort {b A a}", Ok("A a b")),
    ("lsort -decreasing -unique {1 3 2 3}", Ok("3 2 1")),
    ("lreverse {1 2 3}", Ok("3 2 1")),
    ("linsert {a b c} 1 x y", Ok("a x y b c")),
    ("linsert {a b c} end x", Ok("a b c x")),
    ("lreplace {a b c d} 1 2 X", Ok("a X d")),
    ("concat {a b} {} {c  d}", Ok("a b c  d")),
    ("join {a b c} -", Ok("a-b-c")),
    ("join {a {b c}}", Ok("a b c")),
    ("split a,b,,c ,", Ok("a b {} c")),
    ("split \"a b c\"", Ok("a b c")),
    ("split abc {}", Ok("a b c")),
    ("set l {}; lappend l a \"b c\" {}; set l", Ok("a {b c} {}")),
    ("lappend q x #y", Ok("x #y")),
    ("lassign {1 2 3} a b; set b", Ok("2")),
    (
        "foreach i {1 2 3} { lappend o [expr {$i * $i}] }; set o",
        Ok("1 4 9"),
    ),
    (
        "foreach {a b} {1 2 3} { append s \"$a-$b;\" }; set s",
        Ok("1-2;3-;"),
    ),
    (
        "foreach a {1 2} b {x y} { append s $a$b }; set s",
        Ok("1x2y"),
    ),
    (
        "set i 0; while {$i < 10} { incr i; if {$i == 3} continue; if {$i > 5} break; append r $i }; set r",
        Ok("1245"),
    ),
    (
        "for {set i 0} {$i < 4} {incr i} { append r $i }; set r",
        Ok("0123"),
    ),
    (
        "if {0} { set a 1 } elseif {1} { set a 2 } else { set a 3 }",
        Ok("2"),
    ),
    ("if 0 then { set a 1 } else { set a 3 }", Ok("3")),
    (
        "proc f {a {b 2} args} { return \"$a $b [llength $args]\" }; f 1 5 6 7",
        Ok("1 5 2"),
    ),
    (
        "proc f {a b} { return $a }; f 1",
        Err("wrong # args: should be \"f a b\""),
    ),
    ("proc f {} { global g; incr g }; set g 4; f; set g", Ok("5")),
    ("proc f {} { incr ::g }; set g 4; f; f; set g", Ok("6")),
    (
        "proc f {n} { if {$n <= 1} { return 1 }; expr {$n * [f [expr {$n - 1}]]} }; f 10",
        Ok("3628800"),
    ),
    (
        "proc f {v} { upvar 1 $v x; set x 9 }; set z 1; f z; set z",
        Ok("9"),
    ),
    (
        "proc f {} { f }; catch f m; set m",
        Ok("too many nested evaluations (infinite loop?)"),
    ),
    ("catch {error \"bad thing\"} m; set m", Ok("bad thing")),
    (
        "catch {set nosuch} m; set m",
        Ok("can't read \"nosuch\": no such variable"),
    ),
    (
        "catch {nosuch 1 2} m; set m",
        Ok("invalid command name \"nosuch\""),
    ),
    ("catch {return 5} m", Ok("2")),
    ("catch {break}", Ok("3")),
    (
        "catch {set a(1) 2; set a} m; set m",
        Ok("can't read \"a\": variable is array"),
    ),
    (
        "catch {set b 1; set b(2)} m; set m",
        Ok("can't read \"b(2)\": variable isn't array"),
    ),
    ("set a(x) 1; set a(y) 2; set k y; set a($k)", Ok("2")),
    ("set a(x,y) 1; array names a", Ok("x,y")),
    ("array set a {p 1 q 2}; lsort [array names a]", Ok("p q")),
    ("info exists nosuch", Ok("0")),
    ("set a 1; info exists a", Ok("1")),
    (
        "unset -nocomplain nosuch; set a 1; unset a; info exists a",
        Ok("0"),
    ),
    ("string length \"héllo\"", Ok("5")),
    ("string range abcdef 1 end-1", Ok("bcde")),
    ("string index abc 1", Ok("b")),
    ("string toupper abc", Ok("ABC")),
    ("string trim \"  a b  \"", Ok("a b")),
    ("string trimleft xxabc x", Ok("abc")),
    ("string repeat ab 3", Ok("ababab")),
    ("string match a*c abbbc", Ok("1")),
    ("string match {[a-c]?} bz", Ok("1")),
    ("string first b abcb", Ok("1")),
    ("string last b abcb", Ok("3")),
    ("string map {a 1 b 22} abcab", Ok("122c122")),
    ("string is integer -strict 12", Ok("1")),
    ("string is integer -strict \"\"", Ok("0")),
    ("string is double 1.5", Ok("1")),
    ("string is boolean yes", Ok("1")),
    ("string equal -nocase AB ab", Ok("1")),
    ("string compare a b", Ok("-1")),
    ("string replace abcdef 1 2 XY", Ok("aXYdef")),
    ("string reverse abc", Ok("cba")),
    ("string cat a b c", Ok("abc")),
    ("string totitle hELLO", Ok("Hello")),
    (
        "format \"%d|%5d|%-5d|%05d|%x|%X|%o\" 12 12 12 12 255 255 8",
        Ok("12|   12|12   |00012|ff|FF|10"),
    ),
    (
        "format \"%.2f|%8.3f|%e|%g|%g\" 3.14159 2.5 12345.678 0.0001 1e10",
        Ok("3.14|   2.500|1.234568e+04|0.0001|1e+10"),
    ),
    (
        "format \"%s|%10s|%-10s|%.2s|%c|%%\" ab ab ab abcd 65",
        Ok("ab|        ab|ab        |ab|A|%"),
    ),
    ("format \"%+d % d %#x\" 5 5 255", Ok("+5  5 0xff")),
    ("format {%s%-*s} \" \" 5 ab", Ok(" ab   ")),
    ("format %d abc", Err("expected integer but got \"abc\"")),
    (
        "switch b { a { set r 1 } b - c { set r 2 } default { set r 3 } }",
        Ok("2"),
    ),
    (
        "switch -glob abc { a* { set r glob } default { set r none } }",
        Ok("glob"),
    ),
    (
        "switch zz { a { set r 1 } default { set r dflt } }",
        Ok("dflt"),
    ),
    ("set r \"a[string toupper b]c[expr 1+1]\"", Ok("aBc2")),
    ("set r a\\ b\\tc\\x41\\u0042\\103", Ok("a b\tcABC")),
    ("set r {a\\nb $x [y]}", Ok("a\\nb $x [y]")),
    ("set r \"a\\\n   b\"", Ok("a b")),
    ("set a 1; # comment", Ok("1")),
    ("set a \"x;y\"; set a", Ok("x;y")),
    ("set pw AlloyDB#123", Ok("AlloyDB#123")),
    ("eval {set a 5}", Ok("5")),
    ("eval set a 6", Ok("6")),
    (
        "subst_missing",
        Err("invalid command name \"subst_missing\""),
    ),
    ("dict get {a 1 b 2} b", Ok("2")),
    ("dict set d a 1; dict set d b 2; dict keys $d", Ok("a b")),
    ("set s {*}{a}", Ok("a")),
    ("list {*}{a b} c", Ok("a b c")),
    ("set \"odd name\" 3; set {odd name}", Ok("3")),
    ("set x ab; set r ${x}cd$", Ok("abcd$")),
    ("set e 2; set r \"$e.$e\"", Ok("2.2")),
    ("string trimright \"abc\\n\"", Ok("abc")),
    ("lindex {} 0", Ok("")),
    (
        "lset nosuch 0 1",
        Err("can't read \"nosuch\": no such variable"),
    ),
    ("set l {a b c}; lset l 1 X", Ok("a X c")),
    ("string range abc 5 9", Ok("")),
    ("catch {expr {1 + }} m", Ok("1")),
    ("lmap x {1 2 3} { expr {$x * 2} }", Ok("2 4 6")),
    ("file join /tmp a b.tcl", Ok("/tmp/a/b.tcl")),
    ("file extension a/b.tcl", Ok(".tcl")),
    ("file rootname /x/b.tcl", Ok("/x/b")),
    ("file dirname /a/b", Ok("/a")),
    ("file tail /a/b", Ok("b")),
    ("incr nosuchvar", Ok("1")),
    ("incr nosuch2 abc", Err("expected integer but got \"abc\"")),
    ("lindex \"a {b\" 0", Err("unmatched open brace in list")),
    ("set a [list x [list y z]]; lindex $a 1 0", Ok("y")),
    ("expr {[string length abc] > 2 ? [list a b] : 0}", Ok("a b")),
    ("string is entier 99999999999999", Ok("1")),
    ("foreach x {a b} {}", Ok("")),
    ("list \"a b\" \"\\{\"", Ok("{a b} \\{")),
    ("list \"a\\\\\"", Ok("a\\\\")),
    ("set ::ns 4; set ns", Ok("4")),
    ("set r [if {1} {set q 7}]", Ok("7")),
    ("join [list 1 2 3] \", \"", Ok("1, 2, 3")),
    (
        "clock_missing a",
        Err("invalid command name \"clock_missing\""),
    ),
    ("while 0 {}", Ok("")),
    ("lrepeat 3 a b", Ok("a b a b a b")),
    (
        "try { error boom } on error {m} { set r \"got $m\" } finally { set f 1 }",
        Ok("got boom"),
    ),
];

#[test]
fn results_match_tclsh() {
    check_results(CASES);
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
fn scripts_cannot_catch_exit_or_the_step_limit() {
    assert_eq!(run("catch {exit 3}; puts never").1, Err(Flow::Exit(3)));
    let mut memory = MemoryHost::default();
    let mut interp = Interp::new();
    interp.limit_steps(1000);
    let outcome = interp.eval(&mut memory, "while 1 { catch { while 1 {} } }");
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
        let mut interp = Interp::new();
        interp.limit_steps(1000);
        let outcome = interp.eval(&mut MemoryHost::default(), script);
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
        interp.limit_steps(2000);
        let mut memory = MemoryHost::default();
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
