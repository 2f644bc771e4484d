//! Transactions, conflicts, and requests that are canceled.

use crate::support::*;
use prony_tds_server::{Outcome, Request};
use prony_wire::{BlockState, ErrorClass, FeedStatus, QueryMode, StatementIds, Value};

#[test]
fn a_transaction_inside_a_call_is_error_266() {
    // Prony's own requests avoid this error; a procedure can still cause it.
    let mut talk = Talk::with(QueryMode::Extended, |_, _| vec![Outcome::Done]);
    let statement = StatementIds::new().add("/* not hidden */ begin tran");
    talk.exec(&statement, &[]);
    assert_eq!(
        (talk.error(), talk.exchange.block_state()),
        (None, BlockState::Open)
    );
    talk.query("ROLLBACK");
    let statement = StatementIds::new().add("exec p ; begin tran");
    talk.exec(&statement, &[]);
    assert_eq!(talk.error(), Some(266));
    assert_eq!(talk.exchange.block_state(), BlockState::Open);
    talk.query("ROLLBACK");
    assert_eq!(
        (talk.error(), talk.exchange.block_state()),
        (None, BlockState::Idle)
    );
}

#[test]
fn a_deadlock_rolls_back_and_can_be_retried() {
    for step in [1, 4, 100_000] {
        let mut talk = Talk::with(QueryMode::Prepared, |text, _| {
            if text.contains("update") {
                vec![Outcome::Error(1205, 51, 13, "deadlock victim".to_owned())]
            } else {
                vec![Outcome::Count(1)]
            }
        });
        talk.step = step;
        let mut set = StatementIds::new();
        let (insert, update) = (
            set.add("insert a values ($1)"),
            set.add("update a set b = $1"),
        );
        let value = [Value::Int(1)];
        talk.query("begin tran");
        talk.batch(&[(&insert, &value), (&update, &value), (&insert, &value)]);
        let error = talk.exchange.error_summary().unwrap();
        assert_eq!(error.classification.class, ErrorClass::Deadlock);
        assert!(error.classification.retryable);
        assert_eq!(
            (&error.counted_as(), &*error.message),
            (b"40001", "deadlock victim")
        );
        // The last insert is not sent: its transaction was rolled back.
        assert_eq!(talk.requests().len(), 3);
        assert_eq!(talk.exchange.block_state(), BlockState::Idle);
        talk.exec(&insert, &value);
        assert_eq!(talk.error(), None);
    }
}

#[test]
fn a_lock_timeout_leaves_the_transaction_open() {
    let mut talk = Talk::with(QueryMode::Simple, |_, _| {
        vec![Outcome::Error(
            1222,
            51,
            16,
            "Lock request time out".to_owned(),
        )]
    });
    talk.query("begin tran;update a set b = 1");
    let error = talk.exchange.error_summary().unwrap();
    assert_eq!(error.classification.class, ErrorClass::Timeout);
    assert!(!error.classification.retryable);
    assert_eq!(talk.exchange.block_state(), BlockState::Open);
}

#[test]
fn a_conflict_is_reported_instead_of_an_earlier_error() {
    let mut talk = Talk::with(QueryMode::Simple, |_, _| {
        vec![
            Outcome::Error(547, 1, 16, "constraint".to_owned()),
            Outcome::Error(8115, 1, 16, "overflow".to_owned()),
            Outcome::Error(3960, 1, 16, "snapshot".to_owned()),
        ]
    });
    talk.query("begin tran;update a set b = 1");
    assert_eq!(talk.error(), Some(3960));
    let class = talk.exchange.error().unwrap().classification.class;
    assert_eq!(class, ErrorClass::Serialization);
}

#[test]
fn an_attention_cancels_a_request() {
    for step in [1, 9, 100_000] {
        let mut talk = Talk::with(QueryMode::Simple, |_, _| vec![ints(&[1, 2]), Outcome::Hang]);
        talk.step = step;
        assert_eq!(talk.exchange.attention(), None, "no request is in flight");
        talk.exchange.query("waitfor delay '1:00'");
        let answer = talk.server.receive(talk.exchange.outgoing());
        assert!(answer.is_empty());
        let attention = talk.exchange.attention().unwrap();
        assert_eq!(
            talk.exchange.attention(),
            None,
            "the request is canceled already"
        );
        let answer = talk.server.receive(attention);
        assert_eq!(talk.take(&answer), Ok(FeedStatus::Complete));
        assert_eq!(talk.requests().pop(), Some(Request::Attention));
        let error = talk.exchange.error().unwrap();
        assert_eq!(
            (error.classification.class, error.code()),
            (ErrorClass::Timeout, "HY008")
        );
        assert_eq!(talk.exchange.attention(), None);
    }
}

#[test]
fn an_attention_after_the_reply_changes_nothing() {
    let mut talk = Talk::with(QueryMode::Simple, |_, _| vec![ints(&[1])]);
    talk.exchange.query("select 1");
    let reply = talk.server.receive(talk.exchange.outgoing());
    // The attention is sent while the reply is on its way.
    let attention = talk.exchange.attention().unwrap();
    assert_eq!(
        talk.take(&reply),
        Ok(FeedStatus::More),
        "two messages answer"
    );
    let answer = talk.server.receive(attention);
    assert_eq!(talk.take(&answer), Ok(FeedStatus::Complete));
    assert_eq!(
        (talk.error(), talk.rows()),
        (None, vec![(0, vec!["1".to_owned()])])
    );
    talk.query("select 1");
    assert_eq!(talk.error(), None);
}

#[test]
fn queued_messages_are_not_sent_after_an_attention() {
    let mut talk = Talk::with(QueryMode::Extended, |_, _| vec![Outcome::Hang]);
    let mut set = StatementIds::new();
    let (one, two) = (set.add("update a set b = 1"), set.add("update a set b = 2"));
    talk.exchange
        .request([(&one, &[][..]), (&two, &[][..])].into_iter());
    talk.server.receive(talk.exchange.outgoing());
    let attention = talk.exchange.attention().unwrap();
    let answer = talk.server.receive(attention);
    assert_eq!(talk.take(&answer), Ok(FeedStatus::Complete));
    assert_eq!(talk.requests().len(), 2);
}
