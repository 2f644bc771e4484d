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
        let agent = &mut self.agents[index];
        agent.pongs.try_iter().for_each(drop);
        let mut best: Option<ClockReading> = None;
        let since = Instant::now();
        for number in 0..ROUND_TRIPS {
            if number >= ROUND_TRIPS_MIN && since.elapsed() > TIME_MAX {
                break;
            }
            let sent_ns = Clock::System.now_ns();
            let answer = agent.carrier.send(&ToAgent::Ping(number));
            let answer = answer
                .ok()
                .and_then(|()| agent.pongs.recv_timeout(SILENCE_MAX).ok());
            let Some((answered, agent_ns, received_ns)) = answer else {
                return Err(self.lost_error(index, no_answer()));
            };
            if answered == number {
                let reading = ClockReading::new(sent_ns, agent_ns, received_ns);
                let is_better = |best: ClockReading| reading.round_trip_ns < best.round_trip_ns;
                if best.is_none_or(is_better) {
                    best = Some(reading);
                }
            }
        }
        self.agents[index].heard = Instant::now();
        best.ok_or_else(|| self.lost_error(index, no_answer()))
    }
}
