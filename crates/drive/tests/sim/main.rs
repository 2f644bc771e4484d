//! Tests of the complete loop on a simulated network: exact figures, within milliseconds of real time.

mod additional_connections;
mod counts;
mod ends;
mod ledger;
mod losses;
mod mysql;
mod pace;
mod prologue;
mod shared;
mod slow_accept;
mod split;
mod starts;
mod statements;
#[allow(dead_code)]
mod support;
mod users;
