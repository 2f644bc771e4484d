//! The order-entry workload on a real MariaDB.

mod crowd;
mod load;
mod modes;
#[path = "../common/plans.rs"]
mod plans;
#[path = "../common/rich.rs"]
mod rich;
mod rights;
#[path = "../common/stop.rs"]
mod stop;
mod support;
