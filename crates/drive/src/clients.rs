//! The clients of a worker: connections, and the users that own them.
//!
//! In: users when they are created and when they end. Out: clients by slot; the number of users that have not
//! ended. Must never: contain logic of the event loop, which belongs to the worker.

use crate::io::{Io, Slot};
use crate::link::Link;
use crate::prefetch::prefetch;
use prony_session::{Conn, User, UserPhase};
use std::ops::{Index, IndexMut};
use std::rc::Rc;

/// All clients of a worker by their slots: the users' own connections, then their additional ones.
pub(crate) struct Clients {
    slots: Vec<ClientSlot>,
    /// Number of users; their own connections have the first slots.
    user_count: usize,
    /// Number of users that have not ended.
    live_users: usize,
}

impl Clients {
    /// Creates clients without users; their connections are down. `new_conn` creates the record of a
    /// connection.
    pub(crate) fn new(user_count: usize, new_conn: &dyn Fn() -> Conn) -> Clients {
        let slots = 0..user_count as Slot;
        Clients {
            slots: slots
                .map(|slot| ClientSlot::new(new_conn(), slot))
                .collect(),
            user_count,
            live_users: 0,
        }
    }

    /// Adds an additional connection, which is down, for the user at `user_slot`. Returns its slot.
    pub(crate) fn add_connection(&mut self, conn: Conn, user_slot: Slot) -> Slot {
        let slot = self.slots.len() as Slot;
        self.slots.push(ClientSlot::new(conn, user_slot));
        self[user_slot].extra_slots.push(slot);
        slot
    }

    /// Number of connections, whether they are up or not.
    pub(crate) fn connection_count(&self) -> usize {
        self.slots.len()
    }

    /// The slots of all connections.
    pub(crate) fn slots(&self) -> std::ops::Range<Slot> {
        0..self.slots.len() as Slot
    }

    /// The slots of the users' own connections.
    pub(crate) fn user_slots(&self) -> std::ops::Range<Slot> {
        0..self.user_count as Slot
    }

    /// All connections.
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, ClientSlot> {
        self.slots.iter()
    }

    /// Whether the worker is carrying out this phase for every user.
    pub(crate) fn all_users_await(&self, phase: UserPhase) -> bool {
        let mut owners = self.slots[..self.user_count].iter();
        owners.all(|client| client.conn.is_busy_with(phase))
    }

    /// Number of users that have not ended.
    #[inline]
    pub(crate) fn live_users(&self) -> usize {
        self.live_users
    }

    /// Adds the user of a slot that has none.
    pub(crate) fn set_user(&mut self, slot: Slot, user: User) {
        let previous = self[slot].user.replace(user);
        self.live_users += usize::from(previous.is_none());
    }

    /// Drops the user of a slot, if it has one.
    pub(crate) fn end_user(&mut self, slot: Slot) {
        let user = self[slot].user.take();
        self.live_users -= usize::from(user.is_some());
    }

    /// Number of connections that are being opened.
    pub(crate) fn opening_count(&self) -> usize {
        let is_opening = |client: &&ClientSlot| !client.link.is_up() && !client.link.is_down();
        self.slots.iter().filter(is_opening).count()
    }
}

impl Index<Slot> for Clients {
    type Output = ClientSlot;

    #[inline]
    fn index(&self, slot: Slot) -> &ClientSlot {
        &self.slots[slot as usize]
    }
}

impl IndexMut<Slot> for Clients {
    #[inline]
    fn index_mut(&mut self, slot: Slot) -> &mut ClientSlot {
        &mut self.slots[slot as usize]
    }
}

/// One user and its connection, or an additional connection of a user.
pub(crate) struct ClientSlot {
    pub(crate) conn: Rc<Conn>,
    pub(crate) link: Link,
    /// The user, until it ends; `None` in the slot of an additional connection. Set only by [`Clients`],
    /// which counts the users.
    user: Option<User>,
    /// The slot of the user that owns the connection: this slot, unless the connection is additional.
    pub(crate) user_slot: Slot,
    /// The slots of the user's additional connections.
    pub(crate) extra_slots: Vec<Slot>,
    /// Whether the connection is not reopened automatically: its user closed it, or requested a new one in
    /// vain.
    pub(crate) stays_closed: bool,
    /// Whether the last bytes that arrived on the connection had a timestamp.
    pub(crate) has_timestamps: bool,
    /// Whether a transmit timestamp was requested for the request in flight.
    pub(crate) timestamp_requested: bool,
    /// Whether a connection that the user requested was refused after the end of the run. If so, the user
    /// gets no further attempt.
    pub(crate) refused_after_end: bool,
}

impl ClientSlot {
    fn new(conn: Conn, user_slot: Slot) -> Self {
        ClientSlot {
            conn: Rc::new(conn),
            link: Link::down(),
            user: None,
            user_slot,
            extra_slots: Vec::new(),
            stays_closed: false,
            has_timestamps: false,
            timestamp_requested: false,
            refused_after_end: false,
        }
    }

    /// Whether the slot has a user that has not ended. False for an additional connection.
    pub(crate) fn has_user(&self) -> bool {
        self.user.is_some()
    }

    /// The user of this slot, to be resumed.
    #[inline]
    pub(crate) fn user_mut(&mut self) -> Option<&mut User> {
        self.user.as_mut()
    }

    /// Closes the connection, with the protocol's closing message if it is up.
    pub(crate) fn close(&mut self, io: &mut impl Io, slot: Slot) {
        self.link.close(io, slot, self.conn.closing_message());
    }

    /// Prefetches the state that the slot's next reply needs into the CPU's cache.
    pub(crate) fn prefetch(&self) {
        prefetch(&*self.conn);
        if let Some(user) = &self.user {
            prefetch(&**user);
        }
    }
}
