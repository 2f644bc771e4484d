//! The three modes of each profile do the same, and the same as on PostgreSQL.

use crate::rich::rich_seed;
use crate::support::{Base, drive, ran, sums};
use prony_plan::{QueryMode, Stop};
use prony_workload::oltp::engine::Engine;
use prony_workload::tpcc::profile::Profile;

const TRANSACTIONS: u64 = 400;

#[test]
fn each_mode_leaves_the_same_data_and_tells_the_same() {
    let both = &[QueryMode::Prepared, QueryMode::Simple][..];
    let modes = &["procedures", "statements", "pipelined"][..];
    for (profile, protocols, modes) in [
        ("standard", both, modes),
        ("hammerdb", &both[..1], modes),
        // The same as the one before, here, but for its name.
        ("hammerdb-4.6", &[QueryMode::Extended], &modes[..1]),
    ] {
        let known = Profile::find(profile).expect("listed").on(Engine::MySql);
        let seed = rich_seed(known, 2, TRANSACTIONS);
        let mut first = None;
        for protocol in protocols {
            for mode in modes {
                if (*mode, *protocol) == ("pipelined", QueryMode::Simple) {
                    continue;
                }
                let what = format!("{profile} {mode} {protocol:?}");
                let base = Base::new("tpcc_modes");
                base.load(2, 2, &[("profile", profile)]);
                let options = [("profile", profile), ("mode", mode), ("home", "all")];
                let mut drive = drive(1, Stop::Transactions(TRANSACTIONS));
                drive.protocol = *protocol;
                let ran = ran(&base, &options, &drive, seed);
                assert_eq!((ran.failed, ran.retries), (0, 0), "{what}: {:?}", ran.codes);
                let observed = ran.observed;
                assert!(observed.ends[0].rolled_back > 0, "{what}: {observed:?}");
                assert!(
                    observed.remote_lines > 0 && observed.remote_payments > 0,
                    "{what}"
                );
                assert!(observed.delivered > 0 && observed.shown_lines > 0, "{what}");
                let wrong = base.wrong();
                assert_eq!(wrong, [""; 0], "{what}");
                let bad = "select count(*) from customer where c_credit = 'BC' \
                           and c_data like '%|%'";
                assert!(base.number(bad) > 0, "{what}: bad credit is noted");
                let now = (sums(&base), observed);
                let first = first.get_or_insert_with(|| now.clone());
                for (ours, theirs) in now.0.iter().zip(&first.0) {
                    assert_eq!(ours, theirs, "{what}");
                }
                assert_eq!(now.1, first.1, "{what}");
            }
        }
        if profile == "standard" {
            let theirs = Base::postgres("tpcc_maria_modes");
            theirs.load(2, 1, &[]);
            let options = [("home", "all")];
            let drive = drive(1, Stop::Transactions(TRANSACTIONS));
            let ran = ran(&theirs, &options, &drive, seed);
            assert_eq!(first.expect("it ran").1, ran.observed, "on PostgreSQL");
        }
    }
}

#[test]
fn procedures_are_installed_once_and_taken_away() {
    let base = Base::new("tpcc_procedures");
    base.load(1, 1, &[]);
    let ours = "select count(*) from information_schema.routines \
         where routine_schema = database() and routine_name like 'prony%'";
    let made = "select sum(to_seconds(created) + microsecond(created)) from \
         information_schema.routines where routine_schema = database()";
    let few = drive(1, Stop::Transactions(30));
    ran(&base, &[("mode", "statements")], &few, 3);
    assert_eq!(base.number(ours), 0, "none is needed");
    ran(&base, &[], &few, 3);
    ran(&base, &[("profile", "hammerdb")], &few, 3);
    assert_eq!(base.number(ours), 10);
    let before = base.number(made);
    // Another text under the same name is replaced, the others stay.
    base.execute(
        "drop procedure prony_tpcc_standard_delivery; \
         create procedure prony_tpcc_standard_delivery() select 'of an older version'; \
         create procedure delivery() select 1",
    );
    let ran = ran(&base, &[], &few, 3);
    assert_eq!(ran.failed, 0, "{:?}", ran.codes);
    assert_eq!(base.number(ours), 10);
    assert!(base.number(made) > before);
    prony_workload::find("tpcc")
        .expect("listed")
        .clean(&mut base.control())
        .expect("cleans");
    assert_eq!(base.number(ours), 0);
    base.execute("call delivery()");
}
