//! Replays on a simulated network and clock: times are exact to the nanosecond.

use crate::replay::file::SessionRecording;
use crate::replay::program::{ReplayOptions, ReplayProgram};
use crate::replay::recorder::{LogEvent, SessionRecorder};
use crate::replay::timetable::CONNECT_LEAD_NS;
use prony_document::SqlDialect;
use prony_drive::io::sim::{Action, Answer, Machine, SimServer};
use prony_drive::{DriveJob, DriveResult, run_simulated};
use prony_plan::{DrivePlan, Pace, REPLAY_LEAD, Stop};
use prony_server::{Environment, resolve};
use prony_wire::QueryMode;
use std::borrow::Cow;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// AuthenticationOk and ReadyForQuery; the reply to a statement.
const WELCOME: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
const DONE: &[u8] = b"C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I";
const ERROR: &[u8] = b"E\0\0\0\x1eSERROR\0C40001\0Mtry again\0\0Z\0\0\0\x05I";

/// A server that replies after a fixed time, with an error if the text says so, and keeps when statements arrived.
struct Server {
    reply_ns: u64,
    arrivals: Arc<Mutex<Vec<u64>>>,
}

impl SimServer for Server {
    fn connect(&mut self, _: u32, _: u64) -> Result<u64, i32> {
        Ok(10_000)
    }

    fn request(&mut self, _: u32, bytes: &[u8], now_ns: u64, answers: &mut Vec<Answer>) {
        let (after_ns, reply) = match bytes.first() {
            Some(0) => (20_000, WELCOME),
            Some(b'X') | None => return,
            Some(_) => {
                self.arrivals.lock().expect("one thread").push(now_ns);
                let fails = bytes.windows(5).any(|part| part == b"fails");
                (self.reply_ns, if fails { ERROR } else { DONE })
            }
        };
        answers.push(Answer {
            after_ns,
            action: Action::Send(Cow::Borrowed(reply)),
        });
        if bytes.windows(5).any(|part| part == b"drops") {
            answers.push(Answer {
                after_ns: after_ns + 1_000_000,
                action: Action::Close(0),
            });
        }
    }
}

/// Records statements: the session, when it began in µs, its text, and whether it failed. The text RESET stands for the
/// command of a pool.
fn record(
    name: &str,
    statements: impl Iterator<Item = (usize, i64, &'static str, bool)>,
) -> SessionRecording {
    let path = std::env::temp_dir().join(format!("prony-{name}-{}", std::process::id()));
    let file = std::fs::File::create(&path).expect("a file");
    let mut recorder = SessionRecorder::new(file, SqlDialect::PostgreSql, true).expect("writable");
    for (session, at_us, text, has_failed) in statements {
        let event = if text == "RESET" {
            LogEvent::Reset
        } else if has_failed {
            LogEvent::Failed {
                at_us,
                text: Some(text),
            }
        } else {
            LogEvent::of_text(at_us, Some(100), text)
        };
        recorder
            .event(&session.to_string(), event)
            .expect("writable");
    }
    recorder.finish().expect("writable");
    let recording = SessionRecording::open(&path).expect("a recording");
    // It stays open.
    std::fs::remove_file(path).expect("a file");
    recording
}

/// Replays a recording; returns the figures and when each statement arrived, in order.
fn replay(
    recording: SessionRecording,
    speed: Option<f64>,
    copies: u32,
    reply_ns: u64,
) -> (DriveResult, Vec<u64>, ReplayProgram) {
    let replayed = replay_guarded(recording, speed, copies, reply_ns, "");
    assert_eq!(replayed.0.events, []);
    replayed
}

/// The same, with a text that forbids writes unless it is empty.
fn replay_guarded(
    recording: SessionRecording,
    speed: Option<f64>,
    copies: u32,
    reply_ns: u64,
    guard: &'static str,
) -> (DriveResult, Vec<u64>, ReplayProgram) {
    let clients = recording.concurrent_sessions(copies) * copies;
    let options = ReplayOptions {
        speed,
        copies,
        allows_writes: guard.is_empty(),
    };
    let program = ReplayProgram::new(Arc::new(recording), options, guard, Vec::new());
    let plan = DrivePlan {
        clients,
        pace: if speed.is_some() { Pace::Timetable } else { Pace::Closed },
        stop: Stop::WorkDone,
        warmup: speed.map_or(Duration::ZERO, |_| REPLAY_LEAD),
        protocol: QueryMode::Simple,
        ..DrivePlan::default()
    };
    let environment = Environment::new("tester", &std::env::temp_dir());
    let target = resolve("host=127.0.0.1 sslmode=disable user=tester", &environment);
    let (target, interrupt) = (target.expect("a target"), AtomicBool::new(false));
    let job = DriveJob::new(&program, &target, &plan, &interrupt);
    let arrivals = Arc::new(Mutex::new(Vec::new()));
    let server = Server {
        reply_ns,
        arrivals: Arc::clone(&arrivals),
    };
    let driven = run_simulated(&job, Machine::default(), server, &mut ()).expect("the run starts");
    let arrivals = arrivals.lock().expect("one thread").clone();
    (driven, arrivals, program)
}

#[test]
fn ten_thousand_sessions_of_one_thread_keep_their_times() {
    // Session n begins at n µs, and has five statements, 20 ms apart.
    let times = |session: usize, number: i64| session as i64 + number * 20_000;
    let statements = (0..5).flat_map(|number| {
        (0..10_000).map(move |session| (session, times(session, number), "SELECT 1", false))
    });
    let recording = record("ten-thousand", statements);
    assert_eq!(recording.concurrent_sessions(1), 10_000);
    let (driven, arrivals, _) = replay(recording, Some(2.0), 1, 50_000);
    let tally = driven.collected.measured.all_kinds();
    assert_eq!((tally.committed, tally.failed), (50_000, 0));
    // No statement was late: each took what the server took.
    let expected = (50_000, 50_000);
    assert_eq!((tally.response.min_ns, tally.response.max_ns), expected);
    let start_ns = driven.start.schedule.start_ns + CONNECT_LEAD_NS;
    let mut due_ns: Vec<u64> = (0..5)
        .flat_map(|number| (0..10_000).map(move |session| times(session, number) as u64 * 500))
        .map(|after_ns| start_ns + after_ns)
        .collect();
    due_ns.sort_unstable();
    assert_eq!(arrivals, due_ns);
}

#[test]
fn a_slow_server_makes_statements_late_and_a_session_waits_for_its_replies() {
    let statements = (0..3).map(|number| (0, number * 2_000, "SELECT 1", false));
    let (driven, arrivals, _) = replay(record("slow", statements), Some(1.0), 1, 10_000_000);
    let tally = driven.collected.measured.all_kinds();
    // Due at 0, 2 and 4 ms, and answered at 10, 20 and 30 ms.
    assert_eq!(tally.response.mean_ns(), 18e6);
    assert_eq!(tally.service().mean_ns(), 10e6);
    let gaps: Vec<u64> = arrivals.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(gaps, [10_000_000; 2]);
    // The window begins when the first statement is due, not when its session connects, and ends with the last reply.
    let measured = &driven.collected.measured;
    let length_ns = measured.end_ns - measured.start_ns;
    assert!((30_000_000..31_000_000).contains(&length_ns), "{length_ns}");
}

#[test]
fn the_rest_of_a_block_whose_first_part_failed_is_left_out() {
    // Longer transactions are recorded in parts.
    let long: &str = Box::leak(format!("SELECT '{}'", "x".repeat(2 << 20)).into_boxed_str());
    let texts = [
        (0, 0, "BEGIN", false),
        (0, 10, "SELECT 'fails' as new", false),
        (0, 20, long, false),
        (0, 30, "SELECT 'of the second part'", false),
        (0, 40, long, false),
        (0, 50, "COMMIT", false),
        (0, 60, "SELECT 1", false),
    ];
    let recording = record("parts", texts.into_iter());
    assert_eq!(recording.sessions[0].transactions, 4);
    let (driven, arrivals, _) = replay(recording, Some(1.0), 1, 1_000);
    let tally = driven.collected.measured.all_kinds();
    assert_eq!((tally.committed, tally.failed), (1, 1));
    // BEGIN, the statement that fails, and what is after COMMIT.
    assert_eq!(arrivals.len(), 3);
}

#[test]
fn a_session_that_a_pool_resets_is_read_only_again() {
    let texts = [
        (0, 0, "SELECT 1", false),
        (0, 1_000, "DISCARD ALL", false),
        (0, 2_000, "SELECT 1", false),
    ];
    let recording = record("reset", texts.into_iter());
    assert!(!recording.may_write());
    let (driven, arrivals, _) = replay_guarded(recording, Some(1.0), 1, 1_000, "SET guard");
    assert_eq!(driven.collected.measured.all_kinds().failed, 0);
    // The guard comes once more, directly after DISCARD ALL.
    assert_eq!(arrivals.len(), 5);
    assert_eq!(arrivals[3] - arrivals[2], 1_000);
}

#[test]
fn a_session_that_a_driver_resets_has_a_new_connection() {
    let texts = [
        (0, 0, "SELECT 1", false),
        (0, 1_000_000, "BEGIN", false),
        (0, 1_000_000, "RESET", false),
        (0, 5_000_000, "SELECT 1", false),
    ];
    let recording = record("driver", texts.into_iter());
    let (driven, arrivals, _) = replay_guarded(recording, Some(1.0), 1, 1_000, "SET guard");
    assert_eq!(driven.collected.measured.all_kinds().failed, 0);
    // The connection is opened before its next statement, which is in time, and is read-only again.
    assert_eq!(arrivals.len(), 5);
    let second = 1_000_000_000;
    assert!(arrivals[4] - arrivals[3] > second / 2, "{arrivals:?}");
    assert_eq!(arrivals[4] - arrivals[1], 5 * second);
}

#[test]
fn a_connection_that_is_opened_again_is_read_only_again() {
    let texts = [
        (0, 0, "SELECT 'drops'", false),
        (0, 5_000_000, "SELECT 1", false),
    ];
    let recording = record("guarded", texts.into_iter());
    let (_, arrivals, _) = replay_guarded(recording, Some(1.0), 1, 1_000, "SET guard");
    // The guard comes before each of the two, which have connections of their own.
    assert_eq!(arrivals.len(), 4);
}

#[test]
fn as_fast_as_possible_nothing_waits_and_copies_are_whole() {
    let statements = (0..3).map(|number| (0, number * 2_000_000, "SELECT 1", false));
    let (driven, arrivals, _) = replay(record("fast", statements), None, 4, 1_000);
    assert_eq!(driven.collected.measured.all_kinds().committed, 12);
    let length_ns = arrivals[arrivals.len() - 1] - arrivals[0];
    assert!(length_ns < 1_000_000, "{length_ns}");
}

#[test]
fn errors_are_new_unless_the_recording_has_them() {
    use prony_session::Program;
    let statements = [
        (0, 0, "SELECT 'fails'", true),
        (0, 10, "SELECT 'fails' as new", false),
        (0, 20, "SELECT 'well'", true),
        (0, 30, "SELECT 1", false),
    ];
    let (driven, arrivals, program) = replay(
        record("errors", statements.into_iter()),
        Some(1.0),
        1,
        1_000,
    );
    let tally = driven.collected.measured.all_kinds();
    let expected = (2, 1, 1);
    assert_eq!((tally.committed, tally.rolled_back, tally.failed), expected);
    assert_eq!(arrivals.len(), 4);
    let shares = program.action_shares();
    let count = |name: &str| {
        let share = shares.iter().find(|share| share.name == name);
        share.map(|share| share.count)
    };
    assert_eq!(count("failed as recorded"), Some(1));
    assert_eq!(count("failed only in the recording"), Some(1));
}
