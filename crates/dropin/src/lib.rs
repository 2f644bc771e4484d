//! Programs that replace pgbench, sysbench and hammerdbcli.
//!
//! In: a tool's arguments. Out: the tool's actions and output, and its exit status. Must never: depend on the
//! options or pages of `prony` itself.

pub mod cleartext;
mod hammerdb;
mod output;
mod pgbench;
mod process;
mod sysbench;
mod tool_run;

pub use process::Tool;
