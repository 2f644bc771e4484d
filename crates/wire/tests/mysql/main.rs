//! MySQL's protocol on conversations recorded from MariaDB 10.11 and MySQL 8.0, cut in two at every
//! byte, and on servers that misbehave.

#[path = "../common/mod.rs"]
mod common;
#[macro_use]
mod support;

mod anything;
mod log_in;
mod recorded;
mod replies;
mod requests;
