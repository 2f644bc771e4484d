//! The tpcc workload on a real MariaDB.

mod concurrency;
mod hammerdb;
mod load;
mod modes;
mod privileges;
pub mod support;
