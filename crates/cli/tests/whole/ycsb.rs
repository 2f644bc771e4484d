//! YCSB end to end: the mix of operations, inserted rows, and comparability.

use crate::common::*;

#[test]
fn ycsb_is_loaded_run_checked_and_cleaned() {
    let bench = TestBench::new("ycsb");
    let loaded = bench.ok("load ycsb --scale 3");
    loaded.assert_contains("Loaded ycsb, scale 3: 3,000 rows");
    let mut ids = Vec::new();
    let arguments = "run ycsb --clients 4 --threads 2 --transactions 100 -o workload";
    for letter in ["a", "b", "c", "d", "e", "f"] {
        let run = bench.run(&format!("{arguments}={letter}"));
        assert_eq!(total_figures(&run.measured).committed, 400, "{letter}");
        assert!(
            run.check("shares").is_none(),
            "{letter}: the shares of the operations are wrong"
        );
        assert_eq!(
            run.workload.setting("workload"),
            Some(letter.to_string().as_str())
        );
        assert_eq!(last_run(&bench), run, "it is stored");
        ids.push(run.id);
    }
    let stdout = bench.ok_without_server("show last --full");
    stdout.assert_contains("read-modify-write");
    let refused = bench.prony_without_server(&format!("compare {} {}", ids[0], ids[1]));
    assert_code(&refused, 7);
    let checked = bench.ok("check ycsb");
    checked.assert_contains("records were inserted since");
    let cleaned = bench.ok("clean ycsb");
    assert_eq!(cleaned, "Dropped usertable.\n");
    let unknown = bench.prony("run ycsb-a");
    stderr_text(&unknown).assert_contains("did you mean \"ycsb\"?");
}
