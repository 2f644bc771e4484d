//! A script, a server, and what became of a run.

use prony_drive::{Driven, Error, Incident, Job, Observer, Start, run};
use prony_measure::Queries;
use prony_plan::{DrivePlan, IoEngine, Pace, QueryMode, Stop};
use prony_server::{Control, Environment, Target, embedded};
use prony_workload::lua::{
    Command, Given, Listener, Outside, Random, Refused, Script, Settings, SqlFailure, Task, Value,
    search_path,
};
use prony_workload::oltp::distribution::Distribution;
use prony_workload::sysbench::{Driver, Ignored};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A server with a database of a test's own.
#[derive(Clone)]
pub struct Base {
    pub target: Target,
    pub driver: Driver,
}

static NEXT: AtomicU32 = AtomicU32::new(0);

fn name() -> String {
    format!("lua_{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

impl Base {
    pub fn maria() -> Base {
        Base::maria_as("root")
    }

    /// For this account, which is made if need be, and has no password.
    pub fn maria_as(account: &str) -> Base {
        let env = Environment::new("tester", Path::new("/nonexistent"));
        let server = embedded::shared_mariadb();
        let target = |account: &str, database: &str| {
            let url = server.url_for(account, database);
            prony_server::resolve(&url, &env).expect("a good URL")
        };
        let name = name();
        let mut control = Control::connect(&target("root", "test")).expect("connects");
        control
            .execute(&format!("create database {name}"))
            .expect("creates");
        if account != "root" {
            for sql in ["create user", "grant all on *.* to"] {
                let sql = format!("{sql} {account}@localhost");
                control.execute(&sql).expect("an account");
            }
        }
        Base {
            target: target(account, &name),
            driver: Driver::Mysql,
        }
    }

    pub fn postgres() -> Base {
        let env = Environment::new("postgres", Path::new("/nonexistent"));
        let target = |database: &str| {
            let url = embedded::shared().url_for(database);
            prony_server::resolve(&url, &env).expect("a good URL")
        };
        let name = name();
        let mut control = Control::connect(&target("postgres")).expect("connects");
        control
            .execute(&format!("create database {name}"))
            .expect("creates");
        Base {
            target: target(&name),
            driver: Driver::Pgsql,
        }
    }

    pub fn both() -> [Base; 2] {
        [Base::maria(), Base::postgres()]
    }

    pub fn execute(&self, sql: &str) {
        let mut control = Control::connect(&self.target).expect("connects");
        control.execute(sql).expect("a good statement");
    }

    pub fn number(&self, sql: &str) -> i64 {
        let mut control = Control::connect(&self.target).expect("connects");
        let value = control.query_value(sql).expect("a good query");
        value.expect("not null").parse().expect("a number")
    }
}

/// Keeps all that is told.
#[derive(Default)]
pub struct Heard {
    lines: Mutex<String>,
    pub ended: Arc<AtomicBool>,
}

impl Heard {
    fn say(&self, text: &str) {
        self.lines.lock().expect("whole").push_str(text);
    }

    pub fn text(&self) -> String {
        self.lines.lock().expect("whole").clone()
    }
}

impl Listener for Heard {
    fn shown(&self, text: &[u8]) {
        self.say(&String::from_utf8_lossy(text));
    }
    fn unreachable(&self, lines: &str) {
        self.say(lines);
    }
    fn refused(&self, error: &prony_server::control::Error) {
        self.say(&format!("{error}\n"));
    }
    fn kept_waiting(&self) {
        self.say("KEPT WAITING\n");
    }
    fn fatal(&self, text: &str) {
        self.say(&format!("FATAL: {text}\n"));
    }
    fn alert(&self, text: &str) {
        self.say(&format!("ALERT: {text}\n"));
    }
    fn warning(&self, text: &str) {
        self.say(&format!("WARNING: {text}\n"));
    }
    fn sql_failed(&self, failure: &SqlFailure<'_>) {
        self.say(&format!(
            "FATAL: {:?} {}: {} [{}]\n",
            failure.step, failure.number, failure.said, failure.sql
        ));
    }
    fn failed(&self, function: &str, reason: &str) {
        self.ended.store(true, Ordering::Relaxed);
        if !function.is_empty() {
            self.say(&format!("FATAL: `{function}' function failed: {reason}\n"));
        }
    }
    fn done_failed(&self, reason: &str) {
        self.say(&format!("FATAL: `thread_done' function failed: {reason}\n"));
    }
    fn stuck(&self, reason: &str) {
        self.say(&format!("STUCK: {reason}\n"));
    }
}

/// How a script is run.
#[derive(Clone)]
pub struct How {
    pub path: String,
    pub options: Vec<(&'static str, &'static str)>,
    pub threads: u32,
    pub events: u64,
    pub time: Option<Duration>,
    pub mode: QueryMode,
    pub newer: bool,
    pub ignored: Ignored,
    pub memory_limit_bytes: usize,
    pub patience_s: u64,
}

impl Default for How {
    fn default() -> Self {
        How {
            path: "./t.lua".to_owned(),
            options: Vec::new(),
            threads: 1,
            events: 3,
            time: None,
            mode: QueryMode::Prepared,
            newer: false,
            ignored: Ignored::Codes(vec![1213, 1020, 1205]),
            memory_limit_bytes: Settings::MEMORY_LIMIT_BYTES,
            patience_s: Settings::PATIENCE_S,
        }
    }
}

/// What became of a run.
#[derive(Debug, Default)]
pub struct Ran {
    pub text: String,
    pub events: u64,
    pub queries: Queries,
    pub outside: Outside,
    pub failures: Vec<String>,
}

fn settings(base: &Base, script: &str, command: &str, how: &How, heard: &Arc<Heard>) -> Settings {
    let general = [
        ("threads", Value::Number(f64::from(how.threads))),
        ("db_driver", Value::Text(base.driver.name().to_owned())),
        ("percentile", Value::Number(95.0)),
        ("verbosity", Value::Number(3.0)),
        ("debug", Value::Switch(false)),
        ("mysql_ignore_errors", Value::List(vec!["1213".to_owned()])),
    ];
    let given = how.options.iter().map(|(name, value)| Given {
        name: (*name).to_owned(),
        value: Some((*value).to_owned()),
        shown: format!("--{name}={value}"),
        from_file: false,
    });
    Settings {
        text: script.as_bytes().to_vec(),
        path: how.path.clone(),
        newer: how.newer,
        version: if how.newer { "1.1.0" } else { "1.0.20" }.to_owned(),
        version_string: "sysbench 1.0.20".to_owned(),
        argv: ["sysbench", "./t.lua", command].map(str::to_owned).to_vec(),
        command: Some(command.to_owned()),
        general: general
            .map(|(name, value)| (name.to_owned(), value))
            .to_vec(),
        given: given.collect(),
        threads: how.threads,
        driver: base.driver,
        server: Some(base.target.clone()),
        mode: how.mode,
        no_driver: None,
        no_server: None,
        ignored: how.ignored.clone(),
        random: Random {
            default: Distribution::Uniform,
            iterations: 12,
            part_pct: 1,
            share_pct: 75,
            pareto_h: 0.2,
            zipfian_exponent: 0.8,
        },
        search_path: search_path(None, None),
        c_search_path: None,
        memory_limit_bytes: how.memory_limit_bytes,
        patience_s: how.patience_s,
        end: Arc::clone(&heard.ended),
        listener: Arc::clone(heard) as Arc<dyn Listener>,
    }
}

struct Silent;

impl Observer for Silent {
    fn started(&mut self, _: &Start) {}
    fn row(&mut self, _: &prony_measure::Row, _: &prony_measure::Schedule) {}
}

/// What a command of a script does, as the front lets it.
pub fn ran(base: &Base, script: &str, command: &str, how: &How) -> Ran {
    let heard = Arc::new(Heard::default());
    let mut ran = Ran::default();
    if let Err(refused) = go(base, script, command, how, &heard, &mut ran) {
        heard.say(&match &refused {
            Refused::Usage(text) => text.clone(),
            other => format!("FATAL: {other}\n"),
        });
    }
    ran.text = heard.text();
    ran
}

fn go(
    base: &Base,
    script: &str,
    command: &str,
    how: &How,
    heard: &Arc<Heard>,
    ran: &mut Ran,
) -> Result<(), Refused> {
    let script = Script::open(settings(base, script, command, how, heard))?;
    let of = |is_function, is_parallel| Task::Command {
        word: command.to_owned(),
        is_function,
        is_parallel,
    };
    let task = match script.command(command)? {
        Command::Run => Task::Run,
        Command::Once => of(false, false),
        Command::Parallel => of(false, true),
        Command::Function => of(true, false),
        Command::Help => return script.help(),
        Command::Missing => {
            heard.say("missing\n");
            return Ok(());
        }
        Command::Unknown => {
            heard.say("unknown\n");
            return Ok(());
        }
    };
    let is_run = task == Task::Run;
    let program = script.program(task)?;
    if is_run {
        let done = script.init();
        ran.outside = script.outside();
        done?;
    }
    let plan = DrivePlan {
        clients: program.users(),
        threads: 2,
        pace: Pace::Closed,
        stop: match how.time {
            Some(time) if is_run => Stop::After(time),
            _ => Stop::Transactions(if is_run { how.events } else { 1 }),
        },
        warmup: Duration::ZERO,
        grace: Duration::from_secs(60),
        latency_limit: None,
        reconnect: true,
        connect_counts: true,
        protocol: how.mode,
        describe: false,
        io: IoEngine::Auto,
        connect_per_transaction: false,
        tcp_sample: 0,
        seed: None,
        pin: false,
    };
    let job = Job {
        program: &program,
        target: &base.target,
        tcp_target: None,
        plan: &plan,
        seed: 5,
        interrupt: &heard.ended,
        tap: None,
        refused: None,
    };
    let driven = match run(&job, &mut Silent) {
        Ok(driven) => driven,
        Err(Error::Unready(reason)) => {
            ran.failures = vec![reason];
            return Ok(());
        }
        Err(error) => panic!("{error}"),
    };
    let Driven {
        collected,
        events,
        failure,
        ..
    } = driven;
    let failed = events
        .into_iter()
        .filter(|event| event.what == Incident::UserFailed);
    ran.failures = failed.map(|event| event.detail).chain(failure).collect();
    ran.events = collected
        .measured
        .kinds
        .iter()
        .map(|kind| kind.committed)
        .sum();
    ran.queries = collected.measured.queries;
    if is_run && ran.failures.is_empty() {
        script.done()?;
    }
    Ok(())
}

/// A run whose script and server are all that matters.
pub fn plain(base: &Base, script: &str) -> Ran {
    ran(base, script, "run", &How::default())
}
