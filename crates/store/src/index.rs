//! The index of stored runs, so that a listing need not read every document.
//!
//! In: the main figures of documents, and the size and time of their files. Out: a file with one row per line. It has no
//! information of its own: a row that is lost, broken, edited or of another form is read again from its document.
//! Processes therefore need not wait for each other; the last one to replace the file wins.
//!
//! A line is the digest of a row and the row, a JSON object. Listing believes the row without opening the document, so the
//! digest has to show edits. It needs no secret: whoever can compute it could as well write the document.

use crate::NOPM;
use crate::annotation::Annotation;
use crate::files;
use crate::filter::is_judged;
use crate::id::epoch_ns;
use crate::run::{Experiment, Run};
use prony_document::{AnswerVerdict, RunState, Severity, hex};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;

/// The first line. Change the number with the fields of [`IndexRow`]: an index with another first line is not used.
const FIRST_LINE: &str = "{\"prony_index\":7}";

/// A larger file is not used: one that is foreign may not fit into memory. Rows have less than a kilobyte.
const MAX_BYTES: u64 = 1 << 30;

/// The main figures of a stored run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    pub id: String,
    /// Start, RFC 3339.
    pub started_at: String,
    /// Whether it is in progress, or how it ended.
    pub state: RunState,
    pub workload: String,
    /// Name of the plan whose own transactions it ran; absent if the workload is Prony's.
    pub own_name: Option<String>,
    /// Scale factor.
    pub scale: u32,
    pub clients: u32,
    /// Scheduled rate, transactions per second; absent in a closed loop.
    pub rate_tps: Option<f64>,
    /// Committed transactions per second of the measured window; absent if nothing was measured.
    pub tps: Option<f64>,
    /// New orders committed per minute; absent if the workload has none, or if nothing was measured.
    pub nopm: Option<f64>,
    /// 99th percentile of the response time of committed transactions, nanoseconds.
    pub p99_ns: Option<u64>,
    /// Failed transactions; absent if nothing was measured.
    pub failed: Option<u64>,
    /// 99th percentile of the response time of all transactions that ended, nanoseconds; absent if all
    /// committed.
    pub attempts_p99_ns: Option<u64>,
    /// 99th percentile of the response time of failed transactions, nanoseconds; absent with too few.
    pub failed_p99_ns: Option<u64>,
    /// Product and version of the server.
    pub server: String,
    /// The highest severity among the findings that cast doubt on it; absent if none does.
    pub worst_doubt: Option<Severity>,
    /// Whether it has a verdict: of the store's rules ([`crate::Rules`]), or of any if the store has none.
    pub is_judged: bool,
    /// Whether it meets what was required of it; absent if nothing was.
    pub answer: Option<AnswerVerdict>,
    /// Whether it measured what a drill finds: an outage, or what became of its commits.
    pub is_drill: bool,
    /// The longest time without a commit, seconds; absent if it was not measured.
    pub no_commit_s: Option<f64>,
    /// Commits that were acknowledged, by the ledger; absent without an account.
    pub acknowledged: Option<u64>,
    /// Those of them that are lost; absent without an account, and if the ledger's table was not read.
    pub lost: Option<u64>,
    /// Its position in an experiment.
    pub experiment: Option<Experiment>,
    /// Its label and note; filled in by listing.
    #[serde(skip)]
    pub annotation: Annotation,
}

impl RunSummary {
    pub fn new(id: &str, run: &Run) -> RunSummary {
        let all = run.measured.all_kinds();
        let measured = all.filter(|_| run.measured.length_s > 0.0);
        let doubts = run.checks.iter().filter(|check| check.is_doubt());
        let doubts = doubts.map(|check| check.severity);
        let ledger = run.ledger.as_ref();
        let read = ledger.filter(|account| account.not_read.is_none());
        RunSummary {
            id: id.to_owned(),
            started_at: run.started_at.clone(),
            state: run.state,
            workload: run.workload.name.clone(),
            own_name: run.workload.own_name.clone(),
            scale: run.workload.scale,
            clients: run.drive.clients,
            rate_tps: run.drive.rate_tps,
            tps: measured.map(|all| all.tps),
            nopm: measured.and_then(|_| run.metric(NOPM)),
            p99_ns: measured.and_then(|all| all.response.p99_ns),
            failed: measured.map(|all| all.failed),
            attempts_p99_ns: measured.and_then(|all| all.attempts.as_ref()?.p99_ns),
            failed_p99_ns: measured.and_then(|all| all.failed_response.as_ref()?.p99_ns),
            server: format!(
                "{} {}",
                run.server.product.map_or("", |product| product.id),
                run.server.version
            ),
            worst_doubt: doubts.max(),
            is_judged: is_judged(run),
            answer: run.answer.as_ref().map(|answer| answer.verdict),
            is_drill: run.is_drill(),
            no_commit_s: no_commit_s(run),
            acknowledged: ledger.map(|account| account.acknowledged),
            lost: read.map(|account| account.lost),
            experiment: run.experiment.clone(),
            annotation: Annotation::default(),
        }
    }

    /// Start, nanoseconds since 1970; runs are sorted by it.
    pub fn epoch_ns(&self) -> i64 {
        epoch_ns(&self.started_at)
    }
}

/// The longest time without a commit, up to the end of the load.
fn no_commit_s(run: &Run) -> Option<f64> {
    let gap = run.commit_gap.as_ref()?;
    Some(gap.until_s.unwrap_or(run.window.load_end_s()) - gap.from_s)
}

/// Size of a document, bytes, and the time of its last change, nanoseconds since 1970. That is the change of its content or
/// its attributes (`ctime`), which nobody can set back and which a copy does not keep: another stamp shows that the
/// document is not the one that was indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStamp {
    pub bytes: u64,
    pub changed_ns: i64,
}

/// A document in the index.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct IndexRow {
    pub(crate) stamp: FileStamp,
    /// The version of the rules by which it was judged; absent if it was not.
    pub(crate) rules_version: Option<u32>,
    /// Whether its findings and its answer are those of these rules: to judge it again changes nothing.
    pub(crate) is_verified: bool,
    pub(crate) summary: RunSummary,
}

/// What tells whether a document must be judged again, of an [`IndexRow`].
#[derive(Deserialize)]
struct VerifiedRow {
    stamp: FileStamp,
    rules_version: Option<u32>,
    is_verified: bool,
    summary: RowId,
}

#[derive(Deserialize)]
struct RowId {
    id: String,
}

/// The documents whose findings and answer are those of these rules, by their id.
pub(crate) fn read_verified(path: &Path, rules_version: u32) -> HashMap<String, FileStamp> {
    let verified = parse_rows::<VerifiedRow>(path)
        .filter(|row| row.is_verified && row.rules_version == Some(rules_version));
    verified.map(|row| (row.summary.id, row.stamp)).collect()
}

/// The rows of an index by id; none if it cannot be used.
pub(crate) fn read(path: &Path) -> HashMap<String, IndexRow> {
    let rows = parse_rows::<IndexRow>(path);
    rows.map(|row| (row.summary.id.clone(), row)).collect()
}

/// The rows of an index that were not edited; none if it cannot be used.
fn parse_rows<T: DeserializeOwned>(path: &Path) -> impl Iterator<Item = T> {
    lines_of_rows(path)
        .into_iter()
        .flatten()
        .filter_map(|line| {
            let (stated_digest, row) = line.split_once(' ')?;
            if digest(row.as_bytes()) != stated_digest {
                return None;
            }
            serde_json::from_str(row).ok()
        })
}

/// The lines after the first one; `None` if the index cannot be used.
fn lines_of_rows(path: &Path) -> Option<impl Iterator<Item = String>> {
    let meta = fs::metadata(path).ok()?;
    if !meta.is_file() || meta.len() > MAX_BYTES {
        return None;
    }
    let file = fs::File::open(path).ok()?;
    let mut lines = BufReader::new(file).lines().map_while(Result::ok);
    let first = lines.next()?;
    (first == FIRST_LINE).then_some(lines)
}

/// The digest of a row, in hexadecimal.
fn digest(row: &[u8]) -> String {
    let hash = Sha256::new_with_prefix(FIRST_LINE)
        .chain_update(row)
        .finalize();
    hex(&hash[..16])
}

/// Replaces an index, at once for its readers.
pub(crate) fn write(path: &Path, rows: &[IndexRow]) -> io::Result<()> {
    let new = path.with_extension(format!("{}.tmp", std::process::id()));
    let written = write_rows(&new, rows).and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written
}

fn write_rows(path: &Path, rows: &[IndexRow]) -> io::Result<()> {
    let mut out = BufWriter::new(files::create_replacing(path)?);
    writeln!(out, "{FIRST_LINE}")?;
    for row in rows {
        let row = serde_json::to_string(row)?;
        writeln!(out, "{} {row}", digest(row.as_bytes()))?;
    }
    out.flush()
}
