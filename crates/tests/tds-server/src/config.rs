//! Configuration of a server: its options, its outcomes for statements, and a record of what it received.

use crate::bulk::BulkRows;
use crate::datum::Datum;
use crate::login::LoginRecord;
use crate::reply::Column;
use crate::request::{Parameter, Request};
use rustls::ServerConfig;
use std::sync::{Arc, Mutex};

/// Whether the server has TLS, and requires it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// The server has TLS and does not require it.
    Available,
    /// The server has no TLS.
    NotSupported,
    /// The server requires TLS for everything.
    Required,
    /// TDS 8.0: TLS comes first.
    Strict,
}

/// One part of the server's reply to a statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Rows of a query.
    Rows(Vec<Column>, Vec<Vec<Datum>>),
    /// Rows of a query as NBCROW tokens, which omit NULLs.
    CompressedRows(Vec<Column>, Vec<Vec<Datum>>),
    /// A number of changed rows.
    Count(u64),
    /// Success without a number.
    Done,
    /// An error: number, state, severity, message. The next statements run, unless the error rolls back the
    /// transaction.
    Error(i32, u8, u8, String),
    /// A message that is not an error: number, message.
    Info(i32, String),
    /// Tokens, already encoded.
    Raw(Vec<u8>),
    /// The statement hangs until an attention.
    Hang,
}

pub type Handler = dyn Fn(&str, &[Parameter]) -> Vec<Outcome> + Send + Sync;

#[derive(Debug, Default)]
pub struct Received {
    /// Each login, accepted or not.
    pub logins: Vec<LoginRecord>,
    pub requests: Vec<Request>,
    pub bulk: Vec<BulkRows>,
}

pub struct Config {
    /// Name and password of the only account.
    pub account: (String, String),
    /// Whether the server has TLS, and requires it.
    pub encryption: Encryption,
    pub tls: Option<Arc<ServerConfig>>,
    /// The largest packet size that the server accepts, in bytes.
    pub packet_size_max: u32,
    /// Host and port to which the server routes logins.
    pub route: Option<(String, u16)>,
    /// The MARS option of the server's PRELOGIN.
    pub mars: u8,
    /// Whether PRELOGIN says that Microsoft Entra logins are required.
    pub announces_entra: bool,
    pub collation: [u8; 5],
    /// The first two numbers of the program's version: 16.0 is SQL Server 2022.
    pub program_version: [u8; 2],
    /// Whether a [`crate::Listener`] takes statements that are no T-SQL, for tests that need none.
    pub takes_any_text: bool,
    /// Parts of the texts that sp_prepare refuses, with the error's number and message.
    pub refused_preparations: Vec<(String, i32, String)>,
    /// The database that the account may not use.
    pub refused_database: Option<&'static str>,
    pub handler: Box<Handler>,
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
            announces_entra: false,
            // SQL_Latin1_General_CP1_CI_AS.
            collation: [0x09, 0x04, 0xd0, 0x00, 0x34],
            program_version: [16, 0],
            takes_any_text: false,
            refused_preparations: Vec::new(),
            refused_database: None,
            handler: Box::new(handler),
            received: Arc::default(),
        }
    }
}
