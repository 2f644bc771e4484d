//! Runs that several agents drive together, each a process of this machine.

use crate::common::*;
use prony_store::MachinePart;

/// The bench's program with agents whose environment has this name, and a number each.
pub fn command(bench: &TestBench, name: &str, agents: usize, arguments: &str) -> Command {
    with_agents(bench.command_with_url(arguments), name, agents)
}

pub fn with_agents(mut command: Command, name: &str, agents: usize) -> Command {
    for number in 1..=agents {
        command.args(["--agent", &agent(name, number)]);
    }
    command
}

pub fn agent(name: &str, number: usize) -> String {
    format!("env FLEET_OF_TEST={name}{number}")
}

fn run_with(bench: &TestBench, name: &str, agents: usize, arguments: &str) -> Run {
    let arguments = format!("{arguments} --json");
    let output = bench.execute(command(bench, name, agents, &arguments));
    parse_run(&output)
}

/// The processes that were started with this agent's environment.
pub fn processes(name: &str, number: usize) -> Vec<u32> {
    let wanted = format!("FLEET_OF_TEST={name}{number}\0");
    let entries = std::fs::read_dir("/proc").expect("Linux").flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers
        .filter(|pid: &u32| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            String::from_utf8_lossy(&environment).contains(&wanted)
        })
        .collect()
}

pub fn assert_all_end(name: &str, agents: usize, limit: Duration) {
    let since = Instant::now();
    let left = || (1..=agents).any(|number| !processes(name, number).is_empty());
    while left() {
        assert!(since.elapsed() < limit, "agents of {name} did not end");
        std::thread::sleep(Duration::from_millis(50));
    }
}

pub fn parts(run: &Run) -> Vec<&MachinePart> {
    let parts = run.machines.iter().map(|machine| machine.part.as_ref());
    parts.map(|part| part.expect("a part")).collect()
}

/// What tells the rows of two runs apart: the balances, and the history without its times and order.
pub fn rows(bench: &TestBench) -> Vec<String> {
    let mut control = bench.control();
    let texts = [
        "select md5(string_agg(aid || ' ' || abalance, ',' order by aid)) from pgbench_accounts",
        "select md5(string_agg(tid || ' ' || tbalance, ',' order by tid)) from pgbench_tellers",
        "select md5(string_agg(t, ',' order by t)) from \
         (select tid || ' ' || bid || ' ' || aid || ' ' || delta as t from pgbench_history) h",
    ];
    texts
        .map(|sql| control.query_value(sql).expect(sql).expect("not null"))
        .into()
}

#[test]
fn the_same_rows_are_left_however_many_machines_drive_the_clients() {
    let bench = TestBench::new("fleet_rows");
    let mut expected = None;
    for agents in [0, 1, 2, 3] {
        bench.ok("load tpcb --scale 2");
        let arguments = "run tpcb --clients 7 --threads 3 --transactions 30 --seed 11";
        let run = run_with(&bench, "rows", agents, arguments);
        assert_eq!(run.state, RunState::Complete, "{:?}", run.ended_because);
        let all = total_figures(&run.measured);
        assert_eq!(all.committed, 210);
        let count = "select count(*) from pgbench_history";
        assert_eq!(query_number(&mut bench.control(), count), 210);
        let rows = rows(&bench);
        assert_eq!(
            expected.get_or_insert(rows.clone()),
            &rows,
            "{agents} agents"
        );
        if agents == 0 {
            assert!(run.machines[0].part.is_none());
            continue;
        }
        let parts = parts(&run);
        assert_eq!(parts.len(), agents);
        let sum = |read: fn(&MachinePart) -> u64| parts.iter().map(|part| read(part)).sum::<u64>();
        assert_eq!(sum(|part| part.committed), 210);
        assert_eq!(sum(|part| u64::from(part.clients)), 7);
        assert_eq!(sum(|part| u64::from(part.threads)), 3);
        for part in parts {
            // All have the same clock: the offset is 0, and the bound must cover it.
            let bound_ns = part.round_trip_ns.div_ceil(2);
            assert!(part.clock_offset_ns.unsigned_abs() <= bound_ns, "{part:?}");
            assert!(part.start_skew_max_ns().is_some(), "{part:?}");
        }
        assert_all_end("rows", agents, Duration::from_secs(5));
        // The coordinator has all.
        let kept = std::fs::read_dir(bench.home.join("agent")).expect("the agents' folder");
        assert_eq!(kept.count(), 0);
    }
}

/// The histogram, the seconds and the machines have the same transactions.
#[test]
fn what_several_machines_measured_adds_up() {
    let bench = TestBench::loaded("fleet_sums", 1);
    let arguments = "run select-only --clients 4 --threads 4 --duration 3s --warmup 1s";
    let run = run_with(&bench, "sums", 2, arguments);
    assert_eq!(run.state, RunState::Complete, "{:?}", run.ended_because);
    let all = total_figures(&run.measured);
    let committed: u64 = parts(&run).iter().map(|part| part.committed).sum();
    assert!(committed > 100);
    for (index, second) in run.series.iter().enumerate() {
        let parts = parts(&run);
        let of_second = parts.iter().map(|part| part.committed_by_second[index]);
        assert_eq!(of_second.sum::<u64>(), second.committed);
    }
    assert_eq!(all.committed, committed);
    let series = run.series.iter();
    let seconds = series.map(|second| second.committed).sum::<u64>();
    let warmup = run.warmup.as_ref().map(total_figures).expect("a warm-up");
    assert_eq!(seconds, committed + warmup.committed);
    assert!(all.parts.is_some(), "{}", run.timing.parts_source);
    assert!(
        run.machines
            .iter()
            .all(|machine| machine.health.cpu_user_s.is_some())
    );
    // Poisson streams of the threads: their sum has the requested rate.
    let arguments = "run select-only --clients 4 --threads 4 --duration 3s --rate 400 --seed 3";
    let run = run_with(&bench, "sums", 2, arguments);
    let committed = total_figures(&run.measured).committed;
    // 1,200 are expected, plus or minus 35.
    assert!((1_000..1_400).contains(&committed), "{committed}");
}

/// Starts a long run with two agents, and waits for its first transactions.
pub fn long_run(bench: &TestBench, name: &str) -> Child {
    long_run_with(bench, name, "--warmup 0s --duration 5m")
}

fn long_run_with(bench: &TestBench, name: &str, times: &str) -> Child {
    let arguments = format!("run tpcb --clients 4 --threads 2 {times}");
    let command = command(bench, name, 2, &arguments);
    let child = spawn_piped(command);
    wait_until(&bench.home, any_committed);
    child
}

pub fn kill(pids: &[u32], signal: &str) {
    assert!(!pids.is_empty());
    let pids = pids.iter().map(u32::to_string);
    let sent = Command::new("kill").arg(signal).args(pids).status();
    assert!(sent.expect("kill").success());
}

#[test]
fn a_lost_agent_ends_the_run_and_its_result_is_invalid() {
    let bench = TestBench::loaded("fleet_lost", 1);
    let in_window = "--warmup 0s --duration 5m";
    for (signal, times, reason) in [
        ("-KILL", in_window, "its command was ended by signal 9"),
        ("-STOP", in_window, "it has not answered for 3 s"),
        (
            "-KILL",
            "--warmup 5m --duration 5m",
            "its command was ended by signal 9",
        ),
    ] {
        let name = format!("lost{signal}{}", times.len());
        let child = long_run_with(&bench, &name, times);
        for number in [1, 2] {
            for pid in processes(&name, number) {
                let arguments = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                let arguments = String::from_utf8_lossy(&arguments).into_owned();
                assert!(!arguments.contains(&bench.password), "{arguments}");
            }
        }
        let since = Instant::now();
        kill(&processes(&name, 2), signal);
        let output = bench.finish(child);
        assert!(since.elapsed() < Duration::from_secs(30), "{signal}");
        assert_code(&output, 5);
        let stdout = stdout_text(&output);
        stdout.assert_contains("PARTIAL RESULT");
        let run = last_run(&bench);
        assert_eq!(run.state, RunState::Partial);
        let because = run.ended_because.clone().unwrap_or_default();
        because.assert_contains("agent 2 (");
        assert!(!because.contains("FLEET_OF_TEST"), "{because}");
        because.assert_contains(reason);
        let check = run.check("machines");
        assert_eq!(check.map(|check| check.severity), Some(Severity::Invalid));
        assert_all_end(&name, 2, Duration::from_secs(10));
    }
}

#[test]
fn ctrl_c_and_a_killed_coordinator_end_all_agents() {
    let bench = TestBench::loaded("fleet_ctrl_c", 1);
    let child = long_run(&bench, "interrupted");
    send_signal(&child, "-INT");
    let output = bench.finish(child);
    assert_code(&output, 130);
    let run = last_run(&bench);
    assert_eq!(run.state, RunState::Partial);
    assert!(total_figures(&run.measured).committed > 0);
    assert!(parts(&run).iter().all(|part| part.lost.is_none()));
    assert_all_end("interrupted", 2, Duration::from_secs(10));

    let mut child = long_run(&bench, "orphaned");
    send_signal(&child, "-KILL");
    child.wait().expect("it ends");
    assert_all_end("orphaned", 2, Duration::from_secs(20));
}

#[test]
fn what_is_no_agent_of_this_build_is_refused() {
    let bench = TestBench::loaded("fleet_refused", 1);
    for (agent, code, expected) in [
        (
            "echo hello;",
            2,
            "agent 1 (echo hello;) did not answer as an agent does, but with \"hello\"",
        ),
        (
            "no_such_command_of_prony",
            3,
            "its command ended with exit code 127",
        ),
        ("true;exit 9;", 3, "its command ended with exit code 9"),
    ] {
        let mut command = bench.command_with_url("run select-only --clients 2 --duration 1s");
        command.args(["--agent", agent]);
        assert_code(&bench.execute(command), code).assert_contains(expected);
    }
    for (arguments, expected) in [
        ("run select-only --embedded", "throw-away server"),
        (
            "run select-only --tcp-sample 1",
            "sample of clients over TCP",
        ),
        (
            "run select-only --clients 1",
            "2 machines are more than the 1 clients",
        ),
        (
            "run select-only --clients 4 --threads 1",
            "1 threads are fewer than the 2 machines",
        ),
    ] {
        let command = with_agents(bench.command(arguments), "refused", 2);
        assert_code(&bench.execute(command), 2).assert_contains(expected);
    }
    for (agent, expected) in [
        ("env A=1", "an agent is named twice"),
        ("weight=0 env A=1", "has no weight above 0, or no command"),
        ("weight=3", "has no weight above 0, or no command"),
        // Whatever it counts as.
        ("weight=2 env A=1", "an agent is named twice"),
    ] {
        let mut wrong = bench.command_with_url("run select-only --clients 2 --threads 2");
        wrong.args(["--agent", " env A=1", "--agent", agent]);
        assert_code(&bench.execute(wrong), 2).assert_contains(expected);
    }
    assert!(last_run_is_missing(&bench), "nothing was stored");
}

/// A command that reaches an agent by the name of the program, as on another machine.
pub fn command_with_path(bench: &TestBench, agents: &[&str], arguments: &str) -> Command {
    let mut command = bench.command_with_url(arguments);
    for agent in agents {
        command.args(["--agent", agent]);
    }
    let folder = Path::new(env!("CARGO_BIN_EXE_prony")).parent();
    let folder = folder.expect("a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", folder.display()));
    command
}

fn backends(database: &str) -> usize {
    let entries = std::fs::read_dir("/proc").expect("Linux").flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let is_backend = |line: &Vec<u8>| {
        let line = String::from_utf8_lossy(line);
        line.starts_with("postgres: ") && line.contains(&format!(" {database} "))
    };
    lines.filter(is_backend).count()
}

#[test]
fn an_agent_that_is_killed_while_its_clients_connect_ends_the_run_before_it() {
    let bench = TestBench::loaded("fleet_connecting", 1);
    let mut command = bench.command("run tpcb --clients 16 --threads 2 --duration 5m");
    // Each connection takes a second, after the log-in.
    let slow = format!("{}?options=-c%20post_auth_delay%3D1", bench.url);
    command.args(["--url", &slow]);
    let child = spawn_piped(with_agents(command, "connecting", 2));
    wait_for("all connect", || backends("fleet_connecting") >= 16);
    kill(&processes("connecting", 2), "-KILL");
    assert_code(&bench.finish(child), 3)
        .assert_contains("agent 2 (")
        .assert_contains("was lost before the load: its command was ended by signal 9");
    assert!(last_run_is_missing(&bench));
    assert_all_end("connecting", 2, Duration::from_secs(10));
}

/// The load has hardly begun, or has not, when the agent is killed.
#[test]
fn an_agent_that_ends_at_any_time_ends_the_run() {
    let bench = TestBench::loaded("fleet_early", 1);
    for time in ["0.05", "0.2", "0.5", "1", "2"] {
        let lost = format!("timeout -s KILL {time}");
        let arguments = "run tpcb --clients 4 --threads 2 --warmup 1s --duration 5m";
        let since = Instant::now();
        let command = command_with_path(&bench, &[&agent("early", 1), &lost], arguments);
        let output = bench.execute(command);
        assert!(since.elapsed() < Duration::from_secs(30), "{time}");
        let text = stderr_text(&output) + &stdout_text(&output);
        assert!(matches!(output.status.code(), Some(3 | 5)), "{text}");
        text.assert_contains("agent 2 (");
        assert_all_end("early", 1, Duration::from_secs(10));
    }
}

#[test]
fn statements_and_hosts_of_several_machines_add_up() {
    let bench = TestBench::loaded("fleet_hosts", 1);
    let arguments = "run tpcb --clients 4 --threads 2 --transactions 20 --statement-latency --json \
                     --spread round-robin";
    let mut command = bench.command(arguments);
    // The same server by two names.
    let (start, end) = bench.url.split_once("@127.0.0.1:").expect("a TCP URL");
    let (port, database) = end.split_once('/').expect("a database");
    let url = format!("{start}@127.0.0.1:{port},localhost:{port}/{database}");
    command.args(["--url", &url]);
    let run = parse_run(&bench.execute(with_agents(command, "hosts", 2)));
    assert_eq!(run.state, RunState::Complete, "{:?}", run.ended_because);
    assert_eq!(run.endpoints.len(), 2);
    let endpoints = run.endpoints.iter();
    let connections = endpoints.map(|endpoint| endpoint.connections_at_start);
    assert_eq!(connections.collect::<Vec<_>>(), [2, 2]);
    let endpoints = run.endpoints.iter();
    let samples = endpoints.map(|endpoint| endpoint.response.samples);
    assert_eq!(samples.sum::<u64>(), 80);
    let statements = run.statements.expect("their latencies");
    assert!(!statements.is_empty());
    let has_all = |statement: &prony_store::StatementLatency| statement.latency.samples == 80;
    assert!(statements.iter().all(has_all), "{statements:?}");
}

fn last_run_is_missing(bench: &TestBench) -> bool {
    bench.prony_without_server("show last").status.code() != Some(0)
}

#[test]
fn half_of_the_machines_prove_what_the_client_can_do() {
    let bench = TestBench::loaded("fleet_proof", 1);
    let proof = "run select-only --clients 4 --threads 2 --duration 1s --prove-client --warmup 0s";
    let output = bench.execute(command(&bench, "proof", 2, proof));
    let stderr = stderr_text(&output);
    // What others do on this machine may make either run invalid, which ends the proof.
    if output.status.code() == Some(0) {
        stderr
            .assert_contains("2 machines drove ")
            .assert_contains("1 of them ");
    } else {
        assert_eq!(output.status.code(), Some(7), "{stderr}");
    }
    let single = bench.execute(command(&bench, "proof", 1, proof));
    assert_code(&single, 2).assert_contains("--prove-client needs several machines");
    let paced = bench.execute(command(&bench, "proof", 2, &format!("{proof} --rate 50")));
    assert_code(&paced, 2).assert_contains("--prove-client needs a load without a rate");
}

/// What the clients of agents know of their commits makes one account; that of a killed agent is not complete.
#[test]
fn a_ledger_accounts_for_the_commits_of_all_agents() {
    let bench = TestBench::loaded("fleet_ledger", 1);
    let arguments = "run tpcb --ledger --clients 4 --threads 2 --transactions 30";
    let run = run_with(&bench, "ledger", 2, arguments);
    let ledger = run.ledger.expect("an account");
    assert_eq!((ledger.acknowledged, ledger.lost), (120, 0), "{ledger:?}");
    assert_eq!(
        (ledger.unrecorded, ledger.phantom, ledger.unknown),
        (0, 0, 0)
    );
    assert_eq!(ledger.not_read, None);

    let arguments = "run tpcb --ledger --clients 4 --threads 2 --warmup 0s --duration 5m";
    let mut command = command(&bench, "ledger_lost", 2, arguments);
    command.stdout(Stdio::null());
    let child = command.spawn().expect("it starts");
    wait_until(&bench.home, any_committed);
    kill(&processes("ledger_lost", 2), "-KILL");
    bench.finish(child);
    let run = last_run(&bench);
    assert_eq!(run.state, RunState::Partial);
    let ledger = run.ledger.expect("an account");
    assert!(ledger.not_read.is_some(), "{ledger:?}");
    // The killed agent had committed more than it had said; that is not lost, and not nobody's.
    let state = ledger.client_state.expect("what the clients knew");
    assert!(
        !state.is_final && state.last.iter().all(|last| *last > 0),
        "{state:?}"
    );
    let checked = bench.prony("check ledger --run last");
    let text = stdout_text(&checked);
    text.assert_contains("lost 0 of");
    assert!(ledger.acknowledged > 0);
}

/// The agents begin in a folder where the files of the scripts are not. Each client has a thread, because those of a thread
/// share its choice of scripts.
#[test]
fn agents_run_own_scripts_without_their_files() {
    let bench = TestBench::loaded("fleet_scripts", 1);
    let mut control = bench.control();
    control.run("create table marks (client int, machine text default inet_client_port()::text)");
    let text = "\\set x random(1, 9)\ninsert into marks values (:x);\n";
    bench.home.write("insert.sql", text);
    std::fs::create_dir(bench.home.join("elsewhere")).expect("a folder");
    for (workload, options) in [("script", "-b select-only@1 "), ("sql", "")] {
        let arguments = format!(
            "run {workload} {options}--file insert.sql@2 --clients 4 --threads 4 --transactions 30 --seed 7 --json"
        );
        let mut expected = None;
        for agents in [0, 2] {
            control.run("truncate marks");
            let mut command = bench.command(&arguments);
            command.current_dir(&bench.home).args(["--url", &bench.url]);
            for number in 1..=agents {
                let agent = format!("env -C elsewhere FLEET_OF_TEST=scripts{number}");
                command.args(["--agent", &agent]);
            }
            let run: Run = parse_run(&bench.execute(command));
            assert_eq!(run.state, RunState::Complete, "{:?}", run.ended_because);
            assert_eq!(total_figures(&run.measured).committed, 120);
            let sums = "select count(*) * 10000 + sum(client) from marks";
            let sums = query_number(&mut control, sums);
            assert!(sums > 0);
            assert_eq!(*expected.get_or_insert(sums), sums, "{workload}, {agents}");
        }
        assert_all_end("scripts", 2, Duration::from_secs(5));
    }
}

/// A lock keeps the clients of all machines from committing for two seconds.
#[test]
fn a_time_without_commits_is_measured_over_all_machines() {
    let bench = TestBench::loaded("fleet_gap", 1);
    let arguments = "run tpcb --clients 4 --threads 2 --warmup 0s --duration 8s --expect-outage";
    let child = command(&bench, "gap", 2, arguments)
        .stdout(Stdio::null())
        .spawn()
        .expect("it starts");
    wait_until(&bench.home, any_committed);
    bench.control().run(
        "begin; lock table pgbench_branches in access exclusive mode; select pg_sleep(2); commit",
    );
    bench.finish(child);
    let gap = last_run(&bench).commit_gap.expect("it is measured");
    let until_s = gap.until_s.expect("it is over");
    assert!(until_s - gap.from_s >= 2.0, "{gap:?}");
    assert!(gap.clients.min_s >= 2.0, "{gap:?}");
    assert!(
        gap.clock_bound_s.is_some_and(|bound_s| bound_s > 0.0),
        "{gap:?}"
    );
}
