//! The whole loop on a simulated network: exact figures, in milliseconds of real time.

mod additional_connections;
mod counts;
mod ends;
mod losses;
mod mysql;
mod pace;
mod prologue;
mod shared;
mod slow_accept;
mod split;
mod starts;
#[allow(dead_code)]
mod support;
mod users;
