//! Once it is warm, a user of the script workload allocates nothing for a transaction.

use super::running::{message, program};
use crate::counting::ALLOCATED;
use prony_session::{Ask, Conn, Db, Desk, Program, Rules, UserId};
use prony_wire::{Exchange, QueryMode};
use std::rc::Rc;
use std::task::{Context, Waker};

const WARM: u64 = 200;
const COUNTED: u64 = 2_000;

const SCRIPT: &str = "\\set aid random(1, 100000 * :scale)
\\set share 1.0 / :aid
\\if :aid % 2 = 0
SELECT abalance, :share FROM pgbench_accounts WHERE aid = :aid;
\\else
SELECT :a;
\\endif
UPDATE pgbench_accounts SET abalance = :share WHERE aid = :aid AND :nothing IS NULL;
";

#[test]
fn no_transaction_allocates() {
    let scripts = program(&[SCRIPT.to_owned()]).expect("reads");
    let reply = [message(b'C', b"SELECT 1\0"), message(b'Z', b"I")].concat();
    let parsed = [message(b'1', b""), reply.clone()].concat();
    for mode in [QueryMode::Simple, QueryMode::Extended, QueryMode::Prepared] {
        let conn = Rc::new(Conn::new(Exchange::postgres(mode, true)));
        let desk = Rc::new(Desk::new(Rules {
            transactions: WARM + COUNTED,
            ..Rules::default()
        }));
        conn.opened();
        let id = UserId {
            client: 0,
            clients: 1,
            worker: 0,
            workers: 1,
            seed: 7,
        };
        let mut user = scripts.user(id, Db::new(Rc::clone(&conn), Rc::clone(&desk)));
        let mut context = Context::from_waker(Waker::noop());
        let (mut done, mut before, mut clock_ns) = (0, 0, 0);
        loop {
            if done <= WARM {
                before = ALLOCATED.get();
            }
            if user.as_mut().poll(&mut context).is_ready() {
                break;
            }
            assert_eq!(conn.ask(), Ask::Send);
            let parses = conn.outgoing().first() == Some(&b'P');
            conn.take_up();
            let answer = if parses { &parsed } else { &reply };
            conn.feed(answer).expect("the protocol holds");
            clock_ns += 1000;
            conn.ready(clock_ns);
            desk.drain_samples(|_| done += 1);
        }
        desk.drain_samples(|_| done += 1);
        let allocated = ALLOCATED.get() - before;
        assert_eq!(done, WARM + COUNTED);
        assert_eq!(
            allocated, 0,
            "allocations in {COUNTED} transactions, {mode:?}"
        );
    }
}
