//! Eight users at once: the data stays consistent, whatever fails, is tried again, or is lost.

use crate::support::{Base, drive, own_server, ran};
use prony_plan::Stop;
use std::time::{Duration, Instant};

const MODES: [&str; 3] = ["procedures", "statements", "pipelined"];

#[test]
fn the_conditions_hold_after_eight_users_were_at_work() {
    let base = Base::new("tpcc_crowd");
    base.load(2, 2, &[]);
    let (mut ordered, mut delivered, mut retries) = (0, 0, 0);
    for mode in MODES {
        let options = [("mode", mode), ("home", "all"), ("max_tries", "100")];
        let run = drive(8, Stop::After(Duration::from_secs(3)));
        let ran = ran(&base, &options, &run, 5);
        assert_eq!(ran.failed, 0, "{mode}: {:?}", ran.codes);
        assert_eq!(base.wrong(), [""; 0], "{mode}");
        ordered += ran.observed.ends[0].committed as i64;
        delivered += ran.observed.delivered as i64;
        retries += ran.observed.retries;
        let orders = base.number("select count(*) from orders") - 60_000;
        assert_eq!(orders, ordered, "{mode}");
        let taken = 18_000 + orders - base.number("select count(*) from new_order");
        assert_eq!(taken, delivered, "{mode}: no order is delivered twice");
    }
    assert!(ordered > 0, "{ordered} orders");
    println!("{retries} tries more");
}

#[test]
fn a_lock_that_is_waited_for_too_long_is_tried_again_and_counted() {
    // A server of its own: loads of the other tests are not to give up so soon.
    let server = own_server(&["--innodb-lock-wait-timeout=1"]);
    for mode in MODES {
        let base = Base::on(&server, &format!("waits_{mode}"));
        base.load(1, 1, &[]);
        let mut other = base.control();
        other
            .execute("begin; update warehouse set w_ytd = w_ytd")
            .expect("a lock that all payments wait for");
        // A row that is set to what it is stays locked.
        other
            .query("select w_id from warehouse for update")
            .expect("locks");
        let options = [("mode", mode), ("max_tries", "2")];
        let ran = ran(
            &base,
            &options,
            // Some of these are payments, and each waits twice.
            &drive(2, Stop::Transactions(4)),
            5,
        );
        assert!(ran.failed > 0 && ran.retries > 0, "{mode}");
        assert_eq!(ran.codes, ["01205"], "{mode}");
        drop(other);
        assert_eq!(base.wrong(), [""; 0], "{mode}");
        let paid = base.number("select count(*) from history") - 30_000;
        assert_eq!(paid, 0, "{mode}: none could be paid");
    }
}

#[test]
fn a_server_killed_in_mid_run_keeps_what_it_committed() {
    let server = own_server(&["--innodb-flush-log-at-trx-commit=1"]);
    let base = Base::on(&server, "killed");
    base.load(2, 2, &[]);
    for mode in MODES {
        let before = base.number("select count(*) from orders");
        let ran = std::thread::scope(|scope| {
            let run = drive(8, Stop::After(Duration::from_secs(10)));
            let options = [("mode", mode), ("home", "all")];
            let base = &base;
            let running = scope.spawn(move || ran(base, &options, &run, 5));
            let begun = Instant::now();
            while base.number("select count(*) from orders") == before {
                assert!(begun.elapsed() < Duration::from_secs(60), "no order comes");
                std::thread::sleep(Duration::from_millis(20));
            }
            server.kill();
            server.restart().expect("restarts");
            running.join().expect("the run goes on")
        });
        assert!(ran.events > 0, "{mode}: an outage is told");
        assert_eq!(base.wrong(), [""; 0], "{mode}");
        // What a user saw committed is there; what was under way may be there too.
        let ordered = ran.observed.ends[0];
        let there = (base.number("select count(*) from orders") - before) as u64;
        assert!(there >= ordered.committed, "{mode}: {there} of {ordered:?}");
        assert!(
            there <= ordered.committed + ordered.failed,
            "{mode}: {there} {ordered:?}"
        );
    }
}
