//! The texts that `run` prints before the load, at [`super::LogLevel::Notice`].

use super::bundled::Command;
use super::options::{GeneralOptions, NativeCommand};
use std::fmt::Write;

/// Printed when threads start; also by `prepare` and `prewarm` with several threads.
pub const INITIALIZING_WORKERS: &str = "Initializing worker threads...\n\n";
pub const THREADS_STARTED: &str = "Threads started!\n\n";

/// Printed when the warm-up begins (1.1).
pub fn warming_up(seconds: u32) -> String {
    format!("Warming up for {seconds} seconds...\n\n")
}

/// The text before a command starts its work, at [`super::LogLevel::Notice`]. `prepare` and `prewarm` print
/// it only with several threads.
pub fn command_header(native: &NativeCommand) -> String {
    let is_parallel = native.test.declares_options && native.settings.threads > 1;
    match native.command {
        Command::Run => run_header(&native.settings) + INITIALIZING_WORKERS,
        Command::Prepare | Command::Prewarm if is_parallel => INITIALIZING_WORKERS.to_owned(),
        _ => String::new(),
    }
}

/// The header from the options to the line before [`INITIALIZING_WORKERS`].
pub fn run_header(settings: &GeneralOptions) -> String {
    let mut text = "Running the test with following options:\n".to_owned();
    text += &format!("Number of threads: {}\n", settings.threads);
    let mut line = |line: std::fmt::Arguments<'_>| {
        text.write_fmt(line).expect("a String takes all text");
        text.push('\n');
    };
    if settings.warmup_s > 0 {
        line(format_args!("Warmup time: {}s", settings.warmup_s));
    }
    if let Some(rate) = settings.rate_tps {
        line(format_args!("Target transaction rate: {rate}/sec"));
    }
    if let Some(seconds) = settings.report_interval_s {
        line(format_args!(
            "Report intermediate results every {seconds} second(s)"
        ));
    }
    if !settings.checkpoints_s.is_empty() {
        let seconds: Vec<String> = settings.checkpoints_s.iter().map(u32::to_string).collect();
        line(format_args!(
            "Report checkpoint(s) at {} seconds",
            seconds.join(", ")
        ));
    }
    if settings.debug {
        line(format_args!("Debug mode enabled.\n"));
    }
    if settings.validate {
        line(format_args!("Validation checks: on.\n"));
    }
    match settings.random.seed {
        Some(seed) => line(format_args!(
            "Initializing random number generator from seed ({seed}).\n"
        )),
        None => line(format_args!(
            "Initializing random number generator from current time\n"
        )),
    }
    if let (Some(wait), Some(time)) = (settings.forced_shutdown_s, settings.time_s) {
        let seconds = u64::from(time) + u64::from(wait);
        line(format_args!("Forcing shutdown in {seconds} seconds"));
    }
    text.push('\n');
    text
}
