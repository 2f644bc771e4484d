//! The journal of a run that is going on: one line a second, so that a killed run leaves what it
//! measured.
//!
//! In: its bytes, however they end. Out: the run that they tell of. Must never: lose a whole line
//! because of a broken one.

use crate::document::parse_document;
use crate::error::StoreError;
use crate::figures::{client_over, figures_over, second, timing};
use crate::line::Line;
use crate::run::{Run, Second, State, Window};
use prony_measure::{Part, Row, Shape, Totals};
use serde::Deserialize;
use std::path::Path;

/// What the lines of one part add up to.
struct PartSum {
    totals: Totals,
    length_ns: u64,
}

impl PartSum {
    fn add(part: &mut Option<PartSum>, row: &Row) {
        let span = row.interval.span;
        let sum = part.get_or_insert_with(|| PartSum {
            totals: Totals::new(span.start_ns, Shape::closed(1)),
            length_ns: 0,
        });
        sum.totals.add(row);
        sum.length_ns = sum.length_ns.saturating_add(span.length_ns());
    }

    /// The length of the rows that are there: a lost row must not thin out the throughput.
    fn seconds(&self) -> f64 {
        self.length_ns as f64 / 1e9
    }
}

/// What a journal tells.
pub(crate) struct Told {
    pub(crate) run: Run,
    /// Lines that could not be read.
    pub(crate) broken: u64,
}

/// Reads a journal's bytes as far as they go. `None` if not even its first line is there.
///
/// # Errors
/// If the first line is not that of a run, or of a newer Prony.
pub(crate) fn read_journal(path: &Path, bytes: &[u8]) -> Result<Option<Told>, StoreError> {
    // What follows the last newline was being written when the run was killed.
    let Some(end) = bytes.iter().rposition(|&byte| byte == b'\n') else {
        return Ok(None);
    };
    let mut lines = bytes[..end].split(|&byte| byte == b'\n');
    let mut run = header(path, lines.next().unwrap_or_default())?;
    let (mut warmup, mut measured) = (None, None);
    let (mut series, mut events) = (Vec::<Second>::new(), Vec::new());
    let (mut server, mut server_events) = (Vec::new(), Vec::new());
    let mut broken = 0;
    for line in lines.filter(|line| !line.is_empty()) {
        match serde_json::from_slice(line) {
            Ok(Line::Run(later)) => run = *later,
            Ok(Line::Event(event)) => events.push(event),
            Ok(Line::Server(second)) => server.push(*second),
            Ok(Line::ServerEvent(event)) => server_events.push(event),
            Ok(Line::Second(line)) => match line.row() {
                Ok(row) => {
                    series.push(second(&row, 0));
                    match row.interval.span.part {
                        Part::Warmup => PartSum::add(&mut warmup, &row),
                        _ => PartSum::add(&mut measured, &row),
                    }
                }
                Err(_) => broken += 1,
            },
            Err(_) => broken += 1,
        }
    }
    let seconds = |part: &Option<PartSum>| part.as_ref().map_or(0.0, PartSum::seconds);
    run.window = Window {
        warmup_s: seconds(&warmup),
        measured_s: seconds(&measured),
        ..run.window
    };
    let kinds = &run.workload.kinds;
    run.warmup = warmup.map(|sum| figures_over(&sum.totals, kinds, sum.seconds()));
    let sum = measured.unwrap_or_else(|| PartSum {
        totals: Totals::new(0, Shape::closed(kinds.len())),
        length_ns: 0,
    });
    run.measured = figures_over(&sum.totals, kinds, sum.seconds());
    run.client = client_over(&sum.totals, sum.seconds());
    run.timing = timing(&sum.totals.stamps, run.timing.split);
    run.series = series;
    run.events.extend(events);
    if !(server.is_empty() && server_events.is_empty()) {
        let observed = run.observed.get_or_insert_default();
        observed.series = server;
        observed.events = server_events;
    }
    run.state = State::Running;
    run.ended_because = None;
    Ok(Some(Told { run, broken }))
}

/// The run of the first line, read as a document is, so that a newer one is told as such.
fn header(path: &Path, line: &[u8]) -> Result<Run, StoreError> {
    #[derive(Deserialize)]
    struct First {
        run: serde_json::Value,
    }
    let first: First = serde_json::from_slice(line)
        .map_err(|error| StoreError::not_a_run(path, format!("its first line: {error}")))?;
    let bytes = serde_json::to_vec(&first.run).map_err(|e| StoreError::not_a_run(path, e))?;
    parse_document(path, &bytes)
}
