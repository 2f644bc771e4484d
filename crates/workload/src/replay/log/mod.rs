//! Reads the logs of servers as events of sessions, line by line.
//!
//! In: files of one server. Out: [`LogEvent`]s in the order of the log. Memory: one record. Must never: guess a time that
//! the log does not have.

mod clock;
mod mysql;
mod postgres;
mod records;

use super::recorder::{LogEvent, Recorded, SessionRecorder};
use prony_document::SqlDialect;
use prony_plan::{ErrorParts, UserError, system_error};
use records::Records;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Write};
use std::path::{Path, PathBuf};

/// A longer duration is no duration: 30 years.
const DURATION_US_MAX: f64 = 1e15;

/// A duration in microseconds, unless it is none.
fn duration_us(us: f64) -> Option<u64> {
    (0.0..=DURATION_US_MAX)
        .contains(&us)
        .then(|| us.round() as u64)
}

/// Why a log cannot be recorded.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.parts().sentence())]
pub enum LogError {
    Read {
        path: PathBuf,
        source: io::Error,
    },
    Write(io::Error),
    UnknownFormat(PathBuf),
    MixedFormats(PathBuf),
    Compressed(PathBuf),
    /// No log has more than the header of a new log.
    Empty,
    NoStatements(LogFormat),
}

/// What fails without a path is the recording.
impl From<io::Error> for LogError {
    fn from(source: io::Error) -> LogError {
        LogError::Write(source)
    }
}

impl UserError for LogError {
    fn parts(&self) -> ErrorParts {
        match self {
            LogError::Read { path, source } => {
                let cause = system_error(source);
                ErrorParts::new(format!("cannot read {}: {cause}", path.display()))
            }
            LogError::Write(source) => {
                ErrorParts::new(format!("cannot write the recording: {}", system_error(source)))
            }
            LogError::UnknownFormat(path) => {
                ErrorParts::new(format!("{} is no log that can be read", path.display())).with_hint(
                    "PostgreSQL's csvlog or jsonlog (log_destination), or the general or slow query log of MySQL or MariaDB",
                )
            }
            LogError::MixedFormats(path) => {
                ErrorParts::new(format!("{} has another format than the first log", path.display()))
                    .with_hint("record the logs of one server, in one format")
            }
            LogError::Compressed(path) => {
                let hint = format!("zcat {} | prony capture --log -", path.display());
                ErrorParts::new(format!("{} is compressed", path.display())).with_hint(hint)
            }
            LogError::Empty => ErrorParts::new("the log is empty")
                .with_hint("log while the application works"),
            LogError::NoStatements(format) => {
                ErrorParts::new("the log has no statement").with_hint(format.how_to_log())
            }
        }
    }
}

/// The format of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    PostgresCsv,
    PostgresJson,
    MysqlGeneral,
    MysqlSlow,
}

impl LogFormat {
    /// The format of a log that begins so. Its first line may be the rest of a record.
    fn of(start: &str) -> Option<LogFormat> {
        start.lines().find_map(|line| {
            if line.starts_with('{') {
                Some(LogFormat::PostgresJson)
            } else if line.starts_with("# Time: ") || line.starts_with("# User@Host: ") {
                Some(LogFormat::MysqlSlow)
            } else if is_csv(line) {
                Some(LogFormat::PostgresCsv)
            } else if mysql::is_general(line) {
                Some(LogFormat::MysqlGeneral)
            } else {
                None
            }
        })
    }

    fn dialect(self) -> SqlDialect {
        match self {
            LogFormat::PostgresCsv | LogFormat::PostgresJson => SqlDialect::PostgreSql,
            LogFormat::MysqlGeneral | LogFormat::MysqlSlow => SqlDialect::MySql,
        }
    }

    fn how_to_log(self) -> &'static str {
        match self {
            LogFormat::PostgresCsv | LogFormat::PostgresJson => {
                "set log_min_duration_statement = 0 and lc_messages = 'C', and log while the application works"
            }
            LogFormat::MysqlGeneral => "set general_log = ON, and log while the application works",
            LogFormat::MysqlSlow => {
                "set slow_query_log = ON and long_query_time = 0, and log while the application works"
            }
        }
    }
}

/// Whether a line begins a record of csvlog. The log on stderr begins with a time too, and has no columns.
fn is_csv(line: &str) -> bool {
    let mut fields = line.split(',');
    let has_time = fields
        .next()
        .is_some_and(|time| clock::postgres(time).is_some());
    has_time && fields.count() > postgres::COLUMNS_BEFORE_MESSAGE
}

/// Records logs, which are read in the order of their first times.
pub fn record_logs(
    paths: &[PathBuf],
    keeps_literals: bool,
    out: impl Write,
) -> Result<Recorded, LogError> {
    let mut logs = Vec::new();
    for path in paths {
        logs.extend(open(path)?.map(|log| (path, log)));
    }
    let Some(format) = logs.first().map(|(_, log)| log.format) else {
        return Err(LogError::Empty);
    };
    if let Some((path, _)) = logs.iter().find(|(_, log)| log.format != format) {
        return Err(LogError::MixedFormats((*path).clone()));
    }
    // Logs that were rotated are mostly named in this order, but a shell sorts `log.10` before `log.9`.
    logs.sort_by_key(|(_, log)| log.first_us);
    let mut recorder =
        SessionRecorder::new(out, format.dialect(), keeps_literals).map_err(LogError::Write)?;
    for (path, log) in logs {
        let mut write_error = None;
        let mut take = |session: &str, event: LogEvent<'_>| {
            recorder.event(session, event).map_err(|error| {
                let stop = io::Error::from(error.kind());
                write_error = Some(error);
                stop
            })
        };
        let mut records = Records::new(log.input);
        let read = match format {
            LogFormat::PostgresCsv => postgres::read_csv(&mut records, &mut take),
            LogFormat::PostgresJson => postgres::read_json(&mut records, &mut take),
            LogFormat::MysqlGeneral => mysql::read_general(&mut records, &mut take),
            LogFormat::MysqlSlow => mysql::read_slow(&mut records, &mut take),
        };
        match (read, write_error) {
            (_, Some(error)) => return Err(LogError::Write(error)),
            (Err(source), None) => {
                return Err(LogError::Read {
                    path: path.clone(),
                    source,
                });
            }
            (Ok(()), None) => {}
        }
        recorder.left_out().unreadable_records += records.unreadable;
        recorder.left_out().too_long += records.too_long;
    }
    let recorded = recorder.finish().map_err(LogError::Write)?;
    if recorded.statements == 0 {
        return Err(LogError::NoStatements(format));
    }
    Ok(recorded)
}

/// Receives the events of a log.
type TakeEvent<'a> = dyn FnMut(&str, LogEvent<'_>) -> io::Result<()> + 'a;

/// How much of a log is read to recognise its format. The header of MySQL's logs may have the path of a long configuration.
const START_BYTES: u64 = 16 << 10;

struct OpenLog {
    format: LogFormat,
    /// The time in its first lines; 0 if there is none.
    first_us: i64,
    input: BufReader<Box<dyn Read>>,
}

/// Opens a log; `-` is the standard input. `None` if it is empty, such as one that was just rotated.
fn open(path: &Path) -> Result<Option<OpenLog>, LogError> {
    let failure = |source| LogError::Read {
        path: path.to_owned(),
        source,
    };
    let mut input: Box<dyn Read> = if path == Path::new("-") {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(path).map_err(failure)?)
    };
    // A pipe may give a line at a time.
    let mut start = Vec::new();
    let mut head = input.by_ref().take(START_BYTES);
    head.read_to_end(&mut start).map_err(failure)?;
    if start.starts_with(&[0x1f, 0x8b]) {
        return Err(LogError::Compressed(path.to_owned()));
    }
    let text = String::from_utf8_lossy(&start);
    let mut lines = text.lines();
    if lines.all(|line| line.trim().is_empty() || mysql::is_header(line.as_bytes())) {
        return Ok(None);
    }
    let format = LogFormat::of(&text).ok_or_else(|| LogError::UnknownFormat(path.to_owned()))?;
    let first_us = clock::first(&text).unwrap_or(0);
    let whole: Box<dyn Read> = Box::new(Cursor::new(start).chain(input));
    Ok(Some(OpenLog {
        format,
        first_us,
        input: BufReader::with_capacity(1 << 20, whole),
    }))
}
