//! The tpcc workload on a real server.

#[expect(
    dead_code,
    reason = "some of it serves only the account workloads' tests"
)]
#[path = "../common/mod.rs"]
mod common;
mod conditions;
mod layout;
mod load;
