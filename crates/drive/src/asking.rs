//! What users ask of the loop, taken up; and the further connections that a user may have.
//!
//! In: the record in which a user left what it asks. Out: requests, timers, links on their way. Must never:
//! make the way of a user with one connection longer.
//!
//! A user asks on one of its connections at a time. Who has but one asks on that of its own seat; what is
//! not found there is looked for in the others.

use crate::happening::Reports;
use crate::io::{Io, Slot};
use crate::seat::Seat;
use crate::stamps::CALIBRATED;
use crate::timers::Due;
use crate::worker::{Timing, Worker};
use prony_session::{Ask, Ended};
use std::rc::Rc;

impl<I: Io> Worker<'_, I> {
    /// Takes up what a user asks. True: it is granted already, the user can go on.
    pub(crate) fn take_up(
        &mut self,
        home: Slot,
        timing: &mut Timing,
        reports: &mut impl Reports,
    ) -> Result<bool, Ended> {
        let conn = &self.seats[home as usize].conn;
        if self.desk.is_stopped() && !conn.is_under_way() {
            return Err(Ended::Stopped);
        }
        let slot = match conn.ask() {
            Ask::Idle => self.asking(home),
            _ => home,
        };
        let seat = &mut self.seats[slot as usize];
        let ask = seat.conn.ask();
        seat.conn.take_up();
        match ask {
            Ask::Send => {
                let now_ns = seat.conn.noticed_ns();
                let stampable = slot < CALIBRATED && seat.stamps;
                seat.stamped = stampable && self.stamps.wants_transmit(now_ns);
                let request = seat.conn.outgoing();
                seat.link.send(
                    &request,
                    seat.stamped,
                    &mut self.io,
                    slot,
                    &mut self.scratch,
                );
            }
            Ask::Start => {
                let now_ns = self.clock.now_ns();
                match timing.due_start(now_ns) {
                    Some(scheduled_ns) => seat.conn.grant(scheduled_ns, now_ns),
                    None => self.waiting.push_back(slot),
                }
            }
            // The start opens it for those who are there by then.
            Ask::Gate if self.is_open => seat.conn.ready(seat.conn.noticed_ns()),
            Ask::Gate => {}
            Ask::Sleep => self.timers.add(seat.conn.wake_ns(), Due::Wake(slot)),
            Ask::Reconnect | Ask::Renew => self.renew(slot),
            Ask::Close => self.hang_up(slot, reports),
            Ask::Another => self.add_connection(slot),
            Ask::Busy | Ask::Idle | Ask::Ready | Ask::Dead => {
                return Err(Ended::Failed(
                    "its program awaits something that the loop cannot complete".to_owned(),
                ));
            }
        }
        Ok(matches!(self.seats[slot as usize].conn.ask(), Ask::Ready))
    }

    /// The connection on which a user asks that asks nothing on its own.
    #[cold]
    fn asking(&self, home: Slot) -> Slot {
        let owner = &self.seats[home as usize];
        let asks = |slot: &&Slot| {
            let ask = self.seats[**slot as usize].conn.ask();
            matches!(ask, Ask::Send | Ask::Renew | Ask::Reconnect | Ask::Close)
        };
        let Some(slot) = owner.others.iter().find(asks) else {
            return home;
        };
        // It could ask since its user was resumed, whichever connection that was for.
        self.seats[*slot as usize]
            .conn
            .begin(owner.conn.noticed_ns());
        *slot
    }

    /// What a user waited for on a further connection is there: the user goes on. What has no user at all
    /// is left alone.
    #[cold]
    pub(crate) fn resume_home(
        &mut self,
        slot: Slot,
        timing: &mut Timing,
        reports: &mut impl Reports,
    ) -> usize {
        let seat = &self.seats[slot as usize];
        if seat.home == slot {
            return 0;
        }
        let (home, owner) = (seat.home, &self.seats[seat.home as usize].conn);
        owner.begin(seat.conn.noticed_ns());
        seat.conn.hand_parts(owner);
        self.resume(home, timing, reports)
    }

    /// Gives a user the record of a further connection, which is down.
    fn add_connection(&mut self, home: Slot) {
        let slot = self.io.add_slot();
        debug_assert_eq!(slot as usize, self.seats.len());
        let seat = Seat::new((self.assignment.conn)(), home);
        self.desk.give(Rc::clone(&seat.conn));
        self.seats.push(seat);
        let owner = &mut self.seats[home as usize];
        owner.others.push(slot);
        // Of several servers, the one whose turn it is. The way behind them is for a sample of users alone.
        let place = self.assignment.route_of[home as usize] + owner.others.len();
        let route = place % self.assignment.servers;
        self.assignment.route_of.push(route);
        owner.conn.ready(owner.conn.noticed_ns());
    }

    /// Closes a connection because its user wants it closed.
    fn hang_up(&mut self, slot: Slot, reports: &mut impl Reports) {
        let seat = &mut self.seats[slot as usize];
        if seat.link.is_up() {
            self.up -= 1;
        }
        seat.close(&mut self.io, slot);
        seat.conn.closed();
        seat.hung_up = true;
        seat.deadline_ns = u64::MAX;
        seat.conn.ready(seat.conn.noticed_ns());
        // Nobody misses it any more.
        self.restored(slot, reports);
    }
}
