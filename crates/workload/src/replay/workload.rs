//! The `replay` workload: recorded sessions. Never creates or drops tables.

use super::file::{SessionRecording, SessionRecordingError};
use super::program::{ReplayOptions, ReplayProgram};
use crate::describe::{Growth, LedgerEntries, OptionKind, OptionSpec};
use crate::engines::product_names;
use crate::option_reader::{OptionReader, option_specs};
use crate::parallel::lock;
use crate::{Error, ReadyWorkload, Result, Workload};
use prony_document::SqlDialect;
use prony_plan::{QueryMode, REPLAY_WORKLOAD, UserError, WorkloadPlan};
use prony_server::Control;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

/// Sessions that `prony capture --log` recorded.
pub static REPLAY: ReplayWorkload = ReplayWorkload;

pub struct ReplayWorkload;

const OPTIONS: &[OptionSpec] = option_specs! {
    file: OptionKind::Text, None, "the recording, which `prony capture --log` writes";
    speed: OptionKind::Text, Some("1"),
        "how much faster than recorded, such as 2 or 0.5; max: as fast as the server replies";
    sessions: OptionKind::Integer(1, 1000), Some("1"), "how often each session is replayed at the same time";
    writes: OptionKind::Switch, Some("off"),
        "whether statements that write are replayed: only on a copy of the server";
};
const SPEED_MAX: f64 = 1000.0;

/// What the plan of a replay says.
struct Request {
    recording: Arc<SessionRecording>,
    file: String,
    options: ReplayOptions,
}

/// The recording that a plan replays, if it names one that can be read.
pub fn load_of(file: &str) -> Option<Arc<SessionRecording>> {
    open(Path::new(file)).ok()
}

/// A file as it was when it was opened: its path, device, number, length and time.
type FileVersion = (PathBuf, [u64; 3], SystemTime);

/// The recordings that this process has opened: the checks of a plan and each of its runs need the same index, which may
/// be large.
static OPENED: Mutex<Vec<(FileVersion, Arc<SessionRecording>)>> = Mutex::new(Vec::new());

/// Opens a recording, unless it is open and unchanged.
fn open(path: &Path) -> Result<Arc<SessionRecording>, SessionRecordingError> {
    let version = fs::metadata(path).and_then(|meta| {
        let numbers = [meta.dev(), meta.ino(), meta.len()];
        Ok((path.to_owned(), numbers, meta.modified()?))
    });
    let mut opened = lock(&OPENED);
    if let Ok(version) = &version
        && let Some((_, recording)) = opened.iter().find(|(known, _)| known == version)
    {
        return Ok(Arc::clone(recording));
    }
    let recording = Arc::new(SessionRecording::open(path)?);
    if let Ok(version) = version {
        opened.retain(|(known, _)| known.0 != version.0);
        opened.push((version, Arc::clone(&recording)));
    }
    Ok(recording)
}

/// The recording and what is done with it.
fn read(plan: &WorkloadPlan) -> Result<Request, Vec<Error>> {
    let mut reader = OptionReader::new(plan, OPTIONS);
    let speed = match &*reader.text("speed") {
        "max" => None,
        text => {
            let speed = text.parse::<f64>().ok();
            let is_valid = |speed: &f64| *speed >= 1.0 / SPEED_MAX && *speed <= SPEED_MAX;
            let speed = speed.filter(is_valid);
            if speed.is_none() {
                reader.add_problem(
                    format!("\"{text}\" is not a speed"),
                    "a number from 0.001 to 1000, such as 2, or max",
                );
            }
            speed
        }
    };
    let options = ReplayOptions {
        speed,
        copies: reader.integer("sessions"),
        allows_writes: reader.switch("writes"),
    };
    let file = reader.text("file");
    let recording = match open(Path::new(&file)) {
        _ if file.is_empty() => {
            reader.add_problem("no recording is named".to_owned(), "prony replay FILE");
            None
        }
        Ok(recording) => Some(recording),
        Err(error) => {
            let parts = error.parts();
            reader.add_problem(parts.problem, parts.hint.unwrap_or_default());
            None
        }
    };
    if let Some(recording) = &recording {
        let (is_masked, writes) = (recording.index.is_masked, writes(recording));
        let entries = recording.index.statements.iter();
        let calls: u64 = entries.map(|statement| statement.calls).sum();
        if is_masked {
            reader.add_problem(
                format!("{file} has no literals, so that its statements would find other rows"),
                "record the log with --keep-literals, where its data may be kept",
            );
        } else if writes > 0 && !options.allows_writes {
            reader.add_problem(
                format!("{file} has statements that may write: {writes} of {calls}"),
                "give --writes if the server is a copy that may be changed",
            );
        }
    }
    let recording = reader.finish(recording)?;
    // Without one, a problem was added.
    let recording = recording.ok_or_else(Vec::new)?;
    Ok(Request {
        recording,
        file,
        options,
    })
}

/// Number of statements that may write.
fn writes(recording: &SessionRecording) -> u64 {
    let statements = recording.index.statements.iter();
    let writes = statements.filter(|statement| statement.writes);
    writes.map(|statement| statement.calls).sum()
}

impl Workload for ReplayWorkload {
    fn name(&self) -> &'static str {
        REPLAY_WORKLOAD
    }

    fn title(&self) -> &'static str {
        "recorded sessions, each on a connection of its own, at their times: prony replay FILE"
    }

    fn has_users_statements(&self) -> bool {
        true
    }

    fn options(&self) -> &'static [OptionSpec] {
        OPTIONS
    }

    fn dialects(&self) -> &'static [SqlDialect] {
        &[SqlDialect::PostgreSql, SqlDialect::MySql]
    }

    fn workload_to_load(&self, _plan: &WorkloadPlan) -> Option<&'static str> {
        None
    }

    fn growth(&self, _plan: &WorkloadPlan, _scale: u32) -> Growth {
        Growth::Uncounted("it is not known what the sessions write")
    }

    fn ledger_entries(&self, _protocol: QueryMode) -> LedgerEntries {
        LedgerEntries::Impossible
    }

    fn check_options(&self, plan: &WorkloadPlan, _protocol: QueryMode) -> Vec<Error> {
        read(plan).err().unwrap_or_default()
    }

    fn with_texts_of_files(&self, _plan: &WorkloadPlan) -> Result<WorkloadPlan> {
        Err(Error::InvalidRequest {
            problem: "agents cannot replay sessions: the recording is on this machine".to_owned(),
            hint: "run without --agent".to_owned(),
        })
    }

    fn no_tables_error(&self) -> Error {
        Error::InvalidRequest {
            problem: "a replay has no tables of its own".to_owned(),
            hint: "restore a copy of the database on which the sessions were recorded".to_owned(),
        }
    }

    fn program(&self, control: &mut Control, plan: &WorkloadPlan) -> Result<ReadyWorkload> {
        // Return only the first problem; `check_options` returns all of them.
        let request = read(plan)?;
        let (recorded, dialect) = (request.recording.index.dialect, control.dialect());
        if recorded != dialect {
            let [recorded, here] = [recorded, dialect].map(product_names);
            return Err(Error::InvalidRequest {
                problem: format!(
                    "{} was recorded on {recorded}, and the server is {here}",
                    request.file
                ),
                hint: format!("replay it on {recorded}"),
            });
        }
        let read_only = match dialect {
            SqlDialect::PostgreSql => "SET default_transaction_read_only = on",
            SqlDialect::MySql | SqlDialect::TransactSql => "SET SESSION TRANSACTION READ ONLY",
        };
        let settings = settings(&request);
        let program = ReplayProgram::new(request.recording, request.options, read_only, settings);
        Ok(ReadyWorkload::new(Arc::new(program), 1))
    }
}

/// What determines the figures, for the document.
fn settings(request: &Request) -> Vec<(&'static str, String)> {
    let (index, options) = (&request.recording.index, &request.options);
    let sum = |count: fn(&super::statements::RecordedStatement) -> u64| {
        index.statements.iter().map(count).sum::<u64>().to_string()
    };
    vec![
        ("file", request.file.clone()),
        (
            "speed",
            options
                .speed
                .map_or("max".to_owned(), |speed| speed.to_string()),
        ),
        ("copies of each session", options.copies.to_string()),
        (
            "writes",
            if options.allows_writes { "on" } else { "off" }.to_owned(),
        ),
        (
            "recorded sessions",
            request.recording.sessions.len().to_string(),
        ),
        ("recorded statements", sum(|statement| statement.calls)),
        ("recorded errors", index.errors.to_string()),
        (
            "recorded time",
            format!("{:.1} s", request.recording.length_us() as f64 / 1e6),
        ),
    ]
}
