//! How large a scenario is run, and how large data becomes.
//!
//! In: a scenario, and what part of it is wanted. Out: scale, rows and hot set; bytes. Must never: give
//! less than the workload needs, or shrink what is the point of a scenario.

use super::{Engine, Scenario};
use std::collections::BTreeMap;

/// Accounts of a branch.
const ACCOUNTS: u64 = 100_000;
/// Rows of a table where a workload is not told, and the rows of the hot row's table.
const ROWS: u64 = 10_000;
/// As many rows as a range has: with fewer, ranges would be cut off at the table's end.
const ROWS_LEAST: u64 = 100;

/// How large a scenario is to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Size {
    /// Branches, warehouses or tables.
    pub scale: u64,
    /// Rows of a table, where tables have an option for it.
    pub table_size: Option<u64>,
    /// Accounts of the hot set.
    pub range: Option<u64>,
}

impl Scenario {
    /// Its size at `shrink` of the published one, above 0 and at most 1; 1 where no scale was published.
    pub fn size(&self, shrink: f64) -> Size {
        let scale = self.scale.unwrap_or(1);
        let part = |whole: u64| ((whole as f64 * shrink).round() as u64).max(1);
        let table_size = self.table_size();
        // One row for all clients is the point of it.
        let all = self.workload == "hot-row";
        let Some(rows) = table_size.filter(|_| !all) else {
            let scale = if all { scale } else { part(scale) };
            return self.sized(scale, table_size, shrink);
        };
        // Tables before rows: their number is mere width, their size decides how deep an index is.
        let tables = part(scale);
        let rows = (part(scale * rows) / tables).clamp(ROWS_LEAST.min(rows), rows);
        self.sized(tables, Some(rows), shrink)
    }

    /// Its size with as much data as `scale` units of the published rows, such as a server's memory asks
    /// for. A number of tables stays, and their rows change.
    pub fn at_scale(&self, scale: u64) -> Size {
        let published = self.scale.unwrap_or(scale).max(1);
        let shrink = scale as f64 / published as f64;
        let rows = |rows: u64| {
            let rows = (rows as f64 * shrink).round() as u64;
            rows.clamp(ROWS_LEAST, i32::MAX as u64)
        };
        match self.table_size() {
            Some(size) => self.sized(published, Some(rows(size)), shrink),
            None => self.sized(scale, None, shrink),
        }
    }

    fn sized(&self, scale: u64, table_size: Option<u64>, shrink: f64) -> Size {
        let range = |range: u64| {
            let part = (range as f64 * shrink).round() as u64;
            part.clamp(1, scale.saturating_mul(ACCOUNTS))
        };
        Size {
            scale,
            table_size,
            range: self.range.map(range),
        }
    }

    fn table_size(&self) -> Option<u64> {
        let rows = self.options.get("table_size")?.as_integer()?;
        u64::try_from(rows).ok()
    }
}

/// Bytes that a unit of a workload's scale takes once it is loaded, with indexes. Measured on
/// PostgreSQL 15 and MariaDB 10.11 after `prony load`; absent where nothing is known of the workload.
///
/// The documents have, by branch, 14.6 MB at scale 25,000 and 16.7 MB at 50,000, and by warehouse 94 MB.
pub fn data_bytes(
    data: &str,
    options: &BTreeMap<String, toml::Value>,
    engine: Engine,
) -> Option<u64> {
    let mysql = engine == Engine::MySql;
    match data {
        "tpcb" | "simple-update" | "select-only" => Some(15_700_000),
        "tpcc" => Some(if mysql { 88_000_000 } else { 102_000_000 }),
        "hot-row" | "bulk_insert" | "script" => None,
        oltp if oltp.starts_with("oltp_") || oltp.starts_with("select_random_") => {
            let rows = options.get("table_size").and_then(toml::Value::as_integer);
            let rows = rows.and_then(|rows| u64::try_from(rows).ok());
            Some(rows.unwrap_or(ROWS) * if mysql { 250 } else { 255 })
        }
        _ => None,
    }
}

/// The scale at which data of so many bytes a unit is as large as a cache holds `share` of it, the
/// nearest, or where all of it is to fit the largest that does; at least 1.
pub fn scale_for(memory_bytes: u64, share: f64, unit_bytes: u64) -> u64 {
    let scale = memory_bytes as f64 / share / unit_bytes.max(1) as f64;
    let scale = match share >= 1.0 {
        true => scale.floor(),
        false => scale.round(),
    };
    (scale as u64).max(1)
}

/// Reads a part: `1/1000`, `0.1%` or `0.001`.
///
/// # Errors
/// In words, where it is none, or not above 0 and at most 1.
pub fn parse_shrink(text: &str) -> Result<f64, String> {
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let part = match text.split_once('/') {
        Some((part, whole)) => number(part).zip(number(whole)).map(|(a, b)| a / b),
        None => match text.trim().strip_suffix('%') {
            Some(percent) => number(percent).map(|percent| percent / 100.0),
            None => number(text),
        },
    };
    // Written so that NaN is refused.
    part.filter(|part| *part > 0.0 && *part <= 1.0)
        .ok_or_else(|| "give a part above 0 and up to 1, such as 1/1000 or 0.1%".to_owned())
}

/// Reads a share: `30%` or `0.3`.
///
/// # Errors
/// In words, where it is none, or not above 0 and at most 100 %.
pub fn parse_share(text: &str) -> Result<f64, String> {
    parse_shrink(text)
        .ok()
        .filter(|_| !text.contains('/'))
        .ok_or_else(|| "give a share above 0 and up to 100 %, such as 30% or 0.3".to_owned())
}
