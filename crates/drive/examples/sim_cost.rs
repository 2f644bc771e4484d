//! Measures the instructions of the loop:
//! `valgrind --tool=callgrind target/release/examples/sim_cost 200000`.
//!
//! In: a number of transactions. Out: the number of committed ones. Must never: use a socket or a real clock,
//! because callgrind's counts of two builds are compared.

#[path = "support/simulated.rs"]
mod simulated;

use prony_plan::{DrivePlan, Stop};
use prony_session::{Db, Outcome, Program, User, UserId};
use prony_wire::StatementIds;
use simulated::{PgServer, simulate};

/// The reply to a statement without rows.
const DONE: &[u8] = b"2\0\0\0\x04C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I";

struct Selects;

impl Program for Selects {
    fn kinds(&self) -> &[&'static str] {
        &["select"]
    }

    fn create_user(&self, _: UserId, mut db: Db) -> User {
        let statement = StatementIds::new().add("SELECT 1");
        Box::pin(async move {
            loop {
                if let Err(exit) = db.start(0).await {
                    return exit;
                }
                let result = db.exec(&statement, &[]).await;
                let outcome = result.map(|_| Outcome::Committed);
                if let Err(exit) = db.end(outcome).await {
                    return exit;
                }
            }
        })
    }
}

fn main() {
    let transactions: u64 = std::env::args()
        .nth(1)
        .and_then(|count| count.parse().ok())
        .expect("usage: sim_cost TRANSACTIONS");
    let plan = DrivePlan {
        clients: 64,
        stop: Stop::Transactions(transactions / 64),
        ..DrivePlan::default()
    };
    let driven = simulate(&Selects, &plan, PgServer(|_: &[u8]| DONE));
    println!("{}", driven.collected.measured.all_kinds().committed);
}
