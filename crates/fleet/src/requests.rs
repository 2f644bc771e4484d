//! What a coordinator asks of single agents: clocks, machines, the way to the server, kept files.
//!
//! In: an agent's index. Out: its answer. Must never: wait for an agent that is silent.

use crate::carrier::SILENCE_MAX;
use crate::clock::{ClockReading, ROUND_TRIPS, ROUND_TRIPS_MIN, TIME_MAX};
use crate::coordinator::{Agent, Fleet, boot_id, no_answer};
use crate::error::Error;
use crate::keep::KeptPiece;
use crate::login::server_login;
use crate::message::{FromAgent, ServerProbe, ToAgent};
use prony_drive::clock::Clock;
use prony_server::{Endpoint, Target};
use prony_store::DoctorReport;
use std::time::Instant;

/// How many clocks are measured at a time: on more threads the round trips would wait for a CPU.
const CLOCKS_AT_ONCE: usize = 8;

impl Fleet {
    /// Checks that the server's address means the same server on all machines.
    ///
    /// # Errors
    /// If an agent is on another machine, and the address means the machine that uses it.
    pub(crate) fn check_address(&self, target: &Target) -> Result<(), Error> {
        let is_local = |endpoint: &&Endpoint| !endpoint.is_remote();
        let Some(endpoint) = target.endpoints.iter().find(is_local) else {
            return Ok(());
        };
        let here = boot_id();
        let is_elsewhere = |agent: &&Agent| {
            let description = agent.description.as_ref();
            description.is_none_or(|description| description.boot_id != here)
        };
        match self.agents.iter().find(is_elsewhere) {
            None => Ok(()),
            Some(agent) => Err(Error::LocalAddress {
                agent: agent.name.clone(),
                address: endpoint.to_string(),
            }),
        }
    }

    /// Measures the way from an agent to a server; `url`: as it was given.
    pub fn probe_server(
        &mut self,
        index: usize,
        url: &str,
        target: &Target,
    ) -> Result<ServerProbe, Error> {
        self.check_address(target)?;
        let login = server_login(url, target, &self.agents[index])?;
        let request = ToAgent::Probe(Box::new(login));
        self.ask(index, &request, |answer| match answer {
            FromAgent::Probed(probe) => Some(probe),
            _ => None,
        })
    }

    /// Examines the machine of an agent, as `prony doctor` does there; `None` if that is not possible.
    pub fn examine(&mut self, index: usize) -> Result<Option<DoctorReport>, Error> {
        self.ask(index, &ToAgent::Examine, |answer| match answer {
            FromAgent::Examined(report) => Some(report.map(|report| *report)),
            _ => None,
        })
    }

    /// Asks an agent for what its machine has kept of loads whose coordinator was lost ([`Fleet::next_kept`]).
    pub fn request_kept(&self, index: usize) {
        // If it is gone, that arrives.
        let _ = self.agents[index].carrier.send(&ToAgent::Collect);
    }

    /// The next piece of the files that an agent was asked for; `None` after the last one.
    pub fn next_kept(&mut self, index: usize) -> Result<Option<KeptPiece>, Error> {
        loop {
            if let Some((from, FromAgent::Kept(piece))) = self.next_message()?
                && from == index
            {
                return Ok(piece);
            }
        }
    }

    /// Lets an agent remove a file that has been stored here.
    pub fn discard(&self, index: usize, file: &str) {
        // If it is gone, the file stays.
        let message = ToAgent::Discard(file.to_owned());
        let _ = self.agents[index].carrier.send(&message);
    }

    /// Sends a request, and waits for its answer.
    fn ask<T>(
        &mut self,
        index: usize,
        request: &ToAgent,
        read: impl Fn(FromAgent) -> Option<T>,
    ) -> Result<T, Error> {
        // If it is gone, that arrives.
        let _ = self.agents[index].carrier.send(request);
        loop {
            if let Some((from, answer)) = self.next_message()?
                && from == index
                && let Some(answer) = read(answer)
            {
                return Ok(answer);
            }
        }
    }

    /// The offset of an agent's clock, by the shortest of many round trips.
    pub fn measure_clock(&mut self, index: usize) -> Result<ClockReading, Error> {
        let reading = self.agents[index].measure_clock();
        reading.ok_or_else(|| self.lost_error(index, no_answer()))
    }

    /// The offsets of these agents' clocks, of several at a time: a far one takes a second, in which the first ones drift.
    /// `None` for the others, and for one that does not answer.
    pub(crate) fn measure_clocks(
        &mut self,
        is_wanted: impl Fn(usize) -> bool,
    ) -> Vec<Option<ClockReading>> {
        let mut readings = vec![None; self.agents.len()];
        let mut wanted: Vec<_> = self
            .agents
            .iter_mut()
            .zip(&mut readings)
            .enumerate()
            .filter(|(index, _)| is_wanted(*index))
            .map(|(_, of_agent)| of_agent)
            .collect();
        for group in wanted.chunks_mut(CLOCKS_AT_ONCE) {
            std::thread::scope(|scope| {
                for (agent, reading) in group {
                    scope.spawn(|| **reading = agent.measure_clock());
                }
            });
        }
        readings
    }
}

impl Agent {
    /// The offset of its clock; `None` if it does not answer.
    fn measure_clock(&mut self) -> Option<ClockReading> {
        self.pongs.try_iter().for_each(drop);
        let mut best: Option<ClockReading> = None;
        let since = Instant::now();
        for number in 0..ROUND_TRIPS {
            if number >= ROUND_TRIPS_MIN && since.elapsed() > TIME_MAX {
                break;
            }
            let sent_ns = Clock::System.now_ns();
            self.carrier.send(&ToAgent::Ping(number)).ok()?;
            let (answered, agent_ns, received_ns) = self.pongs.recv_timeout(SILENCE_MAX).ok()?;
            if answered == number {
                let reading = ClockReading::new(sent_ns, agent_ns, received_ns);
                let is_better = |best: ClockReading| reading.round_trip_ns < best.round_trip_ns;
                if best.is_none_or(is_better) {
                    best = Some(reading);
                }
            }
        }
        best
    }
}
