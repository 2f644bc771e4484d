//! The kits of `plans/kits`: what an option of a server costs, as experiments that users run as they are.

use crate::common::*;
use crate::documentation::repository_root;
use crate::logins::create_certificates;
use crate::poolers::bench_with_pooler;
use prony_store::{EventKind, Service};
use prony_test_servers::Galera;

/// What makes a kit short. Other tests on the server may make its runs invalid.
const SHORT: &str = "--clients 2 --duration 1s --warmup 0s --repeats 2 --keep-going";

/// Runs a kit, shortened, on the server that the environment names.
fn run_kit(bench: &TestBench, kit: &str, port: u16, options: &str) -> Output {
    let database = bench.url.rsplit('/').next().expect("a database");
    let command = format!("run plans/kits/{kit}.toml {SHORT} {options}");
    let output = bench
        .command(&command)
        .current_dir(repository_root())
        .env("PGHOST", "127.0.0.1")
        .env("PGPORT", port.to_string())
        .env("PGUSER", "postgres")
        .env("PGPASSWORD", &bench.password)
        .env("PGDATABASE", database)
        .output();
    bench.assert_no_password(output.expect("it starts"))
}

/// The comparison of the last experiment; `None` if a check rejected all runs of a variant.
fn compared(bench: &TestBench) -> Option<String> {
    let id = &stored_runs(&bench.home)[0].id.clone();
    let output = bench.prony_without_server(&format!("compare {id}"));
    let text = ok_stdout(&output);
    let may_be_used = text.contains("\nCOMPARABLE");
    assert!(may_be_used || text.contains("invalid by"), "{text}");
    may_be_used.then(|| text.unwrapped())
}

#[test]
fn each_kit_is_valid_and_says_how_it_is_run_and_what_is_published() {
    let bench = TestBench::new("kits");
    let folder = repository_root().join("plans/kits");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let name = entry.expect("an entry").file_name();
        let file = format!("plans/kits/{}", name.display());
        let mut check = bench.command(&format!("plan check {file}"));
        let checked = check.current_dir(repository_root()).output();
        ok_stdout(&checked.expect("it starts"));
        let text = std::fs::read_to_string(repository_root().join(&file)).expect("a file");
        let commands = ["run", "drill"].map(|command| format!("#   prony {command} {file}"));
        assert!(commands.iter().any(|line| text.contains(line)), "{file}");
        assert!(text.contains("prony compare last"), "{file}");
        let is_said = ["No published figure", "Published: "];
        assert!(is_said.iter().any(|words| text.contains(words)), "{file}");
        count += 1;
    }
    assert!(count > 0);
}

#[test]
fn durability_is_varied_on_purpose_and_answered() {
    let bench = TestBench::loaded("kit_durability", 1);
    ok_stdout(&run_kit(&bench, "durability", shared_postgres().port(), ""));
    let Some(text) = compared(&bench) else {
        return;
    };
    let why = "synchronous_commit on off durability D3 D1 Because this is what the experiment varied on purpose";
    text.assert_contains(why);
    text.assert_contains("durable").assert_contains("relaxed");
}

#[test]
fn a_ledger_is_varied_on_purpose_and_answered() {
    let server = own_postgres();
    let bench = TestBench::loaded_on(&server, "kit_ledger", 4);
    ok_stdout(&run_kit(&bench, "ledger", server.port(), ""));
    let runs = stored_runs(&bench.home);
    let kept = runs.iter().filter(|run| run.ledger.is_some());
    assert_eq!(kept.count() * 2, runs.len());
    // "Varied on purpose": it is no caveat.
    if let Some(text) = compared(&bench) {
        text.assert_contains(
            "ledger none kept Because this is what the experiment varied on purpose",
        );
    }
}

#[test]
fn tls_is_varied_by_the_url_alone() {
    let [_, certificate, key] = create_certificates("Authority of the kits");
    let options = EmbeddedOptions {
        files: vec![
            ("server.crt".into(), certificate.into_bytes()),
            ("server.key".into(), key.into_bytes()),
        ],
        ..EmbeddedOptions::default()
    };
    let installation = find().expect("PostgreSQL's programs");
    let server = EmbeddedPostgres::start(&installation, &options.set("ssl", "on"));
    let server = server.expect("it starts");
    let bench = TestBench::on(&server, "kit_tls");
    bench.ok("load select-only --scale 1");
    ok_stdout(&run_kit(&bench, "tls", server.port(), ""));
    for run in stored_runs(&bench.home) {
        let variant = &run.experiment.as_ref().expect("an experiment").variant;
        assert_eq!(run.server.tls.is_some(), variant == "tls", "{variant}");
    }
    let Some(text) = compared(&bench) else {
        return;
    };
    text.assert_contains("Because this is what the experiment varied on purpose");
}

#[test]
fn replication_waits_as_each_variant_says() {
    let bench = TestBench::loaded("kit_replication", 1);
    // Without a standby no commit waits, but each session has its value.
    ok_stdout(&run_kit(
        &bench,
        "replication",
        shared_postgres().port(),
        "",
    ));
    let mut values: Vec<String> = stored_runs(&bench.home)
        .iter()
        .map(|run| format!("{:?}", run.server.settings["synchronous_commit"]))
        .collect();
    values.sort();
    values.dedup();
    assert_eq!(values.len(), 4, "{values:?}");
    let has_waited = |run: &Run| run.checks.iter().all(|check| check.id != "no-standby");
    let waiting = stored_runs(&bench.home).into_iter().filter(has_waited);
    let mut waiting: Vec<String> = waiting
        .map(|run| run.experiment.expect("an experiment").variant)
        .collect();
    waiting.sort();
    waiting.dedup();
    assert_eq!(waiting, ["asynchronous", "synchronous"]);
    compared(&bench);
}

#[test]
fn a_pooler_is_measured_beside_the_server_itself() {
    let Some((bench, _pooler, url)) = bench_with_pooler("kit_pooler") else {
        return;
    };
    let options = format!("--url {} --via {url}", bench.url);
    ok_stdout(&run_kit(
        &bench,
        "pooler",
        shared_postgres().port(),
        &options,
    ));
    let pooled: Vec<bool> = stored_runs(&bench.home)
        .iter()
        .map(|run| run.server.pooler.is_some())
        .collect();
    assert_eq!(
        pooled.iter().filter(|pooled| **pooled).count(),
        2,
        "{pooled:?}"
    );
    compared(&bench);
}

#[test]
fn a_base_backup_is_taken_during_the_runs_of_its_variant() {
    let server = own_postgres();
    let bench = TestBench::loaded_on(&server, "kit_backup", 1);
    // Its pause and its timeout fit the kit's window, and not a test's.
    let kit = repository_root().join("plans/kits/backup.toml");
    let text = std::fs::read_to_string(kit).expect("a file");
    let short = text
        .replace("timeout 82", "timeout 3")
        .replace("pause = \"10s\"", "pause = \"1s\"");
    assert_ne!(short, text);
    let plan = bench.home.write("backup.toml", short);
    let run = |url: &str, password: &str, options: &str| {
        let mut command = bench.command(&format!("run {} {options} --url", plan.display()));
        let path = std::env::var("PATH").unwrap_or_default();
        let programs = find().expect("programs");
        let output = command
            .arg(url)
            .env("PATH", format!("{}:{path}", programs.bin_dir.display()))
            .env("PGPASSWORD", password)
            // Another server than that of the URL.
            .env("PGHOST", "/nonexistent")
            .output();
        bench.assert_no_password(output.expect("it starts"))
    };
    // A role that may not replicate: nothing pretends that there was a backup.
    let control = &mut bench.control();
    control
        .execute("create role poor login password 'poor'; grant all on all tables in schema public to poor")
        .unwrap();
    let poor = format!("postgres://poor@127.0.0.1:{}/kit_backup", server.port());
    let refused = run(&poor, "poor", SHORT);
    assert_code(&refused, 1);
    let is_during = |run: &Run| run.experiment.as_ref().unwrap().variant == "during";
    assert!(!stored_runs(&bench.home).iter().any(is_during));
    let earlier = stored_runs(&bench.home).len();

    run(&bench.socket_url, "", &SHORT.replace("1s", "2s"));
    let runs = &stored_runs(&bench.home)[earlier..];
    let backups = |wanted: &str| {
        let of_variant = |run: &&Run| run.experiment.as_ref().unwrap().variant == wanted;
        let events = runs
            .iter()
            .filter(of_variant)
            .flat_map(|run| &run.observed.as_ref().expect("observed").events);
        events
            .filter(|event| event.kind == EventKind::Backup)
            .count()
    };
    assert_eq!(runs.len(), 4);
    assert_eq!(backups("without"), 0);
    assert!(backups("during") > 0);
}

#[test]
fn the_performance_schema_is_varied_by_a_restart_as_the_kit_says_for_mariadb() {
    let server = own_mariadb(&[]);
    let bench = TestBench::on_maria(&server, "kit_schema");
    bench.ok("load tpcc --scale 1");
    let kit = repository_root().join("plans/kits/performance-schema.toml");
    let text = std::fs::read_to_string(kit).expect("a file");
    let (request, done) = (bench.home.join("request"), bench.home.join("done"));
    let between = format!(
        "between = \"echo $PRONY_VARIANT > {0}.new && mv {0}.new {0} && while ! rm {1} 2>/dev/null; do sleep 0.05; done\"",
        request.display(),
        done.display(),
    );
    let mut lines: Vec<&str> = text.lines().collect();
    lines.retain(|line| !line.starts_with("performance_schema = "));
    let plan_text = lines.join("\n");
    let plan_text = plan_text.replace(".settings]", "]");
    let restart = plan_text
        .lines()
        .find(|line| line.starts_with("restart = "));
    let plan_text = plan_text.replace(restart.expect("a command"), &between);
    let plan = bench.home.write("schema.toml", plan_text);
    let mut command = bench.command_with_url(&format!("run {} {SHORT}", plan.display()));
    let mut child = command.spawn().expect("it starts");
    // What the command would do over ssh.
    while child.try_wait().expect("its state").is_none() {
        if let Ok(variant) = std::fs::read_to_string(&request) {
            std::fs::remove_file(&request).expect("removed");
            let option = format!("--performance-schema={}", variant.trim());
            server.restart_with(&[&option]).expect("it starts again");
            std::fs::write(&done, "").expect("a file");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let runs = stored_runs(&bench.home);
    assert_eq!(runs.len(), 4);
    for run in &runs {
        let variant = &run.experiment.as_ref().expect("an experiment").variant;
        let value = serde_json::to_value(&run.server.settings["performance_schema"]).unwrap();
        assert_eq!(value, variant.to_uppercase(), "{value}");
    }
}

#[test]
fn a_node_of_a_galera_cluster_is_compared_with_a_server_alone() {
    let Some(cluster) = Galera::start(3).expect("it starts") else {
        return eprintln!("skipped: Galera's library is not installed");
    };
    let (alone, node) = (
        TestBench::on_maria(shared_mariadb(), "kit_galera"),
        TestBench::on_maria(&cluster.nodes[0], "kit_galera_node"),
    );
    for bench in [&alone, &node] {
        bench.ok("load oltp_read_write --scale 1 -o table_size=1000");
    }
    let kit = repository_root().join("plans/kits/galera.toml");
    let kit = format!("run {} {SHORT}", kit.display());
    let urls = ["--url", &alone.url, "--versus", &node.url];
    ok_stdout(&alone.prony_with(&kit, &urls));
    let runs = stored_runs(&alone.home);
    assert_eq!(runs.len(), 4);
    for run in &runs {
        let is_b = run.experiment.as_ref().expect("an experiment").variant == "B";
        let before = run.observed.as_ref().and_then(|seen| seen.before.as_ref());
        // The other nodes.
        let others = before.map(|before| before.replicas.len());
        let expected = if is_b { (Some(Service::Galera), Some(2)) } else { (None, Some(0)) };
        assert_eq!((run.server.service, others), expected);
    }

    // A load over all nodes, and a setting of each.
    let hosts = cluster
        .nodes
        .iter()
        .map(|node| format!("127.0.0.1:{}", node.port()));
    let hosts = hosts.collect::<Vec<_>>().join(",");
    let first = format!("127.0.0.1:{}", cluster.nodes[0].port());
    let all = node.url.replace(&first, &hosts);
    let arguments = "run oltp_read_write --clients 6 --transactions 50 --spread round-robin \
                     --setting innodb_flush_log_at_trx_commit=2 --json";
    let output = node.prony_with(arguments, &["--url", &all]);
    let messages = stderr_text(&output);
    let spread = parse_run(&output);
    assert!(
        spread
            .endpoints
            .iter()
            .all(|endpoint| endpoint.connections_at_start == 2)
    );
    assert_eq!(
        messages
            .matches("innodb_flush_log_at_trx_commit of tcp:")
            .count(),
        3,
        "{messages}"
    );
    assert_eq!(
        messages.matches("put back on tcp:").count(),
        3,
        "{messages}"
    );
    messages.assert_lacks("warning");
}
