//! Command lines compared with the real pgbench: Prony's parser must reject what pgbench rejects before it
//! connects, with the same text and status, and accept what pgbench accepts.
//!
//! The tests compare with every pgbench from 13 to 19 below /usr/lib/postgresql, at its level, and with the
//! programs in PRONY_TEST_PGBENCH (paths separated by colons). Without such a program the tests are skipped,
//! with a message.

mod alone;
mod real;
mod same;
#[path = "../common/mod.rs"]
mod test_host;
