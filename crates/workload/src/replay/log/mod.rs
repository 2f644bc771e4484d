//! Reads the logs of servers as events of sessions, line by line.
//!
//! In: files of one server. Out: [`LogEvent`]s in the order of the log. Memory: one record. Must never: guess a time that
//! the log does not have.

mod clock;
mod mysql;
mod postgres;

use super::recorder::{LogEvent, Recorded, SessionRecorder};
use prony_document::SqlDialect;
use prony_plan::{ErrorParts, UserError, system_error};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

/// The most bytes of one record. The server truncates none, but a text of 1 GB is no statement of a load.
const RECORD_BYTES_MAX: usize = 64 << 20;

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
    Read { path: PathBuf, source: io::Error },
    Write(io::Error),
    UnknownFormat(PathBuf),
    MixedFormats(PathBuf),
    NoStatements(LogFormat),
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
    /// The format of a log that begins so.
    fn of(start: &[u8]) -> Option<LogFormat> {
        let text = String::from_utf8_lossy(start);
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let line = lines.find(|line| !mysql::is_header(line.as_bytes()))?;
        if line.starts_with('{') {
            Some(LogFormat::PostgresJson)
        } else if line.starts_with("# ") {
            Some(LogFormat::MysqlSlow)
        } else if is_csv(line) {
            Some(LogFormat::PostgresCsv)
        } else if mysql::is_general(line) {
            Some(LogFormat::MysqlGeneral)
        } else {
            None
        }
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

/// A reader of a log's records that keeps only the current one.
pub(super) struct Records<R> {
    input: R,
    /// The bytes of the current record.
    pub record: Vec<u8>,
    /// Whether a line was read that belongs to the next record.
    has_next: bool,
    next: Vec<u8>,
}

impl<R: BufRead> Records<R> {
    pub fn new(input: R) -> Records<R> {
        Records {
            input,
            record: Vec::new(),
            has_next: false,
            next: Vec::new(),
        }
    }

    /// Appends the next line to the record; returns whether there was one.
    fn append_line(&mut self) -> io::Result<bool> {
        if self.record.len() > RECORD_BYTES_MAX {
            let message = format!("a record has more than {} MiB", RECORD_BYTES_MAX >> 20);
            return Err(io::Error::other(message));
        }
        // A line without an end must not fill the memory.
        let mut input = self.input.by_ref().take(RECORD_BYTES_MAX as u64 + 1);
        Ok(input.read_until(b'\n', &mut self.record)? > 0)
    }

    /// Reads a record that ends with the line in which its double quotes are balanced, as in CSV.
    pub fn next_quoted(&mut self) -> io::Result<bool> {
        self.record.clear();
        let mut checked = 0;
        let mut quotes = 0;
        while self.append_line()? {
            let new = &self.record[checked..];
            quotes += new.iter().filter(|byte| **byte == b'"').count();
            checked = self.record.len();
            if quotes % 2 == 0 {
                return Ok(true);
            }
        }
        Ok(!self.record.is_empty())
    }

    /// Reads a record that ends before the next line that begins one.
    pub fn next_until(&mut self, begins: impl Fn(&[u8]) -> bool) -> io::Result<bool> {
        self.record.clear();
        if self.has_next {
            self.record.append(&mut self.next);
            self.has_next = false;
        } else if !self.append_line()? {
            return Ok(false);
        }
        loop {
            let end = self.record.len();
            if !self.append_line()? {
                return Ok(true);
            }
            if begins(&self.record[end..]) {
                self.next.extend_from_slice(&self.record[end..]);
                self.record.truncate(end);
                self.has_next = true;
                return Ok(true);
            }
        }
    }
}

/// Records logs, which are read in the order of their first times.
///
/// # Errors
/// A log cannot be read or understood, or the recording cannot be written.
pub fn record_logs(
    paths: &[PathBuf],
    keeps_literals: bool,
    out: impl Write,
) -> Result<Recorded, LogError> {
    let mut logs = Vec::new();
    for path in paths {
        logs.push((path, open(path)?));
    }
    let Some(format) = logs.first().map(|(_, log)| log.format) else {
        return Ok(Recorded::default());
    };
    if let Some((path, _)) = logs.iter().find(|(_, log)| log.format != format) {
        return Err(LogError::MixedFormats((*path).clone()));
    }
    // Logs that were rotated are mostly named in this order, but a shell sorts `log.10` before `log.9`.
    logs.sort_by_key(|(_, log)| log.first_us);
    let mut recorder =
        SessionRecorder::new(out, format.dialect(), keeps_literals).map_err(LogError::Write)?;
    let mut unreadable_records = 0;
    for (path, log) in logs {
        let mut write_error = None;
        let mut take = |session: &str, event: LogEvent<'_>| {
            recorder.event(session, event).map_err(|error| {
                let stop = io::Error::from(error.kind());
                write_error = Some(error);
                stop
            })
        };
        let read = match format {
            LogFormat::PostgresCsv => postgres::read_csv(log.input, &mut take),
            LogFormat::PostgresJson => postgres::read_json(log.input, &mut take),
            LogFormat::MysqlGeneral => mysql::read_general(log.input, &mut take),
            LogFormat::MysqlSlow => mysql::read_slow(log.input, &mut take),
        };
        match (read, write_error) {
            (_, Some(error)) => return Err(LogError::Write(error)),
            (Err(source), None) => {
                return Err(LogError::Read {
                    path: path.clone(),
                    source,
                });
            }
            (Ok(unreadable), None) => unreadable_records += unreadable,
        }
    }
    let mut recorded = recorder.finish().map_err(LogError::Write)?;
    recorded.left_out.unreadable_records = unreadable_records;
    if recorded.statements == 0 {
        return Err(LogError::NoStatements(format));
    }
    Ok(recorded)
}

/// What takes the events of a log.
type TakeEvent<'a> = dyn FnMut(&str, LogEvent<'_>) -> io::Result<()> + 'a;

struct OpenLog {
    format: LogFormat,
    /// The time in its first lines; 0 if there is none.
    first_us: i64,
    input: BufReader<File>,
}

fn open(path: &Path) -> Result<OpenLog, LogError> {
    let failure = |source| LogError::Read {
        path: path.to_owned(),
        source,
    };
    let file = File::open(path).map_err(failure)?;
    let mut input = BufReader::with_capacity(1 << 20, file);
    let start = input.fill_buf().map_err(failure)?;
    let start = &start[..start.len().min(1 << 14)];
    let format = LogFormat::of(start).ok_or_else(|| LogError::UnknownFormat(path.to_owned()))?;
    let first_us = clock::first(&String::from_utf8_lossy(start)).unwrap_or(0);
    Ok(OpenLog {
        format,
        first_us,
        input,
    })
}
