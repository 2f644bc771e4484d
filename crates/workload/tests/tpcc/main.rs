//! The tpcc workload on a real server.

#[expect(dead_code, reason = "some items are used only by tpcb's tests")]
#[path = "../common/mod.rs"]
mod common;
mod conditions;
mod layout;
mod load;
