//! Handles the requests of users, and manages the additional connections that a user may have.
//!
//! In: the connection record that holds a user's request. Out: bytes to send, timers, links being opened.
//! Must never: slow down users with a single connection.
//!
//! A user has a request on one of its connections at a time. The user's own connection is checked first, then
//! its additional ones.

use crate::io::{Io, Slot};
use crate::timers::TimerEvent;
use crate::worker::Worker;
use prony_session::{UserExit, UserPhase};
use std::rc::Rc;

/// Shorter waits only let the worker read its clock.
const SLEEP_MIN_NS: u64 = 1_000;

impl<I: Io> Worker<'_, I> {
    /// Handles a user's request. Returns true if it is already complete and the user can continue.
    pub(crate) fn handle_request(&mut self, user_slot: Slot) -> Result<bool, UserExit> {
        let conn = &self.clients[user_slot].conn;
        if self.context.is_stopped() && !conn.is_in_transaction() {
            return Err(UserExit::Stopped);
        }
        let slot = match conn.phase() {
            UserPhase::Idle => self.find_request(user_slot),
            _ => user_slot,
        };
        let client = &mut self.clients[slot];
        let phase = client.conn.phase();
        if phase == UserPhase::OpenConnection && client.refused_after_end {
            return Err(UserExit::Stopped);
        }
        client.conn.mark_busy();
        match phase {
            UserPhase::Send => self.send(slot),
            UserPhase::Start => {
                let granted = self.waiting.request(slot, &mut self.timing, &self.clock);
                if let Some(start) = granted {
                    client
                        .conn
                        .grant_start(start.scheduled_ns, start.granted_ns);
                }
            }
            // The load has begun already. Users that wait before that are resumed by `start_users`.
            UserPhase::CommonStart if self.start_gate.is_open() => {
                client.conn.mark_ready(client.conn.noticed_ns())
            }
            UserPhase::CommonStart => {}
            UserPhase::Sleep => {
                let wake_ns = client.conn.wake_ns();
                if wake_ns.saturating_sub(client.conn.noticed_ns()) >= SLEEP_MIN_NS {
                    self.leave_batch_policy();
                }
                self.timers.add(wake_ns, TimerEvent::Wake(slot));
            }
            UserPhase::AwaitReconnect | UserPhase::OpenConnection => self.open_new_connection(slot),
            UserPhase::Close => self.close_connection(slot),
            UserPhase::AddConnection => self.add_connection(slot),
            UserPhase::Busy | UserPhase::Idle | UserPhase::Ready | UserPhase::Unusable => {
                return Err(UserExit::Failed(
                    "its program awaits something that the loop cannot complete".to_owned(),
                ));
            }
        }
        Ok(matches!(self.clients[slot].conn.phase(), UserPhase::Ready))
    }

    /// The slot with a user's request, if the user's own slot has none.
    #[cold]
    fn find_request(&self, user_slot: Slot) -> Slot {
        let owner = &self.clients[user_slot];
        let has_request = |slot: &&Slot| {
            let phase = self.clients[**slot].conn.phase();
            matches!(
                phase,
                UserPhase::Send
                    | UserPhase::OpenConnection
                    | UserPhase::AwaitReconnect
                    | UserPhase::Close
            )
        };
        let Some(slot) = owner.extra_slots.iter().find(has_request) else {
            return user_slot;
        };
        // The send wait begins when the user was resumed, whichever connection it had waited for.
        self.clients[*slot]
            .conn
            .set_noticed_ns(owner.conn.noticed_ns());
        *slot
    }

    /// Resumes the user of an additional connection after the request on it is done. Does nothing for a
    /// user's own connection.
    #[cold]
    pub(crate) fn resume_user(&mut self, slot: Slot) {
        let client = &self.clients[slot];
        if client.user_slot == slot {
            return;
        }
        let (user_slot, owner) = (client.user_slot, &self.clients[client.user_slot].conn);
        owner.set_noticed_ns(client.conn.noticed_ns());
        client.conn.transfer_results_to(owner);
        self.resume(user_slot)
    }

    /// Creates an additional connection, which is down, and hands its record to the user.
    fn add_connection(&mut self, user_slot: Slot) {
        let slot = self.io.add_slot();
        let conn = (self.assignment.new_conn)();
        let added_slot = self.clients.add_connection(conn, user_slot);
        debug_assert_eq!(slot, added_slot);
        self.attempts.add_slot();
        let conn = Rc::clone(&self.clients[slot].conn);
        self.context.provide_connection(conn);
        let owner = &self.clients[user_slot];
        self.assignment
            .add_route(user_slot, owner.extra_slots.len());
        owner.conn.mark_ready(owner.conn.noticed_ns());
    }

    /// Closes a connection at its user's request.
    fn close_connection(&mut self, slot: Slot) {
        let client = &mut self.clients[slot];
        if client.link.is_up() {
            self.connections.record_closed();
        }
        client.close(&mut self.io, slot);
        client.conn.mark_closed();
        client.stays_closed = true;
        self.attempts.clear_deadline(slot);
        client.conn.mark_ready(client.conn.noticed_ns());
        // If the connection had been lost, the outage no longer waits for it.
        self.on_connection_restored(slot);
    }
}
