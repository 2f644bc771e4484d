//! Counts what the committed transactions add to the data, by the server before and after the load, and by the
//! clients.
//!
//! In: the workload's declaration, a connection before the load, the clients' counts. Out: readings for the
//! document. Must never: fail or noticeably delay a run that lost no connection, or read during the load.

use crate::job::RunJob;
use prony_drive::DriveResult;
use prony_measure::{ErrorClass, Totals};
use prony_plan::{Spread, WorkloadPlan};
use prony_server::{Control, Target};
use prony_store::GrowthReading;
use prony_workload::Workload;
use prony_workload::describe::Growth;
use prony_workload::growth::{GrowthStart, NotCounted};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// How long a run waits after its end until the server accepts a connection and has answered: a server that
/// crashed or was promoted may need that long. The table of checks in `judge` names it.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// As [`ANSWER_TIMEOUT`], for tools that end when the server is gone.
const SHORT_ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// Pause between attempts to connect.
const CONNECT_PAUSE: Duration = Duration::from_millis(200);

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

    /// The readings before the load.
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
        let target = &job.server.target;
        let refusal = if let Some(failure) = &drive_result.failure {
            Some(failure.clone())
        } else if drive_result.interrupted
            && let Some(cause) = job.interrupt.cause()
        {
            Some(format!("the run was interrupted by {cause}"))
        } else if target.targets_of_hosts().len() > 1 && target.spread != Spread::First {
            Some("the clients used several servers".to_owned())
        } else {
            None
        };
        let counts = match refusal {
            Some(reason) => Err(reason),
            None => {
                let starts = starts.into_iter().cloned().collect();
                count_within_timeout(target, starts, self.answer_timeout)
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

/// Counts after the load, on a new connection that follows the rules of the URL, as soon as there is a server.
///
/// # Errors
/// There was none in time, or it did not answer in time.
fn count_within_timeout(
    target: &Target,
    starts: Vec<GrowthStart>,
    timeout: Duration,
) -> Result<Vec<Result<u64, NotCounted>>, String> {
    if starts.is_empty() {
        return Ok(Vec::new());
    }
    let deadline = Instant::now() + timeout;
    let (sender, results) = channel();
    let mut target = target.clone();
    // A tool's own sessions execute only its statements.
    target.set_program_name("prony");
    target.has_own_statements = true;
    let body = move || {
        while Instant::now() < deadline {
            let mut control = match Control::connect(&target) {
                Ok(control) => control,
                Err(_) => {
                    std::thread::sleep(CONNECT_PAUSE);
                    continue;
                }
            };
            let _ = sender.send(Err(control.canceller()));
            let counts: Vec<_> = starts
                .iter()
                .map(|start| start.read_again(&mut control))
                .collect();
            let is_lost =
                |count: &Result<u64, NotCounted>| count.as_ref().is_err_and(|not| not.is_lost);
            if !counts.iter().any(is_lost) {
                let _ = sender.send(Ok(counts));
                return;
            }
            std::thread::sleep(CONNECT_PAUSE);
        }
    };
    let timeout_s = timeout.as_secs();
    // Not joined: a server that no longer answers must not delay the run any further.
    let thread = std::thread::Builder::new().name("growth".to_owned());
    thread.spawn(body).map_err(|error| error.to_string())?;
    let mut canceller = None;
    loop {
        match results.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Ok(counts)) => return Ok(counts),
            Ok(Err(of_connection)) => canceller = Some(of_connection),
            Err(_) => break,
        }
    }
    match canceller {
        // The server would otherwise go on counting.
        Some(canceller) => {
            let _ = canceller.cancel();
            Err(format!("the server did not answer within {timeout_s} s"))
        }
        None => Err(format!(
            "no server of the URL accepted a connection within {timeout_s} s"
        )),
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
