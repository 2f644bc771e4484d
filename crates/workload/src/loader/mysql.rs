//! How rows are inserted into a table of MySQL or MariaDB.
//!
//! Builds statements for the given rows, as the server's settings allow. Must never read a file.

use super::{Loader, check_all_stored};
use crate::copy::RowSource;
use crate::{Result, sql};
use prony_server::Control;

/// Maximum bytes of rows in a `LOAD DATA`, if the server accepts that many; a stop has to wait for one
/// statement.
const LOAD_DATA_BYTES_MAX: u64 = 4 << 20;
/// Maximum bytes of rows in an `INSERT`, if the server accepts that many. The limit is lower because the
/// server parses all values before it stores the first row.
const INSERT_BYTES_MAX: u64 = 1 << 20;
/// Space for the statement's other text, plus at most the last row.
const RESERVED_BYTES: u64 = 8 << 10;
/// Space for the row that fills a statement.
const LAST_ROW_BYTES: usize = 4096;

/// The kind of statement that stores rows, and how many bytes of rows it holds.
#[derive(Clone, Copy, Debug)]
pub struct BulkStatement {
    /// `LOAD DATA LOCAL` from memory, if the server allows it; otherwise multi-row `INSERT`s.
    pub is_load_data: bool,
    /// Size in bytes from which no further row is added to a statement.
    full_bytes: usize,
}

impl BulkStatement {
    /// Chooses the statement by the server's settings. `loaders` is the number of loaders that fill one
    /// table with auto-increment numbers; 0 if each loader has its own tables, or the rows contain their
    /// numbers.
    pub fn choose(control: &mut Control, loaders: u32) -> Result<Self> {
        let settings = "select @@local_infile, @@max_allowed_packet, @@innodb_autoinc_lock_mode";
        let row = sql::query_row(control, "reading the server's limits", settings)?;
        // Unless the autoinc lock mode is 2, a LOAD DATA blocks all other inserts into such a table until
        // it ends. It takes the server half the time of an INSERT, so two loaders lose nothing if
        // they wait for each other.
        let blocks_other_loaders = loaders > 2 && row.int(2) != Some(2);
        let is_load_data = row.int(0) == Some(1) && !blocks_other_loaders;
        let limit = if is_load_data { LOAD_DATA_BYTES_MAX } else { INSERT_BYTES_MAX };
        let full_bytes = row.count(1).saturating_sub(RESERVED_BYTES).min(limit);
        Ok(BulkStatement {
            is_load_data,
            full_bytes: full_bytes.max(1) as usize,
        })
    }

    pub fn name(self) -> &'static str {
        if self.is_load_data { "LOAD DATA from memory" } else { "multi-row INSERTs" }
    }

    /// Sends rows of a table, as many per statement as the server accepts.
    pub fn send(
        self,
        loader: &Loader<'_>,
        control: &mut Control,
        (table, columns): (&str, &str),
        mut rows: impl RowSource,
    ) -> Result<()> {
        let activity = format!("sending rows of {table}");
        let prefix = if self.is_load_data {
            format!(
                "load data local infile 'rows' into table {table} character set latin1 ({columns})"
            )
        } else {
            format!("insert into {table} ({columns}) values ")
        };
        let mut bytes = Vec::with_capacity(self.full_bytes + LAST_ROW_BYTES);
        while !rows.is_done() {
            loader.check_stop()?;
            bytes.clear();
            if !self.is_load_data {
                bytes.extend_from_slice(prefix.as_bytes());
            }
            let count = rows.append_rows(&mut bytes, self.full_bytes);
            let stored = if self.is_load_data {
                control.load_data(&prefix, &bytes)
            } else {
                // Remove the trailing comma.
                bytes.pop();
                control.execute(std::str::from_utf8(&bytes).unwrap_or_default())
            };
            let stored = stored.map_err(|source| sql::server_error(&activity, source))?;
            check_all_stored(table, count, stored)?;
            loader.meter.add_sent(count, bytes.len() as u64);
        }
        Ok(())
    }
}
