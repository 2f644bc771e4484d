//! Runs against a real server: the calls of the observer and the stored document.

use prony_assertions::TestFolder;
use prony_drive::{DriveResult, LoadStart};
use prony_plan::{DrivePlan, ObservePlan, Plan, ServerPlan, Stop, WorkloadPlan};
use prony_runner::{
    Error, FinishedRun, Interrupt, Purpose, Recording, RunJob, RunObserver, RunSecond, RunServer,
    ServerObserverOptions, StorePolicy, prepare,
};
use prony_server::{Control, Environment, Target};
use prony_store::{Declared, EventKind, Run, RunState, RunStore, Severity, StoreError};
use prony_test_servers::TestControl;
use prony_workload::{LoadDivision, LoadRequest, Workload, find};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const WINDOW_S: u64 = 2;

fn create_database(name: &str) -> (Target, Plan) {
    let server = prony_test_servers::shared_postgres();
    let environment = Environment::without_home("postgres");
    let resolve = |url: &str| prony_server::resolve(url, &environment).expect("a good URL");
    let mut control = Control::connect(&resolve(&server.url_for("postgres"))).expect("connects");
    let create = format!("create database {name}");
    control.run(create);
    let target = resolve(&server.url_for(name));
    let plan = plan();
    let request = LoadRequest {
        target: &target,
        plan: &plan.workload,
        jobs: 1,
        seed: 1,
        division: LoadDivision::Undivided,
        progress: &(),
        stop: &AtomicBool::new(false),
    };
    tpcb().load(&request).expect("loads");
    (target, plan)
}

fn tpcb() -> &'static dyn Workload {
    find("tpcb").expect("listed")
}

fn plan() -> Plan {
    Plan {
        name: None,
        server: ServerPlan::Url(String::new()),
        read_from: None,
        workload: WorkloadPlan {
            name: "tpcb".to_owned(),
            scale: Some(1),
            options: Default::default(),
        },
        drive: DrivePlan {
            clients: 2,
            stop: Stop::After(Duration::from_secs(WINDOW_S)),
            warmup: Duration::from_secs(1),
            grace: Duration::from_secs(60),
            describe: false,
            seed: Some(1),
            ..DrivePlan::default()
        },
        observe: ObservePlan::default(),
        expect_outage: false,
        at: Vec::new(),
        ledger: false,
        require: Default::default(),
        agents: Vec::new(),
        install_agents: false,
        declared: Declared::default(),
        settings: Default::default(),
    }
}

/// Records its calls; may end the run or store it as a partial run at a given second.
#[derive(Default)]
struct RecordingObserver {
    calls: Vec<&'static str>,
    id: String,
    seconds: u64,
    server_seconds: usize,
    stop_at_second: Option<u64>,
    store_partial_at_second: Option<u64>,
    recording: Option<Recording>,
    flag: Arc<AtomicBool>,
}

/// The interrupt flag that [`RecordingObserver`] sets.
struct TestInterrupt(Arc<AtomicBool>);

impl Interrupt for TestInterrupt {
    fn flag(&self) -> &AtomicBool {
        &self.0
    }

    fn cause(&self) -> Option<&'static str> {
        self.0.load(Ordering::Relaxed).then_some("the test")
    }
}

impl RunObserver for RecordingObserver {
    fn begun(&mut self, run: &Run, recording: &Recording) {
        self.calls.push("begun");
        self.id.clone_from(&run.id);
        self.recording = Some(recording.clone());
    }

    fn not_stored(&mut self, _: &StoreError) {
        self.calls.push("not stored");
    }

    fn journal_failed(&mut self, error: &StoreError) {
        panic!("{error}");
    }

    fn started(&mut self, _: &LoadStart) {
        self.calls.push("started");
    }

    fn second_ended(&mut self, second: &RunSecond<'_>) {
        if self.seconds == 0 {
            self.calls.push("seconds");
        }
        self.seconds += 1;
        self.server_seconds += second.server_seconds.len();
        if self.store_partial_at_second == Some(self.seconds) {
            let recording = self.recording.as_ref().expect("begun");
            drop(recording.store_partial("cut off by the test"));
        }
        if self.stop_at_second == Some(self.seconds) {
            self.flag.store(true, Ordering::Relaxed);
        }
    }

    fn ended(&mut self, _: &DriveResult) -> Option<f64> {
        self.calls.push("ended");
        None
    }
}

/// Executes an observed run that is stored in `folder`.
fn execute_run(
    target: &Target,
    plan: &Plan,
    (store_policy, folder): (StorePolicy, &Path),
    observer: &mut RecordingObserver,
) -> Result<FinishedRun, Error> {
    let mut control = Control::connect(target).expect("connects");
    let prepared = prepare(
        &mut control,
        tpcb(),
        &plan.workload,
        &ServerObserverOptions::default(),
    )
    .expect("the data is loaded");
    drop(control);
    let interrupt = TestInterrupt(observer.flag.clone());
    prony_runner::run(
        RunJob {
            fleet: None,
            fleet_tool: None,
            request: serde_json::json!({ "by": "a test" }),
            purpose: Purpose::default(),
            plan,
            workload: tpcb(),
            ready_workload: &prepared.ready_workload,
            server: &RunServer::existing(target.clone(), "shown".to_owned()),
            facts: &prepared.facts,
            connection: &prepared.connection,
            observation: Some(prepared.observation),
            growth: Some(prepared.growth),
            read_server_txn_count: true,
            ends_if_refused: true,
            check_after: true,
            doctor: None,
            seed: 1,
            store_policy,
            store_folder: Some(folder),
            interrupt: &interrupt,
            new_sample_listener: None,
            on_connect_refused: None,
            kept_connections: None,
        },
        observer,
    )
}

fn committed_count(run: &Run) -> u64 {
    let kinds = run.measured.kinds.iter();
    kinds.map(|kind| kind.committed).sum()
}

fn load(folder: &Path, id: &str) -> Run {
    let store = RunStore::open(Some(folder)).expect("a store");
    store.load(id).expect("is stored")
}

#[test]
fn an_observer_is_called_in_order_and_the_run_is_stored() {
    let (target, plan) = create_database("life_whole");
    let (folder, mut observer) = (TestFolder::create(), RecordingObserver::default());
    let required = (StorePolicy::Required, &*folder);
    let finished = execute_run(&target, &plan, required, &mut observer).expect("runs");
    assert_eq!(observer.calls, ["begun", "started", "seconds", "ended"]);
    assert!(observer.seconds >= WINDOW_S, "{}", observer.seconds);
    let run = finished.run;
    assert_eq!(
        (run.state, run.ended_because.as_deref()),
        (RunState::Complete, None)
    );
    assert_eq!(run.id, observer.id);
    assert!(committed_count(&run) > 0);
    let observed = run.observed.as_ref().expect("was observed");
    assert!(observed.before.is_some() && observed.after.is_some());
    assert!(observer.server_seconds > 0 && observed.series.len() >= observer.server_seconds);
    assert!(!run.checks.is_empty(), "a run of 2 s is too short");
    let path = finished
        .store_result
        .expect("storing was requested")
        .expect("is stored");
    assert!(path.starts_with(&folder));
    let loaded = load(&folder, &run.id);
    assert_eq!(committed_count(&loaded), committed_count(&run));
    assert_eq!(loaded.series.len() as u64, observer.seconds);
}

#[test]
fn commands_run_at_their_times_and_are_events_with_their_output() {
    let (target, mut plan) = create_database("life_marks");
    plan.at = ["1500ms echo \"$PGDATABASE\"; exit 3 # secret", "1h true"]
        .map(|mark| mark.parse().expect("a mark"))
        .to_vec();
    let (folder, mut observer) = (TestFolder::create(), RecordingObserver::default());
    let required = (StorePolicy::Required, &*folder);
    let finished = execute_run(&target, &plan, required, &mut observer).expect("runs");
    let run = finished.run;
    let events = run.events.iter();
    let marks = events.filter(|event| event.kind == EventKind::Mark);
    let marks: Vec<_> = marks.collect();
    let result = marks[0].command.as_ref().expect("a command");
    assert_eq!(
        (result.exit_status, result.output.as_str()),
        (Some(3), "life_marks")
    );
    assert!(
        marks[0].at_s >= 1.5 && marks[0].until_s > Some(1.5),
        "{marks:?}"
    );
    let late = marks[1].command.as_ref().expect("a command");
    assert_eq!(late.exit_status, None, "{marks:?}");
    let check = run.checks.iter().find(|check| check.id == "marks");
    assert!(check.is_some_and(|check| check.severity == Severity::Invalid));
    assert!(
        !serde_json::to_string(&run)
            .expect("JSON")
            .contains("secret")
    );
}

#[test]
fn an_interrupted_run_is_partial_and_names_the_cause() {
    let (target, mut plan) = create_database("life_partial");
    plan.drive.stop = Stop::After(Duration::from_secs(600));
    let mut observer = RecordingObserver {
        stop_at_second: Some(2),
        ..RecordingObserver::default()
    };
    let unused_folder = TestFolder::create();
    let finished = execute_run(
        &target,
        &plan,
        (StorePolicy::DoNotStore, &unused_folder),
        &mut observer,
    )
    .expect("runs");
    assert_eq!(finished.run.state, RunState::Partial);
    assert_eq!(finished.run.ended_because.as_deref(), Some("the test"));
    assert!(finished.drive_result.interrupted && finished.store_result.is_none());
    assert_eq!(
        std::fs::read_dir(&unused_folder).expect("a folder").count(),
        0
    );
}

#[test]
fn a_recording_that_is_stored_early_is_a_partial_run() {
    let (target, plan) = create_database("life_cut_off");
    let mut observer = RecordingObserver {
        store_partial_at_second: Some(2),
        ..RecordingObserver::default()
    };
    let folder = TestFolder::create();
    let required = (StorePolicy::Required, &*folder);
    let finished = execute_run(&target, &plan, required, &mut observer).expect("runs");
    assert!(finished.store_result.is_none(), "it has been stored before");
    let run = load(&folder, &observer.id);
    assert_eq!(run.state, RunState::Partial);
    assert_eq!(run.ended_because.as_deref(), Some("cut off by the test"));
    assert_eq!(run.series.len(), 2);
}

#[test]
fn a_run_that_cannot_be_stored_continues_if_storing_is_optional() {
    let (target, plan) = create_database("life_unstored");
    // A file in place of the folder.
    let folder = TestFolder::create();
    let file = folder.write("file", "");
    let mut observer = RecordingObserver::default();
    let refused = execute_run(
        &target,
        &plan,
        (StorePolicy::Required, &file),
        &mut observer,
    );
    assert!(matches!(refused, Err(Error::NotStored(_))));
    assert_eq!(observer.calls, [""; 0]);
    let optional = (StorePolicy::IfPossible, &*file);
    let finished = execute_run(&target, &plan, optional, &mut observer).expect("runs");
    assert_eq!(observer.calls[0], "not stored");
    assert!(finished.store_result.is_none() && committed_count(&finished.run) > 0);
}
