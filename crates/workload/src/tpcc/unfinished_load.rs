//! Finds a load of the tables that has not finished.
//!
//! Prony records a load in a comment on its tables, called the note. Must never report HammerDB's tables,
//! which have no note, as unfinished.

use super::layout::Layout;
use super::schema::Table;
use crate::catalog::{self, CatalogTable};
use crate::remedy::{LoadSpec, Remedy};
use crate::{Error, SqlDialect, sql};
use prony_server::Control;

/// The table in which earlier versions of Prony recorded an unfinished load; this version records it in a
/// table comment.
pub const LEGACY_TABLE: &str = "prony_tpcc_load";

/// A load that has not finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnfinishedLoad {
    /// The layout and its start time, in seconds since 1970; `None` for a load by an earlier version
    /// of Prony, which cannot be continued.
    load: Option<(Layout, i64)>,
}

/// Returns the load that has not finished; `None` if there is none.
///
/// # Errors
/// The query failed.
pub fn find(control: &mut Control) -> Result<Option<UnfinishedLoad>, Error> {
    let tables = catalog::find::<Table>(control)?;
    find_among(control, &tables)
}

/// Like [`find`], for tables that have already been looked up in the catalog.
///
/// # Errors
/// The query failed.
pub fn find_among(
    control: &mut Control,
    tables: &[CatalogTable<Table>],
) -> Result<Option<UnfinishedLoad>, Error> {
    let mut notes = tables.iter().filter_map(|table| table.note.as_ref());
    let note = notes.find(|note| note.is_unfinished());
    let load = note.and_then(Layout::from_note);
    let is_unfinished = load.is_some() || has_legacy_record(control)?;
    Ok(is_unfinished.then_some(UnfinishedLoad { load }))
}

/// Whether an earlier version of Prony has recorded an unfinished load.
///
/// # Errors
/// The query failed.
pub fn has_legacy_record(control: &mut Control) -> Result<bool, Error> {
    let sql = match SqlDialect::of(control) {
        SqlDialect::PostgreSql => {
            format!("select case when to_regclass('{LEGACY_TABLE}') is not null then 1 end")
        }
        SqlDialect::TransactSql => {
            format!("select case when object_id('{LEGACY_TABLE}') is not null then 1 end")
        }
        SqlDialect::MySql => format!(
            "select max(1) from information_schema.tables \
             where table_schema = database() and table_name = '{LEGACY_TABLE}'"
        ),
    };
    let row = sql::query_row(control, "looking for an unfinished load", &sql)?;
    Ok(row.int(0).is_some())
}

/// The statement that drops the table in which earlier versions of Prony recorded a load.
pub fn drop_legacy_table(dialect: SqlDialect) -> String {
    catalog::drop_statement(dialect, &[LEGACY_TABLE])
}

impl UnfinishedLoad {
    /// Describes the load: `a load of 10 warehouses (seed 7) is unfinished`.
    pub fn message(&self) -> String {
        let description = match self.load {
            Some((layout, _)) => layout.description(),
            None => "warehouses by an earlier version".to_owned(),
        };
        format!("a load of {description} is unfinished")
    }

    /// How to continue or replace it.
    pub fn remedy(&self) -> Remedy {
        match self.load {
            Some((layout, _)) => layout.continue_remedy(),
            None => Remedy::Reload(
                "it cannot be continued, so load the data again",
                LoadSpec::of("tpcc", vec![("scale", "N".to_owned())]),
            ),
        }
    }

    /// Number of warehouses that it loads, if known.
    pub fn scale(&self) -> Option<u32> {
        self.load.map(|(layout, _)| layout.scale)
    }

    /// The start time of this load, if a load of `layout` can continue it; `None` if that load has to start
    /// from the beginning.
    ///
    /// # Errors
    /// The requested load differs from the one that can be continued.
    pub fn resume(&self, layout: &Layout) -> Result<Option<i64>, Error> {
        match self.load {
            Some((recorded, start_s)) if recorded == *layout => Ok(Some(start_s)),
            Some(_) => Err(Error::Data {
                problem: format!(
                    "{}; the requested load has {}",
                    self.message(),
                    layout.description()
                ),
                remedy: self.remedy(),
            }),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::layout::Population;

    #[test]
    fn only_a_load_of_the_same_layout_is_resumed() {
        let layout = Layout {
            scale: 10,
            seed: 7,
            population: Population::Standard,
            partitions: 0,
            has_history_key: false,
        };
        let unfinished = UnfinishedLoad {
            load: Some((layout, 1_795_213_070)),
        };
        assert_eq!(unfinished.resume(&layout).ok(), Some(Some(1_795_213_070)));
        let [mut scale, mut seed, mut population, mut partitions, mut key] = [layout; 5];
        scale.scale = 11;
        seed.seed = 8;
        population.population = Population::HammerDb;
        partitions.partitions = 2;
        key.has_history_key = true;
        for requested in [scale, seed, population, partitions, key] {
            let resumed = unfinished.resume(&requested);
            let message = resumed.expect_err("a different load").to_string();
            assert!(
                message.contains("`prony load tpcc --scale 10 --seed 7` continues it"),
                "{message}"
            );
        }
        let by_earlier_version = UnfinishedLoad { load: None };
        assert_eq!(by_earlier_version.resume(&layout).ok(), Some(None));
        assert_eq!(
            by_earlier_version.remedy().to_string(),
            "it cannot be continued, so load the data again: prony load tpcc --scale N"
        );
    }
}
