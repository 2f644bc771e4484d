//! Checks the server of these tests with another implementation of the protocol, the client of the crate
//! `tds-protocol`: the server understands that client's requests, and the client understands the server's
//! replies.

use crate::support::*;
use crate::types::{reply_of_all_types, values};
use prony_tds_server::{
    Connection, Datum, Encryption, LoginRecord, Request, encode_message, take_messages,
};
use prony_wire::{ParameterType, QueryMode, StatementIds, Value};
use std::sync::Arc;
use tds_protocol::login7::Login7;
use tds_protocol::prelogin::{EncryptionLevel, PreLogin};
use tds_protocol::rpc::{RpcParam, RpcRequest};
use tds_protocol::sql_batch::SqlBatch;
use tds_protocol::token::{Token, TokenParser};

/// Tokens of messages from the server, in packets of this size.
fn tokens(mut bytes: Vec<u8>, size: usize) -> Vec<Token> {
    let mut actual = Vec::new();
    for (_, payload) in take_messages(&mut bytes, size) {
        let mut parser = TokenParser::new(payload.into());
        let mut columns = None;
        while let Some(token) = parser.next_token_with_metadata(columns.as_ref()).unwrap() {
            if let Token::ColMetaData(described) = &token {
                columns = Some(described.clone());
            }
            actual.push(token);
        }
    }
    actual
}

#[test]
fn another_client_logs_in_and_sends_the_same_requests() {
    let config = config(Encryption::NotSupported);
    let received = received(&config);
    let mut server = Connection::new(Arc::new(config));
    let prelogin = PreLogin::new().with_encryption(EncryptionLevel::NotSupported);
    let answer = server.receive(&encode_message(0x12, &prelogin.encode(), 4096));
    assert!(PreLogin::decode(&answer[8..]).is_ok());
    let login = Login7::new()
        .with_sql_auth("sa", "Sesame1")
        .with_database("tpcc")
        .with_hostname("client")
        .with_app_name("prony")
        .with_server_name(HOST)
        .with_packet_size(512);
    let actual = tokens(
        server.receive(&encode_message(0x10, &login.encode(), 4096)),
        4096,
    );
    let accepted = |token: &Token| matches!(token, Token::LoginAck(_));
    assert!(actual.iter().any(accepted), "{actual:?}");
    let requests = [
        (1, SqlBatch::new("select 'é'").encode()),
        (
            3,
            RpcRequest::execute_sql(
                "select @P1, @P2",
                vec![RpcParam::int("@P1", -7), RpcParam::nvarchar("@P2", "中")],
            )
            .encode(),
        ),
    ];
    for (kind, payload) in requests {
        let actual = tokens(server.receive(&encode_message(kind, &payload, 512)), 512);
        let failed = |token: &Token| matches!(token, Token::Error(_));
        assert!(!actual.iter().any(failed), "{actual:?}");
    }
    let theirs = std::mem::take(&mut *received.lock().unwrap());

    // Prony's client sends the same requests.
    let mut talk = Talk::new(
        QueryMode::Extended,
        crate::support::config(Encryption::NotSupported),
    );
    talk.query("select 'é'");
    let types = [ParameterType::Int, ParameterType::Text];
    let statement = StatementIds::new().add("select $1, $2").with_types(types);
    talk.exec(&statement, &[Value::Int(-7), Value::Text("中")]);
    let ours = std::mem::take(&mut *talk.received.lock().unwrap());
    let (their_login, our_login) = (&theirs.logins[0], &ours.logins[0]);
    assert_eq!(their_login.version, our_login.version);
    let names = |login: &LoginRecord| {
        let (account, names) = (
            [&login.user, &login.password],
            [&login.host, &login.application],
        );
        let server = [&login.server, &login.database];
        [account, names, server].map(|pair| pair.map(String::clone))
    };
    assert_eq!(names(their_login), names(our_login));
    assert_eq!(theirs.requests[0], ours.requests[0]);
    let values = |request: &Request| match request {
        Request::Rpcs { calls, .. } => {
            let values = calls[0]
                .parameters
                .iter()
                .map(|parameter| parameter.value.clone());
            (calls[0].procedure.clone(), values.collect::<Vec<Datum>>())
        }
        other => panic!("{other:?}"),
    };
    let ((their_call, their_values), (our_call, our_values)) =
        (values(&theirs.requests[1]), values(&ours.requests[1]));
    assert_eq!(
        (their_call, &their_values[0], &their_values[2..]),
        (our_call, &our_values[0], &our_values[2..])
    );
}

#[test]
fn another_client_reads_the_replies() {
    let actual = tokens(reply_of_all_types(), 512);
    let columns = actual.iter().find_map(|token| match token {
        Token::ColMetaData(columns) => Some(columns.columns.len()),
        _ => None,
    });
    assert_eq!(columns, Some(values().len()));
    let count = |is: fn(&Token) -> bool| actual.iter().filter(|token| is(token)).count();
    assert_eq!(count(|token| matches!(token, Token::Row(_))), 2);
    assert_eq!(count(|token| matches!(token, Token::NbcRow(_))), 2);
    assert_eq!(count(|token| matches!(token, Token::Done(_))), 1);
}
