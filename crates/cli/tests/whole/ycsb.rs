//! YCSB end to end: the mix of operations, inserted rows, and comparability.

use crate::common::{Bench, last_run, ok, stderr_text};

#[test]
fn ycsb_is_loaded_run_checked_and_cleaned() {
    let bench = Bench::new("ycsb");
    let loaded = ok(&bench.prony("load ycsb --scale 3"));
    assert!(
        loaded.contains("Loaded ycsb, scale 3: 3,000 rows"),
        "{loaded}"
    );
    let mut ids = Vec::new();
    let arguments = "run ycsb --clients 4 --threads 2 --transactions 100 -o workload";
    for letter in ["a", "b", "c", "d", "e", "f"] {
        let run = bench.run(&format!("{arguments}={letter}"));
        assert_eq!(run.measured.kinds[0].committed, 400, "{letter}");
        assert!(
            !run.checks.iter().any(|check| check.id == "shares"),
            "{letter}"
        );
        assert_eq!(
            run.workload.setting("workload"),
            Some(letter.to_string().as_str())
        );
        assert_eq!(last_run(&bench), run, "it is stored");
        ids.push(run.id);
    }
    let stdout = ok(&bench.prony_without_server("show last --full"));
    assert!(stdout.contains("read-modify-write"), "{stdout}");
    let refused = bench.prony_without_server(&format!("compare {} {}", ids[0], ids[1]));
    assert_eq!(refused.status.code(), Some(7), "{}", stderr_text(&refused));
    let checked = ok(&bench.prony("check ycsb"));
    assert!(checked.contains("records were inserted since"), "{checked}");
    let cleaned = ok(&bench.prony("clean ycsb"));
    assert_eq!(cleaned, "Dropped usertable.\n");
    let unknown = bench.prony("run ycsb-a");
    assert!(
        stderr_text(&unknown).contains("did you mean \"ycsb\"?"),
        "{}",
        stderr_text(&unknown)
    );
}
