//! Runs whose agents wait at a NATS server on loopback.

use crate::common::*;
use prony_test_servers::KillOnDrop;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A NATS server of this user.
pub struct NatsServer {
    process: KillOnDrop,
    config: PathBuf,
    pub port: u16,
}

impl NatsServer {
    /// `None` if there is no nats-server on this machine. `config`: lines of its configuration.
    pub fn start(folder: &Path, config: &str) -> Option<NatsServer> {
        NatsServer::start_on("127.0.0.1", folder, config)
    }

    pub fn start_on(address: &str, folder: &Path, config: &str) -> Option<NatsServer> {
        let free = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = free.local_addr().expect("a port").port();
        drop(free);
        let file = folder.join("nats.conf");
        let text = format!("host: {address}\nport: {port}\n{config}\n");
        std::fs::write(&file, text).expect("a file");
        Some(NatsServer {
            process: spawn_server(&file, port)?,
            config: file,
            port,
        })
    }

    /// A server, and a database with the tables of tpcb.
    pub fn beside_tables(name: &str) -> Option<(TestBench, NatsServer)> {
        let bench = TestBench::new(name);
        let server = NatsServer::start(&bench.home, "")?;
        bench.ok("load tpcb --scale 1");
        Some((bench, server))
    }

    fn kill(&mut self) {
        let _ = self.process.0.kill();
        let _ = self.process.0.wait();
    }

    fn restart(&mut self) {
        self.kill();
        self.process = spawn_server(&self.config, self.port).expect("it started before");
    }

    fn agent(&self, name: &str) -> String {
        format!("nats://127.0.0.1:{}/{name}", self.port)
    }
}

fn spawn_server(config: &Path, port: u16) -> Option<KillOnDrop> {
    let program = std::env::var("PRONY_TEST_NATS").unwrap_or("/usr/sbin/nats-server".to_owned());
    let mut command = Command::new(program);
    command.arg("-c").arg(config).stderr(Stdio::null());
    let Ok(mut process) = command.spawn() else {
        eprintln!("skipped: there is no nats-server here");
        return None;
    };
    for _ in 0..300 {
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return Some(KillOnDrop(process));
        }
        assert!(process.try_wait().expect("its state").is_none(), "it ended");
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("the NATS server did not listen");
}

/// Agents that wait.
fn start_agents(
    bench: &TestBench,
    addresses: &[&str],
    variables: &[(&str, &str)],
) -> Vec<KillOnDrop> {
    let start = |address: &&str| {
        let mut command = bench.command("agent --nats");
        command.arg(address).env("PGPASSWORD", &bench.password);
        command.envs(variables.iter().copied());
        KillOnDrop(command.stderr(Stdio::null()).spawn().expect("it starts"))
    };
    addresses.iter().map(start).collect()
}

/// The program with these agents, and the server's password in its environment.
pub fn command(bench: &TestBench, agents: &[String], arguments: &str) -> Command {
    let mut command = bench.command(arguments);
    let url = bench.url.replace(&format!(":{}@", bench.password), "@");
    command.args(["--url", &url]);
    command.env("PGPASSWORD", &bench.password);
    for agent in agents {
        command.args(["--agent", agent]);
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub fn complete_run(output: &Output) -> Run {
    let run = parse_run(output);
    assert_eq!(run.state, RunState::Complete, "{:?}", run.ended_because);
    run
}

fn committed(run: &Run) -> Vec<u64> {
    let parts = run.machines.iter();
    parts
        .map(|machine| machine.part.as_ref().expect("a part").committed)
        .collect()
}

/// All that an open server carries, as a client reads it that subscribes to everything.
fn overhear(server: &NatsServer) -> Arc<Mutex<Vec<u8>>> {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).expect("an open server");
    let subscribe = b"CONNECT {\"verbose\":false,\"pedantic\":false}\r\nSUB > 1\r\n";
    stream.write_all(subscribe).expect("a connection");
    let heard = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&heard);
    std::thread::spawn(move || {
        let mut chunk = [0; 65_536];
        while let Ok(length @ 1..) = stream.read(&mut chunk) {
            sink.lock()
                .expect("one reader")
                .extend_from_slice(&chunk[..length]);
        }
    });
    heard
}

pub const SHORT_RUN: &str = "run tpcb --clients 4 --threads 2 --transactions 20 --warmup 0s --json";

#[test]
fn agents_that_wait_drive_one_run_after_the_other_and_no_password_is_sent() {
    let Some((bench, server)) = NatsServer::beside_tables("fleet_nats") else {
        return;
    };
    let heard = overhear(&server);
    let names = [server.agent("vm1"), server.agent("vm2")];
    let _agents = start_agents(&bench, &[&names[0], &names[1]], &[]);
    for _ in 0..2 {
        let output = bench.execute(command(&bench, &names, SHORT_RUN));
        assert_eq!(committed(&complete_run(&output)), [40, 40]);
        // Two agents and one server: one warning.
        let stderr = stderr_text(&output);
        assert_eq!(stderr.matches("asks for no log-in").count(), 1, "{stderr}");
    }
    let heard = String::from_utf8_lossy(&heard.lock().expect("one reader")).into_owned();
    heard
        .assert_contains("prony.vm1.call")
        .assert_contains("PRONY AGENT");
    heard.assert_contains("tpcb").assert_contains("Finished");
    assert!(!heard.contains(&bench.password), "the password was sent");

    let mut with_password = bench.command(SHORT_RUN);
    with_password.args(["--url", &bench.url, "--agent", &names[0]]);
    let output = bench.execute(with_password);
    assert_code(&output, 2).assert_contains("the server's password is not sent over NATS");

    // Whoever may publish there could otherwise let the machine run code.
    let script = bench.home.join("own.lua");
    std::fs::write(&script, "function event() end\n").expect("a file");
    let port = bench.url.split([':', '/']).rev().nth(1).expect("a port");
    let arguments = format!(
        "sysbench --db-driver=pgsql --pgsql-host=127.0.0.1 --pgsql-port={port} --pgsql-user=postgres \
         --pgsql-db=fleet_nats --threads=2 --events=2 {} run",
        script.display()
    );
    let mut scripted = bench.command(&arguments);
    scripted.env("PGPASSWORD", &bench.password);
    scripted.env("PRONY_AGENTS", names.join(";"));
    let output = bench.execute(scripted);
    assert_code(&output, 1);
    stdout_text(&output)
        .assert_contains("an agent that is called over NATS runs no Lua scripts of others");

    let unnamed = names[0].trim_end_matches("/vm1").to_owned();
    let output = bench.execute(command(&bench, &[unnamed], SHORT_RUN));
    assert_code(&output, 2).assert_contains("its address must end with the agent's name");
}

#[test]
fn a_nats_server_that_ends_and_agents_that_do_end_the_run() {
    let Some((bench, mut server)) = NatsServer::beside_tables("fleet_nats_lost") else {
        return;
    };
    let names = [server.agent("vm1"), server.agent("vm2")];
    let mut agents = start_agents(&bench, &[&names[0], &names[1]], &[]);
    let arguments = "run tpcb --clients 4 --threads 2 --warmup 0s --duration 5m";
    let lost = |child: Child| {
        let output = bench.finish(child);
        assert_code(&output, 5);
        let run = last_run(&bench);
        assert_eq!(run.state, RunState::Partial);
        let because = run.ended_because.unwrap_or_default();
        because.assert_contains("was lost: ");
        because
    };
    let child = command(&bench, &names, arguments).spawn();
    wait_until(&bench.home, any_committed);
    server.kill();
    lost(child.expect("it starts")).assert_contains("it has not answered for 3 s");
    // The agents come back with the server.
    server.restart();
    let output = bench.execute(command(&bench, &names, SHORT_RUN));
    assert_eq!(committed(&complete_run(&output)), [40, 40]);

    let known = prony_runs(&bench);
    let child = command(&bench, &names, arguments).spawn();
    wait_until(&bench.home, |run| {
        !known.contains(&run.id) && any_committed(run)
    });
    // A second coordinator must wait for its turn.
    let output = bench.execute(command(&bench, &names[..1], SHORT_RUN));
    assert_code(&output, 3).assert_contains("is busy: it serves another coordinator");
    agents[1].0.kill().expect("it runs");
    lost(child.expect("it starts")).assert_contains("agent 2 (");
}

fn prony_runs(bench: &TestBench) -> Vec<String> {
    let runs = stored_runs(&bench.home);
    runs.into_iter().map(|run| run.id).collect()
}

#[test]
fn two_agents_of_one_name_are_refused() {
    let Some((bench, server)) = NatsServer::beside_tables("fleet_nats_twice") else {
        return;
    };
    let name = server.agent("vm1");
    let _agents = start_agents(&bench, &[&name, &name], &[]);
    let started = Instant::now();
    loop {
        let agents = std::slice::from_ref(&name);
        let output = bench.execute(command(&bench, agents, SHORT_RUN));
        let messages = stderr_text(&output);
        if messages.contains("two agents have its name") {
            return;
        }
        // Only one of them was there when the call came. On a busy machine the run is invalid.
        assert!(matches!(output.status.code(), Some(0 | 7)), "{messages}");
        assert!(started.elapsed() < WAIT_TIMEOUT, "{messages}");
    }
}

/// The example of NATS's documentation.
const NKEY_SEED: &str = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY";
const NKEY_USER: &str = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4";

#[test]
fn users_keys_and_tls_of_nats() {
    let bench = TestBench::new("fleet_nats_login");
    let certified = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a key");
    let file = |name: &str, text: &str| {
        let path = bench.home.write(name, text);
        path.display().to_string()
    };
    let certificate = file("cert.pem", &certified.cert.pem());
    let key = file("key.pem", &certified.signing_key.serialize_pem());
    let seed = file("user.nk", NKEY_SEED);
    let config = format!(
        "authorization: {{ users: [ {{ user: a, password: geheimnis }}, {{ nkey: {NKEY_USER} }} ] }}\n\
         tls: {{ cert_file: \"{certificate}\", key_file: \"{key}\" }}"
    );
    let Some(server) = NatsServer::start(&bench.home, &config) else {
        return;
    };
    bench.ok("load tpcb --scale 1");
    let name = server.agent("vm1").replace("nats://", "tls://");
    let by_key = [("NATS_CA", &*certificate), ("NATS_NKEY", &*seed)];
    let _agents = start_agents(&bench, &[&name], &by_key);
    let with = |variables: &[(&str, &str)]| {
        let mut command = command(&bench, std::slice::from_ref(&name), SHORT_RUN);
        command.env("NATS_CA", &certificate);
        bench.execute({
            command.envs(variables.iter().copied());
            command
        })
    };
    let output = with(&[("NATS_USER", "a"), ("NATS_PASSWORD", "geheimnis")]);
    let run = complete_run(&output);
    assert_eq!(total_figures(&run.measured).committed, 80);
    assert!(!stderr_text(&output).contains("asks for no log-in"));
    for wrong in [&[][..], &[("NATS_USER", "a"), ("NATS_PASSWORD", "falsch")]] {
        assert_code(&with(wrong), 3)
            .assert_contains("could not be reached")
            .assert_lacks("falsch");
    }
}
