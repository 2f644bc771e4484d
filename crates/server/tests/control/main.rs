//! The control connection against a real PostgreSQL.

mod copy;
mod hosts;
mod log_in;
mod statements;
mod support;
mod tls;
mod trouble;
