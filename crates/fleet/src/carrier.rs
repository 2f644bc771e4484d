//! The carrier of an agent: the ends of a command's input and output, or other streams of bytes.
//!
//! In: a command, or streams. Out: frames in both directions. Must never: wait forever for a process, or leave one
//! running.

use crate::frame::{FrameError, GREETING, read_frame, write_frame};
use crate::message::{FromAgent, ToAgent};
use prony_drive::clock::Clock;
use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, sleep};
use std::time::{Duration, Instant};

/// How often each side says that it is there.
pub(crate) const HEARTBEAT: Duration = Duration::from_millis(500);
/// A side that has been silent for this long is lost.
pub(crate) const SILENCE_MAX: Duration = Duration::from_secs(3);
/// How long a process may take to end by itself when its input is closed.
const END_TIMEOUT: Duration = Duration::from_secs(2);
/// How much of a command's standard error output is kept.
const STDERR_MAX_BYTES: usize = 2_000;
/// How much of a wrong greeting is shown.
const ANSWER_MAX_BYTES: usize = 60;

pub(crate) enum Arrival {
    Message(FromAgent),
    /// The carrier has ended or cannot be understood, for this reason.
    Lost(String),
    /// Its first bytes are not those of an agent.
    NotAnAgent(String),
}

/// The number of a ping, the agent's time, and when the answer arrived, nanoseconds.
pub(crate) type Pong = (u32, u64, u64);

/// Where frames for an agent go; `None` when the carrier has ended.
type Input = Mutex<Option<Box<dyn Write + Send>>>;

/// The ends of an agent's carrier. Dropping it ends the agent.
pub(crate) struct Carrier {
    /// The command, if there is one.
    child: Option<Child>,
    input: Arc<Input>,
    /// The end of the command's standard error output.
    stderr: Arc<Mutex<Vec<u8>>>,
    /// When the last frame of the agent arrived, on this machine's clock. Set by the reader thread, because the coordinator
    /// may be busy with other agents' frames.
    heard_ns: Arc<AtomicU64>,
    run: u64,
}

impl Carrier {
    /// Starts a command in a session of its own, so that Ctrl-C reaches the coordinator alone and nothing waits for a
    /// password at the terminal.
    pub fn start(shell_command: &str, inbox: Inbox) -> io::Result<Carrier> {
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", shell_command])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // SAFETY: setsid is async-signal-safe, and nothing else is called between fork and exec.
        unsafe {
            command.pre_exec(|| match libc::setsid() {
                -1 => Err(io::Error::last_os_error()),
                _ => Ok(()),
            });
        }
        let mut child = command.spawn()?;
        let missing = || io::Error::from(io::ErrorKind::BrokenPipe);
        let output = child.stdout.take().ok_or_else(missing)?;
        let input = child.stdin.take().ok_or_else(missing)?;
        let errors = child.stderr.take();
        let mut carrier = Carrier::over(output, input, inbox)?;
        carrier.child = Some(child);
        if let Some(errors) = errors {
            let kept = Arc::clone(&carrier.stderr);
            Builder::new().spawn(move || keep_end(errors, &kept))?;
        }
        Ok(carrier)
    }

    pub fn over(
        output: impl Read + Send + 'static,
        input: impl Write + Send + 'static,
        inbox: Inbox,
    ) -> io::Result<Carrier> {
        let run = inbox.run;
        let heard_ns = Arc::new(AtomicU64::new(Clock::System.now_ns()));
        let heard = Arc::clone(&heard_ns);
        Builder::new().spawn(move || inbox.read_all(output, &heard))?;
        Ok(Carrier {
            child: None,
            input: Arc::new(Mutex::new(Some(Box::new(input)))),
            stderr: Arc::default(),
            heard_ns,
            run,
        })
    }

    /// Whether nothing has arrived from the agent for too long.
    pub fn is_silent(&self, now_ns: u64) -> bool {
        let heard_ns = self.heard_ns.load(Ordering::Relaxed);
        let silent_ns = now_ns.saturating_sub(heard_ns);
        Duration::from_nanos(silent_ns) > SILENCE_MAX
    }

    /// Sends the greeting and the first message, and from then on that the coordinator is there.
    pub fn greet(&self, message: &ToAgent) -> io::Result<()> {
        if let Some(input) = lock(&self.input).as_mut() {
            input.write_all(&GREETING)?;
        }
        self.send(message)?;
        let (input, run) = (Arc::downgrade(&self.input), self.run);
        // It ends with the carrier, or when the agent no longer reads.
        Builder::new().spawn(move || {
            while let Some(input) = input.upgrade() {
                if send(&input, run, &ToAgent::Alive).is_err() {
                    break;
                }
                drop(input);
                sleep(HEARTBEAT);
            }
        })?;
        Ok(())
    }

    pub fn send(&self, message: &ToAgent) -> io::Result<()> {
        send(&self.input, self.run, message)
    }

    /// Sends a long message without waiting until the agent has read it, which may have stopped.
    pub fn send_in_background(&self, message: ToAgent) -> io::Result<()> {
        let (input, run) = (Arc::clone(&self.input), self.run);
        // If the agent is gone, that arrives.
        let sending = move || drop(send(&input, run, &message));
        Builder::new().spawn(sending).map(drop)
    }

    /// The end of what the command wrote to its standard error output.
    pub fn error_output(&self) -> String {
        String::from_utf8_lossy(&lock(&self.stderr)).into_owned()
    }

    /// How the process ended, waiting a moment for it; `None` if it runs.
    pub fn ended(&mut self) -> Option<String> {
        let status = self.wait(Duration::from_millis(200))?;
        Some(match (status.code(), status.signal()) {
            // As shells say it.
            (Some(code @ 129..160), _) => {
                format!("its command was ended by signal {}", code - 128)
            }
            (Some(code), _) => format!("its command ended with exit code {code}"),
            (_, Some(signal)) => format!("its command was ended by signal {signal}"),
            _ => "its command ended".to_owned(),
        })
    }

    fn wait(&mut self, timeout: Duration) -> Option<ExitStatus> {
        let child = self.child.as_mut()?;
        let since = Instant::now();
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if since.elapsed() < timeout => sleep(Duration::from_millis(5)),
                _ => return None,
            }
        }
    }

    /// Ends the process and those that it started, at once; without a process, the bytes for the agent.
    pub fn kill(&mut self) {
        match self.child.as_ref().map(Child::id) {
            None => *lock(&self.input) = None,
            Some(id) if self.wait(Duration::ZERO).is_none() => {
                // SAFETY: the process leads a session and a group of its own, and has not been waited for, so that its
                // number is still its own.
                unsafe { libc::kill(-(id as libc::pid_t), libc::SIGKILL) };
            }
            Some(_) => {}
        }
    }
}

impl Drop for Carrier {
    fn drop(&mut self) {
        // Do not wait for a heartbeat that hangs in the pipe: the process is killed then.
        if let Ok(mut input) = self.input.try_lock() {
            if let Some(input) = input.as_mut() {
                let _ = write_frame(input, self.run, &ToAgent::End);
            }
            *input = None;
        }
        if self.wait(END_TIMEOUT).is_none() {
            self.kill();
            if let Some(child) = &mut self.child {
                let _ = child.wait();
            }
        }
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn send(input: &Input, run: u64, message: &ToAgent) -> io::Result<()> {
    match lock(input).as_mut() {
        Some(input) => write_frame(input, run, message),
        None => Err(io::ErrorKind::BrokenPipe.into()),
    }
}

/// Reads to the end, and keeps the last bytes.
fn keep_end(mut errors: ChildStderr, kept: &Mutex<Vec<u8>>) {
    let mut chunk = [0; 512];
    while let Ok(length @ 1..) = errors.read(&mut chunk) {
        let mut kept = lock(kept);
        kept.extend_from_slice(&chunk[..length]);
        let excess = kept.len().saturating_sub(STDERR_MAX_BYTES);
        kept.drain(..excess);
    }
}

/// Where what arrives from an agent goes.
pub(crate) struct Inbox {
    pub run: u64,
    /// The agent's index, with which arrivals are sent.
    pub index: usize,
    pub arrivals: Sender<(usize, Arrival)>,
    /// Takes the answers to pings.
    pub pongs: Sender<Pong>,
}

impl Inbox {
    /// Reads to the end; `heard_ns` is when the last frame arrived.
    fn read_all(&self, mut output: impl Read, heard_ns: &AtomicU64) {
        let end = match read_greeting(&mut output) {
            Ok(()) => self.read_frames(&mut output, heard_ns),
            Err(arrival) => arrival,
        };
        let _ = self.arrivals.send((self.index, end));
    }

    fn read_frames(&self, output: &mut dyn Read, heard_ns: &AtomicU64) -> Arrival {
        loop {
            let frame = read_frame(output, self.run);
            let now_ns = Clock::System.now_ns();
            heard_ns.store(now_ns, Ordering::Relaxed);
            match frame {
                Ok(FromAgent::Pong(number, agent_ns)) => {
                    let _ = self.pongs.send((number, agent_ns, now_ns));
                }
                Ok(message) => {
                    let arrival = (self.index, Arrival::Message(message));
                    if self.arrivals.send(arrival).is_err() {
                        return Arrival::Lost("nobody listens".to_owned());
                    }
                }
                Err(FrameError::Closed) => return Arrival::Lost(String::new()),
                Err(error) => return Arrival::Lost(error.to_string()),
            }
        }
    }
}

fn read_greeting(output: &mut dyn Read) -> Result<(), Arrival> {
    let mut greeting = Vec::new();
    let mut byte = [0];
    while greeting.len() < GREETING.len() {
        match output.read_exact(&mut byte) {
            Ok(()) => greeting.push(byte[0]),
            // Perhaps within the greeting.
            Err(_) => return Err(Arrival::Lost(String::new())),
        }
        if !GREETING.starts_with(&greeting) {
            let mut rest = [0; ANSWER_MAX_BYTES];
            let length = output.read(&mut rest).unwrap_or(0);
            greeting.extend_from_slice(&rest[..length]);
            break;
        }
    }
    if greeting == GREETING {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&greeting);
    let line = text.lines().next().unwrap_or_default();
    Err(Arrival::NotAnAgent(line.escape_debug().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_that_ends_within_its_greeting_is_lost_and_another_answer_is_shown() {
        for end in 0..GREETING.len() {
            let arrival = read_greeting(&mut &GREETING[..end]);
            assert!(matches!(arrival, Err(Arrival::Lost(_))), "{end}");
        }
        assert!(read_greeting(&mut &GREETING[..]).is_ok());
        let answer = read_greeting(&mut &b"PRONY 2 is here\nand more"[..]);
        let Err(Arrival::NotAnAgent(line)) = answer else {
            panic!("not an agent");
        };
        assert_eq!(line, "PRONY 2 is here");
    }
}
