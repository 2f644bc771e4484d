//! Settings of the server in plans: set before a run, verified, and put back after it.

use crate::common::*;
use crate::poolers::bench_with_pooler;
use prony_store::DurabilityClass;

fn write_plan(home: &TestFolder, workload: &str, variants: &str) -> String {
    let plan = format!(
        "[workload]\nname = \"{workload}\"\n[run]\nclients = 2\ntransactions = 20\n[experiment]\nrepeats = 2\nkeep_going = true\n{variants}"
    );
    let path = home.write("plan.toml", plan);
    path.display().to_string()
}

/// The value of a setting that the clients' server had, by variant.
fn values(runs: &[Run], setting: &str) -> Vec<(String, String)> {
    let value = |run: &Run| {
        let part = run.experiment.as_ref().expect("an experiment");
        let value = run.server.settings.get(setting).expect("observed");
        let value = serde_json::to_value(value).expect("JSON");
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        (part.variant.clone(), text)
    };
    runs.iter().map(value).collect()
}

#[test]
fn a_setting_of_the_sessions_is_varied_and_compared_on_purpose() {
    // On the shared server, the load of other tests would make its runs invalid.
    let server = own_postgres();
    let bench = TestBench::loaded_on(&server, "session_settings", 1);
    let plan = write_plan(
        &bench.home,
        "tpcb",
        "[variants.on]\n[variants.off.settings]\nsynchronous_commit = \"off\"\nwork_mem = \"8MB\"\n",
    );
    let checked = bench.ok_without_server(&format!("plan check {plan}"));
    checked.assert_contains("synchronous_commit");
    bench.ok(&format!("run {plan}"));
    let runs = stored_runs(&bench.home);
    let expected = ["on", "off", "off", "on"].map(|name| (name.to_owned(), name.to_owned()));
    assert_eq!(values(&runs, "synchronous_commit"), expected);
    for run in &runs {
        let durability = run.observed.as_ref().and_then(|seen| seen.before.as_ref());
        let durability = durability.and_then(|before| before.durability.as_ref());
        let is_off = run.experiment.as_ref().unwrap().variant == "off";
        let class = if is_off { DurabilityClass::D1 } else { DurabilityClass::D3 };
        assert_eq!(
            durability.map(|found| found.class),
            Some(class),
            "{}",
            run.id
        );
    }
    let comparison = bench.ok_without_server(&format!("compare {}", runs[0].id));
    comparison.assert_contains("\nCOMPARABLE");
    let why = "this is what the experiment varied on purpose";
    assert!(comparison.unwrapped().contains(why), "{comparison}");
    // Nothing of it stays.
    let now = bench
        .control()
        .query_value("show synchronous_commit")
        .unwrap();
    assert_eq!(now.as_deref(), Some("on"));
}

/// Two runs that are no variants of one experiment differ in durability, which forbids their comparison.
#[test]
fn figures_are_shown_despite_another_durability_and_no_requirement_passes() {
    // On a server of its own: the load of other tests would make a run invalid.
    let server = own_postgres();
    let bench = TestBench::loaded_on(&server, "despite", 1);
    let run = "run tpcb --clients 2 --transactions 20";
    let ids = ["on", "off"].map(|value| {
        let run = bench.run(&format!("{run} --setting synchronous_commit={value}"));
        assert_eq!(run.plan["settings"]["synchronous_commit"], value);
        run.id
    });
    let compare = format!("compare {} {}", ids[0], ids[1]);
    let refused = bench.prony_without_server(&compare);
    assert_eq!(refused.status.code(), Some(7));
    let despite = format!("{compare} --despite durability");
    let shown = bench.ok_without_server(&despite);
    let words: Vec<&str> = shown.split_whitespace().collect();
    let words = words.join(" ");
    assert!(
        words.starts_with("NOT COMPARABLE, shown despite synchronous_commit (on against off"),
        "{shown}"
    );
    shown.assert_contains("durability (D3 against D1");
    shown.assert_contains("TPS");
    // It holds whatever the figures are.
    let gate = bench.prony_without_server(&format!("{despite} --require errors<=100000"));
    let printed = stdout_text(&gate);
    assert_eq!(gate.status.code(), Some(9), "{printed}");
    printed.assert_starts_with("UNDECIDED");
    let json = bench.ok_without_server(&format!("{despite} --json"));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["verdict"], "not_comparable");
    assert_eq!(json["side_comparisons"][0]["verdict"], "not_comparable");
    let beyond = json["side_comparisons"][0]["despite"]
        .as_array()
        .map(Vec::len);
    assert_eq!(beyond, Some(2), "{json}");
    let gate = format!("{despite} --require errors<=100000 --unsure pass");
    assert_eq!(bench.prony_without_server(&gate).status.code(), Some(2));
    assert_eq!(
        bench
            .prony_without_server(&format!("{compare} --despite workload"))
            .status
            .code(),
        Some(2)
    );
}

#[test]
fn what_compare_will_refuse_is_said_before_the_first_run() {
    let bench = TestBench::loaded("planned_refusal", 1);
    let variants = "[variants.a]\n[variants.b.workload]\nname = \"select-only\"\n";
    let plan = write_plan(&bench.home, "tpcb", variants);
    let expected =
        "prony compare will refuse to compare b with a: workload tpcb against select-only";
    let checked = bench.ok_without_server(&format!("plan check {plan}"));
    checked.assert_contains(expected);
    let output = bench.prony(&format!("run {plan}"));
    ok_stdout(&output);
    let messages = stderr_text(&output);
    let (before, _) = messages.split_once("run 1 of 4").expect("the first run");
    assert!(before.contains(expected), "{messages}");
    let id = &stored_runs(&bench.home)[0].id;
    let compared = bench.prony_without_server(&format!("compare {id}"));
    assert_eq!(compared.status.code(), Some(7), "as it was said");
}

#[test]
fn a_sweep_varies_a_setting_and_a_flag_sets_one() {
    let bench = TestBench::new("swept_settings");
    bench.ok("load select-only --scale 1");
    let run = "run select-only --clients 1 --transactions 20 --json";
    let sweep = format!("{run} --repeats 1 --sweep settings.synchronous_commit=on,off");
    bench.ok(&sweep);
    let values: Vec<_> = values(&stored_runs(&bench.home), "synchronous_commit");
    let expected =
        ["on", "off"].map(|name| (format!("synchronous_commit-{name}"), name.to_owned()));
    assert_eq!(values, expected);
    // The same values as variants, whose difference is the answer.
    let vary = format!("{run} --repeats 2 --vary settings.synchronous_commit=on,off");
    let vary = vary.replace(" --json", "");
    let text = bench.ok(&vary);
    text.assert_contains("synchronous_commit-off ");
    text.assert_lacks("Knee");
    // Runs of one second are in no order.
    let stored = stored_runs(&bench.home);
    let varied = stored.iter().filter(|run| run.point().is_empty());
    assert_eq!(varied.count(), 4);
    let run = bench.run("run select-only --clients 1 --transactions 20 --setting jit=off");
    assert_eq!(run.plan["settings"], serde_json::json!({"jit": "off"}));
    let value = serde_json::to_value(&run.server.settings["jit"]).unwrap();
    assert_eq!(value, serde_json::json!("off"));
    for (setting, code, part) in [
        (
            "no_such_setting=1",
            2,
            "the server has no setting no_such_setting",
        ),
        (
            "block_size=4096",
            2,
            "it was decided when the server was built",
        ),
        ("max_connections=50", 2, "in a plan file, restart = "),
        ("work_mem=much", 3, "invalid value for parameter"),
        ("primary_conninfo=x", 2, "may hold a password"),
    ] {
        let output = bench.prony(&format!(
            "run select-only --transactions 9 --setting {setting}"
        ));
        let messages = stderr_text(&output);
        assert_eq!(output.status.code(), Some(code), "{setting}: {messages}");
        assert!(messages.contains(part), "{setting}: {messages}");
    }
}

#[test]
fn a_pooler_that_refuses_a_setting_is_named() {
    let Some((bench, _pooler, url)) = bench_with_pooler("pooled_settings") else {
        return;
    };
    let run = "run tpcb --transactions 9 --setting synchronous_commit=off --url";
    let messages = assert_code(&bench.prony_without_server(&format!("{run} {url}")), 3);
    let hint = "a pooler may refuse settings in the log-in: name the server itself";
    assert!(messages.unwrapped().contains(hint), "{messages}");
}

fn full_page_writes(bench: &TestBench) -> Option<String> {
    bench
        .control()
        .query_value("show full_page_writes")
        .unwrap()
}

#[test]
fn a_setting_of_the_server_is_put_back_at_the_end_after_a_signal_and_after_an_error() {
    let server = own_postgres();
    let bench = TestBench::loaded_on(&server, "server_settings", 1);
    let shown = || full_page_writes(&bench);
    let auto_conf = "select count(*) from pg_file_settings where sourcefile like '%auto.conf'";
    let plan = write_plan(
        &bench.home,
        "tpcb",
        "[variants.on]\n[variants.off.settings]\nfull_page_writes = false\n",
    );
    let output = bench.prony(&format!("run {plan}"));
    ok_stdout(&output);
    let messages = stderr_text(&output);
    let told = "full_page_writes of the server is off for the run; before, it was on";
    assert_eq!(messages.matches(told).count(), 2, "{messages}");
    let runs = stored_runs(&bench.home);
    let expected = ["on", "off", "off", "on"].map(|name| (name.to_owned(), name.to_owned()));
    assert_eq!(values(&runs, "full_page_writes"), expected);
    let left = bench.control().query_value(auto_conf).unwrap();
    assert_eq!(
        (shown().as_deref(), left.as_deref()),
        (Some("on"), Some("0"))
    );

    let mut command = bench.command("run tpcb --clients 2 --duration 5m --warmup 0s");
    command.args(["--setting", "full_page_writes=off", "--url", &bench.url]);
    let (child, _) = start_run(command);
    wait_until(&bench.home, |run| run.state == RunState::Running);
    assert_eq!(shown().as_deref(), Some("off"));
    // A second run would take this for what the server had before, also one in another database.
    bench.control().execute("create database other").unwrap();
    let other = bench.url.replace("/server_settings", "/other");
    for url in [&bench.url, &other] {
        let mut second = bench.command("run tpcb --setting full_page_writes=on");
        let output = second.args(["--url", url]).output().expect("it runs");
        let messages = assert_code(&output, 3);
        let holder = "another run has changed the settings of the server (process ";
        messages.assert_contains(holder);
        assert_eq!(shown().as_deref(), Some("off"));
    }
    send_signal(&child, "-INT");
    let output = child.wait_with_output().expect("it ends");
    assert_code(&output, 130);
    assert_eq!(shown().as_deref(), Some("on"));

    // A setting that another client changes was not that of the whole run.
    let mut command = bench.command("run tpcb --clients 2 --duration 3s --warmup 0s");
    command.args(["--setting", "full_page_writes=off", "--url", &bench.url]);
    let (child, _) = start_run(command);
    let is_running = |run: &Run| run.state == RunState::Running;
    wait_until(&bench.home, is_running);
    let mut control = bench.control();
    control
        .execute("alter system set full_page_writes = on")
        .unwrap();
    control.execute("select pg_reload_conf()").unwrap();
    let output = child.wait_with_output().expect("it ends");
    assert_code(&output, 7);
    let printed = stdout_text(&output);
    let finding = "changed settings of the server during the run: full_page_writes from off to on";
    assert!(printed.unwrapped().contains(finding), "{printed}");

    // What an earlier ALTER SYSTEM said is there again; the load fails, because there are no tables.
    bench
        .control()
        .execute("alter system set full_page_writes = on")
        .unwrap();
    let output = bench.prony("run ycsb --setting full_page_writes=off");
    assert_code(&output, 4);
    let left = bench.control().query_value(auto_conf).unwrap();
    assert_eq!(
        (shown().as_deref(), left.as_deref()),
        (Some("on"), Some("1"))
    );
}

#[test]
fn what_a_killed_run_has_left_on_the_server_is_put_back_by_the_next_run() {
    let server = own_postgres();
    let bench = TestBench::loaded_on(&server, "killed_settings", 1);
    let shown = || full_page_writes(&bench);
    let mut command = bench.command("run tpcb --clients 2 --duration 5m --warmup 0s");
    command.args(["--setting", "full_page_writes=off", "--url", &bench.url]);
    let (child, _) = start_run(command);
    wait_until(&bench.home, |run| run.state == RunState::Running);
    // The run goes on: nothing of it is put back.
    let beside = bench.prony("run tpcb --clients 2 --transactions 5");
    assert!(
        !stderr_text(&beside).contains("has left settings"),
        "{beside:?}"
    );
    assert_eq!(shown().as_deref(), Some("off"));
    send_signal(&child, "-KILL");
    child.wait_with_output().expect("it ends");
    assert_eq!(shown().as_deref(), Some("off"));
    let next = bench.prony("run tpcb --clients 2 --transactions 5");
    let told = "an earlier run has left settings on the server; they are put back now: full_page_writes = on";
    assert!(stderr_text(&next).contains(told), "{next:?}");
    assert_eq!(shown().as_deref(), Some("on"));
    let again = bench.prony("run tpcb --clients 2 --transactions 5");
    assert!(
        !stderr_text(&again).contains("has left settings"),
        "{again:?}"
    );
}

#[test]
fn a_setting_that_needs_a_restart_is_set_and_put_back_by_the_users_command() {
    let server = own_postgres();
    let bench = TestBench::loaded_on(&server, "restarted_settings", 1);
    let shown = || {
        let sql = "show max_locks_per_transaction";
        bench.control().query_value(sql).unwrap()
    };
    let (wanted, done) = (bench.home.join("wanted"), bench.home.join("done"));
    let variants = format!(
        "restart = \"touch '{0}'; until test -e '{1}'; do sleep 0.05; done; rm '{1}'\"\n\
         [variants.few.settings]\nmax_locks_per_transaction = 50\n\
         [variants.many.settings]\nmax_locks_per_transaction = 90\n",
        wanted.display(),
        done.display()
    );
    let plan = write_plan(&bench.home, "tpcb", &variants);
    let before = shown();
    // The command asks the test to restart its server.
    let mut child = bench.start(&format!("run {plan} --repeats 1"));
    let mut restarts = 0;
    while child.try_wait().expect("a child").is_none() {
        if wanted.exists() {
            std::fs::remove_file(&wanted).unwrap();
            server.restart().expect("it restarts");
            std::fs::write(&done, "").unwrap();
            restarts += 1;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = child.wait_with_output().expect("it ended");
    assert!(output.status.success(), "{}", stderr_text(&output));
    let expected = [("few", "50"), ("many", "90")];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(
        values(&stored_runs(&bench.home), "max_locks_per_transaction"),
        expected
    );
    assert_eq!(
        (restarts, shown()),
        (4, before),
        "before and after each run"
    );
}

#[test]
fn mariadb_sets_sessions_and_the_server_and_puts_the_server_back() {
    let server = own_mariadb(&[]);
    let bench = TestBench::on_maria(&server, "settings");
    bench.ok("load oltp_read_write -o table_size=1000");
    let plan = write_plan(
        &bench.home,
        "oltp_read_write",
        "[variants.durable.settings]\ninnodb_flush_log_at_trx_commit = 1\nsort_buffer_size = \"4M\"\n\
         [variants.fast.settings]\ninnodb_flush_log_at_trx_commit = 2\n",
    );
    let shown = || {
        let sql = "select @@global.innodb_flush_log_at_trx_commit, @@global.sort_buffer_size";
        connect(&server.url()).query(sql).unwrap()
    };
    let before = shown();
    let output = bench.prony(&format!("run {plan}"));
    ok_stdout(&output);
    let runs = stored_runs(&bench.home);
    let expected = [
        ("durable", "1"),
        ("fast", "2"),
        ("fast", "2"),
        ("durable", "1"),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(values(&runs, "innodb_flush_log_at_trx_commit"), expected);
    assert_eq!(shown(), before);
    let compare = format!("compare {}", runs[0].id);
    let comparison = ok_stdout(&bench.prony_with(&compare, &[]));
    comparison.assert_contains("\nCOMPARABLE");
    let mut other = connect(&server.url());
    other.query("select get_lock('prony settings', 0)").unwrap();
    let setting = "run oltp_read_write --transactions 9 --setting innodb_flush_log_at_trx_commit=2";
    let messages = stderr_text(&bench.prony(setting));
    let holder = "has changed the settings of the server (connection ";
    messages.assert_contains(holder);
    assert_eq!(shown(), before);
    let output =
        bench.prony("run oltp_read_write --transactions 9 --setting performance_schema=ON");
    let messages = assert_code(&output, 2);
    messages.assert_contains("the command of `between`");
}
