//! Finds a load of the tables that has not finished.
//!
//! Prony records a load in a comment on its tables, called the note. Must never report HammerDB's tables,
//! which have no note, as unfinished.

use super::layout::Layout;
use super::schema::Table;
use crate::catalog::{self, CatalogTable};
use crate::remedy::Remedy;
use crate::{Error, Result};
use prony_server::Control;

/// A load that has not finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnfinishedLoad {
    layout: Layout,
    /// Its start time, in seconds since 1970.
    start_s: i64,
}

/// Returns the load that has not finished; `None` if there is none.
pub fn find(control: &mut Control) -> Result<Option<UnfinishedLoad>> {
    let tables = catalog::find::<Table>(control)?;
    Ok(find_among(&tables))
}

/// Like [`find`], for tables that have already been looked up in the catalog.
pub fn find_among(tables: &[CatalogTable<Table>]) -> Option<UnfinishedLoad> {
    let mut notes = tables.iter().filter_map(|table| table.note.as_ref());
    let note = notes.find(|note| note.is_unfinished())?;
    let (layout, start_s) = Layout::from_note(note)?;
    Some(UnfinishedLoad { layout, start_s })
}

impl UnfinishedLoad {
    /// Describes the load: `a load of 10 warehouses (seed 7) is unfinished`.
    pub fn message(&self) -> String {
        format!("a load of {} is unfinished", self.layout.description())
    }

    pub fn remedy(&self) -> Remedy {
        Remedy::Continue(self.layout.load_spec(), "")
    }

    pub fn scale(&self) -> u32 {
        self.layout.scale
    }

    /// The start time of this load, which a load of `layout` continues.
    pub fn resume(&self, layout: &Layout) -> Result<i64> {
        if self.layout == *layout {
            return Ok(self.start_s);
        }
        Err(Error::Data {
            problem: format!(
                "{}; the requested load has {}",
                self.message(),
                layout.description()
            ),
            remedy: self.remedy(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::layout::Population;
    use prony_assertions::TextAssertions;

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
            layout,
            start_s: 1_795_213_070,
        };
        assert_eq!(unfinished.resume(&layout).ok(), Some(1_795_213_070));
        let [mut scale, mut seed, mut population, mut partitions, mut key] = [layout; 5];
        scale.scale = 11;
        seed.seed = 8;
        population.population = Population::HammerDb;
        partitions.partitions = 2;
        key.has_history_key = true;
        for requested in [scale, seed, population, partitions, key] {
            let resumed = unfinished.resume(&requested);
            let message = resumed.expect_err("a different load").to_string();
            message.assert_contains("`prony load tpcc --scale 10 --seed 7` continues it");
        }
    }
}
