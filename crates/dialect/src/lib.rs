//! Other tools' command lines and texts.
//!
//! In: what other tools print, for `reading`; the arguments of pgbench and sysbench, the scripts of hammerdbcli; the figures of a run as plain data. Out:
//! what was asked, as plain data; that tool's exact text. Must never: connect, measure, read a clock,
//! or print: whoever calls decides where a text goes.

pub mod hammerdb;
pub mod pgbench;
pub mod reading;
pub mod sysbench;
