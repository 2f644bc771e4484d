//! Counts what the committed transactions add to the data, by the server before and after the load, and by the
//! clients.
//!
//! In: the workload's declaration, a connection before the load, the clients' counts. Out: readings for the
//! document. Must never: fail or noticeably delay a run that lost no connection, or read during the load.

use crate::after_load;
use crate::job::RunJob;
use prony_drive::DriveResult;
use prony_measure::{ErrorClass, Totals};
use prony_plan::{Spread, WorkloadPlan};
use prony_server::Control;
use prony_store::GrowthReading;
use prony_workload::Workload;
use prony_workload::describe::Growth;
use prony_workload::growth::{GrowthStart, NotCounted};
use std::time::Duration;

/// How long a run waits after its end until the server accepts a connection and has answered: a server that
/// crashed or was promoted may need that long. The table of checks in `judge` names it.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// As [`ANSWER_TIMEOUT`], for tools that end when the server is gone.
const SHORT_ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// What transactions add to, as counted before the load.
#[derive(Clone, Debug)]
pub struct GrowthBefore {
    counts: Vec<CountBefore>,
    /// How long to wait after the load until the server has answered.
    answer_timeout: Duration,
}

#[derive(Clone, Debug)]
struct CountBefore {
    what: String,
    kinds: Vec<&'static str>,
    start: Result<GrowthStart, String>,
}

impl GrowthBefore {
    /// Counts before the load, on a connection that is still open. A count that cannot be read is recorded as such.
    pub fn read(
        control: &mut Control,
        workload: &dyn Workload,
        plan: &WorkloadPlan,
        scale: u32,
    ) -> GrowthBefore {
        let counts = match workload.growth(plan, scale) {
            Growth::ReadOnly => Vec::new(),
            Growth::Uncounted(reason) => vec![CountBefore {
                what: "rows".to_owned(),
                kinds: Vec::new(),
                start: Err(reason.to_owned()),
            }],
            Growth::Counted(counted) => counted
                .into_iter()
                .map(|growth| CountBefore {
                    what: growth.what,
                    kinds: growth.kinds,
                    start: GrowthStart::read(control, growth.counter)
                        .map_err(|not_counted| not_counted.reason),
                })
                .collect(),
        };
        GrowthBefore {
            counts,
            answer_timeout: ANSWER_TIMEOUT,
        }
    }

    /// Waits for the server only briefly after the load, for tools that end when it is gone.
    #[must_use]
    pub fn with_short_wait(self) -> GrowthBefore {
        GrowthBefore {
            answer_timeout: SHORT_ANSWER_TIMEOUT,
            ..self
        }
    }

    pub(crate) fn readings(&self) -> Vec<GrowthReading> {
        let reading = |count: &CountBefore| GrowthReading {
            what: count.what.clone(),
            kinds: count.kinds.iter().map(|kind| (*kind).to_owned()).collect(),
            before: count.start.as_ref().ok().map(|start| start.count),
            not_read: count.start.as_ref().err().cloned(),
            ..GrowthReading::default()
        };
        self.counts.iter().map(reading).collect()
    }

    /// The complete readings. Counts again, unless the load was interrupted or failed: then the user waits for its end.
    pub(crate) fn read_after(
        &self,
        job: &RunJob<'_>,
        drive_result: &DriveResult,
    ) -> Vec<GrowthReading> {
        let starts: Vec<&GrowthStart> = self
            .counts
            .iter()
            .filter_map(|count| count.start.as_ref().ok())
            .collect();
        let target = &job.server.target_with_notice();
        let several = (target.targets_of_hosts().len() > 1 && target.spread != Spread::First)
            .then(|| "the clients used several servers".to_owned());
        let counts = match after_load::why_not_read(job, drive_result).or(several) {
            Some(reason) => Err(reason),
            None if starts.is_empty() => Ok(Vec::new()),
            None => {
                let starts: Vec<GrowthStart> = starts.into_iter().cloned().collect();
                after_load::read_at_primary(target, self.answer_timeout, move |control| {
                    let counts = starts.iter().map(|start| start.read_again(control));
                    let counts: Vec<_> = counts.collect();
                    let is_lost = |count: &&Result<u64, NotCounted>| {
                        count.as_ref().is_err_and(|not| not.is_lost)
                    };
                    match counts.iter().find(is_lost) {
                        Some(Err(lost)) => Err(lost.clone()),
                        _ => Ok(counts),
                    }
                })
            }
        };
        let mut counts = counts.map(Vec::into_iter);
        let kinds = job.ready_workload.program.kinds();
        let mut readings = self.readings();
        for reading in &mut readings {
            (reading.committed, reading.ambiguous) = count_commits(reading, kinds, drive_result);
            if reading.not_read.is_some() {
                continue;
            }
            match &mut counts {
                Ok(counts) => match counts.next() {
                    Some(Ok(count)) => reading.after = Some(count),
                    Some(Err(not_counted)) => reading.not_read = Some(not_counted.reason),
                    None => {}
                },
                Err(reason) => reading.not_read = Some(reason.clone()),
            }
        }
        readings
    }
}

/// The numbers of committed and of ambiguous transactions of the kinds of a reading, over the whole run.
fn count_commits(
    reading: &GrowthReading,
    kinds: &[&str],
    drive_result: &DriveResult,
) -> (u64, u64) {
    let adds = |kind: usize| {
        let name = kinds.get(kind);
        name.is_some_and(|name| reading.kinds.iter().any(|kind| kind == name))
    };
    let collected = &drive_result.collected;
    let parts: Vec<&Totals> = collected
        .warmup
        .iter()
        .chain([&collected.measured])
        .collect();
    let tallies = parts.iter().flat_map(|part| part.kinds.iter().enumerate());
    let committed = tallies
        .filter(|(kind, _)| adds(*kind))
        .map(|(_, tally)| tally.committed + tally.committed_after_window);
    let ambiguous = parts.iter().map(|part| {
        let entries = part.errors.entries().iter();
        let errors = entries.filter(|entry| {
            entry.class == ErrorClass::AmbiguousCommit && adds(usize::from(entry.kind))
        });
        // Of errors that were not counted separately or that restarted an event, and of transactions that were in
        // flight at the end, the kind or the class is not known.
        errors.map(|entry| entry.count).sum::<u64>()
            + part.errors.others()
            + part.queries.ignored_errors
            + part.excluded.in_flight.ambiguous
    });
    (committed.sum(), ambiguous.sum())
}
