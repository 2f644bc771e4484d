//! `PRONY_LEDGER` with `prony sysbench`: scripts account for their commits by one call.

use crate::lua::LuaBench;
use prony_assertions::TextAssertions;

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
        (LuaBench::postgres("lua_ledger_pg"), "current_schema()"),
        (LuaBench::maria("lua_ledger_my"), "database()"),
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
        let (status, out, err) = bench.sysbench("./create.lua create");
        assert_eq!(status, 0, "{out} {err}");
        let run = "./counters.lua --threads=3 --events=300 --time=0 run";
        let kept = [("PRONY_LEDGER", "1")];
        let (status, out, err) = bench.sysbench_with(run, &kept);
        assert_eq!(status, 0, "{out} {err}");
        // How many events of a thread are not rolled back depends on how many it has.
        let line = err
            .lines()
            .find(|line| line.starts_with("prony: ledger: lost 0 of "));
        let line = line.unwrap_or_else(|| panic!("{err}"));
        let number: u64 = line
            .split(' ')
            .nth(5)
            .and_then(|text| text.parse().ok())
            .expect(line);
        assert!((200..=203).contains(&number), "{line}");
        assert_eq!(
            line.split(" acknowledged commits").nth(1),
            Some(""),
            "{line}"
        );
        let lossy = "./counters.lua --loses=on --threads=3 --events=300 --time=0 run";
        let (status, out, err) = bench.sysbench_with(lossy, &kept);
        assert_eq!(status, 1, "{out} {err}");
        err.assert_contains("prony: ledger: lost 1 of ");
        err.assert_contains("; the first is number 2 of client 0");
        // Without a ledger, the call does nothing.
        let (status, _, err) = bench.sysbench(run);
        assert_eq!((status, err.contains("ledger")), (0, false), "{err}");
        let outside = "./outside.lua --threads=1 --events=1 --time=0 run";
        let (status, out, err) = bench.sysbench_with(outside, &kept);
        assert_eq!(status, 1, "{err}");
        out.assert_contains("a transaction block must be open");
        let native = "oltp_write_only --tables=1 --table-size=100 --threads=2";
        assert_eq!(bench.sysbench(&format!("{native} prepare")).0, 0);
        let run = format!("{native} --events=50 --time=0 run");
        let (status, out, err) = bench.sysbench_with(&run, &kept);
        assert_eq!(status, 0, "{out} {err}");
        err.assert_contains("prony: ledger: lost 0 of 50 acknowledged commits\n");
    }
}
