//! SQL Server's protocol against a server written to its specification (`prony-tds-server`), with the
//! server's bytes split anywhere, and against servers that break it.

#[macro_use]
mod support;

mod login;
