//! Compares the server times that Prony computes over MySQL's protocol with a capture of the packets.
//!
//! In: a folder, and `dumpcap` on the PATH with permission to capture on `lo`. Out: per case, a capture in
//! that folder and a line with Prony's parts; `scripts/parts-by-capture` compares them. Must never: use a
//! server that it did not start.

use prony_drive::{DriveJob, run};
use prony_plan::{DrivePlan, QueryMode, Stop};
use prony_server::{Environment, Target, resolve};
use prony_session::{Db, DbError, Outcome, Program, User, UserExit, UserId};
use prony_test_servers::{MariaDb, MariaDbOptions};
use prony_wire::{Statement, StatementIds, Value};
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

const BATCH_STATEMENTS: usize = 3;

/// One way to send the statements of a transaction.
struct Case {
    name: &'static str,
    mode: QueryMode,
    /// Whether all statements are sent as one text.
    is_joined: bool,
    statements: usize,
}

const CASES: [Case; 5] = [
    Case {
        name: "prepared",
        mode: QueryMode::Prepared,
        is_joined: false,
        statements: 1,
    },
    Case {
        name: "extended",
        mode: QueryMode::Extended,
        is_joined: false,
        statements: 1,
    },
    Case {
        name: "prepared batch",
        mode: QueryMode::Prepared,
        is_joined: false,
        statements: BATCH_STATEMENTS,
    },
    Case {
        name: "extended batch",
        mode: QueryMode::Extended,
        is_joined: false,
        statements: BATCH_STATEMENTS,
    },
    Case {
        name: "pipelined",
        mode: QueryMode::Prepared,
        is_joined: true,
        statements: BATCH_STATEMENTS,
    },
];

struct Selects(Arc<Vec<Statement>>);

impl Selects {
    fn new(case: &Case) -> Selects {
        let mut set = StatementIds::new();
        let text = |n| format!("select {n}, benchmark($1, md5('prony'))");
        let statements = (0..case.statements).map(|n| {
            let statement = set.add(&text(n));
            if case.is_joined { statement.with_joining() } else { statement }
        });
        Selects(Arc::new(statements.collect()))
    }
}

impl Program for Selects {
    fn kinds(&self) -> &[&'static str] {
        &["select"]
    }

    fn create_user(&self, id: UserId, db: Db) -> User {
        let statements = self.0.clone();
        Box::pin(async move {
            let result = select(db, &statements, u64::from(id.client)).await;
            result.err().unwrap_or(UserExit::Stopped)
        })
    }
}

async fn select(mut db: Db, statements: &[Statement], mut random: u64) -> Result<(), UserExit> {
    loop {
        db.start(0).await?;
        // Vary the work, so that the percentiles differ.
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let values = [Value::Int((random >> 56) as i64)];
        let batch: Vec<_> = statements
            .iter()
            .map(|statement| (statement, &values[..]))
            .collect();
        let result: Result<Outcome, DbError> = db.batch(&batch).await.map(|_| Outcome::Committed);
        db.end(result).await?;
    }
}

fn capture(port: u16, file: &Path) -> Child {
    let child = Command::new("dumpcap")
        .args(["-q", "-P", "-i", "lo", "-s", "128", "-B", "256", "-f"])
        .arg(format!("tcp port {port}"))
        .arg("-w")
        .arg(file)
        .stderr(Stdio::null())
        .spawn()
        .expect("dumpcap starts");
    std::thread::sleep(Duration::from_secs(2));
    child
}

fn measure(target: &Target, case: &Case, clients: u32, seconds: u64) -> String {
    let plan = DrivePlan {
        clients,
        stop: Stop::NoStartsAfter(Duration::from_secs(seconds)),
        grace: Duration::from_secs(60),
        protocol: case.mode,
        ..DrivePlan::default()
    };
    let program = Selects::new(case);
    let interrupt = AtomicBool::new(false);
    let job = DriveJob::new(&program, target, &plan, &interrupt);
    let driven = run(&job, &mut ()).expect("the run starts");
    let measured = &driven.collected.measured;
    let tally = measured.all_kinds();
    let parts = tally.parts.as_ref().expect("TCP has timestamps");
    let ns = |quantile| parts.server.quantile_ns(quantile).unwrap_or(0);
    let timestamps = measured.timestamps;
    format!(
        "{}\t{clients}\t{}\t{}\t{}\t{:.0}\t{}\t{}\t{:.0}\t{}",
        case.name,
        case.statements * usize::from(!case.is_joined) + usize::from(case.is_joined),
        tally.committed,
        parts.server.samples,
        parts.server.mean_ns(),
        ns(0.5),
        ns(0.99),
        tally.response.mean_ns(),
        timestamps.impossible + timestamps.missing,
    )
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, seconds] = &arguments[..] else {
        panic!("usage: response_parts FOLDER SECONDS");
    };
    let seconds = seconds.parse().expect("a number of seconds");
    let folder = Path::new(folder);
    let server =
        MariaDb::start(MariaDbOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let environment = Environment::new("tester", folder);
    let url = server.tcp_url_with_password();
    let target = resolve(url.reveal(), &environment).expect("a good URL");
    let mut table = std::fs::File::create(folder.join("parts.tsv")).expect("a folder to write to");
    for (number, case) in CASES.iter().enumerate() {
        for clients in [8, 64, 256] {
            let file = folder.join(format!("{number}-{clients}.pcap"));
            let mut dump = capture(server.port(), &file);
            let line = measure(&target, case, clients, seconds);
            std::thread::sleep(Duration::from_secs(1));
            let pid = dump.id().to_string();
            let _ = Command::new("kill").args(["-INT", &pid]).status();
            let _ = dump.wait();
            println!("{line}");
            writeln!(table, "{}\t{}\t{line}", file.display(), server.port())
                .expect("it is written");
        }
    }
}
