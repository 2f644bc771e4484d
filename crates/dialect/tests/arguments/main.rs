//! Command lines against the real pgbench: what it refuses before it connects, Prony's reader must
//! refuse with the same text and status; what it accepts must be accepted.
//!
//! Every pgbench from 13 to 19 below /usr/lib/postgresql is compared with, at its level, and those in
//! PRONY_TEST_PGBENCH (paths with colons between them). Skipped, with a message, where there is none.

mod alone;
mod real;
mod same;
mod world;
