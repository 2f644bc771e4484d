//! The size at which to run a scenario, and the size of its data.
//!
//! A scenario and the requested fraction of it become scale, rows and hot set. The result is never less than
//! the workload needs, and the dimension that a scenario measures never shrinks.

use super::Scenario;

/// pgbench's number of accounts for each unit of scale.
const ACCOUNTS_PER_BRANCH: u64 = 100_000;
/// Minimum number of rows of a table, equal to the length of a range: in a smaller table, ranges would end at
/// the table's end.
const MIN_TABLE_ROWS: u64 = 100;

/// The size at which a scenario is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioSize {
    /// Branches, warehouses or tables.
    pub scale: u64,
    /// Rows per table, if the workload has an option for it.
    pub table_size: Option<u64>,
    /// Accounts of the script's hot set, if it has one.
    pub hot_set_accounts: Option<u64>,
}

impl Scenario {
    /// The scenario's size at a share of the published size, above 0 and at most 1; scale 1 if no scale was
    /// published.
    pub fn size(&self, size_share: f64) -> ScenarioSize {
        let scale = self.scale.unwrap_or(1);
        let table_size = self.table_size();
        if self.workload == "hot-row" {
            // It never shrinks: the workload measures one row that all clients share.
            return self.with_hot_set(scale, table_size, size_share);
        }
        let scaled = |full: u64| ((full as f64 * size_share).round() as u64).max(1);
        let Some(rows) = table_size else {
            return self.with_hot_set(scaled(scale), None, size_share);
        };
        // Reduce the number of tables before their rows, because the rows determine the depth of the indexes.
        let tables = scaled(scale);
        let rows_each = (scaled(scale * rows) / tables).clamp(MIN_TABLE_ROWS.min(rows), rows);
        self.with_hot_set(tables, Some(rows_each), size_share)
    }

    /// The scenario's size with as much data as `scale` units of the published rows, such as a size that
    /// fits a server's memory. Keeps the number of tables and changes their rows.
    pub fn size_at_scale(&self, scale: u64) -> ScenarioSize {
        let published = self.scale.unwrap_or(scale).max(1);
        let size_share = scale as f64 / published as f64;
        let Some(rows) = self.table_size() else {
            return self.with_hot_set(scale, None, size_share);
        };
        // Keys of the tables are `integer`.
        let rows =
            ((rows as f64 * size_share).round() as u64).clamp(MIN_TABLE_ROWS, i32::MAX as u64);
        self.with_hot_set(published, Some(rows), size_share)
    }

    /// The size with this scale and these rows, and the hot set reduced to a share and to the accounts that exist.
    fn with_hot_set(&self, scale: u64, table_size: Option<u64>, size_share: f64) -> ScenarioSize {
        let hot_set = |accounts: u64| {
            let reduced = (accounts as f64 * size_share).round() as u64;
            reduced.clamp(1, scale.saturating_mul(ACCOUNTS_PER_BRANCH))
        };
        ScenarioSize {
            scale,
            table_size,
            hot_set_accounts: self.hot_set_accounts.map(hot_set),
        }
    }

    fn table_size(&self) -> Option<u64> {
        let rows = self.options.get("table_size")?.as_integer()?;
        u64::try_from(rows).ok()
    }
}

/// The scale at which the cache holds `share` of the data, for this many bytes per unit of scale: the nearest
/// scale, or, if all data must fit, the largest that fits; at least 1.
pub fn scale_for_memory(memory_bytes: u64, share: f64, unit_bytes: u64) -> u64 {
    let scale = memory_bytes as f64 / share / unit_bytes.max(1) as f64;
    let scale = if share >= 1.0 { scale.floor() } else { scale.round() };
    (scale as u64).max(1)
}

/// Reads a fraction: `1/1000`, `0.1%` or `0.001`.
///
/// # Errors
/// If the text is not a fraction, or not above 0 and at most 1.
pub fn parse_fraction(text: &str) -> Result<f64, String> {
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let part = match text.split_once('/') {
        Some((part, whole)) => number(part)
            .zip(number(whole))
            .map(|(part, whole)| part / whole),
        None => match text.trim().strip_suffix('%') {
            Some(percent) => number(percent).map(|percent| percent / 100.0),
            None => number(text),
        },
    };
    // The comparisons are false for NaN, which is rejected.
    part.filter(|part| *part > 0.0 && *part <= 1.0)
        .ok_or_else(|| "must be above 0 and at most 1, such as 1/1000 or 0.1%".to_owned())
}

/// Reads a share: `30%` or `0.3`, but unlike [`parse_fraction`] not `3/10`.
///
/// # Errors
/// If the text is not a share, or not above 0 and at most 100%.
pub fn parse_share(text: &str) -> Result<f64, String> {
    parse_fraction(text)
        .ok()
        .filter(|_| !text.contains('/'))
        .ok_or_else(|| "must be above 0 and at most 100 %, such as 30% or 0.3".to_owned())
}
