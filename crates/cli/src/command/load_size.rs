//! What a load takes, before it begins: rows, bytes and time, and whether that fits.
//!
//! In: a checked plan and a connection. Out: one sentence, a question for large loads, or a refusal. Must never: read the
//! free space of this machine for a server elsewhere, or wait for an answer without a terminal.

use super::output;
use crate::exit::{Exit, Failure};
use prony_plan::WorkloadPlan;
use prony_report::units;
use prony_runner::Signals;
use prony_server::Control;
use prony_server::observe::machine::{FreeSpace, find_free_space};
use prony_server::observe::{read_server_facts, read_server_state};
use prony_workload::Workload;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, BufRead, IsTerminal, Write, stderr, stdin};

/// Speed of a load about which nothing is known, bytes of the loaded tables a second: the loads of AlloyDB's guide
/// reached 30 to 110 MB/s.
pub const ASSUMED_LOAD_BYTES_PER_S: f64 = 40e6;

/// Loads above either limit need a confirmation.
const CONFIRM_BYTES: u64 = 100_000_000_000;
const CONFIRM_S: f64 = 86_400.0;

#[derive(Clone, Debug, PartialEq, Eq)]
struct LoadSize {
    scale: u64,
    rows: u64,
    /// Bytes of the tables with their indexes; `None` if not known.
    bytes: Option<u64>,
    /// Where the data goes, or why that is not known.
    free: Result<FreeSpace, String>,
    /// Bytes of the database as it is, which a load may replace.
    replaced: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Decision {
    Load,
    /// The user is asked, because the load is this large.
    Ask(String),
    /// It does not fit; the largest scale that does.
    DoesNotFit {
        largest_scale: u64,
    },
}

impl LoadSize {
    fn of(control: &mut Control, workload: &dyn Workload, plan: &WorkloadPlan) -> LoadSize {
        let scale = u64::from(plan.scale.unwrap_or(1));
        let bytes_per_scale = workload.bytes_per_scale(control.dialect(), plan);
        let bytes = bytes_per_scale.map(|bytes| bytes.saturating_mul(scale));
        let free = find_free_space(control);
        let is_tight = matches!((bytes, &free), (Some(bytes), Ok(free)) if bytes > free.bytes);
        let replaced = if is_tight {
            database_bytes(control).unwrap_or(0)
        } else {
            0
        };
        LoadSize {
            scale,
            rows: workload.rows_to_load(plan, scale),
            bytes,
            free,
            replaced,
        }
    }

    /// Expected time, seconds.
    fn seconds(&self) -> Option<f64> {
        Some(self.bytes? as f64 / ASSUMED_LOAD_BYTES_PER_S)
    }

    fn describe(&self) -> String {
        let rows = units::count_with_noun(self.rows, "row", "rows");
        let size = match (self.bytes, self.seconds()) {
            (Some(bytes), Some(seconds)) => format!(
                "about {rows}, {} with indexes; about {} at an assumed {} a second",
                units::bytes(bytes),
                units::span(seconds.max(1.0).round()),
                units::bytes(ASSUMED_LOAD_BYTES_PER_S as u64),
            ),
            _ => format!("about {rows}; how many bytes these take is not known"),
        };
        let free = match &self.free {
            Ok(free) => format!("{} are free in {}", units::bytes(free.bytes), free.folder),
            Err(reason) => format!("free space not known: {reason}"),
        };
        format!("Loading {size}; {free}.")
    }

    fn decide(&self) -> Decision {
        let Some(bytes) = self.bytes else {
            return Decision::Load;
        };
        if let Ok(free) = &self.free {
            let room = free.bytes.saturating_add(self.replaced);
            if bytes > room {
                let largest_scale = u128::from(self.scale) * u128::from(room) / u128::from(bytes);
                return Decision::DoesNotFit {
                    largest_scale: largest_scale as u64,
                };
            }
        }
        let seconds = self.seconds().unwrap_or(0.0);
        if bytes > CONFIRM_BYTES || seconds > CONFIRM_S {
            let (size, time) = (units::bytes(bytes), units::span(seconds.round()));
            return Decision::Ask(format!("{size} in about {time}"));
        }
        Decision::Load
    }
}

fn database_bytes(control: &mut Control) -> Option<u64> {
    let facts = read_server_facts(control).ok()?;
    read_server_state(control, &facts).ok()?.0.database_bytes
}

/// Says what the load takes, and asks about a large one. With `is_confirmed`, it is never asked about or refused.
pub fn announce(
    control: &mut Control,
    workload: &dyn Workload,
    plan: &WorkloadPlan,
    is_confirmed: bool,
    signals: &Signals,
) -> Result<(), Failure> {
    let size = LoadSize::of(control, workload, plan);
    output::notice(&size.describe());
    let decision = size.decide();
    match &decision {
        _ if is_confirmed => Ok(()),
        Decision::Load => Ok(()),
        Decision::Ask(_) if !stdin().is_terminal() || !stderr().is_terminal() => {
            Err(refusal(&size, &decision))
        }
        Decision::Ask(what) => {
            if asks_to_go_on(&format!("Load {what}? [y/N] "), signals)? {
                Ok(())
            } else {
                Err(Failure::usage("nothing was loaded", ""))
            }
        }
        Decision::DoesNotFit { .. } => Err(refusal(&size, &decision)),
    }
}

fn refusal(size: &LoadSize, decision: &Decision) -> Failure {
    let (message, place, hint) = match (decision, &size.free) {
        (Decision::DoesNotFit { largest_scale }, Ok(free)) => {
            let replaced = match size.replaced {
                0 => String::new(),
                bytes => format!(" and {} of this database", units::bytes(bytes)),
            };
            let message = format!(
                "the data does not fit: {} are free{replaced}",
                units::bytes(free.bytes)
            );
            let smaller = match largest_scale {
                0 => String::new(),
                scale => format!("use --scale {scale} or less, "),
            };
            (
                message,
                free.folder.clone(),
                format!("{smaller}make room, or load anyway with --yes"),
            )
        }
        (Decision::Ask(what), _) => (
            format!("a load of {what} needs a confirmation"),
            String::new(),
            "add --yes, or use a smaller --scale".to_owned(),
        ),
        _ => (String::new(), String::new(), String::new()),
    };
    Failure::usage(message, hint).at(place)
}

/// Asks on the terminal; only `y` or `yes` agrees.
fn asks_to_go_on(question: &str, signals: &Signals) -> Result<bool, Failure> {
    let unreadable = |error: io::Error| {
        Failure::new(
            Exit::Unexpected,
            format!("cannot read the answer: {error}"),
            "use --yes",
        )
    };
    let _ = write!(stderr(), "{question}").and_then(|()| stderr().flush());
    loop {
        if let Some(signal) = signals.received() {
            let message = format!("ended by {}: nothing was loaded", signal.name());
            return Err(Failure::new(signal.into(), message, ""));
        }
        let input = stdin();
        let mut waiting = [PollFd::new(&input, PollFlags::IN)];
        let pause = Timespec {
            tv_sec: 0,
            tv_nsec: 100_000_000,
        };
        match poll(&mut waiting, Some(&pause)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => break,
            Err(error) => return Err(unreadable(error.into())),
        }
    }
    let mut answer = String::new();
    stdin().lock().read_line(&mut answer).map_err(unreadable)?;
    Ok(matches!(
        answer.trim().to_ascii_lowercase().as_str(),
        "y" | "yes"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;

    fn size(scale: u64, free: Result<u64, &str>, replaced: u64) -> LoadSize {
        LoadSize {
            scale,
            rows: 100_000 * scale,
            bytes: Some(15_700_000 * scale),
            free: free
                .map(|bytes| FreeSpace {
                    bytes,
                    folder: "/data".to_owned(),
                })
                .map_err(str::to_owned),
            replaced,
        }
    }

    #[test]
    fn a_load_says_what_it_takes_and_where_that_goes() {
        assert_eq!(
            size(100, Ok(37_000_000_000), 0).describe(),
            "Loading about 10,000,000 rows, 1.6 GB with indexes; about 39 s at an assumed 40 MB a second; 37 GB are \
             free in /data."
        );
        let elsewhere = size(1, Err("the server runs on another machine"), 0);
        let text = elsewhere.describe();
        text.assert_ends_with("free space not known: the server runs on another machine.");
        let unknown = LoadSize {
            bytes: None,
            ..elsewhere
        };
        unknown
            .describe()
            .assert_contains("bytes these take is not known");
        assert_eq!(unknown.decide(), Decision::Load);
    }

    #[test]
    fn what_certainly_does_not_fit_is_refused_and_what_is_large_is_asked_about() {
        assert_eq!(size(100, Ok(1_570_000_000), 0).decide(), Decision::Load);
        let too_large = size(200, Ok(1_570_000_000), 0);
        let decision = too_large.decide();
        assert_eq!(decision, Decision::DoesNotFit { largest_scale: 100 });
        let failure = refusal(&too_large, &decision);
        assert_eq!(failure.exit, Exit::Usage);
        assert_eq!(
            failure.problems[0].problem,
            "the data does not fit: 1.6 GB are free"
        );
        let hint = |failure: &Failure| failure.problems[0].hint.clone().unwrap();
        hint(&failure).assert_starts_with("use --scale 100 or less");
        // The tables that it replaces make room.
        assert_eq!(
            size(200, Ok(1_570_000_000), 1_570_000_000).decide(),
            Decision::Load
        );
        let large = size(10_000, Err("elsewhere"), 0);
        let Decision::Ask(what) = large.decide() else {
            panic!("157 GB");
        };
        assert_eq!(what, "157 GB in about 1 h 5 min");
        let refused = refusal(&large, &large.decide());
        hint(&refused).assert_contains("--yes");
        assert_eq!(size(6_000, Err("elsewhere"), 0).decide(), Decision::Load);
    }
}
