//! Flag bits of the protocol.
//!
//! Source: MySQL documentation, "Capabilities Flags" and "Status Flags"; MariaDB documentation,
//! "Connection".

/// Set by MySQL and by old versions of MariaDB. A server without it has MariaDB's extended capabilities.
pub(crate) const LONG_PASSWORD: u32 = 1;
/// `affected` counts rows that matched instead of rows that changed.
pub(crate) const FOUND_ROWS: u32 = 1 << 1;
pub(crate) const LONG_FLAG: u32 = 1 << 2;
/// The login names a database.
pub(crate) const CONNECT_WITH_DB: u32 = 1 << 3;
/// `LOAD DATA LOCAL` may request a file of the client.
pub(crate) const LOCAL_FILES: u32 = 1 << 7;
pub(crate) const PROTOCOL_41: u32 = 1 << 9;
/// The connection switches to TLS.
pub(crate) const SSL: u32 = 1 << 11;
/// The status flags report transactions.
pub(crate) const TRANSACTIONS: u32 = 1 << 13;
pub(crate) const SECURE_CONNECTION: u32 = 1 << 15;
pub(crate) const MULTI_STATEMENTS: u32 = 1 << 16;
pub(crate) const MULTI_RESULTS: u32 = 1 << 17;
/// A prepared `CALL` may return several results.
pub(crate) const PS_MULTI_RESULTS: u32 = 1 << 18;
pub(crate) const PLUGIN_AUTH: u32 = 1 << 19;
pub(crate) const CONNECT_ATTRS: u32 = 1 << 20;
/// The login's answer may be longer than 255 bytes.
pub(crate) const PLUGIN_AUTH_LENENC: u32 = 1 << 21;
/// The server sends no EOF packets.
pub(crate) const DEPRECATE_EOF: u32 = 1 << 24;

pub(crate) const STATUS_IN_TRANSACTION: u16 = 1;
/// Each statement commits by itself.
pub(crate) const STATUS_AUTOCOMMIT: u16 = 1 << 1;
/// Another result follows.
pub(crate) const STATUS_MORE_RESULTS: u16 = 1 << 3;
/// A backslash is an ordinary character in literals.
pub(crate) const STATUS_NO_BACKSLASH_ESCAPES: u16 = 1 << 9;
