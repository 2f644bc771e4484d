//! The document of a run, for tests that write runs by hand.

use serde_json::{Value, json};

/// The run in the first line of a journal, which has measured nothing yet.
pub fn new_run() -> Value {
    json!({
        "schema_version": "1.2", "id": "", "state": "running", "started_at": "2026-11-21T10:00:00+00:00",
        "build": {"version": "0.1.0", "target": "x", "profile": "release"},
        "host": {"name": "h", "kernel": "k", "cpu": "c", "cpus": 2, "memory_bytes": 1},
        "asked": null, "plan": null,
        "server": {"engine": "postgresql", "version": "17", "address": "unix:/run/.s.PGSQL.5432",
            "database": "d", "user": "u", "embedded": false, "settings": {}},
        "workload": {"name": "tpcb", "title": "t", "scale": 10, "kinds": ["tpcb"], "statements": []},
        "drive": {"clients": 8, "threads": 1, "pace": "closed", "protocol": "prepared", "io": "",
            "io_reason": "", "network": "", "seed": 1, "connect_per_transaction": false},
        "window": {"connect_s": 0.0, "warmup_s": 0.0, "measured_s": 0.0, "drain_s": 0.0},
        "measured": {"seconds": 0.0, "errors": [], "unfinished": 0, "never_started": 0, "kinds": []},
        "series": [], "events": [], "client": {"loop_delay_max_ns": 0},
        "timing": {"split": "", "stamped": 0, "unstamped": 0, "impossible": 0, "doubtful": 0,
            "clock_steps": 0, "send_cost_ns": 0.0, "transmit_stamps": 0},
        "checks": [], "rules_version": null,
    })
}
