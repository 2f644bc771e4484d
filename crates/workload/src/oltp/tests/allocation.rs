//! Once it is warm, a user allocates nothing for a transaction, in any workload and protocol.

use super::server::{Server, play, program};
use crate::oltp::options::Asked;
use crate::oltp::{self, Oltp};
use prony_allocations::allocations;
use prony_wire::QueryMode;

const WARM: u64 = 300;
const COUNTED: u64 = 300;

/// All of them.
pub const ALL: [&Oltp; 12] = [
    &oltp::OLTP_READ_WRITE,
    &oltp::OLTP_READ_ONLY,
    &oltp::OLTP_WRITE_ONLY,
    &oltp::OLTP_POINT_SELECT,
    &oltp::OLTP_INSERT,
    &oltp::OLTP_UPDATE_INDEX,
    &oltp::OLTP_UPDATE_NON_INDEX,
    &oltp::OLTP_DELETE,
    &oltp::SELECT_RANDOM_POINTS,
    &oltp::SELECT_RANDOM_RANGES,
    &oltp::BULK_INSERT,
    &oltp::HOT_ROW,
];

#[test]
fn no_transaction_allocates() {
    for workload in ALL {
        for mode in [QueryMode::Simple, QueryMode::Prepared] {
            // Packets are large: a few say as much as hundreds of small statements.
            let share = if workload.name == "bulk_insert" {
                30
            } else {
                1
            };
            let (warm, counted) = (WARM / share, COUNTED / share);
            let program = program(workload, Asked::default(), 3);
            let mut server = Server::default();
            let (mut done, mut allocated) = (0, 0);
            play(&program, &mut server, mode, warm + counted, |poll, desk| {
                let before = allocations();
                let ended = poll();
                if done > warm && !ended {
                    allocated += allocations() - before;
                }
                desk.drain_samples(|_| done += 1);
                ended
            });
            assert_eq!(done, warm + counted);
            assert_eq!(allocated, 0, "{} {mode:?}", workload.name);
        }
    }
}
