//! Measures what a fleet's coordinator and agents spend on a second of a run:
//! `cargo run --release -p prony-drive --example fleet_cost -- [AGENTS [KINDS [CLIENTS]]]`.
//!
//! In: numbers of agents, of kinds of transaction, and of clients of an agent. Out: the CPU time of an agent for its row,
//! and of the coordinator from the bytes of all rows to the merged row. The agents drive the loop, each on a simulated
//! server and network, one after the other in this process. Must never: time the load, or print a time without having
//! checked the sum.

use prony_drive::io::sim::{Action, Answer, Machine, SimServer};
use prony_drive::{DriveJob, LoadStart, Observer, run_simulated};
use prony_measure::{Collector, IntervalRow, PartTotals, RunSchedule, SerializedRow};
use prony_plan::{DrivePlan, SplitMix, Stop};
use prony_server::observe::machine::thread_cpu_s;
use prony_server::{Environment, resolve};
use prony_session::{Db, Outcome, Program, User, UserId};
use prony_wire::StatementIds;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

const SECONDS: u32 = 8;

/// Transactions of each kind in turn.
struct Kinds(Vec<&'static str>);

impl Program for Kinds {
    fn kinds(&self) -> &[&'static str] {
        &self.0
    }

    fn create_user(&self, id: UserId, mut db: Db) -> User {
        let statement = StatementIds::new().add("SELECT 1");
        let kinds = self.0.len() as u32;
        Box::pin(async move {
            for kind in (id.client..).map(|number| (number % kinds) as u16) {
                if let Err(exit) = db.start(kind).await {
                    return exit;
                }
                let result = db.exec(&statement, &[]).await;
                let outcome = result.map(|_| Outcome::Committed);
                if let Err(exit) = db.end(outcome).await {
                    return exit;
                }
            }
            unreachable!("a load has an end")
        })
    }
}

/// Answers after times over two powers of ten, as a busy server does.
struct BusyServer(SplitMix);

impl SimServer for BusyServer {
    fn connect(&mut self, _: u32, _: u64) -> Result<u64, i32> {
        Ok(10_000)
    }

    fn request(&mut self, _: u32, bytes: &[u8], _: u64, answers: &mut Vec<Answer>) {
        let share = self.0.uniform();
        let (after_ns, bytes): (u64, &[u8]) = match bytes.first() {
            Some(0) => (20_000, b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I"),
            Some(b'X') | None => return,
            Some(_) => (
                (200_000.0 * 100_f64.powf(share * share)) as u64,
                b"2\0\0\0\x04C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I",
            ),
        };
        answers.push(Answer {
            after_ns,
            action: Action::Send(bytes.into()),
        });
    }
}

/// What an agent sends, and what it spends on that.
#[derive(Default)]
struct Agent {
    start: Option<LoadStart>,
    rows: Vec<Vec<u8>>,
    committed: Vec<u64>,
    row_ms: Vec<f64>,
}

impl Observer for Agent {
    fn started(&mut self, start: &LoadStart) {
        self.start = Some(start.clone());
    }

    fn interval_ended(&mut self, row: &IntervalRow, schedule: &RunSchedule) {
        let since_ms = cpu_ms();
        let row = SerializedRow::new(row, schedule.start_ns);
        self.rows.push(serde_json::to_vec(&row).expect("memory"));
        self.row_ms.push(cpu_ms() - since_ms);
        let [committed, ..] = row.interval.counts();
        self.committed.push(committed);
    }
}

fn drive(program: &Kinds, number: u64, clients: u32) -> Agent {
    let plan = DrivePlan {
        clients,
        stop: Stop::After(Duration::from_secs(SECONDS.into())),
        warmup: Duration::ZERO,
        ..DrivePlan::default()
    };
    let environment = Environment::without_home("tester");
    let target = resolve("host=127.0.0.1 sslmode=disable user=tester", &environment);
    let (target, interrupt) = (target.expect("a target"), AtomicBool::new(false));
    let machine = Machine {
        send_cost_ns: 1_000,
        has_timestamps: true,
        ..Machine::default()
    };
    let mut agent = Agent::default();
    let job = DriveJob::new(program, &target, &plan, &interrupt);
    let server = BusyServer(SplitMix::new(number));
    run_simulated(&job, machine, server, &mut agent).expect("the run starts");
    agent
}

fn main() {
    let arguments = std::env::args().skip(1).map(|text| text.parse().ok());
    let numbers: Option<Vec<u32>> = arguments.collect();
    let numbers = numbers.expect("usage: fleet_cost [AGENTS [KINDS [CLIENTS]]]");
    let number = |index: usize, default: u32| numbers.get(index).copied().unwrap_or(default);
    let (agents, kinds, clients) = (number(0, 50), number(1, 20), number(2, 12));
    let names = (0..kinds).map(|kind| &*format!("kind {kind}").leak());
    let program = Kinds(names.collect());
    let agents: Vec<Agent> = (0..agents)
        .map(|agent| drive(&program, agent.into(), clients))
        .collect();
    let start = agents[0].start.clone().expect("a start");
    let mut collector =
        Collector::of_processes(start.schedule, start.layout, &vec![1; agents.len()]);
    let mut parts = vec![PartTotals::new(start.schedule.start_ns); agents.len()];
    let mut coordinator_ms = Vec::new();
    for second in 0..SECONDS as usize {
        let since_ms = cpu_ms();
        for (index, agent) in agents.iter().enumerate() {
            let sent: SerializedRow = serde_json::from_slice(&agent.rows[second]).expect("a row");
            let received = sent.into_row_of_run(&start.schedule, start.layout, u64::MAX);
            let row = received.expect("a row of the run");
            parts[index].add(&row);
            collector.add_row(index, &row);
        }
        let merged = collector.next_row().expect("a row");
        let time_ms = cpu_ms() - since_ms;
        coordinator_ms.push(time_ms);
        let all = merged.interval.all_kinds().expect("kinds");
        let committed: u64 = agents.iter().map(|agent| agent.committed[second]).sum();
        assert_eq!(
            (all.committed, all.response.samples),
            (committed, committed)
        );
        assert_eq!(all.response.histogram.len(), committed);
        let bytes: usize = agents.iter().map(|agent| agent.rows[second].len()).sum();
        println!(
            "second {second}: {committed} transactions, {} KB of {} agents merged in {time_ms:.1} ms",
            bytes / 1_000,
            agents.len()
        );
        collector.recycle(merged);
    }
    let agent_ms = agents.iter().flat_map(|agent| agent.row_ms.clone());
    println!(
        "median: an agent spends {:.2} ms of a second on its row, the coordinator {:.1} ms on {} agents with {kinds} \
         kinds of transaction",
        median(agent_ms.collect()),
        median(coordinator_ms),
        agents.len()
    );
}

/// CPU time of this thread, which other processes disturb less than the clock.
fn cpu_ms() -> f64 {
    thread_cpu_s() * 1e3
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
