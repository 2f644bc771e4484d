//! `PRONY_LEDGER` with `prony sysbench`: scripts account for their commits by one call.

use crate::common::*;
use crate::sysbench::Sysbench;

/// Every third transaction is rolled back, and one commit of the first thread is deleted if `--loses` is on.
fn script(schema: &str) -> String {
    format!(
        r#"sysbench.cmdline.options = {{ loses = {{ "Delete an entry", false }} }}
local events = 0
function thread_init()
   con = sysbench.sql.driver():connect()
end
function event()
   events = events + 1
   con:query("BEGIN")
   con:query("UPDATE counters SET n = n + 1 WHERE id = " .. sysbench.tid)
   con:ledger()
   con:ledger()
   con:query(events % 3 == 0 and "ROLLBACK" or "COMMIT")
   if sysbench.opt.loses and sysbench.tid == 0 and events == 10 then
      local name = con:query_row("SELECT table_name FROM information_schema.tables WHERE " ..
         "table_schema = {schema} AND table_name LIKE 'prony!_ledger!_%' ESCAPE '!'")
      con:query("DELETE FROM " .. name .. " WHERE client = 0 AND sequence = 2")
   end
end
"#
    )
}

#[test]
fn scripts_account_for_their_commits_by_one_call() {
    for (bench, schema) in [
        (Sysbench::postgres("lua_ledger_pg"), "current_schema()"),
        (Sysbench::maria("lua_ledger_my"), "database()"),
    ] {
        bench.write("counters.lua", &script(schema));
        bench.write(
            "create.lua",
            "sysbench.cmdline.commands = { create = { function()\n\
             local con = sysbench.sql.driver():connect()\n\
             con:query('CREATE TABLE counters (id int PRIMARY KEY, n int)')\n\
             con:query('INSERT INTO counters VALUES (0, 0), (1, 0), (2, 0)')\nend } }",
        );
        bench.write(
            "outside.lua",
            "function event()\n  con = con or sysbench.sql.driver():connect()\n  con:ledger()\nend",
        );
        bench.ok("./create.lua create");
        let run = "./counters.lua --threads=3 --events=300 --time=0 run";
        let kept = [("PRONY_LEDGER", "1")];
        let (_, err) = bench.sysbench_with(run, &kept).texts(0);
        // How many events of a thread are not rolled back depends on how many it has.
        let mut lines = err.lines();
        let counted = lines.find_map(|line| line.strip_prefix("prony: ledger: lost 0 of "));
        let number = counted.and_then(|text| text.strip_suffix(" acknowledged commits"));
        let number: u64 = number.expect(&err).parse().expect("a number");
        assert!((200..=203).contains(&number), "{err}");
        let lossy = "./counters.lua --loses=on --threads=3 --events=300 --time=0 run";
        let (_, err) = bench.sysbench_with(lossy, &kept).texts(1);
        err.assert_contains("prony: ledger: lost 1 of ");
        err.assert_contains("; the first is number 2 of client 0");
        // Without a ledger, the call does nothing.
        let (_, err) = bench.sysbench(run).texts(0);
        err.assert_lacks("ledger");
        let outside = "./outside.lua --threads=1 --events=1 --time=0 run";
        let out = bench.sysbench_with(outside, &kept).failed_stdout(1);
        out.assert_contains("a transaction block must be open");
        let native = "oltp_write_only --tables=1 --table-size=100 --threads=2";
        bench.ok(&format!("{native} prepare"));
        let run = format!("{native} --events=50 --time=0 run");
        let (_, err) = bench.sysbench_with(&run, &kept).texts(0);
        err.assert_contains("prony: ledger: lost 0 of 50 acknowledged commits\n");
    }
}
