//! Which of a client's read-only transactions a server for reads takes.
//!
//! In: the kinds that only read, and a share of them. Out: the connection of a transaction. Must never: send a transaction
//! that may write to that server.

use crate::conn::Conn;
use crate::program::Program;
use prony_measure::TxnKind;
use std::rc::Rc;

/// A client's connection to the server for reads, and the transactions that go to it.
#[derive(Debug)]
pub struct Reads {
    conn: Rc<Conn>,
    /// The share of the transactions of each kind that it takes, in per cent.
    percent: u32,
    /// What is left of the share after the last transaction of a kind, so that each kind has exactly its share; `None` for
    /// kinds that may write.
    remainders: Vec<Option<u32>>,
}

impl Reads {
    /// The reads of a client of `program`. Clients begin at different points of the share.
    pub fn new(conn: Rc<Conn>, percent: u32, program: &dyn Program, client: u32) -> Reads {
        let remainder = |kind| program.only_reads(kind).then_some(client % 100 * 37 % 100);
        Reads {
            conn,
            percent,
            remainders: (0..program.kinds().len()).map(remainder).collect(),
        }
    }

    /// The connection to the server for reads, if it takes the next transaction of this kind.
    pub(crate) fn take(&mut self, kind: TxnKind) -> Option<Rc<Conn>> {
        let remainder = self.remainders.get_mut(usize::from(kind))?.as_mut()?;
        *remainder += self.percent;
        let is_taken = *remainder >= 100;
        *remainder %= 100;
        is_taken.then(|| Rc::clone(&self.conn))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Db, User, UserId};
    use prony_wire::{Exchange, QueryMode};

    struct WritesAndReads;

    impl Program for WritesAndReads {
        fn kinds(&self) -> &[&'static str] {
            &["write", "read", "look"]
        }

        fn only_reads(&self, kind: usize) -> bool {
            kind > 0
        }

        fn create_user(&self, _: UserId, _: Db) -> User {
            unreachable!("no user is created")
        }
    }

    #[test]
    fn each_kind_that_only_reads_has_exactly_its_share() {
        let conn = Rc::new(Conn::new(Exchange::postgres(QueryMode::Prepared, false)));
        for (percent, of_40) in [(100, 40), (25, 10), (5, 2)] {
            for client in [0, 1, 70_000_000] {
                let mut reads = Reads::new(Rc::clone(&conn), percent, &WritesAndReads, client);
                let mut taken = [0; 3];
                // The two kinds that read take turns.
                for number in 0..80 {
                    let kind = 1 + number % 2;
                    taken[0] += usize::from(reads.take(0).is_some());
                    taken[kind] += usize::from(reads.take(kind as TxnKind).is_some());
                }
                assert_eq!(taken, [0, of_40, of_40], "{percent} {client}");
            }
        }
    }
}
