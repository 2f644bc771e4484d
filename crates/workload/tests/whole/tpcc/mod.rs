//! The tpcc workload on a real server.

mod conditions;
mod layout;
mod load;
