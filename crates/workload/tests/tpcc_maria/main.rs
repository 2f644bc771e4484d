//! The tpcc workload on a real MariaDB.

mod concurrency;
mod hammerdb;
mod load;
mod modes;
#[path = "../common/plans.rs"]
mod plans;
mod privileges;
#[path = "../common/rare_cases.rs"]
mod rare_cases;
#[path = "../common/stop.rs"]
mod stop;
mod support;
