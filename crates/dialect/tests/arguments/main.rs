//! Command lines compared with the real pgbench: what it refuses before it connects, Prony's parser
//! must refuse with the same text and status; what it accepts must be accepted.
//!
//! The tests compare with every pgbench from 13 to 19 below /usr/lib/postgresql, at its level, and
//! with those in PRONY_TEST_PGBENCH (paths separated by colons). Skipped, with a message, if there is
//! none.

mod alone;
mod real;
mod same;
mod test_host;
