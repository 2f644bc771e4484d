//! The coordinator's side before a load: starts the commands, and learns who answers.
//!
//! In: commands. Out: a [`Fleet`] of agents of this build, whose processes end with it. Must never: accept an agent of
//! another build or of another run.

use crate::carrier::{Arrival, Carrier, Inbox, Pong, SILENCE_MAX};
use crate::command::{agent_name, is_nats, shell_command, split_weight};
use crate::error::Error;
use crate::install::install;
use crate::message::{AgentDescription, FromAgent, ToAgent};
#[cfg(feature = "nats")]
use crate::nats::{Bus, NatsAddress, open_server_warning};
use prony_drive::clock::Clock;
use prony_store::{Build, Host};
use std::collections::HashSet;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How long an agent may take to answer first: its command logs in at another machine.
const HELLO_TIMEOUT: Duration = Duration::from_secs(30);
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// No machine has more CPUs than this.
const CPUS_MAX: u32 = 1 << 16;

pub struct FleetCommands<'a> {
    /// One command for each machine; `agent --stdio` and the program are appended.
    pub commands: &'a [String],
    /// This program, for agents on this machine.
    pub program: &'a Path,
    /// This program's build, which each agent must be.
    pub build: Build,
    /// When set, the start ends.
    pub interrupt: &'a AtomicBool,
    /// Copies the program to each machine first.
    pub installs: bool,
}

/// Agents that have answered. Dropping it ends them.
pub struct Fleet {
    pub(crate) agents: Vec<Agent>,
    pub(crate) arrivals: Receiver<(usize, Arrival)>,
    #[cfg(feature = "nats")]
    buses: Vec<(String, std::sync::Arc<crate::nats::Bus>)>,
    notices: Vec<String>,
}

pub(crate) struct Agent {
    /// Its number and command, for messages; without passwords.
    pub name: String,
    /// The CPUs that it counts as, if the user says so.
    weight: Option<u32>,
    /// Whether nobody but the user's own tools carries the frames, so that passwords may be sent.
    pub is_private: bool,
    pub carrier: Carrier,
    pub pongs: Receiver<Pong>,
    pub description: Option<AgentDescription>,
    /// Its loss has been reported.
    is_lost: bool,
}

#[derive(Clone, Debug)]
pub struct AgentInfo {
    /// Its number and command, without passwords.
    pub name: String,
    pub host: Host,
}

impl Fleet {
    /// Starts all agents at once, and waits until each has said who it is.
    pub fn start(input: &FleetCommands<'_>) -> Result<Fleet, Error> {
        let commands = input.commands.iter().map(|command| split_weight(command));
        let commands: Vec<(Option<u32>, &str)> = commands.collect::<Result<_, Error>>()?;
        let mut known = HashSet::new();
        if !commands.iter().all(|(_, command)| known.insert(*command)) {
            return Err(Error::Unsupported {
                problem: "an agent is named twice",
                hint: "name each machine once; 'env A=1' and 'env A=2' are two agents of this one",
            });
        }
        let run = random_number();
        let (sender, arrivals) = channel();
        let mut fleet = Fleet {
            agents: Vec::new(),
            arrivals,
            #[cfg(feature = "nats")]
            buses: Vec::new(),
            notices: Vec::new(),
        };
        for (index, (weight, command)) in commands.into_iter().enumerate() {
            let name = agent_name(index, command);
            let (pong_sender, pongs) = channel();
            let inbox = Inbox {
                run,
                index,
                arrivals: sender.clone(),
                pongs: pong_sender,
            };
            let carrier = if is_nats(command) {
                fleet.call(command, inbox)
            } else {
                let line = if input.installs {
                    let (line, notice) = install(command, &name, input.program)?;
                    fleet.notices.push(notice);
                    line
                } else {
                    shell_command(command, input.program)
                };
                Carrier::start(&line, inbox)
            };
            let carrier = carrier.map_err(|source| Error::NotStarted {
                agent: name.clone(),
                source,
            })?;
            // If it has ended, its output says so.
            let _ = carrier.greet(&ToAgent::Hello(Box::new(input.build.clone())));
            fleet.agents.push(Agent {
                name,
                is_private: !is_nats(command),
                weight,
                carrier,
                pongs,
                description: None,
                is_lost: false,
            });
        }
        drop(sender);
        fleet.wait_for_welcomes(input)?;
        fleet.check_machines()?;
        Ok(fleet)
    }

    /// Calls an agent over NATS.
    #[cfg(feature = "nats")]
    fn call(&mut self, address: &str, inbox: Inbox) -> std::io::Result<Carrier> {
        let address = NatsAddress::parse(address, None)?;
        let known = self
            .buses
            .iter()
            .find(|(server, _)| *server == address.server);
        let bus = match known {
            Some((_, bus)) => bus.clone(),
            None => {
                let bus = Bus::connect(&address.server, false)?;
                if bus.is_open() == Some(true) {
                    self.notices
                        .push(format!("warning: {}", open_server_warning(&address.server)));
                }
                self.buses.push((address.server, bus.clone()));
                bus
            }
        };
        let (output, input) = bus.call(&address.agent)?;
        Carrier::over(output, input, inbox)
    }

    #[cfg(not(feature = "nats"))]
    fn call(&mut self, _: &str, _: Inbox) -> std::io::Result<Carrier> {
        Err(std::io::Error::other("this build has no NATS"))
    }

    /// What the user should know about the carriers, one line each.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    fn wait_for_welcomes(&mut self, input: &FleetCommands<'_>) -> Result<(), Error> {
        let since = Instant::now();
        while let Some(silent) = self
            .agents
            .iter()
            .position(|agent| agent.description.is_none())
        {
            if input.interrupt.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            if since.elapsed() > HELLO_TIMEOUT {
                let reason = format!("it did not answer within {} s", HELLO_TIMEOUT.as_secs());
                return Err(self.lost_error(silent, reason));
            }
            let Some((index, arrival)) = self.next_arrival(POLL_INTERVAL) else {
                continue;
            };
            match arrival {
                Arrival::Message(FromAgent::Welcome(description)) => {
                    let agent = &mut self.agents[index];
                    let cpus = description.host.cpus;
                    if cpus > CPUS_MAX {
                        return Err(Error::NotAnAgent {
                            agent: agent.name.clone(),
                            answer: format!("{cpus} CPUs"),
                        });
                    }
                    check_build(&agent.name, &description.build, &input.build)?;
                    agent.description = Some(*description);
                }
                Arrival::Message(_) => {}
                Arrival::Lost(reason) => return Err(self.lost_error(index, reason)),
                Arrival::NotAnAgent(answer) => {
                    let agent = self.agents[index].name.clone();
                    #[cfg(feature = "nats")]
                    if !self.agents[index].is_private && answer == crate::nats::BUSY {
                        return Err(Error::Busy { agent });
                    }
                    return Err(Error::NotAnAgent { agent, answer });
                }
            }
        }
        Ok(())
    }

    /// Checks that no other machine has two agents, which would share its CPUs unseen. This one may have several, to try it,
    /// and so may a host of containers, which have names of their own.
    fn check_machines(&self) -> Result<(), Error> {
        let here = boot_id();
        let mut known: Vec<(&str, &str, &str)> = Vec::new();
        for agent in &self.agents {
            let Some(description) = &agent.description else {
                continue;
            };
            let (boot_id, host) = (&*description.boot_id, &*description.host.name);
            if boot_id.is_empty() || boot_id == here {
                continue;
            }
            let is_same = |(_, boot, name): &&(_, &str, &str)| (*boot, *name) == (boot_id, host);
            if let Some((other, ..)) = known.iter().find(is_same) {
                return Err(Error::SameMachine {
                    agent: agent.name.clone(),
                    other: (*other).to_owned(),
                    host: host.to_owned(),
                });
            }
            known.push((&agent.name, boot_id, host));
        }
        Ok(())
    }

    pub fn agents(&self) -> impl Iterator<Item = AgentInfo> {
        self.agents.iter().map(|agent| AgentInfo {
            name: agent.name.clone(),
            host: agent.host(),
        })
    }

    pub fn cpus(&self) -> usize {
        let cpus = self.agents.iter().map(|agent| agent.host().cpus.max(1));
        cpus.map(|cpus| cpus as usize).sum()
    }

    pub fn is_elsewhere(&self) -> bool {
        let here = boot_id();
        let mut descriptions = self
            .agents
            .iter()
            .filter_map(|agent| agent.description.as_ref());
        descriptions.all(|description| description.boot_id != here)
    }

    pub(crate) fn next_arrival(&mut self, timeout: Duration) -> Option<(usize, Arrival)> {
        match self.arrivals.recv_timeout(timeout) {
            Ok(arrival) => Some(arrival),
            Err(RecvTimeoutError::Timeout) => None,
            // All readers have ended, and each has said so before.
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(timeout);
                None
            }
        }
    }

    /// The next message, if there is one soon.
    ///
    /// # Errors
    /// An agent has failed, is lost, or has been silent for too long.
    pub(crate) fn next_message(&mut self) -> Result<Option<(usize, FromAgent)>, Error> {
        // Checked even while other agents send a lot.
        let now_ns = Clock::System.now_ns();
        let mut agents = self.agents.iter();
        let silent = agents.position(|agent| !agent.is_lost && agent.carrier.is_silent(now_ns));
        if let Some(silent) = silent {
            return Err(self.lost_error(silent, no_answer()));
        }
        match self.next_arrival(POLL_INTERVAL) {
            Some((index, Arrival::Message(FromAgent::Failed(failure)))) => {
                Err(Error::failed(self.agents[index].name.clone(), failure))
            }
            Some((index, Arrival::Message(message))) => Ok(Some((index, message))),
            Some((index, Arrival::Lost(reason) | Arrival::NotAnAgent(reason))) => {
                Err(self.lost_error(index, reason))
            }
            None => Ok(None),
        }
    }

    /// The error of an agent that was lost before the load; an empty reason: its carrier ended.
    pub(crate) fn lost_error(&mut self, index: usize, reason: String) -> Error {
        let agent = &mut self.agents[index];
        agent.is_lost = true;
        Error::Lost {
            agent: agent.name.clone(),
            reason: agent.reason_of_loss(reason),
            stderr: agent.carrier.error_output(),
            is_called: !agent.is_private,
        }
    }
}

/// A random number, for runs, calls and senders.
pub(crate) fn random_number() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// The kernel's number of its boot; empty if unknown.
pub(crate) fn boot_id() -> String {
    let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    boot_id.trim().to_owned()
}

/// Why an agent that says nothing is lost.
pub(crate) fn no_answer() -> String {
    format!("it has not answered for {} s", SILENCE_MAX.as_secs())
}

impl Agent {
    /// Sends a long message; if the agent is gone, that arrives.
    pub fn send_in_background(&self, message: ToAgent) -> Result<(), Error> {
        let sent = self.carrier.send_in_background(message);
        sent.map_err(|source| Error::NotStarted {
            agent: self.name.clone(),
            source,
        })
    }

    /// Its weight when work is divided: CPUs.
    pub fn weight(&self) -> u32 {
        self.weight.unwrap_or_else(|| self.host().cpus)
    }

    pub fn host(&self) -> Host {
        let description = self.description.as_ref();
        description
            .map(|agent| agent.host.clone())
            .unwrap_or_default()
    }

    /// Its name in documents, which must not show its command: that may contain a password.
    pub fn stored_name(&self, index: usize) -> String {
        format!("agent {} ({})", index + 1, self.host().name)
    }

    /// Why it was lost; an empty reason: its carrier ended.
    pub fn reason_of_loss(&mut self, reason: String) -> String {
        if !reason.is_empty() {
            return reason;
        }
        let ended = self.carrier.ended();
        ended.unwrap_or_else(|| "its connection was closed".to_owned())
    }
}

fn check_build(agent: &str, theirs: &Build, ours: &Build) -> Result<(), Error> {
    let is_same = (&theirs.version, &theirs.commit, theirs.profile)
        == (&ours.version, &ours.commit, ours.profile);
    if is_same {
        return Ok(());
    }
    let describe = |build: &Build| {
        let commit = build.commit.as_deref().unwrap_or("no commit");
        format!("prony {} ({commit}, {:?})", build.version, build.profile)
    };
    Err(Error::OtherBuild {
        agent: agent.to_owned(),
        theirs: describe(theirs),
        ours: describe(ours),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{GREETING, read_any_frame, write_frame};
    use prony_assertions::TextAssertions;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    fn input<'a>(commands: &'a [String], interrupt: &'a AtomicBool) -> FleetCommands<'a> {
        FleetCommands {
            commands,
            program: Path::new("/nonexistent/prony"),
            build: Build::default(),
            interrupt,
            installs: false,
        }
    }

    /// A fleet of one command, which must not start.
    fn start_error(command: &str) -> String {
        let interrupt = AtomicBool::new(false);
        match Fleet::start(&input(&[command.to_owned()], &interrupt)) {
            Ok(_) => panic!("{command} is no agent"),
            Err(error) => error.to_string(),
        }
    }

    fn welcome(host: Host) -> FromAgent {
        FromAgent::Welcome(Box::new(AgentDescription {
            build: Build::default(),
            host,
            boot_id: String::new(),
        }))
    }

    /// A fleet of agents of the run 7, each with the carrier that is made of its inbox.
    fn fleet_of(count: usize, mut carrier: impl FnMut(Inbox) -> std::io::Result<Carrier>) -> Fleet {
        let (sender, arrivals) = channel();
        let agents = (0..count).map(|index| {
            let (pong_sender, pongs) = channel();
            let inbox = Inbox {
                run: 7,
                index,
                arrivals: sender.clone(),
                pongs: pong_sender,
            };
            Agent {
                name: format!("agent {}", index + 1),
                weight: None,
                is_private: true,
                carrier: carrier(inbox).expect("a carrier"),
                pongs,
                description: None,
                is_lost: false,
            }
        });
        Fleet {
            agents: agents.collect(),
            arrivals,
            #[cfg(feature = "nats")]
            buses: Vec::new(),
            notices: Vec::new(),
        }
    }

    /// A fleet of two agents, and their ends of the carriers.
    fn two_agents() -> (Fleet, [UnixStream; 2]) {
        let mut ends = Vec::new();
        let fleet = fleet_of(2, |inbox| {
            let (here, there) = UnixStream::pair().expect("a pair");
            (&there).write_all(&GREETING).expect("sent");
            ends.push(there);
            Carrier::over(here.try_clone().expect("a copy"), here, inbox)
        });
        (fleet, ends.try_into().expect("two"))
    }

    #[test]
    fn a_silent_agent_is_noticed_while_another_says_much() {
        let (mut fleet, [talking, _silent]) = two_agents();
        let talker = std::thread::spawn(move || {
            while write_frame(&mut &talking, 7, &FromAgent::Sent(1)).is_ok() {
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let since = Instant::now();
        let error = loop {
            match fleet.next_message() {
                Err(error) => break error.to_string(),
                Ok(_) => assert!(since.elapsed() < Duration::from_secs(60)),
            }
        };
        error.assert_contains("agent 2 was lost before the load: it has not answered for 3 s");
        // Once: the other one can still be heard.
        let next = fleet.next_message().expect("a message");
        assert!(matches!(next, Some((0, FromAgent::Sent(1)))));
        drop(fleet);
        talker.join().expect("it ends");
    }

    /// A long message does not fit into the pipe of its command.
    #[test]
    fn an_agent_that_reads_nothing_is_noticed() {
        let mut fleet = fleet_of(1, |inbox| Carrier::start("exec sleep 600", inbox));
        fleet.agents[0]
            .send_in_background(ToAgent::Discard("x".repeat(1 << 20)))
            .expect("a thread");
        let error = loop {
            if let Err(error) = fleet.next_message() {
                break error.to_string();
            }
        };
        error.assert_contains("it has not answered for 3 s");
    }

    /// Each takes two seconds: ten round trips of 200 ms.
    #[test]
    fn clocks_of_far_machines_are_measured_at_the_same_time() {
        let (mut fleet, ends) = two_agents();
        let answering = ends.map(|end| {
            std::thread::spawn(move || {
                let mut pings = &end;
                while let Ok((run, ToAgent::Ping(number))) = read_any_frame(&mut pings) {
                    std::thread::sleep(Duration::from_millis(200));
                    let pong = FromAgent::Pong(number, 5);
                    let _ = write_frame(&mut &end, run, &pong);
                }
            })
        });
        let since = Instant::now();
        let readings = fleet.measure_clocks(|_| true);
        let all = since.elapsed();
        assert!(readings.iter().all(Option::is_some), "{readings:?}");
        let since = Instant::now();
        fleet.measure_clock(0).expect("it answers");
        // Less than one after the other.
        assert!(all < since.elapsed() * 3 / 2, "{all:?}");
        drop(fleet);
        answering
            .into_iter()
            .for_each(|thread| thread.join().expect("it ends"));
    }

    #[test]
    fn a_machine_of_impossible_size_is_refused() {
        let (mut fleet, ends) = two_agents();
        let impossible = welcome(Host {
            cpus: u32::MAX,
            ..Host::default()
        });
        write_frame(&mut &ends[1], 7, &impossible).expect("sent");
        let interrupt = AtomicBool::new(false);
        let awaited = fleet.wait_for_welcomes(&input(&[], &interrupt));
        let error = awaited.unwrap_err().to_string();
        error.assert_contains(
            "agent 2 did not answer as an agent does, but with \"4294967295 CPUs\"",
        );
    }

    #[test]
    fn what_an_older_run_left_is_refused() {
        let mut answer = GREETING.to_vec();
        write_frame(&mut answer, 7, &welcome(Host::default())).expect("memory");
        let file = std::env::temp_dir().join(format!("prony-frames-{}", std::process::id()));
        std::fs::write(&file, &answer).expect("a file");
        let of_another_run = start_error(&format!("cat {}; sleep 20; true", file.display()));
        std::fs::write(&file, &answer[..GREETING.len() + 5]).expect("a file");
        let half = start_error(&format!("cat {}; exit 4;", file.display()));
        std::fs::remove_file(&file).expect("a file");
        of_another_run.assert_contains("it sent a frame of another run");
        half.assert_contains("its command ended with exit code 4");
    }

    #[test]
    fn another_build_is_refused() {
        let ours = Build {
            version: "0.1.0".to_owned(),
            commit: Some("abc".to_owned()),
            ..Build::default()
        };
        assert!(check_build("agent 1", &ours.clone(), &ours).is_ok());
        for theirs in [
            Build {
                version: "0.1.1".to_owned(),
                ..ours.clone()
            },
            Build {
                commit: None,
                ..ours.clone()
            },
        ] {
            let error = check_build("agent 1", &theirs, &ours)
                .unwrap_err()
                .to_string();
            error.assert_contains("agent 1 is prony 0.1");
            error.assert_contains("install the same build");
        }
    }
}
