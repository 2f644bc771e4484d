//! The simulated engine: a network and a clock made for tests.
//!
//! In: requests of the clients. Out: what a [`Script`] answers, at the simulated time it says.
//! Must never: look at a real clock; a test on it gives the same figures each time.

use super::{Event, Io, Received, Sent, Slot, What};
use crate::clock::{Clock, SimTime};
use prony_server::{Address, TcpOptions};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::rc::Rc;

/// One thing that a simulated server does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// How long after the request arrived, nanoseconds.
    pub after_ns: u64,
    /// What.
    pub act: Act,
}

/// What a simulated server can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Sends bytes.
    Send(Cow<'static, [u8]>),
    /// Closes the connection: with this `errno`, or 0 for an orderly end.
    Close(i32),
}

/// A simulated server.
pub trait Script {
    /// A client connects: after how long it is accepted, or with which `errno` refused.
    fn connect(&mut self, slot: Slot, now_ns: u64) -> Result<u64, i32>;
    /// A client's bytes arrive: appends what the server does.
    fn request(&mut self, slot: Slot, bytes: &[u8], now_ns: u64, answers: &mut Vec<Answer>);
}

/// How the simulated client machine behaves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Machine {
    /// One send of a batch takes this long, nanoseconds.
    pub send_cost_ns: u64,
    /// The client is busy for this long after each turn, nanoseconds.
    pub stall_ns: u64,
    /// Bytes carry stamps, as over TCP.
    pub stamps: bool,
    /// So many sockets it has at most; more cannot be opened.
    pub sockets_max: Option<usize>,
}

/// The simulated engine.
pub struct Sim<S> {
    time: Rc<SimTime>,
    script: S,
    machine: Machine,
    slots: Vec<Connection>,
    queued: Vec<Slot>,
    ahead: BinaryHeap<Reverse<Ahead>>,
    order: u64,
    answers: Vec<Answer>,
}

/// Something that will arrive, ordered by time and then by when it was planned.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Ahead {
    at_ns: u64,
    order: u64,
    slot: Slot,
    generation: u32,
    arrival: Arrival,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Arrival {
    Opened,
    Bytes(Cow<'static, [u8]>),
    Closed(i32),
}

#[derive(Default)]
struct Connection {
    generation: u32,
    open: bool,
    out: Vec<u8>,
    inbox: Vec<u8>,
    fetched: Vec<u8>,
    stamp_ns: u64,
    sent: Sent,
    left_ns: u64,
}

impl<S: Script> Sim<S> {
    /// A simulated network of this many connections, from time 0.
    pub fn new(connections: usize, machine: Machine, script: S) -> Self {
        let mut slots = Vec::new();
        slots.resize_with(connections, Connection::default);
        Sim {
            time: Rc::new(SimTime::default()),
            script,
            machine,
            slots,
            queued: Vec::new(),
            ahead: BinaryHeap::new(),
            order: 0,
            answers: Vec::new(),
        }
    }

    /// The simulated time, to be moved by a test too.
    pub fn time(&self) -> Rc<SimTime> {
        self.time.clone()
    }

    fn now_ns(&self) -> u64 {
        self.time.now_ns.get()
    }

    fn plan(&mut self, at_ns: u64, slot: Slot, arrival: Arrival) {
        let generation = self.slots[slot as usize].generation;
        self.order += 1;
        self.ahead.push(Reverse(Ahead {
            at_ns,
            order: self.order,
            slot,
            generation,
            arrival,
        }));
    }

    /// The queued requests leave one by one, and the server answers.
    fn transmit(&mut self) {
        let before_ns = self.now_ns();
        let mut queued = std::mem::take(&mut self.queued);
        for (place, slot) in (0..).zip(queued.drain(..)) {
            let left_ns = before_ns
                + u64::from(place) * self.machine.send_cost_ns
                + self.machine.send_cost_ns / 2;
            let connection = &mut self.slots[slot as usize];
            connection.sent = Sent { before_ns, place };
            connection.left_ns = left_ns;
            let bytes = std::mem::take(&mut connection.out);
            let mut answers = std::mem::take(&mut self.answers);
            if connection.open {
                self.script.request(slot, &bytes, left_ns, &mut answers);
            }
            self.slots[slot as usize].out = bytes;
            self.slots[slot as usize].out.clear();
            for answer in answers.drain(..) {
                let arrival = match answer.act {
                    Act::Send(bytes) => Arrival::Bytes(bytes),
                    Act::Close(errno) => Arrival::Closed(errno),
                };
                self.plan(left_ns + answer.after_ns, slot, arrival);
            }
            self.answers = answers;
            self.time
                .now_ns
                .set(self.now_ns() + self.machine.send_cost_ns);
        }
        self.queued = queued;
    }
}

impl<S: Script> Io for Sim<S> {
    fn name(&self) -> &'static str {
        "sim"
    }

    fn clock(&self) -> Clock {
        Clock::Simulated(self.time.clone())
    }

    fn add_slot(&mut self) -> Slot {
        self.slots.push(Connection::default());
        (self.slots.len() - 1) as Slot
    }

    fn open(&mut self, slot: Slot, _: &Address, _: &TcpOptions) -> io::Result<()> {
        let now_ns = self.now_ns();
        let open = self.slots.iter().filter(|connection| connection.open);
        if self
            .machine
            .sockets_max
            .is_some_and(|max| open.count() >= max)
        {
            return Err(io::Error::from_raw_os_error(libc::EMFILE));
        }
        let connection = &mut self.slots[slot as usize];
        connection.generation += 1;
        connection.open = true;
        connection.inbox.clear();
        connection.out.clear();
        match self.script.connect(slot, now_ns) {
            Ok(after_ns) => self.plan(now_ns + after_ns, slot, Arrival::Opened),
            Err(errno) => self.plan(now_ns, slot, Arrival::Closed(errno)),
        }
        Ok(())
    }

    fn close(&mut self, slot: Slot, _: &[u8]) {
        self.slots[slot as usize].open = false;
        self.queued.retain(|queued| *queued != slot);
    }

    fn send(&mut self, slot: Slot, bytes: &[u8], _: bool) {
        let connection = &mut self.slots[slot as usize];
        connection.out.extend_from_slice(bytes);
        if !self.queued.contains(&slot) {
            self.queued.push(slot);
        }
    }

    fn sent(&self, slot: Slot) -> Sent {
        self.slots[slot as usize].sent
    }

    fn transmit_stamp_ns(&mut self, slot: Slot) -> Option<u64> {
        let stamp_ns = self.slots[slot as usize].left_ns;
        stamp_ns.checked_add_signed(self.time.stamp_offset_ns.get())
    }

    fn turn(&mut self, until_ns: u64, events: &mut Vec<Event>) -> io::Result<()> {
        self.transmit();
        self.time.now_ns.set(self.now_ns() + self.machine.stall_ns);
        // Nothing has arrived: time passes until something does, or the wait is over.
        let next_ns = self
            .ahead
            .peek()
            .map_or(u64::MAX, |Reverse(next)| next.at_ns);
        if next_ns > self.now_ns() {
            self.time
                .now_ns
                .set(next_ns.min(until_ns).max(self.now_ns()));
        }
        while let Some(Reverse(next)) = self.ahead.peek() {
            if next.at_ns > self.now_ns() {
                break;
            }
            let Some(Reverse(Ahead {
                at_ns,
                slot,
                generation,
                arrival,
                ..
            })) = self.ahead.pop()
            else {
                break;
            };
            let connection = &mut self.slots[slot as usize];
            if connection.generation != generation || !connection.open {
                continue;
            }
            let what = match arrival {
                Arrival::Opened => What::Opened,
                Arrival::Closed(errno) => What::Closed(errno),
                Arrival::Bytes(bytes) => {
                    // Bytes that lie unread are joined, and bear the stamp of the last.
                    let fresh = connection.inbox.is_empty();
                    connection.inbox.extend_from_slice(&bytes);
                    connection.stamp_ns = at_ns;
                    if !fresh {
                        continue;
                    }
                    What::Readable {
                        buffer: 0,
                        length: 0,
                    }
                }
            };
            events.push(Event {
                slot,
                generation,
                what,
            });
        }
        Ok(())
    }

    fn is_current(&self, event: Event) -> bool {
        let current = &self.slots[event.slot as usize];
        event.generation == current.generation && current.open
    }

    fn receive(&mut self, event: Event) -> Option<Received<'_>> {
        if !self.is_current(event) {
            return None;
        }
        let offset_ns = self.time.stamp_offset_ns.get();
        let connection = &mut self.slots[event.slot as usize];
        std::mem::swap(&mut connection.inbox, &mut connection.fetched);
        connection.inbox.clear();
        let stamp_ns = connection.stamp_ns.checked_add_signed(offset_ns);
        Some(Received {
            bytes: &connection.fetched,
            stamp_ns: stamp_ns.filter(|_| self.machine.stamps),
            closed: None,
        })
    }
}
