//! The simulated engine: a network and a clock for tests.
//!
//! In: requests of the clients. Out: the answers of a [`SimServer`], at the simulated times that the server
//! sets. Must never: read a real clock, so that a test returns the same figures each time.

use super::{Io, IoEvent, IoEventKind, OpenSocket, Received, Sent, Slot};
use crate::clock::{Clock, SimTime};
use prony_server::{Address, TcpOptions};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::rc::Rc;

/// An action of a simulated server, and when it happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Delay after the arrival of the request, nanoseconds.
    pub after_ns: u64,
    pub action: Action,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Sends bytes.
    Send(Cow<'static, [u8]>),
    /// Closes the connection with this `errno`, or 0 for an orderly end.
    Close(i32),
}

/// The server of a simulated network.
pub trait SimServer {
    /// A client connects: returns the delay until the server accepts it, nanoseconds, or the `errno` with
    /// which the server refuses it.
    fn connect(&mut self, slot: Slot, now_ns: u64) -> Result<u64, i32>;
    /// A client is accepted: appends what the server sends before any request, as MySQL does.
    fn greet(&mut self, _slot: Slot, _answers: &mut Vec<Answer>) {}
    /// A client's bytes arrive: appends the server's actions.
    fn request(&mut self, slot: Slot, bytes: &[u8], now_ns: u64, answers: &mut Vec<Answer>);
    /// A client closes its connection.
    fn closed(&mut self, _: Slot) {}
}

/// How the simulated client machine behaves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Machine {
    /// Duration of each send of a batch, nanoseconds.
    pub send_cost_ns: u64,
    /// How long the client is busy in each iteration, nanoseconds.
    pub stall_ns: u64,
    /// Whether received bytes have timestamps, as over TCP.
    pub has_timestamps: bool,
    /// How many connections may be open at once; `None`: any number.
    pub sockets_max: Option<usize>,
}

pub struct Sim<S> {
    time: Rc<SimTime>,
    server: S,
    machine: Machine,
    slots: Vec<Connection>,
    queued: Vec<Slot>,
    planned_arrivals: BinaryHeap<Reverse<PlannedArrival>>,
    /// The number of arrivals scheduled so far, which orders simultaneous ones.
    arrival_count: u64,
    /// An empty list that each request reuses.
    answers: Vec<Answer>,
}

/// Something that will arrive at a client. Ordered by time, and then by the order of scheduling.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct PlannedArrival {
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
    is_open: bool,
    out: Vec<u8>,
    inbox: Vec<u8>,
    /// The bytes that the last [`Io::receive`] returned.
    fetched: Vec<u8>,
    /// When the last bytes in `inbox` arrived.
    timestamp_ns: u64,
    sent: Sent,
    /// When the last request left the client.
    departed_ns: u64,
}

impl<S: SimServer> Sim<S> {
    /// A simulated network with this many connections, at time 0.
    pub fn new(connections: usize, machine: Machine, server: S) -> Self {
        let mut slots = Vec::new();
        slots.resize_with(connections, Connection::default);
        Sim {
            time: Rc::new(SimTime::default()),
            server,
            machine,
            slots,
            queued: Vec::new(),
            planned_arrivals: BinaryHeap::new(),
            arrival_count: 0,
            answers: Vec::new(),
        }
    }

    /// The simulated time, which a test may advance too.
    pub fn time(&self) -> Rc<SimTime> {
        self.time.clone()
    }

    fn now_ns(&self) -> u64 {
        self.time.now_ns.get()
    }

    fn schedule_arrival(&mut self, at_ns: u64, slot: Slot, arrival: Arrival) {
        let generation = self.slots[slot as usize].generation;
        self.arrival_count += 1;
        self.planned_arrivals.push(Reverse(PlannedArrival {
            at_ns,
            order: self.arrival_count,
            slot,
            generation,
            arrival,
        }));
    }

    /// Schedules the server's actions; their delays begin at `from_ns`. Reuses the emptied list for the next
    /// request.
    fn schedule_answers(&mut self, from_ns: u64, slot: Slot, mut answers: Vec<Answer>) {
        for answer in answers.drain(..) {
            let arrival = match answer.action {
                Action::Send(bytes) => Arrival::Bytes(bytes),
                Action::Close(errno) => Arrival::Closed(errno),
            };
            self.schedule_arrival(from_ns + answer.after_ns, slot, arrival);
        }
        self.answers = answers;
    }

    /// Sends the queued requests one by one, and schedules the server's answers.
    fn transmit(&mut self) {
        let before_ns = self.now_ns();
        let mut queued = std::mem::take(&mut self.queued);
        for (position, slot) in (0..).zip(queued.drain(..)) {
            let departed_ns = before_ns
                + u64::from(position) * self.machine.send_cost_ns
                + self.machine.send_cost_ns / 2;
            let connection = &mut self.slots[slot as usize];
            connection.sent = Sent {
                before_ns,
                position,
            };
            connection.departed_ns = departed_ns;
            let bytes = std::mem::take(&mut connection.out);
            let mut answers = std::mem::take(&mut self.answers);
            if connection.is_open {
                self.server.request(slot, &bytes, departed_ns, &mut answers);
            }
            self.slots[slot as usize].out = bytes;
            self.slots[slot as usize].out.clear();
            self.schedule_answers(departed_ns, slot, answers);
            self.time
                .now_ns
                .set(self.now_ns() + self.machine.send_cost_ns);
        }
        self.queued = queued;
    }
}

impl<S: SimServer> Io for Sim<S> {
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
        let open_connections = self.slots.iter().filter(|connection| connection.is_open);
        if self
            .machine
            .sockets_max
            .is_some_and(|max| open_connections.count() >= max)
        {
            return Err(io::Error::from_raw_os_error(libc::EMFILE));
        }
        let connection = &mut self.slots[slot as usize];
        connection.generation += 1;
        connection.is_open = true;
        connection.inbox.clear();
        connection.out.clear();
        match self.server.connect(slot, now_ns) {
            Ok(after_ns) => {
                self.schedule_arrival(now_ns + after_ns, slot, Arrival::Opened);
                let mut answers = std::mem::take(&mut self.answers);
                self.server.greet(slot, &mut answers);
                self.schedule_answers(now_ns + after_ns, slot, answers);
            }
            Err(errno) => self.schedule_arrival(now_ns, slot, Arrival::Closed(errno)),
        }
        Ok(())
    }

    /// A simulated connection lives as long as its engine: it is never kept.
    fn adopt(&mut self, _: Slot, _: OpenSocket) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn release(self) -> Vec<Option<OpenSocket>> {
        Vec::new()
    }

    fn close(&mut self, slot: Slot, _: &[u8]) {
        if std::mem::take(&mut self.slots[slot as usize].is_open) {
            self.server.closed(slot);
        }
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

    fn transmit_timestamp_ns(&mut self, slot: Slot) -> Option<u64> {
        let timestamp_ns = self.slots[slot as usize].departed_ns;
        timestamp_ns.checked_add_signed(self.time.timestamp_offset_ns.get())
    }

    fn submit_and_wait(&mut self, deadline_ns: u64, events: &mut Vec<IoEvent>) -> io::Result<()> {
        self.transmit();
        self.time.now_ns.set(self.now_ns() + self.machine.stall_ns);
        // If nothing has arrived, time advances to the next arrival or to the end of the wait.
        let next_ns = self
            .planned_arrivals
            .peek()
            .map_or(u64::MAX, |Reverse(next)| next.at_ns);
        if next_ns > self.now_ns() {
            self.time
                .now_ns
                .set(next_ns.min(deadline_ns).max(self.now_ns()));
        }
        while let Some(Reverse(next)) = self.planned_arrivals.peek() {
            if next.at_ns > self.now_ns() {
                break;
            }
            let Some(Reverse(PlannedArrival {
                at_ns,
                slot,
                generation,
                arrival,
                ..
            })) = self.planned_arrivals.pop()
            else {
                break;
            };
            let connection = &mut self.slots[slot as usize];
            if connection.generation != generation || !connection.is_open {
                continue;
            }
            let kind = match arrival {
                Arrival::Opened => IoEventKind::Opened,
                Arrival::Closed(errno) => IoEventKind::Closed(errno),
                Arrival::Bytes(bytes) => {
                    // As in a socket, unread bytes are joined, and have the timestamp of the last one.
                    let was_empty = connection.inbox.is_empty();
                    connection.inbox.extend_from_slice(&bytes);
                    connection.timestamp_ns = at_ns;
                    if !was_empty {
                        continue;
                    }
                    IoEventKind::Readable {
                        buffer: 0,
                        length: 0,
                    }
                }
            };
            events.push(IoEvent {
                slot,
                generation,
                kind,
            });
        }
        Ok(())
    }

    fn is_current(&self, event: IoEvent) -> bool {
        let current = &self.slots[event.slot as usize];
        event.generation == current.generation && current.is_open
    }

    fn receive(&mut self, event: IoEvent) -> Option<Received<'_>> {
        if !self.is_current(event) {
            return None;
        }
        let offset_ns = self.time.timestamp_offset_ns.get();
        let connection = &mut self.slots[event.slot as usize];
        std::mem::swap(&mut connection.inbox, &mut connection.fetched);
        connection.inbox.clear();
        let timestamp_ns = connection.timestamp_ns.checked_add_signed(offset_ns);
        Some(Received {
            bytes: &connection.fetched,
            timestamp_ns: timestamp_ns.filter(|_| self.machine.has_timestamps),
            closed: None,
        })
    }
}
