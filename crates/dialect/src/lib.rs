//! Command lines and texts of other tools.
//!
//! In: the arguments of pgbench and sysbench, the scripts of hammerdbcli; the figures of a run as plain data;
//! for [`reading`], the tools' output. Out: the parsed command line or output as plain data; the tool's exact
//! text. Must never: connect, measure, read a clock, or print: the caller decides where a text goes.

pub mod hammerdb;
pub mod libpq;
pub mod mysql_client;
pub mod pgbench;
pub mod reading;
pub mod sysbench;
mod table;
