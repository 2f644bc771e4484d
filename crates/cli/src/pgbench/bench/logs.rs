//! The files of `-l`.
//!
//! In: samples of the workers. Out: a file a thread. Must never: begin a run whose files cannot be
//! written.

use super::super::call::Call;
use prony_dialect::pgbench::{Logger, RunOptions, Voice, log_path};
use prony_drive::Tap;
use prony_drive::clock::Clock;
use prony_measure::Sample;
use prony_workload::random::RunSeeds;
use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// The files of a run.
pub struct Logs {
    voice: Voice,
    loggers: Vec<Mutex<Option<Logger<File>>>>,
    errors: Arc<Mutex<Vec<io::Error>>>,
}

/// Opens them; there are none without `-l`.
///
/// # Errors
/// The text for stderr.
pub fn open(call: &Call, options: &RunOptions, takes_default: bool) -> Result<Logs, String> {
    let mut loggers = Vec::new();
    if let Some(log) = &options.log {
        let threads = options.threads;
        let seed = options.random_seed;
        let dealt = RunSeeds::deal(seed, options.clients, takes_default, threads);
        for (thread, random) in (0..threads).zip(dealt.threads) {
            let path = log_path(&log.prefix, std::process::id(), thread);
            let file = File::create(&path).map_err(|error| {
                let why = prony_report::text::system_error(&error);
                call.voice
                    .fatal(&format!("could not open logfile \"{path}\": {why}"))
            })?;
            let clients = prony_drive::clients_of(thread, options.clients, threads);
            let sampling = random.sampling;
            let logger = Logger::new(file, &call.level, options, log, clients, sampling);
            loggers.push(Mutex::new(Some(logger)));
        }
    }
    Ok(Logs {
        voice: call.voice.clone(),
        loggers,
        errors: Arc::default(),
    })
}

impl Logs {
    /// The tap of a worker.
    pub fn tap(&self, worker: usize) -> Box<dyn Tap> {
        let logger = self.loggers.get(worker);
        Box::new(LogTap {
            logger: logger
                .and_then(|logger| logger.lock().unwrap_or_else(PoisonError::into_inner).take()),
            errors: Arc::clone(&self.errors),
        })
    }

    /// Says on stderr what could not be written.
    pub fn complain(&self) {
        let errors = self.errors.lock();
        for error in errors.unwrap_or_else(PoisonError::into_inner).iter() {
            let text = format!("could not write the log file: {error}");
            super::super::call::say(&self.voice.error(&text));
        }
    }
}

struct LogTap {
    logger: Option<Logger<File>>,
    errors: Arc<Mutex<Vec<io::Error>>>,
}

impl Tap for LogTap {
    fn started(&mut self, start_ns: u64) {
        if let Some(logger) = &mut self.logger {
            logger.start(start_ns, Clock::System.stamp_offset_ns());
        }
    }

    fn sample(&mut self, client: u32, sample: &Sample) {
        if let Some(logger) = &mut self.logger {
            logger.sample(client, sample);
        }
    }

    fn ended(&mut self, now_ns: u64) {
        if let Some(logger) = self.logger.take()
            && let Err(error) = logger.finish(now_ns)
        {
            let mut errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
            errors.push(error);
        }
    }
}
