//! The order-entry workload on a real MariaDB.

mod crowd;
mod load;
mod modes;
mod rights;
#[path = "../common/stop.rs"]
mod stop;
mod support;
