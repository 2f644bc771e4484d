//! Counts what the committed transactions add to the data: on the server before and after the load, and by the clients'
//! own counts.
//!
//! In: the workload's declaration, a connection before the load, the clients' counts. Out: readings for the
//! document. Must never: fail or noticeably delay a run that lost no connection, or read during the load.

use crate::after_load;
use crate::job::RunJob;
use prony_drive::DriveResult;
use prony_measure::ErrorClass;
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
    /// The count before the load, or why it cannot be read.
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

    /// The readings after the load. Counts again, unless the load was interrupted or failed: then the user waits for its end.
    pub(crate) fn read_after(
        &self,
        job: &RunJob<'_>,
        drive_result: &DriveResult,
    ) -> Vec<GrowthReading> {
        let kinds = job.ready_workload.program.kinds();
        let mut readings = self.readings();
        for reading in &mut readings {
            add_commits(reading, kinds, drive_result);
        }
        let counted_before = readings
            .iter_mut()
            .filter(|reading| reading.not_read.is_none());
        match self.counts_after(job, drive_result) {
            Ok(counts) => {
                for (reading, count) in counted_before.zip(counts) {
                    match count {
                        Ok(count) => reading.after = Some(count),
                        Err(not_counted) => reading.not_read = Some(not_counted.reason),
                    }
                }
            }
            Err(reason) => {
                for reading in counted_before {
                    reading.not_read = Some(reason.clone());
                }
            }
        }
        readings
    }

    /// The counts after the load, in the order of those that were read before it; or why nothing was read.
    fn counts_after(
        &self,
        job: &RunJob<'_>,
        drive_result: &DriveResult,
    ) -> Result<Vec<Result<u64, NotCounted>>, String> {
        if let Some(reason) = after_load::why_not_read(job, drive_result) {
            return Err(reason);
        }
        let target = job.server.target_with_notice();
        if target.targets_of_hosts().len() > 1 && target.spread != Spread::First {
            return Err("the clients used several servers".to_owned());
        }
        let starts = self.counts.iter().map(|count| count.start.clone());
        let starts: Vec<GrowthStart> = starts.filter_map(Result::ok).collect();
        if starts.is_empty() {
            return Ok(Vec::new());
        }
        after_load::read_at_primary(&target, self.answer_timeout, move |control| {
            let mut counts = Vec::new();
            for start in &starts {
                match start.read_again(control) {
                    // All are read again on the next connection.
                    Err(error) if error.is_lost => return Err(error),
                    count => counts.push(count),
                }
            }
            Ok(counts)
        })
    }
}

/// Adds the committed and the ambiguous transactions of the kinds of a reading, over the whole run.
fn add_commits(reading: &mut GrowthReading, kinds: &[&str], drive_result: &DriveResult) {
    let adds = |kind: usize| {
        let name = kinds.get(kind);
        name.is_some_and(|name| reading.kinds.iter().any(|counted| counted == name))
    };
    let mut committed = 0;
    let mut ambiguous = 0;
    let collected = &drive_result.collected;
    for part in collected.warmup.iter().chain([&collected.measured]) {
        for (kind, tally) in part.kinds.iter().enumerate() {
            if adds(kind) {
                committed += tally.committed + tally.committed_after_window;
            }
        }
        for error in part.errors.entries() {
            if error.class == ErrorClass::AmbiguousCommit && adds(usize::from(error.kind)) {
                ambiguous += error.count;
            }
        }
        // Of errors that were not counted separately or that restarted an event, and of transactions that were in
        // flight at the end, the kind or the class is not known.
        ambiguous +=
            part.errors.others() + part.queries.ignored_errors + part.excluded.in_flight.ambiguous;
    }
    reading.committed = committed;
    reading.ambiguous = ambiguous;
}
