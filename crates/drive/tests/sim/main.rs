//! The whole loop on a simulated network: exact figures, in milliseconds of real time.

mod counts;
mod ends;
mod further;
mod losses;
mod pace;
mod prologue;
mod shared;
mod split;
mod starts;
#[allow(dead_code)]
mod support;
mod tardy;
mod users;
