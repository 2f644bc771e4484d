//! `prony workloads`.
//!
//! In: the registry. Out: its names with a line each. Must never: ask a server.

use super::output;
use crate::exit::{Exit, Failure};

/// Lists them.
pub fn list() -> Result<Exit, Failure> {
    let all = prony_workload::list();
    let width = all.iter().map(|one| one.name().len()).max().unwrap_or(0);
    output::show(|out, style| {
        for workload in all {
            let (name, title) = (workload.name(), workload.title());
            let mut line = format!("{name:width$}  {title}");
            if workload.data() != name {
                line += &format!(" (on the tables of {})", workload.data());
            }
            let lines = prony_report::text::wrap(&line[width + 2..], style.width - width - 2);
            for (row, part) in lines.iter().enumerate() {
                let name = if row == 0 { name } else { "" };
                writeln!(out, "{name:width$}  {part}")?;
            }
        }
        Ok(())
    })?;
    Ok(Exit::Fine)
}
