//! The observations of the server that fall into the measured window.
//!
//! In: a Run. Out: sums, means and events of the measured window. Must never: turn a missing observation
//! into a zero.

use prony_store::{Event, EventKind, MachineSecond, Observed, Run, ServerSecond};

/// The observations; `None` if the server was not observed (`off` is the reason).
pub fn observed(run: &Run) -> Option<&Observed> {
    run.observed
        .as_ref()
        .filter(|observed| observed.off.is_none())
}

/// The measured window, seconds from the start of the load.
pub fn window_s(run: &Run) -> (f64, f64) {
    let begin_s = run.window.warmup_s;
    (begin_s, begin_s + run.measured.length_s)
}

/// Rows of which at least half lies in the window.
pub fn rows(run: &Run) -> impl Iterator<Item = &ServerSecond> {
    let (begin_s, end_s) = window_s(run);
    let rows = run.observed.iter().flat_map(|observed| &observed.series);
    rows.filter(move |row| {
        let middle_s = row.at_s + row.length_s / 2.0;
        begin_s <= middle_s && middle_s <= end_s
    })
}

/// How much of the window the observer's rows cover, seconds.
pub fn observed_s(run: &Run) -> f64 {
    rows(run).map(|row| row.length_s).sum()
}

/// Sum of the rows' values over the window; `None` if no row has a value.
pub fn sum(run: &Run, value_of: impl Fn(&ServerSecond) -> Option<u64>) -> Option<u64> {
    rows(run).filter_map(value_of).reduce(u64::saturating_add)
}

/// How many pages the server found in its cache, and how many it needed; `None` if that was not observed, or if it
/// needed none.
pub fn cache_pages(run: &Run) -> Option<(u64, u64)> {
    let (hits, reads) = sum(run, |row| row.cache_hits).zip(sum(run, |row| row.cache_reads))?;
    let needed = hits.saturating_add(reads);
    (needed > 0).then_some((hits, needed))
}

/// Mean of the rows' values over the window, weighted by time; `None` if no row has a value.
pub fn mean(run: &Run, value_of: impl Fn(&ServerSecond) -> Option<f64>) -> Option<f64> {
    let (mut sum, mut total_s) = (0.0, 0.0);
    for row in rows(run) {
        if let Some(value) = value_of(row) {
            sum += value * row.length_s;
            total_s += row.length_s;
        }
    }
    (total_s > 0.0).then(|| sum / total_s)
}

/// How many CPUs the server used on average in the time of a row; `None` if it was not observed.
pub(crate) fn server_cpus(row: &ServerSecond) -> Option<f64> {
    let cpu_s = row.machine.as_ref()?.server_cpu_s?;
    (row.length_s > 0.0).then(|| cpu_s / row.length_s)
}

/// Mean over the window of a figure of the server's machine.
pub fn server_machine_mean(
    run: &Run,
    value_of: impl Fn(&MachineSecond) -> Option<f64>,
) -> Option<f64> {
    mean(run, |row| value_of(row.machine.as_ref()?))
}

/// Mean over the window of a figure of the client's machine; `None` if client and server share a machine, because rows then
/// have no values of the client's.
pub fn client_machine_mean(
    run: &Run,
    value_of: impl Fn(&MachineSecond) -> Option<f64>,
) -> Option<f64> {
    mean(run, |row| value_of(row.client.as_ref()?))
}

/// Events of the server that overlap the window; an event without an end lasts to the end of the run.
pub fn events<'a>(run: &'a Run, kinds: &'a [EventKind]) -> impl Iterator<Item = &'a Event> {
    let (begin_s, end_s) = window_s(run);
    let events = run.observed.iter().flat_map(|observed| &observed.events);
    events.filter(move |event| {
        let ended_before = event.until_s.is_some_and(|until_s| until_s < begin_s);
        kinds.contains(&event.kind) && event.at_s <= end_s && !ended_before
    })
}

/// Overlap of an event with the window, seconds.
pub fn overlap_s(run: &Run, event: &Event) -> f64 {
    let (begin_s, end_s) = window_s(run);
    let until_s = event.until_s.unwrap_or(end_s).min(end_s);
    (until_s - event.at_s.max(begin_s)).max(0.0)
}

/// Bytes of WAL or redo log written in the window; `None` if their number is unknown, or so small
/// that the load counts as read-only.
pub fn written_bytes(run: &Run) -> Option<u64> {
    let written = sum(run, |row| row.log_bytes)?;
    (written >= crate::thresholds::WRITING_MIN_BYTES).then_some(written)
}
