//! Databases for tests, and runs of scripts on them.

use prony_drive::{DriveJob, DriveResult, Error, RunEventKind, run};
use prony_measure::QueryCounts;
use prony_plan::{DrivePlan, QueryMode, Stop};
use prony_server::{Control, Environment, Target};
use prony_test_servers::TestControl;
use prony_workload::lua::{
    Command, Listener, LuaScript, LuaScriptError, RandomSettings, Report, ScriptOption,
    ScriptOptionValue, ScriptSettings, ThreadTask,
};
use prony_workload::oltp::distribution::Distribution;
use prony_workload::sysbench::{Driver, IgnoredErrors};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A separate database for a test, and the driver with which scripts use it.
#[derive(Clone)]
pub struct TestDatabase {
    pub target: Target,
    pub driver: Driver,
}

static NEXT_DATABASE_NUMBER: AtomicU32 = AtomicU32::new(0);

fn unique_database_name() -> String {
    format!(
        "lua_{}",
        NEXT_DATABASE_NUMBER.fetch_add(1, Ordering::Relaxed)
    )
}

impl TestDatabase {
    pub fn maria() -> TestDatabase {
        TestDatabase::maria_as("root")
    }

    /// Creates a database that scripts use as this account, which has no password and is created if
    /// necessary.
    pub fn maria_as(account: &str) -> TestDatabase {
        TestDatabase::on_maria(prony_test_servers::shared_mariadb(), account)
    }

    /// Creates a database on this server, such as a server that only the test uses.
    pub fn on_maria(server: &prony_test_servers::MariaDb, account: &str) -> TestDatabase {
        let env = Environment::without_home("tester");
        let target = |account: &str, database: &str| {
            let url = server.url_for(account, database);
            prony_server::resolve(&url, &env).expect("a good URL")
        };
        let name = unique_database_name();
        let mut control = Control::connect(&target("root", "test")).expect("connects");
        control.run(format!("create database {name}"));
        if account != "root" {
            for sql in ["create user", "grant all on *.* to"] {
                let sql = format!("{sql} {account}@localhost");
                control.run(sql);
            }
        }
        TestDatabase {
            target: target(account, &name),
            driver: Driver::Mysql,
        }
    }

    pub fn postgres() -> TestDatabase {
        let env = Environment::without_home("postgres");
        let target = |database: &str| {
            let url = prony_test_servers::shared_postgres().url_for(database);
            prony_server::resolve(&url, &env).expect("a good URL")
        };
        let name = unique_database_name();
        let mut control = Control::connect(&target("postgres")).expect("connects");
        control.run(format!("create database {name}"));
        TestDatabase {
            target: target(&name),
            driver: Driver::Pgsql,
        }
    }

    pub fn for_both_drivers() -> [TestDatabase; 2] {
        [TestDatabase::maria(), TestDatabase::postgres()]
    }

    pub fn execute(&self, sql: &str) {
        let mut control = Control::connect(&self.target).expect("connects");
        control.run(sql);
    }

    pub fn query_number(&self, sql: &str) -> i64 {
        let mut control = Control::connect(&self.target).expect("connects");
        let value = control.query_value(sql).expect("a good query");
        value.expect("not null").parse().expect("a number")
    }
}

/// Records output and messages as one text.
#[derive(Default)]
pub struct Recorder {
    text: Mutex<String>,
    pub scripts_must_end: Arc<AtomicBool>,
}

impl Recorder {
    fn record(&self, text: &str) {
        self.text.lock().expect("one thread").push_str(text);
    }

    pub fn text(&self) -> String {
        self.text.lock().expect("one thread").clone()
    }
}

impl Listener for Recorder {
    fn connection_refused(&self, error: &prony_server::control::Error) {
        self.record(&format!("{error}\n"));
    }
    fn report(&self, report: Report<'_>) {
        let line = match report {
            Report::Output(text) => String::from_utf8_lossy(&text).into_owned(),
            Report::ServerUnavailable(lines) => lines.into_owned(),
            Report::ThreadBlocked => "THREAD BLOCKED\n".to_owned(),
            Report::Fatal(text) => format!("FATAL: {text}\n"),
            Report::Alert(text) => format!("ALERT: {text}\n"),
            Report::Warning(text) => format!("WARNING: {text}\n"),
            Report::SqlFailed(failure) => format!(
                "FATAL: {:?} {}: {} [{}]\n",
                failure.operation, failure.error_number, failure.message, failure.sql
            ),
            Report::FunctionFailed { function, reason } => {
                self.scripts_must_end.store(true, Ordering::Relaxed);
                if function.is_empty() {
                    return;
                }
                format!("FATAL: `{function}' function failed: {reason}\n")
            }
            Report::ThreadDoneFailed(reason) => {
                format!("FATAL: `thread_done' function failed: {reason}\n")
            }
            Report::Stuck(reason) => format!("STUCK: {reason}\n"),
        };
        self.record(&line);
    }
}

#[derive(Clone)]
pub struct RunOptions {
    pub path: String,
    pub script_options: Vec<(&'static str, &'static str)>,
    pub threads: u32,
    pub events_per_thread: u64,
    /// If set, the run ends after this time, not after a number of events.
    pub run_time: Option<Duration>,
    pub query_mode: QueryMode,
    pub is_v1_1: bool,
    pub ignored_errors: IgnoredErrors,
    pub memory_limit_bytes: usize,
    pub max_query_gap_s: u64,
    /// Ends the run after this delay, as a signal would.
    pub end_after: Option<Duration>,
}

impl Default for RunOptions {
    fn default() -> Self {
        RunOptions {
            path: "./t.lua".to_owned(),
            script_options: Vec::new(),
            threads: 1,
            events_per_thread: 3,
            run_time: None,
            query_mode: QueryMode::Prepared,
            is_v1_1: false,
            ignored_errors: IgnoredErrors::Codes(vec![1213, 1020, 1205]),
            memory_limit_bytes: ScriptSettings::DEFAULT_MEMORY_LIMIT_BYTES,
            max_query_gap_s: ScriptSettings::DEFAULT_MAX_QUERY_GAP_S,
            end_after: None,
        }
    }
}

#[derive(Debug, Default)]
pub struct RunResult {
    pub text: String,
    pub events: u64,
    pub queries: QueryCounts,
    pub outside_queries: QueryCounts,
    /// The reasons why the run failed.
    pub failures: Vec<String>,
}

fn settings(
    database: &TestDatabase,
    script: &str,
    command: &str,
    options: &RunOptions,
    recorder: &Arc<Recorder>,
) -> ScriptSettings {
    use ScriptOptionValue::{List, Number, Switch, Text};
    let general_options = [
        ("threads", Number(f64::from(options.threads))),
        ("db_driver", Text(database.driver.name().to_owned())),
        ("percentile", Number(95.0)),
        ("verbosity", Number(3.0)),
        ("debug", Switch(false)),
        ("mysql_ignore_errors", List(vec!["1213".to_owned()])),
    ];
    let script_options = options
        .script_options
        .iter()
        .map(|(name, value)| ScriptOption {
            name: (*name).to_owned(),
            value: Some((*value).to_owned()),
            display_text: format!("--{name}={value}"),
            is_from_file: false,
        });
    let listener = Arc::clone(recorder) as Arc<dyn Listener>;
    let text = script.as_bytes().to_vec();
    ScriptSettings {
        is_v1_1: options.is_v1_1,
        version: if options.is_v1_1 { "1.1.0" } else { "1.0.20" }.to_owned(),
        argv: ["sysbench", "./t.lua", command].map(str::to_owned).to_vec(),
        command: Some(command.to_owned()),
        general_options: general_options
            .map(|(name, value)| (name.to_owned(), value))
            .to_vec(),
        script_options: script_options.collect(),
        threads: options.threads,
        server: Some(database.target.clone()),
        query_mode: options.query_mode,
        ignored_errors: options.ignored_errors.clone(),
        random: RandomSettings {
            default_distribution: Distribution::Uniform,
            ..RandomSettings::default()
        },
        memory_limit_bytes: options.memory_limit_bytes,
        max_query_gap_s: options.max_query_gap_s,
        scripts_must_end: Arc::clone(&recorder.scripts_must_end),
        ..ScriptSettings::new(&options.path, text, database.driver, listener)
    }
}

/// Runs a command of a script, as the sysbench command line does.
pub fn run_script(
    database: &TestDatabase,
    script: &str,
    command: &str,
    options: &RunOptions,
) -> RunResult {
    let recorder = Arc::new(Recorder::default());
    let mut result = RunResult::default();
    if let Some(delay) = options.end_after {
        let scripts_must_end = Arc::clone(&recorder.scripts_must_end);
        std::thread::spawn(move || {
            std::thread::sleep(delay);
            scripts_must_end.store(true, Ordering::Relaxed);
        });
    }
    if let Err(error) = run_command(database, script, command, options, &recorder, &mut result) {
        recorder.record(&match &error {
            LuaScriptError::Usage(text) => text.clone(),
            other => format!("FATAL: {other}\n"),
        });
    }
    result.text = recorder.text();
    result
}

fn run_command(
    database: &TestDatabase,
    script: &str,
    command: &str,
    options: &RunOptions,
    recorder: &Arc<Recorder>,
    result: &mut RunResult,
) -> Result<(), LuaScriptError> {
    let script = LuaScript::open(settings(database, script, command, options, recorder))?;
    let task = match script.classify_command(command)? {
        Command::Run => ThreadTask::Run,
        Command::Once => {
            let succeeded = script.run_command_once(command);
            result.outside_queries = script.take_outside_queries();
            if !succeeded? {
                recorder.record("failed\n");
            }
            return Ok(());
        }
        Command::Parallel => ThreadTask::Command {
            name: command.to_owned(),
        },
        Command::Help => return script.print_help(),
        Command::Missing => {
            recorder.record("missing\n");
            return Ok(());
        }
        Command::Unknown => {
            recorder.record("unknown\n");
            return Ok(());
        }
    };
    let is_run = task == ThreadTask::Run;
    let program = script.program(task)?;
    if is_run {
        let init_result = script.run_init();
        result.outside_queries = script.take_outside_queries();
        init_result?;
    }
    let plan = DrivePlan {
        clients: program.user_count(),
        threads: 2,
        stop: match options.run_time {
            Some(run_time) if is_run => Stop::After(run_time),
            _ => Stop::Transactions(if is_run { options.events_per_thread } else { 1 }),
        },
        grace: Duration::from_secs(60),
        protocol: options.query_mode,
        describe: false,
        ..DrivePlan::default()
    };
    let job = DriveJob {
        seed: 5,
        ..DriveJob::new(
            &program,
            &database.target,
            &plan,
            &recorder.scripts_must_end,
        )
    };
    let drive_result = match run(&job, &mut ()) {
        Ok(drive_result) => drive_result,
        Err(Error::UserNotReady(reason)) => {
            result.failures = vec![reason];
            return Ok(());
        }
        // A failed script interrupts the run. On a busy machine the run may end before it notices that the
        // user has failed.
        Err(Error::Interrupted) if recorder.scripts_must_end.load(Ordering::Relaxed) => {
            return Ok(());
        }
        Err(error) => panic!("{error}"),
    };
    let DriveResult {
        collected,
        events,
        failure,
        ..
    } = drive_result;
    let failures = events
        .into_iter()
        .filter(|event| event.kind == RunEventKind::UserFailed);
    result.failures = failures.map(|event| event.detail).chain(failure).collect();
    result.events = collected
        .measured
        .kinds
        .iter()
        .map(|kind| kind.committed)
        .sum();
    result.queries = collected.measured.queries;
    if is_run && result.failures.is_empty() {
        script.run_done()?;
    }
    Ok(())
}

pub fn run_default(database: &TestDatabase, script: &str) -> RunResult {
    run_script(database, script, "run", &RunOptions::default())
}
