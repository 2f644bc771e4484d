//! Databases of a test's own, loads and runs on them.

pub use crate::plans::{drive, plan};
use crate::stop::StopAt;
use prony_drive::{Driven, Job, Observer, Start, run};
use prony_measure::{ErrorEntry, Tally};
use prony_plan::{DrivePlan, QueryMode, Stop};
use prony_server::{Control, Environment, Target, embedded};
use prony_session::Share;
use prony_workload::{
    CheckReport, Error, LoadReport, LoadRequest, Loaded, Phase, Progress, State, Workload, find,
};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// One database.
pub struct Base {
    pub target: Target,
}

impl Base {
    /// A new one of this name, on the server that all tests share.
    pub fn new(name: &str) -> Base {
        let mut control = Base::on("postgres").control();
        let create = format!("create database {name}");
        control.execute(&create).expect("creates a database");
        Base::on(name)
    }

    fn on(name: &str) -> Base {
        let env = Environment::new("postgres", Path::new("/nonexistent"));
        let target = prony_server::resolve(&embedded::shared().url_for(name), &env);
        Base {
            target: target.expect("a good URL"),
        }
    }

    /// A new one of this name, on the MariaDB that all tests share.
    pub fn maria(name: &str) -> Base {
        Base::maria_on(embedded::shared_mariadb(), name)
    }

    /// A new one on a MariaDB.
    pub fn maria_on(server: &embedded::MariaDb, name: &str) -> Base {
        let env = Environment::new("tester", Path::new("/nonexistent"));
        let target = |database| {
            let url = server.url_for("root", database);
            prony_server::resolve(&url, &env).expect("a good URL")
        };
        let base = Base {
            target: target("test"),
        };
        base.execute(&format!("create database {name}"));
        Base {
            target: target(name),
        }
    }

    pub fn control(&self) -> Control {
        Control::connect(&self.target).expect("connects")
    }

    /// Runs a statement for its effect.
    pub fn execute(&self, sql: &str) {
        self.control().execute(sql).expect("a good statement");
    }

    /// A number that a query gives.
    pub fn number(&self, sql: &str) -> i64 {
        let value = self.text(sql);
        value.parse().expect("a number")
    }

    /// A text that a query gives.
    pub fn text(&self, sql: &str) -> String {
        let value = self.control().query_value(sql).expect("a good query");
        value.expect("not null")
    }

    pub fn load(&self, name: &str, options: &[(&str, &str)], jobs: u32) -> LoadReport {
        let loaded = self.load_with(name, options, jobs, &(), &AtomicBool::new(false));
        loaded.expect("loads")
    }

    pub fn load_with(
        &self,
        name: &str,
        options: &[(&str, &str)],
        jobs: u32,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<LoadReport, Error> {
        let request = LoadRequest {
            target: &self.target,
            plan: &plan(name, options),
            jobs,
            seed: 7,
        };
        workload(name).load(&request, progress, stop)
    }

    pub fn program(&self, name: &str, options: &[(&str, &str)]) -> Result<Loaded, Error> {
        workload(name).program(&mut self.control(), &plan(name, options))
    }

    pub fn check(&self, name: &str) -> CheckReport {
        workload(name).check(&mut self.control()).expect("checks")
    }

    /// Names of what the check has against the data.
    pub fn wrong(&self, name: &str) -> Vec<String> {
        let report = self.check(name);
        let wrong = report.findings.into_iter();
        wrong
            .filter(|finding| finding.state == State::Wrong)
            .map(|finding| format!("{}: {}", finding.id, finding.text))
            .collect()
    }
}

pub fn workload(name: &str) -> &'static dyn Workload {
    find(name).expect("listed")
}

/// What became of a run.
pub struct Ran {
    pub committed: u64,
    pub failed: u64,
    pub retries: u64,
    /// SQLSTATEs of what failed.
    pub codes: Vec<String>,
    pub shares: Vec<Share>,
}

struct Silent;

impl Observer for Silent {
    fn started(&mut self, _: &Start) {}
    fn row(&mut self, _: &prony_measure::Row, _: &prony_measure::Schedule) {}
}

/// A run of so many clients, each with so many transactions.
pub fn ran(
    base: &Base,
    name: &str,
    options: &[(&str, &str)],
    protocol: QueryMode,
    (clients, transactions): (u32, u64),
) -> Ran {
    let loaded = base.program(name, options).expect("the data is there");
    let drive = DrivePlan {
        protocol,
        ..drive(clients, Stop::Transactions(transactions))
    };
    let job = Job {
        program: &*loaded.program,
        target: &base.target,
        tcp_target: None,
        plan: &drive,
        seed: 5,
        interrupt: &AtomicBool::new(false),
        tap: None,
    };
    let Driven {
        collected,
        events,
        failure,
        ..
    } = run(&job, &mut Silent).expect("the run starts");
    assert!(events.is_empty(), "{events:?}");
    assert_eq!(failure, None);
    let of = |count: fn(&Tally<u64>) -> u64| collected.measured.kinds.iter().map(count).sum();
    let entries = collected.measured.errors.entries();
    let code = |error: &ErrorEntry| String::from_utf8_lossy(&error.code).into_owned();
    Ran {
        committed: of(|kind| kind.committed),
        failed: of(|kind| kind.failed),
        retries: of(|kind| kind.retries),
        codes: entries.iter().map(code).collect(),
        shares: loaded.program.shares(),
    }
}

/// What it says.
pub fn problem<T>(result: Result<T, Error>) -> String {
    result.err().expect("a problem").to_string()
}

/// All of them.
pub const PROTOCOLS: [QueryMode; 3] = [QueryMode::Simple, QueryMode::Extended, QueryMode::Prepared];

/// Reads, writes and others of a run.
pub fn parts(ran: &Ran) -> [u64; 3] {
    let parts: Vec<u64> = ran.shares.iter().map(|share| share.part).collect();
    parts.try_into().expect("reads, writes, others")
}

/// Nothing failed, and so many were committed.
pub fn is_whole(ran: &Ran, committed: u64, what: &str) {
    assert_eq!(ran.failed, 0, "{what}: {:?}", ran.codes);
    assert_eq!(ran.committed, committed, "{what}");
}

/// What is read of a table.
type OfTable<'a> = &'a dyn Fn(&Base, u32) -> String;

/// A load is stopped once `rows` rows are on the way, and again behind them; it goes on, and leaves
/// what one leaves that was not stopped. `first` looks at what there is after the first stop.
pub fn broken_load_goes_on(
    (base, whole): (&Base, &Base),
    rows: u64,
    digest: OfTable<'_>,
    shape: OfTable<'_>,
    first: impl FnOnce(),
) {
    let options = [("tables", "6"), ("table_size", "20000")];
    let stopped = |phase, rows| {
        let stop = AtomicBool::new(false);
        let progress = StopAt(phase, rows, &stop);
        let broken = base.load_with("oltp_read_write", &options, 2, &progress, &stop);
        let said = problem(broken);
        assert!(said.contains("the load was stopped"), "{said}");
        assert!(said.contains("keeps those that are filled"), "{said}");
        let refused = problem(base.program("oltp_read_write", &[]));
        assert!(refused.contains("hint: "), "{refused}");
        refused
    };
    stopped(Phase::Rows, rows);
    first();
    let refused = stopped(Phase::Statistics, 0);
    assert!(
        refused.contains("`prony load oltp_read_write --scale 6 -o table_size=20000 --seed 7`"),
        "{refused}"
    );
    assert!(base.wrong("oltp_read_write")[0].starts_with("load: "));
    let report = base.load("oltp_read_write", &options, 2);
    assert_eq!(report.rows, 0, "all rows were there: {}", report.method);
    assert!(
        report.method.starts_with("continued: 6 of 6 tables"),
        "{}",
        report.method
    );
    whole.load("oltp_read_write", &options, 1);
    for table in 1..=6 {
        assert_eq!(digest(base, table), digest(whole, table));
        assert_eq!(shape(base, table), shape(whole, table));
    }
    assert_eq!(base.wrong("oltp_read_write"), [""; 0]);
    let again = base.load("oltp_read_write", &options, 2);
    assert_eq!(again.rows, 120_000, "a load that is whole is replaced");
}

/// Runs each workload whose transactions leave as many rows as they found, and holds their parts.
pub fn run_what_keeps_rows(base: &Base, protocol: QueryMode) {
    for (name, [reads, writes, others]) in [
        ("oltp_read_write", [14, 4, 2]),
        ("oltp_read_only", [14, 0, 2]),
        ("oltp_write_only", [0, 4, 2]),
        ("oltp_point_select", [1, 0, 0]),
        ("oltp_update_index", [0, 1, 0]),
        ("oltp_update_non_index", [0, 1, 0]),
        ("select_random_points", [1, 0, 0]),
        ("select_random_ranges", [1, 0, 0]),
    ] {
        let what = format!("{name} {protocol:?}");
        let ran = ran(base, name, &[("rand_type", "uniform")], protocol, (4, 25));
        is_whole(&ran, 100, &what);
        let now = parts(&ran);
        assert_eq!(now[0], reads * 100, "{what}");
        assert_eq!(now[1] + now[2], (writes + others) * 100, "{what}");
        // An update that waited for a row finds none where another user replaced it.
        let missed = now[2] - others * 100;
        assert!(missed <= 10, "{what}: {now:?}");
    }
}
