//! One user and its connection, as a worker keeps them; or a further connection of a user.
//!
//! In: nothing. Out: its state. Must never: hold a step of the loop; that is the worker's.

use crate::connections::RETRY_FIRST_NS;
use crate::io::{Io, Slot};
use crate::link::Link;
use crate::prefetch::prefetch;
use prony_session::{Conn, User};
use std::rc::Rc;

/// One user and its connection.
pub(crate) struct Seat {
    pub(crate) conn: Rc<Conn>,
    pub(crate) link: Link,
    pub(crate) user: Option<User>,
    /// The seat of its user: itself, but for a further connection.
    pub(crate) home: Slot,
    /// The seats of the user's further connections.
    pub(crate) others: Vec<Slot>,
    /// Its user has closed it: it does not come back by itself.
    pub(crate) hung_up: bool,
    /// Its replies bear stamps.
    pub(crate) stamps: bool,
    /// The request in flight asked for a transmit stamp.
    pub(crate) stamped: bool,
    /// When the attempt to connect has taken too long.
    pub(crate) deadline_ns: u64,
    /// The last wait before a new try to connect.
    pub(crate) backoff_ns: u64,
    /// When its connection came up.
    pub(crate) up_ns: u64,
    /// Its last connection was lost at once: the next waits, as if it had been refused.
    pub(crate) brief: bool,
    /// Its connection was lost and is not back.
    pub(crate) missing: bool,
}

impl Seat {
    /// A user to be, and its connection, which is down; or a connection of the user at `home`.
    pub(crate) fn new(conn: Conn, home: Slot) -> Self {
        Seat {
            conn: Rc::new(conn),
            link: Link::down(),
            user: None,
            home,
            others: Vec::new(),
            hung_up: false,
            stamps: false,
            stamped: false,
            deadline_ns: u64::MAX,
            backoff_ns: RETRY_FIRST_NS,
            up_ns: 0,
            brief: false,
            missing: false,
        }
    }

    /// Closes the connection, politely if it is up.
    pub(crate) fn close(&mut self, io: &mut impl Io, slot: Slot) {
        self.link.close(io, slot, self.conn.farewell());
    }

    /// Has what its next step needs fetched into the CPU's cache.
    pub(crate) fn prefetch(&self) {
        prefetch(&*self.conn);
        if let Some(user) = &self.user {
            prefetch(&**user);
        }
    }
}
