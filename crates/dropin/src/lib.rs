//! Programs that replace pgbench, sysbench and hammerdbcli.
//!
//! In: a tool's arguments. Out: the tool's actions and output, and its exit status. Must never: depend on the
//! options or pages of `prony` itself.

mod agents;
pub mod cleartext;
mod hammerdb;
mod output;
mod pgbench;
mod process;
mod sysbench;
mod tool_run;

pub use agents::make_tool_program;
pub use process::Tool;
