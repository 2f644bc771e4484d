//! The hammerdbcli dialect, after HammerDB 4.6.
pub mod tcl;
