//! Tests that transactions do not allocate after a warm-up, in every workload and protocol mode.

use super::server::{MockServer, program, run_user};
use crate::oltp;
use crate::oltp::options::OltpOptions;
use prony_allocations::allocations;
use prony_wire::QueryMode;

/// Transactions before allocations are counted.
const WARMUP: u64 = 300;
const MEASURED: u64 = 300;

#[test]
fn transactions_do_not_allocate() {
    for workload in oltp::ALL {
        for mode in [QueryMode::Simple, QueryMode::Prepared] {
            // A transaction of bulk_insert sends a large packet, so fewer transactions suffice.
            let divisor = if workload.name == "bulk_insert" { 30 } else { 1 };
            let (warmup, measured) = (WARMUP / divisor, MEASURED / divisor);
            let program = program(workload, OltpOptions::default(), 3);
            let mut server = MockServer::default();
            let (mut done, mut allocated) = (0, 0);
            run_user(
                &program,
                &mut server,
                mode,
                warmup + measured,
                |poll, context| {
                    let before = allocations();
                    let has_ended = poll();
                    if done > warmup && !has_ended {
                        allocated += allocations() - before;
                    }
                    context.drain_samples(|_| done += 1);
                    has_ended
                },
            );
            assert_eq!(done, warmup + measured);
            assert_eq!(allocated, 0, "{} {mode:?}", workload.name);
        }
    }
}
