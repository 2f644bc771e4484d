//! Programs that replace pgbench, sysbench and hammerdbcli.
//!
//! In: a tool's arguments. Out: the tool's actions and output, and its exit status. Must never: depend on the
//! options or pages of `prony` itself.

pub mod cleartext;
pub mod hammerdb;
mod output;
pub mod pgbench;
pub mod sysbench;
mod tool_run;

/// Whether a program name, such as the name of a link to Prony, begins with a tool's name.
fn begins_with_tool_name(argv0: &str, tool: &str) -> bool {
    let name = argv0.rsplit('/').next();
    name.is_some_and(|name| name.starts_with(tool))
}
