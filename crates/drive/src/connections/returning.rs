//! Connections that had to move to another host because their own did not answer: looks whether it answers again, and
//! then lets each of them return between two transactions.
//!
//! In: connections that are up elsewhere, the time. Out: a mark on their records. Must never: give up a connection that
//! works before its own host has accepted another one, and does not say that it refuses to work.

use super::{ConnectionSlot, Connections, LinkTimer};
use crate::hosts::ConnectionUse;
use crate::io::{Io, Slot};
use crate::link::{AttemptPart, LinkStep};
use prony_plan::Spread;
use prony_server::ProtocolOptions;
use prony_server::observe::{GALERA_STATE, is_galera_cut_off, is_read_only};
use prony_wire::SessionFlags;

/// How often a worker looks whether a host answers again.
const PROBE_PAUSE_NS: u64 = 1_000_000_000;

/// Whether an answer refuses to work.
type IsRefusal = fn(&str) -> bool;

/// The queries that a server of MySQL's protocol must answer before connections return to it, each with the test whether
/// an answer refuses to work. A node that is cut off from its Galera cluster accepts log-ins, and so does a server that
/// has become a replica. The second query is only for hosts that refused something, because the load may only read.
const QUESTIONS: [(&str, IsRefusal); 2] = [
    (GALERA_STATE, is_galera_cut_off),
    ("SHOW GLOBAL VARIABLES LIKE 'read_only'", is_read_only),
];

/// The check whether a host answers again, on a connection of its own.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HostProbe {
    /// The slot of its connection, once it has one.
    slot: Option<Slot>,
    /// Whether it is scheduled or under way.
    is_active: bool,
    /// Whether connections were given up because the host refused to work.
    has_refused: bool,
    /// The next of [`QUESTIONS`].
    question: usize,
}

impl HostProbe {
    /// Notes that a connection was given up because the host refused to work.
    pub(super) fn note_refusal(&mut self) {
        self.has_refused = true;
    }
}

impl<I: Io> Connections<'_, I> {
    /// Notes the host at which a connection came up, and that with which its attempt began (`wanted`). The connection's
    /// own host is the one with which its first attempt began, whichever others it has to use later.
    pub(super) fn note_host(&mut self, slot: Slot, host: u16, wanted: u16) {
        let connection = &mut self.slots[slot as usize];
        if !self.routes.returns(connection.connection_use)
            || self.job.plan.connect_per_transaction
            || self.job.program.opens_connections()
        {
            return;
        }
        // A connection that draws a host for each attempt belongs to the one that it drew.
        let home = match self.routes.spread_of(connection.connection_use) {
            Spread::Random => *connection.home.insert(wanted),
            Spread::First | Spread::RoundRobin => *connection.home.get_or_insert(wanted),
        };
        let was_away = std::mem::replace(&mut connection.is_away, host != home);
        if let Some(connections) = self.hosts.get_mut(usize::from(home)) {
            connections.returned += u64::from(was_away && host == home);
        }
        self.schedule_probes();
    }

    /// Schedules a look at each host that has connections elsewhere. None is needed before the load.
    pub(super) fn schedule_probes(&mut self) {
        if self.stage != super::Stage::Load {
            return;
        }
        for connection in self.slots.iter().filter(|connection| connection.is_away) {
            if let Some(home) = connection.home
                && let Some(probe) = self.probes.get_mut(usize::from(home))
                && !probe.is_active
            {
                probe.is_active = true;
                let at_ns = self.clock.now_ns() + PROBE_PAUSE_NS;
                self.timers.add(at_ns, LinkTimer::Probe(home));
            }
        }
    }

    /// Tries to connect to a host that has connections elsewhere.
    pub(super) fn begin_probe(&mut self, host: u16) -> Option<(Slot, LinkStep)> {
        let mut slots = self.slots.iter();
        if !slots.any(|connection| connection.is_away && connection.home == Some(host)) {
            self.probes[usize::from(host)].is_active = false;
            return None;
        }
        let slot = match self.probes[usize::from(host)].slot {
            Some(slot) => slot,
            None => {
                let slot = self.io.add_slot();
                self.slots.push(ConnectionSlot {
                    connection_use: ConnectionUse::Probe(host),
                    ..ConnectionSlot::new(self.job.new_conn(), slot, 0)
                });
                self.attempts.add_slot();
                self.probes[usize::from(host)].slot = Some(slot);
                slot
            }
        };
        Some((slot, self.begin_connect(slot)))
    }

    /// The host answers again: asks whether it works.
    pub(super) fn on_probe_up(&mut self, slot: Slot, host: u16, flags: SessionFlags) {
        let conn = &self.slots[slot as usize].conn;
        conn.mark_opened_with_flags(flags);
        self.probes[usize::from(host)].question = 0;
        self.ask_host(slot, host);
    }

    /// Asks the next question. After the last one, its connections return between two transactions.
    fn ask_host(&mut self, slot: Slot, host: u16) {
        let probe = &mut self.probes[usize::from(host)];
        let count = match self.job.target.protocol {
            ProtocolOptions::MySql(_) => 1 + usize::from(probe.has_refused),
            // PostgreSQL's log-in says whether the session is of the wanted kind.
            ProtocolOptions::PostgreSql(_) | ProtocolOptions::SqlServer(_) => 0,
        };
        if let Some((sql, _)) = QUESTIONS[..count].get(probe.question) {
            self.slots[slot as usize].conn.ask(sql);
            self.set_deadline(slot, AttemptPart::Login);
            return self.send(slot);
        }
        probe.has_refused = false;
        for connection in &self.slots {
            if connection.is_away && connection.home == Some(host) {
                connection.conn.set_must_return(true);
            }
        }
        self.end_probe(slot, host);
    }

    pub(super) fn on_probe_answer(&mut self, slot: Slot, host: u16) {
        let probe = &mut self.probes[usize::from(host)];
        let (_, is_refusal) = QUESTIONS[probe.question];
        probe.question += 1;
        if self.slots[slot as usize]
            .conn
            .is_refused_by_answer(is_refusal)
        {
            self.end_probe(slot, host);
        } else {
            self.ask_host(slot, host);
        }
    }

    /// Ends an attempt; another one follows while connections are away.
    pub(super) fn end_probe(&mut self, slot: Slot, host: u16) {
        self.slots[slot as usize].close(&mut self.io, slot);
        self.attempts.clear_deadline(slot);
        self.probes[usize::from(host)].is_active = false;
        self.schedule_probes();
    }
}
