//! What a server is and does. Shared by its connections.

use crate::bulk::BulkRows;
use crate::datum::Datum;
use crate::login::LoginRecord;
use crate::reply::Column;
use crate::request::{Parameter, Request};
use rustls::ServerConfig;
use std::sync::{Arc, Mutex};

/// What the server says about encryption in PRELOGIN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// It has TLS, and does not insist.
    Available,
    /// It has none.
    NotSupported,
    /// It insists on TLS for everything.
    Required,
    /// TDS 8.0: TLS comes first.
    Strict,
}

/// What one statement answers.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Rows of a query.
    Rows(Vec<Column>, Vec<Vec<Datum>>),
    /// As `Rows`, as NBCROW tokens, which leave NULLs out.
    CompressedRows(Vec<Column>, Vec<Vec<Datum>>),
    /// A number of changed rows.
    Count(u64),
    /// Success without a number.
    Done,
    /// An error: number, state, severity, message. The statements after it run, unless the error ends the
    /// transaction.
    Error(i32, u8, u8, String),
    /// A message that is no error: number, message.
    Info(i32, String),
    /// Bytes of tokens as they are.
    Raw(Vec<u8>),
    /// Nothing more comes before an attention.
    Hang,
}

/// Answers a statement: its text and its parameters.
pub type Handler = dyn Fn(&str, &[Parameter]) -> Vec<Outcome> + Send + Sync;

/// What the connections of a server received.
#[derive(Debug, Default)]
pub struct Received {
    /// Each login, accepted or not.
    pub logins: Vec<LoginRecord>,
    /// Each request after it.
    pub requests: Vec<Request>,
    /// Each bulk load.
    pub bulk: Vec<BulkRows>,
}

/// What a server is and does.
pub struct Config {
    /// Name and password of its account.
    pub account: (String, String),
    /// What it says about encryption.
    pub encryption: Encryption,
    /// Its certificate.
    pub tls: Option<Arc<ServerConfig>>,
    /// The largest packet that it allows, in bytes.
    pub packet_size_max: u32,
    /// Where it routes logins.
    pub route: Option<(String, u16)>,
    /// What it answers to MARS in PRELOGIN.
    pub mars: u8,
    /// Whether it insists on Microsoft Entra.
    pub federated: bool,
    /// Its collation.
    pub collation: [u8; 5],
    /// What statements answer.
    pub handler: Box<Handler>,
    /// What was received.
    pub received: Arc<Mutex<Received>>,
}

impl Config {
    /// A server with the account `sa`/`Sesame1`, without TLS.
    pub fn new(
        handler: impl Fn(&str, &[Parameter]) -> Vec<Outcome> + Send + Sync + 'static,
    ) -> Config {
        Config {
            account: ("sa".to_owned(), "Sesame1".to_owned()),
            encryption: Encryption::NotSupported,
            tls: None,
            packet_size_max: 32_767,
            route: None,
            mars: 0,
            federated: false,
            // SQL_Latin1_General_CP1_CI_AS.
            collation: [0x09, 0x04, 0xd0, 0x00, 0x34],
            handler: Box::new(handler),
            received: Arc::default(),
        }
    }
}
