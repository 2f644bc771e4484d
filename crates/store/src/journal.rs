//! Reads the bytes of a journal, complete or not, as a run (`writer.rs` says what is in them). A broken line never makes
//! the reader lose a complete one.

use crate::document::readable_run;
use crate::error::StoreError;
use crate::figures::{client_health_over, figures_over, timing};
use crate::histogram_recorder::HistogramRecorder;
use crate::line::JournalLine;
use crate::rolling::SecondSeries;
use crate::run::{LedgerAccount, LedgerMark, Run, Second, Window};
use prony_document::{Event, RunState, ServerSecond};
use prony_measure::{IntervalRow, RecorderLayout, RunPhase, Span, Totals};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::path::Path;

/// The totals of a phase. Its length is that of the rows that were read, so that a lost row does not lower the
/// throughput.
struct PhaseSum {
    totals: Totals,
    length_ns: u64,
}

impl PhaseSum {
    fn new(start_ns: u64, kinds: usize) -> PhaseSum {
        PhaseSum {
            totals: Totals::new(start_ns, RecorderLayout::closed_loop(kinds)),
            length_ns: 0,
        }
    }

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
    let mut journal = Journal {
        run: parse_header(path, lines.next().unwrap_or_default())?,
        ..Journal::default()
    };
    let lines = lines.filter(|line| !line.is_empty());
    let broken_lines = lines.filter(|line| journal.add(line).is_none()).count() as u64;
    Ok(Some(JournalContent {
        run: journal.into_run(),
        broken_lines,
    }))
}

/// What was read of a journal so far.
#[derive(Default)]
struct Journal {
    /// The run of the last header.
    run: Run,
    events: Vec<Event>,
    server: Vec<ServerSecond>,
    server_events: Vec<Event>,
    /// The last account of the ledger, which says what the clients know now.
    ledger: Option<LedgerAccount>,
    /// What the clients knew at each earlier account.
    marks: Vec<LedgerMark>,
    warmup: Option<PhaseSum>,
    measured: Option<PhaseSum>,
    series: Vec<Second>,
    second_series: SecondSeries,
    histograms: HistogramRecorder,
    last_span: Option<Span>,
}

impl Journal {
    /// Adds a line; `None` if it is broken.
    fn add(&mut self, line: &[u8]) -> Option<()> {
        match serde_json::from_slice(line).ok()? {
            JournalLine::Run(later) => self.run = *later,
            JournalLine::Event(event) => self.events.push(event),
            JournalLine::Server(second) => self.server.push(*second),
            JournalLine::ServerEvent(event) => self.server_events.push(event),
            JournalLine::Ledger(account) => self.add_account(*account),
            JournalLine::Second(line) => {
                let kinds = self.run.workload.kinds.len();
                self.add_row(&line.into_row(kinds).ok()?);
            }
        }
        Some(())
    }

    fn add_account(&mut self, account: LedgerAccount) {
        let earlier = self.ledger.replace(account);
        let Some(state) = earlier.and_then(|earlier| earlier.client_state) else {
            return;
        };
        if let Some(at_s) = state.at_s {
            let mark = LedgerMark {
                at_s,
                complete_s: state.complete_s,
                last: state.last,
            };
            mark.add_to(&mut self.marks);
        }
    }

    fn add_row(&mut self, row: &IntervalRow) {
        let span = row.interval.span;
        // A kill while ten seconds are merged may leave some of them after their sum.
        if self.last_span.is_some_and(|last| is_within(span, last)) {
            return;
        }
        self.last_span = Some(span);
        self.series.push(self.second_series.next_second(row, 0));
        self.histograms.add(row);
        let sum = match span.phase {
            RunPhase::Warmup => &mut self.warmup,
            _ => &mut self.measured,
        };
        // The totals begin with one kind and gain the others with the rows that have them.
        let sum = sum.get_or_insert_with(|| PhaseSum::new(span.start_ns, 1));
        sum.totals.add(row);
        sum.length_ns = sum.length_ns.saturating_add(span.length_ns());
    }

    fn into_run(mut self) -> Run {
        if let Some(account) = &mut self.ledger
            && let Some(state) = &mut account.client_state
        {
            state.marks = self.marks;
        }
        let mut run = self.run;
        set_figures(&mut run, self.warmup, self.measured);
        run.ledger = self.ledger;
        run.series = self.series;
        run.histograms = self.histograms.finish(&run.workload.kinds);
        run.remove_unreliable_parts();
        run.events.extend(self.events);
        if !(self.server.is_empty() && self.server_events.is_empty()) {
            let observed = run.observed.get_or_insert_default();
            observed.series = self.server;
            observed.events = self.server_events;
        }
        run.state = RunState::Running;
        run.ended_because = None;
        run
    }
}

fn set_figures(run: &mut Run, warmup: Option<PhaseSum>, measured: Option<PhaseSum>) {
    let kinds = &run.workload.kinds;
    let measured = measured.unwrap_or_else(|| PhaseSum::new(0, kinds.len()));
    let length_s = measured.length_s();
    run.window = Window {
        warmup_s: warmup.as_ref().map_or(0.0, PhaseSum::length_s),
        measured_s: length_s,
        ..run.window
    };
    run.warmup = warmup.map(|sum| figures_over(&sum.totals, kinds, sum.length_s()));
    run.measured = figures_over(&measured.totals, kinds, length_s);
    // The outcomes of transactions in flight are written with a row after the last one, so they are unknown.
    let is_in_warmup = length_s <= 0.0;
    let warmup = run.warmup.as_mut().filter(|_| is_in_warmup);
    for figures in [Some(&mut run.measured), warmup].into_iter().flatten() {
        figures.in_flight = None;
        figures.in_flight_s = None;
        figures.in_flight_max_s = None;
    }
    // The journal does not say which of several machines a thread belongs to.
    if run.machines.len() <= 1 {
        run.machine_mut().health = client_health_over(&measured.totals, length_s);
    }
    let parts_source = std::mem::take(&mut run.timing.parts_source);
    run.timing = timing(&measured.totals.timestamps, parts_source);
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
    fn parse<T: DeserializeOwned>(line: &[u8]) -> serde_json::Result<T> {
        Ok(serde_json::from_slice::<HeaderLine<T>>(line)?.run)
    }
    readable_run(parse(line), || parse(line)).map_err(|error| error.with_path(path))
}
