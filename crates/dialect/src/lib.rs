//! Other tools' command lines and texts.
//!
//! In: the arguments of pgbench and sysbench, the scripts of hammerdbcli; the figures of a run as plain
//! data; what these tools print, for [`reading`]. Out: what was asked, and what an output says, as plain
//! data; that tool's exact text. Must never: connect, measure, read a clock, or print: whoever calls
//! decides where a text goes.

pub mod hammerdb;
pub mod pgbench;
pub mod reading;
pub mod sysbench;
