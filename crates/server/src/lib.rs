//! Connects to a database server, and reads its settings, counters and state.
//!
//! In: a connection URL and the environment variables and files that the usual clients read. Out: a
//! [`Target`]; a blocking control connection; an embedded throw-away server. Must never: drive
//! load.

pub mod control;
pub mod database;
pub mod embedded;
pub mod error;
mod mysql;
pub mod observe;
mod option_values;
pub mod postgres;
mod resolve;
pub mod secrets;
pub mod settings;
mod sqlserver;
pub mod statements;
pub mod target;
mod txn_counts;
mod url;

pub use control::{Control, CopyIn};
pub use error::Error;
pub use mysql::{UserLock, resolve_mysql_options, take_user_lock};
pub use observe::{ServerFacts, read_server_facts};
pub use postgres::{
    Environment, find_secret_keyword, libpq_message, resolve_postgres_options, secret_keywords,
};
pub use sqlserver::resolve_sql_server_options;
pub use target::{
    Address, AddressRace, AuthMethod, ChannelBinding, Endpoint, MysqlOptions, PostgresOptions,
    ProtocolOptions, RequireAuth, SessionAttrs, SqlServerOptions, SslMode, Target, TcpOptions, Tls,
};
pub use txn_counts::{
    CounterStart, TxnCount, begun_per_minute, read_counter_start, read_txn_counts, txns_per_minute,
};
pub use url::{redact, resolve, resolve_client_options};
