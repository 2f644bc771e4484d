//! The control connection and the log-in against a real MariaDB.

mod control;
mod login;
mod misbehaving;
mod others;
mod support;
