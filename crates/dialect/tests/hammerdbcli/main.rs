//! Scripts as HammerDB's users write them, and what HammerDB 4.6 printed for them.

#[path = "../hammer/mod.rs"]
#[allow(dead_code)]
mod hammer;

mod console;
mod guides;
mod session;
mod support;
mod texts;
