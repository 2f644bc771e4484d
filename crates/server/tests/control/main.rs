//! The control connection against a real PostgreSQL.

mod copy;
mod errors;
mod hosts;
mod login;
mod statements;
mod support;
mod tls;
