//! Agents behind a network: a slow way, another clock, a partition.

use crate::common::*;
use crate::fleet_nats::{NatsServer, SHORT_RUN, command, complete_run};
use crate::relay::Relay;
use prony_test_servers::KillOnDrop;

/// How far the agent's clock is ahead.
const AHEAD_S: i64 = 100;

/// An agent at this address, started by a command such as `unshare`, with the server's password in its environment.
fn agent_behind(bench: &TestBench, wrapper: &str, address: &str) -> KillOnDrop {
    let agent = bench.command("agent --nats");
    let mut words = wrapper.split_whitespace();
    let mut command = Command::new(words.next().expect("a command"));
    command
        .args(words)
        .arg(agent.get_program())
        .args(agent.get_args())
        .arg(address)
        .env("PGPASSWORD", &bench.password)
        .stderr(Stdio::null());
    for (name, value) in agent.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    KillOnDrop(command.spawn().expect("it starts"))
}

fn succeeds(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let mut command = Command::new(words.next().expect("a command"));
    let status = command.args(words).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// The way to one agent is slow in one direction, which no measurement of round trips can see, and its clock is another
/// one: the offset is known within its bound, and the agents start together.
#[test]
fn agents_behind_a_slow_way_with_another_clock_start_together() {
    let bench = TestBench::new("fleet_slow");
    let unshare = format!("unshare --time --monotonic {AHEAD_S}");
    if !succeeds(&format!("{unshare} true")) {
        return eprintln!("skipped: time namespaces are not allowed here");
    }
    let Some(server) = NatsServer::start(&bench.home, "") else {
        return;
    };
    bench.ok("load tpcb --scale 1");
    let relay = Relay::to_port(server.port);
    relay.delay(Duration::from_millis(2), Duration::ZERO);
    let at = |port: u16, name: &str| format!("nats://127.0.0.1:{port}/{name}");
    let _far = agent_behind(&bench, &unshare, &at(relay.port, "far"));
    let _near = agent_behind(&bench, "env", &at(server.port, "near"));
    let names = ["far", "near"].map(|name| at(server.port, name));
    let mut skews_ms = Vec::new();
    // The machine may be too busy for a start on time.
    for _ in 0..10 {
        let run = complete_run(&bench.execute(command(&bench, &names, SHORT_RUN)));
        let parts = run.machines.iter().map(|machine| machine.part.as_ref());
        let parts: Vec<_> = parts.map(|part| part.expect("a part")).collect();
        assert!(parts[0].round_trip_ns >= 2_000_000, "{:?}", parts[0]);
        for (part, offset_s) in parts.iter().zip([AHEAD_S, 0]) {
            let error_ns = part.clock_offset_ns.abs_diff(offset_s * 1_000_000_000);
            assert!(error_ns <= part.round_trip_ns.div_ceil(2), "{part:?}");
        }
        let skews = parts.iter().map(|part| part.start_skew_max_ns());
        let worst_ns = skews.map(|skew| skew.expect("it is known")).max();
        skews_ms.push(worst_ns.expect("two agents") as f64 / 1e6);
        if skews_ms.last().is_some_and(|skew_ms| *skew_ms < 5.0) {
            return;
        }
    }
    panic!("no start within 5 ms: {skews_ms:?}");
}

/// A network namespace: a machine at the end of a cable, which is pulled out when it is cut. Its packets are dropped then,
/// and nothing is closed.
struct Machine {
    name: String,
    /// The address of this machine at the cable.
    gateway: String,
}

impl Machine {
    /// `None` if that is not allowed here.
    fn start() -> Option<Machine> {
        let number = std::process::id();
        let [high, low] = [number / 64 % 256, number % 64 * 4];
        let machine = Machine {
            name: format!("prony-{number}"),
            gateway: format!("10.211.{high}.{}", low + 1),
        };
        let (name, device) = (&machine.name, format!("pr{}", number % 10_000_000));
        let lines = [
            format!("ip netns add {name}"),
            format!("ip link add {device} type veth peer name eth0 netns {name}"),
            format!("ip addr add {}/30 dev {device}", machine.gateway),
            format!("ip link set {device} up"),
            format!(
                "ip -n {name} addr add 10.211.{high}.{}/30 dev eth0",
                low + 2
            ),
            format!("ip -n {name} link set eth0 up"),
        ];
        lines.iter().all(|line| succeeds(line)).then_some(machine)
    }

    fn set_cable(&self, state: &str) {
        assert!(succeeds(&format!(
            "ip -n {} link set eth0 {state}",
            self.name
        )));
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        succeeds(&format!("ip netns del {}", self.name));
    }
}

#[test]
fn a_partition_ends_the_run_and_what_the_agent_measured_is_fetched_when_it_is_over() {
    let bench = TestBench::new("fleet_partition");
    let Some(machine) = Machine::start() else {
        return eprintln!("skipped: network namespaces are not allowed here");
    };
    let Some(nats) = NatsServer::start_on("0.0.0.0", &bench.home, "") else {
        return;
    };
    bench.ok("load tpcb --scale 1");
    let (start, database) = bench.url.rsplit_once('/').expect("a database");
    let port = start.rsplit_once(':').expect("a port").1;
    let postgres = Relay::on("0.0.0.0", port.parse().expect("a port"));
    let gateway = &machine.gateway;
    let url = format!("postgres://postgres@{gateway}:{}/{database}", postgres.port);
    let names = ["near", "far"].map(|name| format!("nats://{gateway}:{}/{name}", nats.port));
    let _near = agent_behind(&bench, "env", &names[0]);
    let wrapper = format!("ip netns exec {}", machine.name);
    let _far = agent_behind(&bench, &wrapper, &names[1]);
    let run = |arguments: &str| {
        let mut command = bench.command(arguments);
        command
            .args(["--url", &url])
            .env("PGPASSWORD", &bench.password);
        names.iter().for_each(|name| {
            command.args(["--agent", name]);
        });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let mut long = run("run tpcb --clients 4 --threads 2 --warmup 0s --duration 5m");
    let child = long.spawn().expect("it starts");
    wait_until(&bench.home, any_committed);
    machine.set_cable("down");
    let since = Instant::now();
    let output = bench.finish(child);
    assert!(since.elapsed() < Duration::from_secs(60));
    assert_code(&output, 5);
    let stored = last_run(&bench);
    assert_eq!(stored.state, RunState::Partial);
    stored
        .ended_because
        .unwrap_or_default()
        .assert_contains("agent 2 (")
        .assert_contains("it has not answered for 3 s");
    machine.set_cable("up");
    // The agent waits again, and has what nobody received.
    let folder = bench.home.join("collected");
    std::fs::create_dir(&folder).expect("a folder");
    let collect = || {
        let mut command = bench.command("fleet collect --output");
        command.arg(&folder).args(["--agent", &names[1]]);
        bench.execute(command)
    };
    let since = Instant::now();
    let text = loop {
        let output = collect();
        let stdout = stdout_text(&output);
        if output.status.success() && stdout.contains("tpcb") {
            break stdout;
        }
        let text = stdout + &stderr_text(&output);
        assert!(since.elapsed() < Duration::from_secs(120), "{text}");
    };
    text.assert_contains("prony-");
    let files = std::fs::read_dir(&folder).expect("a folder").flatten();
    let kept = files.map(|file| std::fs::read_to_string(file.path()).expect("a file"));
    assert!(kept.into_iter().any(|text| text.contains("\"kinds\"")));
    let output = bench.execute(run(SHORT_RUN));
    complete_run(&output);
}

/// Two ways to one machine, which is not this one: its kernel has another number of its boot.
#[test]
fn a_machine_that_two_commands_reach_is_refused() {
    let bench = TestBench::new("fleet_same");
    let file = bench
        .home
        .write("boot_id", "11111111-2222-3333-4444-555555555555\n");
    let mount = format!(
        "mount --bind {} /proc/sys/kernel/random/boot_id",
        file.display()
    );
    let machine = |number: usize| {
        format!("FLEET_OF_TEST=same{number} unshare --mount sh -c '{mount} && exec \"$@\"' sh")
    };
    let works = Command::new("unshare")
        .args(["--mount", "sh", "-c", &mount])
        .status();
    if !works.is_ok_and(|status| status.success()) {
        return eprintln!("skipped: mount namespaces are not allowed here");
    }
    let arguments = "run select-only --clients 2 --threads 2 --transactions 1";
    let command = crate::fleet::command_with_path(&bench, &[&machine(1), &machine(2)], arguments);
    assert_code(&bench.execute(command), 2)
        .assert_contains("agent 2 (")
        .assert_contains("is on the same machine as agent 1 (");
    crate::fleet::assert_all_end("same", 2, Duration::from_secs(5));
}
