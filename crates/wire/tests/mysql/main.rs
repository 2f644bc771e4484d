//! MySQL's protocol on conversations recorded from MariaDB 10.11 and MySQL 8.0, split in two at
//! every byte, and on misbehaving servers.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/exchanges.rs"]
mod exchanges;
#[macro_use]
mod support;

mod anything;
mod login;
mod recorded;
mod replies;
mod requests;
