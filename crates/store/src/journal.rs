//! The journal of a run in progress: one line per second, and after an hour one line per ten seconds, so that
//! a killed run keeps what it measured.
//!
//! Reads its bytes, complete or not, as a run. A broken line never makes the reader lose a complete one.

use crate::document::check_version;
use crate::error::StoreError;
use crate::figures::{client_health_over, figures_over, timing};
use crate::histogram_recorder::HistogramRecorder;
use crate::line::JournalLine;
use crate::rolling::SecondSeries;
use crate::run::{LedgerAccount, LedgerMark, Run, Second, Window};
use prony_document::{Event, RunState, ServerSecond};
use prony_measure::{IntervalRow, RecorderLayout, RunPhase, Span, Totals};
use serde::Deserialize;
use std::path::Path;

struct PhaseSum {
    totals: Totals,
    length_ns: u64,
}

impl PhaseSum {
    fn add(phase_sum: &mut Option<PhaseSum>, row: &IntervalRow) {
        let span = row.interval.span;
        let sum = phase_sum.get_or_insert_with(|| PhaseSum {
            totals: Totals::new(span.start_ns, RecorderLayout::closed_loop(1)),
            length_ns: 0,
        });
        sum.totals.add(row);
        sum.length_ns = sum.length_ns.saturating_add(span.length_ns());
    }

    /// The total length of the rows that were read, so that a lost row does not lower the throughput.
    fn length_s(&self) -> f64 {
        self.length_ns as f64 / 1e9
    }
}

pub(crate) struct JournalContent {
    pub(crate) run: Run,
    /// Lines that could not be read.
    pub(crate) broken_lines: u64,
}

/// Reads a journal's bytes, complete or not. `None` if even its first line is incomplete.
///
/// # Errors
/// If the first line is not a Run, or is from a newer Prony.
pub(crate) fn read_journal(
    path: &Path,
    bytes: &[u8],
) -> Result<Option<JournalContent>, StoreError> {
    // The line after the last newline was being written when the run was killed.
    let Some(end) = bytes.iter().rposition(|&byte| byte == b'\n') else {
        return Ok(None);
    };
    let mut lines = bytes[..end].split(|&byte| byte == b'\n');
    let mut run = parse_header(path, lines.next().unwrap_or_default())?;
    let (mut warmup, mut measured) = (None, None);
    let (mut series, mut events) = (Vec::<Second>::new(), Vec::new());
    let (mut server, mut server_events) = (Vec::new(), Vec::new());
    let (mut ledger, mut broken_lines) = (None::<LedgerAccount>, 0);
    let mut marks = Vec::new();
    let mut second_series = SecondSeries::default();
    let mut histograms = HistogramRecorder::default();
    let mut last_span: Option<Span> = None;
    for line in lines.filter(|line| !line.is_empty()) {
        match serde_json::from_slice(line) {
            Ok(JournalLine::Run(later)) => run = *later,
            Ok(JournalLine::Event(event)) => events.push(event),
            Ok(JournalLine::Server(second)) => server.push(*second),
            Ok(JournalLine::ServerEvent(event)) => server_events.push(event),
            Ok(JournalLine::Ledger(account)) => {
                let before = ledger.replace(*account).and_then(|it| it.client_state);
                let mark = before.and_then(|it| {
                    Some(LedgerMark {
                        at_s: it.at_s?,
                        complete_s: it.complete_s,
                        last: it.last,
                    })
                });
                if let Some(mark) = mark {
                    mark.add_to(&mut marks);
                }
            }
            Ok(JournalLine::Second(line)) => match line.into_row(run.workload.kinds.len()) {
                // A kill while ten seconds are merged may leave some of them after their sum.
                Ok(row) if last_span.is_some_and(|last| is_within(row.interval.span, last)) => {}
                Ok(row) => {
                    last_span = Some(row.interval.span);
                    series.push(second_series.next_second(&row, 0));
                    histograms.add(&row);
                    match row.interval.span.phase {
                        RunPhase::Warmup => PhaseSum::add(&mut warmup, &row),
                        _ => PhaseSum::add(&mut measured, &row),
                    }
                }
                Err(_) => broken_lines += 1,
            },
            Err(_) => broken_lines += 1,
        }
    }
    set_figures(&mut run, warmup, measured);
    if let Some(state) = ledger.as_mut().and_then(|it| it.client_state.as_mut()) {
        state.marks = marks;
    }
    run.ledger = ledger;
    run.series = series;
    run.histograms = histograms.finish(&run.workload.kinds);
    run.remove_unreliable_parts();
    run.events.extend(events);
    set_observations(&mut run, server, server_events);
    (run.state, run.ended_because) = (RunState::Running, None);
    Ok(Some(JournalContent { run, broken_lines }))
}

fn set_figures(run: &mut Run, warmup: Option<PhaseSum>, measured: Option<PhaseSum>) {
    let length_s = |sum: &Option<PhaseSum>| sum.as_ref().map_or(0.0, PhaseSum::length_s);
    run.window = Window {
        warmup_s: length_s(&warmup),
        measured_s: length_s(&measured),
        ..run.window
    };
    let kinds = &run.workload.kinds;
    run.warmup = warmup.map(|sum| figures_over(&sum.totals, kinds, sum.length_s()));
    let sum = measured.unwrap_or_else(|| PhaseSum {
        totals: Totals::new(0, RecorderLayout::closed_loop(kinds.len())),
        length_ns: 0,
    });
    run.measured = figures_over(&sum.totals, kinds, sum.length_s());
    // The outcomes of transactions in flight are written with a row after the last one, so they are unknown.
    run.measured.in_flight = None;
    run.measured.in_flight_s = None;
    run.measured.in_flight_max_s = None;
    if let Some(warmup) = run.warmup.as_mut().filter(|_| run.measured.length_s <= 0.0) {
        (warmup.in_flight, warmup.in_flight_s) = (None, None);
        warmup.in_flight_max_s = None;
    }
    // The journal does not say which of several machines a thread belongs to.
    if run.machines.len() <= 1 {
        run.machine_mut().health = client_health_over(&sum.totals, sum.length_s());
    }
    run.timing = timing(
        &sum.totals.timestamps,
        std::mem::take(&mut run.timing.parts_source),
    );
}

fn set_observations(run: &mut Run, series: Vec<ServerSecond>, events: Vec<Event>) {
    if !(series.is_empty() && events.is_empty()) {
        let observed = run.observed.get_or_insert_default();
        observed.series = series;
        observed.events = events;
    }
}

fn is_within(span: Span, outer: Span) -> bool {
    span.phase == outer.phase && span.start_ns >= outer.start_ns && span.end_ns <= outer.end_ns
}

/// The run of a header line, parsed like a document, so that a newer version is reported as such.
fn parse_header(path: &Path, line: &[u8]) -> Result<Run, StoreError> {
    #[derive(Deserialize)]
    struct HeaderLine<T> {
        run: T,
    }
    let run = serde_json::from_slice(line).map(|line: HeaderLine<_>| line.run);
    let version = || serde_json::from_slice(line).map(|line: HeaderLine<_>| line.run);
    check_version(run, version).map_err(|error| error.with_path(path))
}
