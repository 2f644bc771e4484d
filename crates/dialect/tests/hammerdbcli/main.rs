//! Scripts as HammerDB's users write them, and the output of HammerDB 4.6 for them.

#[path = "../hammer/mod.rs"]
#[allow(dead_code)]
mod hammer;

mod console;
mod guides;
mod session;
mod sql_server;
mod support;
mod texts;
