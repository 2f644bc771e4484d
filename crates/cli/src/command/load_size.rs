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
use prony_store::SqlDialect;
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
    /// The most bytes of log that the server keeps beside the data. The log may be on another disk.
    log_bytes_max: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Decision {
    Load,
    /// The user is asked, because the load is this large.
    Ask(String),
    /// It does not fit, or perhaps not with its log; the largest scale that certainly does.
    DoesNotFit {
        bytes: u64,
        free: FreeSpace,
        largest_scale: u64,
    },
}

impl LoadSize {
    fn of(control: &mut Control, workload: &dyn Workload, plan: &WorkloadPlan) -> LoadSize {
        let scale = u64::from(plan.scale.unwrap_or(1));
        let bytes_per_scale = workload.bytes_per_scale(control.dialect(), plan);
        let bytes = bytes_per_scale.map(|bytes| bytes.saturating_mul(scale));
        let free = find_free_space(control);
        LoadSize {
            scale,
            rows: workload.rows_to_load(plan, scale),
            bytes,
            free,
            log_bytes_max: log_bytes_max(control),
        }
    }

    /// The most bytes that the disk has to hold during the load: the data, the sort files of its indexes (an eighth of
    /// it is ample for every workload), and the log, up to as much as the data.
    fn peak_bytes(&self, bytes: u64) -> u64 {
        let log_bytes = bytes.min(self.log_bytes_max);
        bytes.saturating_add(bytes / 8).saturating_add(log_bytes)
    }

    /// The largest scale that fits into so many bytes.
    fn largest_scale(&self, bytes: u64, free_bytes: u64) -> u64 {
        let at = |scale: u64| u128::from(bytes) * u128::from(scale) / u128::from(self.scale);
        let fits =
            |scale: u64| self.peak_bytes(at(scale).try_into().unwrap_or(u64::MAX)) <= free_bytes;
        let (mut fitting, mut too_large) = (0, self.scale);
        while too_large - fitting > 1 {
            let middle = fitting.midpoint(too_large);
            if fits(middle) {
                fitting = middle;
            } else {
                too_large = middle;
            }
        }
        fitting
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
        if let Ok(free) = &self.free
            && self.peak_bytes(bytes) > free.bytes
        {
            return Decision::DoesNotFit {
                bytes,
                free: free.clone(),
                largest_scale: self.largest_scale(bytes, free.bytes),
            };
        }
        let seconds = self.seconds().unwrap_or(0.0);
        if bytes > CONFIRM_BYTES || seconds > CONFIRM_S {
            let (size, time) = (units::bytes(bytes), units::span(seconds.round()));
            return Decision::Ask(format!("{size} in about {time}"));
        }
        Decision::Load
    }
}

/// The most bytes of log that a load leaves on the server's disk; without a limit if that is not known.
fn log_bytes_max(control: &mut Control) -> u64 {
    let query = match control.dialect() {
        SqlDialect::PostgreSql => "select pg_size_bytes(current_setting('max_wal_size'))",
        // InnoDB's redo log has its full size from the start; only the binary log grows.
        SqlDialect::MySql => "SELECT IF(@@log_bin, NULL, 0)",
        SqlDialect::TransactSql => return u64::MAX,
    };
    let value = control.query_value(query).ok().flatten();
    value
        .and_then(|bytes| bytes.parse().ok())
        .unwrap_or(u64::MAX)
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
    if is_confirmed {
        return Ok(());
    }
    let has_terminal = stdin().is_terminal() && stderr().is_terminal();
    match size.decide() {
        Decision::Ask(what) if has_terminal => {
            if asks_to_go_on(&format!("Load {what}? [y/N] "), signals)? {
                Ok(())
            } else {
                Err(Failure::usage("nothing was loaded", ""))
            }
        }
        decision => refusal(&decision).map_or(Ok(()), Err),
    }
}

/// Why a load does not begin unless the user confirms it; `None` if it may.
fn refusal(decision: &Decision) -> Option<Failure> {
    match decision {
        Decision::Load => None,
        Decision::Ask(what) => Some(Failure::usage(
            format!("a load of {what} needs a confirmation"),
            "add --yes, or use a smaller --scale",
        )),
        Decision::DoesNotFit {
            bytes,
            free,
            largest_scale,
        } => {
            let fits = if *bytes > free.bytes {
                "does not fit"
            } else {
                "may not fit with its log and sort files"
            };
            let message = format!("the data {fits}: {} are free", units::bytes(free.bytes));
            let smaller = match largest_scale {
                0 => String::new(),
                scale => format!("use --scale {scale} or less, "),
            };
            let hint = format!("{smaller}make room, or load anyway with --yes");
            Some(Failure::usage(message, hint).at(&*free.folder))
        }
    }
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

    fn size(scale: u64, free: Result<u64, &str>, log_bytes_max: u64) -> LoadSize {
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
            log_bytes_max,
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
        assert_eq!(size(100, Ok(1_770_000_000), 0).decide(), Decision::Load);
        let refused = |size: &LoadSize| refusal(&size.decide()).expect("a refusal");
        let failure = refused(&size(200, Ok(1_570_000_000), 0));
        assert_eq!(failure.exit, Exit::Usage);
        assert_eq!(
            failure.problems[0].problem,
            "the data does not fit: 1.6 GB are free"
        );
        let hint = |failure: &Failure| failure.problems[0].hint.clone().unwrap();
        hint(&failure).assert_starts_with("use --scale 88 or less");
        assert_eq!(failure.problems[0].details.as_deref(), Some("/data"));
        // Without a limit, the log is as large as the data.
        let failure = refused(&size(100, Ok(1_770_000_000), u64::MAX));
        hint(&failure).assert_starts_with("use --scale 53 or less");
        assert_eq!(
            failure.problems[0].problem,
            "the data may not fit with its log and sort files: 1.8 GB are free"
        );
        let smaller = size(53, Ok(1_770_000_000), u64::MAX);
        assert_eq!(smaller.decide(), Decision::Load, "the hint's scale fits");
        let limited = size(100, Ok(1_870_000_000), 100_000_000);
        assert_eq!(limited.decide(), Decision::Load);
        let large = size(10_000, Err("elsewhere"), 0);
        let Decision::Ask(what) = large.decide() else {
            panic!("157 GB");
        };
        assert_eq!(what, "157 GB in about 1 h 5 min");
        hint(&refused(&large)).assert_contains("--yes");
        assert_eq!(size(6_000, Err("elsewhere"), 0).decide(), Decision::Load);
    }
}
