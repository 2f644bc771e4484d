//! Figures of agents beside what is seen of them from outside: arrivals at the server, packets, CPU time.

use crate::common::*;
use crate::fleet::{command, processes, with_agents};
use crate::relay::Relay;
use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep, spawn};

/// The statement of `select-only`, in the simple protocol.
const STATEMENT: &str = "SELECT abalance FROM pgbench_accounts";
/// Threads of an agent that drive clients.
const WORKER: &str = "worker";

fn complete_run(bench: &TestBench, agents: usize, url: &str, arguments: &str) -> Run {
    let mut command = bench.command(&format!("{arguments} --json"));
    command.args(["--url", url]);
    let run = parse_run(&bench.execute(with_agents(command, "figures", agents)));
    assert_eq!(run.state, RunState::Complete, "{:?}", run.ended_because);
    run
}

/// The mean gap of a load's statements.
const GAP_MS: f64 = 1_000.0 / 30.0;

/// When the statements of a load arrived at a server's port, ms from the first one.
fn arrivals(bench: &TestBench, agents: usize, arrival: &str) -> Vec<f64> {
    let (start, database) = bench.url.rsplit_once('/').expect("a database");
    let (start, port) = start.rsplit_once(':').expect("a port");
    let relay = Relay::to_port(port.parse().expect("a port"));
    relay.record_arrivals_of(STATEMENT);
    let url = format!("{start}:{}/{database}", relay.port);
    let arguments = format!(
        "run select-only --clients 8 --threads 4 --duration 4s --warmup 0s --protocol simple \
         --rate 30 --arrival {arrival} --seed 3"
    );
    complete_run(bench, agents, &url, &arguments);
    let arrivals = relay.arrivals();
    let first = *arrivals.first().expect("statements");
    let since_first_ms = |at: &Instant| at.duration_since(first).as_secs_f64() * 1e3;
    arrivals.iter().map(since_first_ms).collect()
}

fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * share) as usize]
}

/// Two machines send what one would, each statement at its time; even gaps stay even.
#[test]
fn a_rate_of_several_machines_arrives_as_that_of_one() {
    let bench = TestBench::loaded("fleet_rate", 1);
    for arrival in ["poisson", "even"] {
        let mut tries = Vec::new();
        // The machine may be too busy to start on time.
        let is_same = (0..6).any(|_| {
            let (one, two) = (arrivals(&bench, 0, arrival), arrivals(&bench, 2, arrival));
            let differences: Vec<f64> = one.iter().zip(&two).map(|(a, b)| b - a).collect();
            let middle = quantile(differences.clone(), 0.5);
            let differences = differences.iter();
            let apart = differences.map(|difference| (difference - middle).abs());
            let apart_ms = quantile(apart.collect(), 0.5);
            let gaps = || two.windows(2).map(|pair| pair[1] - pair[0]).collect();
            let [least, most] = [0.25, 0.75].map(|share| quantile(gaps(), share));
            tries.push((one.len(), two.len(), apart_ms, least, most));
            let is_near = apart_ms < GAP_MS / 4.0 && one.len().abs_diff(two.len()) <= 2;
            is_near && (arrival != "even" || (least > GAP_MS / 2.0 && most < GAP_MS * 1.5))
        });
        assert!(is_same, "{arrival}: {tries:?}");
    }
}

/// The CPU time of a process's threads that drive clients, and of the others, nanoseconds.
fn cpu_of_threads(pid: u32) -> [u64; 2] {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("it runs");
    let mut sums = [0, 0];
    for task in tasks.flatten() {
        let read = |name: &str| std::fs::read_to_string(task.path().join(name)).unwrap_or_default();
        let (name, times) = (read("comm"), read("schedstat"));
        let ran_ns = times
            .split_whitespace()
            .next()
            .and_then(|ns| ns.parse::<u64>().ok());
        sums[usize::from(!name.starts_with(WORKER))] += ran_ns.unwrap_or(0);
    }
    sums
}

#[test]
fn an_agent_spends_little_of_its_time_on_its_rows() {
    let bench = TestBench::loaded("fleet_cpu", 1);
    let arguments = "run select-only --clients 8 --threads 1 --warmup 0s --duration 10s";
    let child = command(&bench, "cpu", 1, arguments)
        .stdout(Stdio::null())
        .spawn();
    wait_until(&bench.home, any_committed);
    let agents = processes("cpu", 1);
    let sum = || {
        let of_agents = agents.iter().map(|pid| cpu_of_threads(*pid));
        of_agents.fold([0, 0], |[a, b], [c, d]| [a + c, b + d])
    };
    let (before, since) = (sum(), Instant::now());
    sleep(Duration::from_secs(5));
    let (after, elapsed) = (sum(), since.elapsed());
    bench.finish(child.expect("it starts"));
    let [driving, others] = [0, 1].map(|index| (after[index] - before[index]) as f64);
    let share = others / elapsed.as_nanos() as f64;
    eprintln!("merging and streaming: {:.2} % of a CPU", share * 100.0);
    assert!(driving > 0.0 && others > 0.0, "{before:?} {after:?}");
    let most = if cfg!(debug_assertions) { 0.05 } else { 0.01 };
    assert!(share < most, "{share}");
}

/// Packets of the loopback device, as a capture of the server's machine has them.
struct Capture {
    must_end: Arc<AtomicBool>,
    thread: JoinHandle<HashMap<u16, Exchange>>,
}

#[derive(Default)]
struct Exchange {
    sent_ns: Option<u64>,
    answered_ns: u64,
    times_ns: Vec<u64>,
}

impl Exchange {
    fn end(&mut self) {
        if let Some(sent_ns) = self.sent_ns.take() {
            self.times_ns.push(self.answered_ns.saturating_sub(sent_ns));
        }
    }
}

impl Capture {
    /// Captures what goes to and from this port; `None` if that is not allowed here.
    fn start(port: u16) -> Option<Capture> {
        let all = i32::from((libc::ETH_P_ALL as u16).to_be());
        // SAFETY: socket has no memory of ours; its descriptor is owned by the file.
        let mut socket = unsafe {
            match libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, all) {
                -1 => return None,
                socket => File::from_raw_fd(socket),
            }
        };
        let (bytes, poll) = (
            64_i32 << 20,
            libc::timeval {
                tv_sec: 0,
                tv_usec: 50_000,
            },
        );
        for (name, value, length) in [
            (
                libc::SO_RCVBUFFORCE,
                (&raw const bytes).cast(),
                size_of_val(&bytes),
            ),
            (
                libc::SO_RCVTIMEO,
                (&raw const poll).cast(),
                size_of_val(&poll),
            ),
        ] {
            // SAFETY: the value has this length.
            unsafe {
                let length = length as libc::socklen_t;
                libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, name, value, length)
            };
        }
        keep_only(&socket, port);
        let must_end = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&must_end);
        let thread = spawn(move || {
            let mut exchanges = HashMap::new();
            let mut frame = vec![0; 65_536];
            while !ends.load(Ordering::Relaxed) {
                if let Ok(length) = socket.read(&mut frame) {
                    let mut time = libc::timespec {
                        tv_sec: 0,
                        tv_nsec: 0,
                    };
                    // SAFETY: the kernel writes one timespec.
                    unsafe { libc::ioctl(socket.as_raw_fd(), SIOCGSTAMPNS, &raw mut time) };
                    let at_ns = time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
                    add_packet(&mut exchanges, &frame[..length], port, at_ns);
                }
            }
            exchanges
        });
        Some(Capture { must_end, thread })
    }

    /// The mean time from a statement's packet to that of its reply, nanoseconds, and the number of statements.
    fn end(self) -> (f64, u64) {
        sleep(Duration::from_millis(200));
        self.must_end.store(true, Ordering::Relaxed);
        let mut exchanges = self.thread.join().expect("it captures");
        exchanges.values_mut().for_each(Exchange::end);
        let times: Vec<u64> = exchanges.into_values().flat_map(|it| it.times_ns).collect();
        (
            times.iter().sum::<u64>() as f64 / times.len() as f64,
            times.len() as u64,
        )
    }
}

/// Lets a socket have only the packets of TCP over IPv4 from and to this port: those of other tests fill its buffer.
fn keep_only(socket: &File, port: u16) {
    let step = |code: u16, jt: u8, jf: u8, k: u32| libc::sock_filter { code, jt, jf, k };
    // linux/bpf_common.h: load half a word, a byte, the length of IP's header, half a word behind it; jump if equal; return.
    let (ldh, ldb, ldx_header, ldh_behind, jeq, ret) = (0x28, 0x30, 0xb1, 0x48, 0x15, 0x06);
    let port = u32::from(port);
    let mut steps = [
        step(ldh, 0, 0, 12),
        step(jeq, 0, 8, 0x0800),
        step(ldb, 0, 0, 23),
        step(jeq, 0, 6, 6),
        step(ldx_header, 0, 0, 14),
        step(ldh_behind, 0, 0, 14),
        step(jeq, 2, 0, port),
        step(ldh_behind, 0, 0, 16),
        step(jeq, 0, 1, port),
        step(ret, 0, 0, 65_536),
        step(ret, 0, 0, 0),
    ];
    let program = libc::sock_fprog {
        len: steps.len() as u16,
        filter: steps.as_mut_ptr(),
    };
    // SAFETY: the program has this length, and its steps live until the call returns.
    let status = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const program).cast(),
            size_of_val(&program) as libc::socklen_t,
        )
    };
    assert_eq!(status, 0, "{}", std::io::Error::last_os_error());
}

/// The time of the packet that was read last.
const SIOCGSTAMPNS: libc::Ioctl = 0x8907;

/// Adds a packet of Ethernet. Each is there twice, as sent and as received, at nearly one time.
fn add_packet(exchanges: &mut HashMap<u16, Exchange>, frame: &[u8], port: u16, at_ns: u64) {
    let number = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
    if frame.len() < 54 || number(12) != 0x0800 || frame[23] != 6 {
        return;
    }
    let header = usize::from(frame[14] & 15) * 4;
    let tcp = 14 + header;
    let payload_at = tcp + usize::from(frame[tcp + 12] >> 4) * 4;
    let end = (14 + usize::from(number(16))).min(frame.len());
    if payload_at >= end {
        return;
    }
    let payload = &frame[payload_at..end];
    if number(tcp + 2) == port {
        let has_text = |part: &[u8]| part == STATEMENT.as_bytes();
        if payload.windows(STATEMENT.len()).any(has_text) {
            let exchange = exchanges.entry(number(tcp)).or_default();
            if exchange.sent_ns.is_none() || exchange.answered_ns > exchange.sent_ns.unwrap_or(0) {
                exchange.end();
                exchange.sent_ns = Some(at_ns);
            }
        }
    } else if number(tcp) == port
        && let Some(exchange) = exchanges.get_mut(&number(tcp + 2))
    {
        exchange.answered_ns = at_ns;
    }
}

#[test]
fn the_server_time_of_several_machines_is_that_of_the_packets() {
    let server = own_postgres();
    let bench = TestBench::loaded_on(&server, "fleet_packets", 1);
    let (_, address) = bench.url.rsplit_once(':').expect("a port");
    let port = address
        .split('/')
        .next()
        .and_then(|port| port.parse().ok())
        .expect("a port");
    for agents in [0, 2] {
        let Some(capture) = Capture::start(port) else {
            return eprintln!("skipped: packets may not be captured here");
        };
        let arguments = "run select-only --clients 8 --threads 2 --duration 4s --warmup 0s \
                         --protocol simple --rate 300 --seed 3";
        let run = complete_run(&bench, agents, &bench.url, arguments);
        let (captured_ns, statements) = capture.end();
        let figures = total_figures(&run.measured);
        let server_ns = figures.parts.as_ref().expect("over TCP").server.mean_ns;
        let ratio = server_ns / captured_ns;
        eprintln!(
            "{agents} agents: server time {:.1} µs, of {statements} captured statements {:.1} µs: {ratio:.3}",
            server_ns / 1e3,
            captured_ns / 1e3
        );
        // Those of the last moment are not counted as committed.
        let is_all = (figures.committed..=figures.committed + 8).contains(&statements);
        assert!(is_all, "{} {statements}", figures.committed);
        assert!(
            (0.93..1.07).contains(&ratio),
            "{agents} agents: {server_ns} {captured_ns}"
        );
    }
}
