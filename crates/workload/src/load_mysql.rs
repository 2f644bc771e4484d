//! How rows get into a table of MySQL or MariaDB.
//!
//! In: what the server allows; rows. Out: statements that store them. Must never: read a file.

use crate::{Error, sql};
use prony_server::Control;
use prony_server::control::Error as ControlError;

/// Bytes of rows in one statement, if the server takes them: it is committed as a whole, which is
/// a wait for the disk, and what a stop has to wait for.
const STATEMENT_BYTES: u64 = 4 << 20;
/// The same of an `INSERT`, of which the server keeps each value apart before it stores the first.
const INSERT_BYTES: u64 = 1 << 20;
/// What a statement takes beside its rows, and the last row at the most.
const SPARE_BYTES: u64 = 8 << 10;

/// By which statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// `LOAD DATA LOCAL` from memory, where the server allows it.
    LoadData,
    /// `INSERT`s of many rows.
    Insert,
}

/// By which statement, and how many bytes of rows at once.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    /// By which statement.
    pub way: Way,
    /// Bytes after which no row is added.
    pub bytes: usize,
}

impl Manner {
    /// As the server allows, for loaders of which each has tables or ranges of its own.
    pub fn of(control: &mut Control) -> Result<Manner, Error> {
        Manner::of_sharing(control, 0)
    }

    /// As the server allows. `sharing`: so many loaders fill one table that numbers its rows.
    pub fn of_sharing(control: &mut Control, sharing: u32) -> Result<Manner, Error> {
        let settings = "select @@local_infile, @@max_allowed_packet, @@innodb_autoinc_lock_mode";
        let row = sql::row(control, "reading the server's limits", settings)?;
        // Else a LOAD DATA keeps all others out of such a table until it ends. It takes the server
        // half the time of an INSERT, so two loaders are as well off by turns.
        let alone = sharing > 2 && row.int(2) != Some(2);
        let (way, most) = match row.int(0) == Some(1) && !alone {
            true => (Way::LoadData, STATEMENT_BYTES),
            false => (Way::Insert, INSERT_BYTES),
        };
        let packet = row.int(1).and_then(|bytes| u64::try_from(bytes).ok());
        let bytes = packet.unwrap_or(0).saturating_sub(SPARE_BYTES).min(most);
        Ok(Manner {
            way,
            bytes: bytes.max(1) as usize,
        })
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self.way {
            Way::LoadData => "LOAD DATA from memory",
            Way::Insert => "INSERTs of many rows",
        }
    }

    /// With what a statement begins.
    pub fn begin(self, table: &str, columns: &str) -> String {
        match self.way {
            Way::LoadData => format!(
                "load data local infile 'rows' into table {table} character set latin1 ({columns})"
            ),
            Way::Insert => format!("insert into {table} ({columns}) values "),
        }
    }

    /// Writes what stands in front of the rows.
    pub fn head(self, begin: &str, bytes: &mut Vec<u8>) {
        if self.way == Way::Insert {
            bytes.extend_from_slice(begin.as_bytes());
        }
    }

    /// Has the rows stored; gives how many were.
    ///
    /// # Errors
    /// The server refuses them.
    pub fn store(
        self,
        control: &mut Control,
        begin: &str,
        bytes: &mut Vec<u8>,
    ) -> Result<u64, ControlError> {
        match self.way {
            Way::LoadData => control.load_data(begin, bytes),
            Way::Insert => {
                // The comma behind the last row.
                bytes.pop();
                control.execute(std::str::from_utf8(bytes).unwrap_or_default())
            }
        }
    }
}
