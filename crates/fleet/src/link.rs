//! The agent's connection to its coordinator.
//!
//! In: frames. Out: requests, and frames of what is done. Must never: go on without the coordinator: when it is gone or
//! silent, what is done ends, or else the process does.

use crate::carrier::{HEARTBEAT, SILENCE_MAX, lock};
use crate::frame::{FrameError, read_frame, write_frame};
use crate::message::{FromAgent, ToAgent};
use prony_drive::clock::Clock;
use std::env::args_os;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, sleep};
use std::time::Duration;

/// How long an agent without a coordinator may take to end its load; then the process exits.
const END_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) struct Link {
    output: Mutex<Box<dyn Write + Send>>,
    pub run: u64,
    /// Ends the load.
    pub interrupt: AtomicBool,
    /// Ends the waits of the control connection.
    pub stop: Arc<AtomicUsize>,
    is_lost: AtomicBool,
    /// All requests have been served.
    has_ended: AtomicBool,
    /// Whether a process whose load hangs begins anew rather than ends.
    begins_anew: bool,
    /// When the coordinator was heard last, on the agent's clock.
    heard_ns: AtomicU64,
}

impl Link {
    /// Takes up the streams, whose greetings have been exchanged, for the run with this number; requests arrive at the
    /// receiver.
    pub fn start(
        mut input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
        run: u64,
        begins_anew: bool,
    ) -> io::Result<(Arc<Link>, Receiver<ToAgent>)> {
        let link = Arc::new(Link {
            output: Mutex::new(Box::new(output)),
            run,
            interrupt: AtomicBool::new(false),
            stop: Arc::default(),
            is_lost: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
            begins_anew,
            heard_ns: AtomicU64::new(Clock::System.now_ns()),
        });
        let (sender, requests) = channel();
        let reading = Arc::clone(&link);
        Builder::new().spawn(move || reading.read_all(&mut input, &sender))?;
        let beating = Arc::clone(&link);
        Builder::new().spawn(move || beating.beat())?;
        let watching = Arc::clone(&link);
        Builder::new().spawn(move || watching.watch())?;
        Ok((link, requests))
    }

    /// All requests have been served. What carries the frames ends, and with it the thread that reads.
    pub fn end(&self) {
        self.has_ended.store(true, Ordering::Relaxed);
        *lock(&self.output) = Box::new(io::sink());
    }

    pub fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }

    pub fn send(&self, message: &FromAgent) -> io::Result<()> {
        let mut output = lock(&self.output);
        write_frame(&mut **output, self.run, message)
    }

    /// Ends what is being done.
    fn stop(&self) {
        self.stop.store(libc::SIGTERM as usize, Ordering::Relaxed);
        self.interrupt.store(true, Ordering::Relaxed);
    }

    pub fn lose(&self) {
        self.is_lost.store(true, Ordering::Relaxed);
        self.stop();
    }

    /// Reads all frames: answers pings, stops at once, and passes the others on. Ends with the input.
    fn read_all(&self, input: &mut dyn Read, requests: &Sender<ToAgent>) {
        loop {
            let message = read_frame(input, self.run);
            let now_ns = Clock::System.now_ns();
            self.heard_ns.store(now_ns, Ordering::Relaxed);
            let result = match message {
                Ok(ToAgent::Ping(number)) => self.send(&FromAgent::Pong(number, now_ns)),
                Ok(ToAgent::Alive) => Ok(()),
                Ok(message) => {
                    if matches!(message, ToAgent::Stop) {
                        self.stop();
                    }
                    requests
                        .send(message)
                        .map_err(|_| io::ErrorKind::BrokenPipe.into())
                }
                Err(FrameError::Closed) => Err(io::ErrorKind::UnexpectedEof.into()),
                Err(error) => Err(io::Error::other(error.to_string())),
            };
            if result.is_err() {
                return self.lose();
            }
        }
    }

    fn beat(&self) {
        while !self.is_over() && self.send(&FromAgent::Alive).is_ok() {
            sleep(HEARTBEAT);
        }
        if !self.has_ended.load(Ordering::Relaxed) {
            self.lose();
        }
    }

    fn is_over(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed) || self.has_ended.load(Ordering::Relaxed)
    }

    /// Watches whether the coordinator is there. If not, the load ends soon, or else the process does, even if a write
    /// to the coordinator hangs.
    fn watch(&self) {
        while !self.is_over() {
            let silent_ns = Clock::System
                .now_ns()
                .saturating_sub(self.heard_ns.load(Ordering::Relaxed));
            if Duration::from_nanos(silent_ns) > SILENCE_MAX {
                self.lose();
            }
            sleep(HEARTBEAT);
        }
        if self.is_lost.load(Ordering::Relaxed) {
            sleep(END_TIMEOUT);
            if !self.has_ended.load(Ordering::Relaxed) {
                if self.begins_anew {
                    // An error: it did not begin.
                    let _ = Command::new("/proc/self/exe")
                        .args(args_os().skip(1))
                        .exec();
                }
                std::process::exit(1);
            }
        }
    }
}
