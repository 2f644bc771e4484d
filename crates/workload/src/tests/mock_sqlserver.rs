//! Runs a user against a server that speaks SQL Server's protocol, and records its requests. Every value that
//! the server returns is 7. Panics on a statement that is no T-SQL. This module must not know any workload.

use super::mock_postgres::run_user;
use prony_server::{Control, Environment};
use prony_session::{Outcome as TxnOutcome, Program};
use prony_tds_server::{
    Column, Config, Connection, Datum, Listener, Outcome, Parameter, Procedure, Request, Rpc, Type,
    syntax_error,
};
use prony_wire::login::{LoginProgress, TlsUse};
use prony_wire::tds::{Connector, Login};
use prony_wire::{Exchange, PendingLogin, QueryMode, Secret};
use std::sync::Arc;

/// A connection to a server that answers so.
pub fn connect(
    answer: impl Fn(&str, &[Parameter]) -> Vec<Outcome> + Send + Sync + 'static,
) -> Control {
    let port = Listener::start(Config::new(answer)).address().port();
    let url = format!("sqlserver://sa:Sesame1@127.0.0.1:{port}/db?encrypt=disable");
    let target = prony_server::resolve(&url, &Environment::without_home("tester"));
    Control::connect(&target.expect("a good URL")).expect("connects")
}

/// The reply to a statement: a row of sevens, or a count if the statement returns no rows.
pub fn execute(text: &str, _: &[Parameter]) -> Vec<Outcome> {
    // A procedure that is called by its name has no text.
    if text.contains(' ') {
        assert_eq!(syntax_error(text), None);
    }
    let first_word = text.split_whitespace().next().unwrap_or_default();
    let returns_rows =
        !["INSERT", "UPDATE", "DELETE"].contains(&first_word) || text.contains(" OUTPUT ");
    if returns_rows {
        let column = Column::new("c", Type::VarChar(9));
        let row = vec![Datum::Bytes(b"7".to_vec()); 3];
        vec![Outcome::Rows(vec![column; 3], vec![row])]
    } else {
        vec![Outcome::Count(1)]
    }
}

/// Runs a user for this many transactions, all of which must commit; returns the requests of each.
pub fn record_requests(
    program: &dyn Program,
    mode: QueryMode,
    transactions: u64,
) -> Vec<Vec<Request>> {
    record_requests_with(program, mode, transactions, execute).0
}

/// Like [`record_requests`], with other replies to statements; returns also the number of retries.
pub fn record_requests_with(
    program: &dyn Program,
    mode: QueryMode,
    transactions: u64,
    handler: impl Fn(&str, &[Parameter]) -> Vec<Outcome> + Send + Sync + 'static,
) -> (Vec<Vec<Request>>, u32) {
    let config = Config::new(handler);
    let received = Arc::clone(&config.received);
    let (mut server, exchange) = log_in(config, mode);
    let (mut requests_by_transaction, mut retries) = (Vec::new(), 0);
    let answer = |request: &[u8]| server.receive(request);
    run_user(program, exchange, transactions, answer, |poll, worker| {
        let has_ended = poll();
        worker.drain_samples(|sample| {
            assert!(
                matches!(sample.outcome, TxnOutcome::Committed),
                "{sample:?}"
            );
            retries += sample.retries;
            let mut received = received.lock().expect("no test has panicked");
            requests_by_transaction.push(std::mem::take(&mut received.requests));
        });
        has_ended
    });
    assert_eq!(requests_by_transaction.len() as u64, transactions);
    (requests_by_transaction, retries)
}

fn log_in(config: Config, mode: QueryMode) -> (Connection, Exchange) {
    let login = Login::new("sa", Secret::new("Sesame1"), "prony");
    let connector = Connector::new(Arc::new(login), TlsUse::No, None);
    let mut server = Connection::new(Arc::new(config));
    let mut pending = PendingLogin::Tds(Box::new(connector));
    let mut to_server = Vec::new();
    pending.start(&mut to_server).expect("a login");
    loop {
        let reply = server.receive(&to_server);
        to_server.clear();
        let progress = pending.receive(&reply, &mut to_server);
        if let LoginProgress::Done(session, _) = progress.expect("the login is accepted") {
            let mut exchange = Exchange::tds(mode);
            exchange.set_session_flags(session.flags);
            return (server, exchange);
        }
    }
}

pub fn calls(requests: &[Request]) -> Vec<&Rpc> {
    let calls = requests.iter().filter_map(|request| match request {
        Request::Rpcs { calls, .. } => Some(calls),
        _ => None,
    });
    calls.flatten().collect()
}

/// The types of the values of a call, without the handle and the texts of system procedures.
pub fn value_types(call: &Rpc) -> Vec<Type> {
    let system_parameters = match call.procedure {
        Procedure::Name(_) => 0,
        // sp_executesql, sp_prepexec, sp_execute.
        Procedure::Id(10) => 2,
        Procedure::Id(13) => 3,
        Procedure::Id(12) => 1,
        Procedure::Id(_) => call.parameters.len(),
    };
    let values = call.parameters.iter().skip(system_parameters);
    values.map(|parameter| parameter.kind).collect()
}
