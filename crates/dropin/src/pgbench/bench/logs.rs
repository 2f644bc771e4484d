//! The files of `-l`, one for each thread, which may be one of another machine.
//!
//! Must never: start a run whose files cannot be written.

use super::super::call::PgbenchCall;
use crate::output::{eprint, lock};
use prony_dialect::pgbench::{Logger, Messages, RunOptions, log_path};
use prony_drive::SampleListener;
use prony_drive::clock::Clock;
use prony_measure::Sample;
use prony_workload::random::RunSeeds;
use std::fs::File;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

/// Whether a run's random numbers begin with the default seed: no option defines another.
pub fn uses_default_seed(defines: &[(String, String)]) -> bool {
    defines.iter().all(|(name, _)| name != "default_seed")
}

/// The log files of a run.
pub struct Logs {
    messages: Messages,
    loggers: Vec<Mutex<Option<Logger<File>>>>,
    /// The files whose lines agents send.
    files_of_agents: Vec<Mutex<File>>,
    errors: Arc<Mutex<Vec<io::Error>>>,
}

/// Opens the files; none without `-l`. `has_agents`: the threads are those of other machines.
///
/// # Errors
/// The text for stderr.
pub fn open(call: &PgbenchCall, options: &RunOptions, has_agents: bool) -> Result<Logs, String> {
    let (mut loggers, mut files_of_agents) = (Vec::new(), Vec::new());
    if let Some(log) = &options.log {
        let (clients, threads) = (options.clients, options.threads);
        let create = |thread| {
            let path = log_path(&log.prefix, std::process::id(), thread);
            File::create(&path).map_err(|error| {
                let reason = prony_plan::system_error(&error);
                call.messages
                    .fatal(&format!("could not open logfile \"{path}\": {reason}"))
            })
        };
        if has_agents {
            let files = (0..threads).map(|thread| create(thread).map(Mutex::new));
            files_of_agents = files.collect::<Result<_, _>>()?;
        } else {
            let has_default_seed = uses_default_seed(&options.defines);
            let seeds = RunSeeds::derive(options.random_seed, clients, has_default_seed, threads);
            for (thread, random) in (0..threads).zip(seeds.threads) {
                let file = create(thread)?;
                let clients = prony_drive::clients_of_thread(thread, clients, threads);
                let sampling = random.sampling;
                let logger = Logger::new(file, &call.level, options, log, clients, sampling);
                loggers.push(Mutex::new(Some(logger)));
            }
        }
    }
    Ok(Logs {
        messages: call.messages.clone(),
        loggers,
        files_of_agents,
        errors: Arc::default(),
    })
}

impl Logs {
    pub fn new_listener(&self, worker: usize) -> Box<dyn SampleListener> {
        let logger = self.loggers.get(worker);
        Box::new(SampleLogger {
            logger: logger.and_then(|logger| lock(logger).take()),
            errors: Arc::clone(&self.errors),
        })
    }

    /// Writes lines of a thread of another machine.
    ///
    /// # Errors
    /// There is no such thread.
    pub fn add_lines(&self, thread: u32, lines: &str) -> Result<(), String> {
        let file = self.files_of_agents.get(thread as usize);
        let file = file.ok_or("it sent the log of a thread that is not one of the run")?;
        if let Err(error) = lock(file).write_all(lines.as_bytes()) {
            lock(&self.errors).push(error);
        }
        Ok(())
    }

    /// Prints write errors on stderr.
    pub fn print_errors(&self) {
        for error in lock(&self.errors).iter() {
            let text = format!("could not write the log file: {error}");
            eprint(&self.messages.error(&text));
        }
    }
}

/// Writes the log of one worker.
pub struct SampleLogger<W: Write> {
    pub logger: Option<Logger<W>>,
    pub errors: Arc<Mutex<Vec<io::Error>>>,
}

impl<W: Write> SampleListener for SampleLogger<W> {
    fn started(&mut self, start_ns: u64) {
        if let Some(logger) = &mut self.logger {
            logger.start_load(start_ns, Clock::System.timestamp_offset_ns());
        }
    }

    fn sample(&mut self, client: u32, sample: &Sample) {
        if let Some(logger) = &mut self.logger {
            logger.log_sample(client, sample);
        }
    }

    fn ended(&mut self, now_ns: u64) {
        if let Some(logger) = self.logger.take()
            && let Err(error) = logger.finish(now_ns)
        {
            lock(&self.errors).push(error);
        }
    }
}
