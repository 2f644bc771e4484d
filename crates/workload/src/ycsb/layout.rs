//! The layout of the loaded data (number of records, fields, seed), from a plan or from the note that a load
//! left. Must never query a server.

use super::options::{self, YcsbOptions};
use super::{engine, rows::Content};
use crate::Result;
use crate::note::{LoadNote, TableStage};
use crate::remedy::LoadSpec;
use prony_plan::WorkloadPlan;

/// Records per unit of scale.
pub const RECORDS_PER_SCALE: u64 = 1_000;
/// Maximum scale: with more records, two could have the same key, as in YCSB. With 10^9 records, the
/// probability of such a pair is 5 %.
pub const SCALE_MAX: u32 = 1_000_000;

/// The parameters that determine the loaded data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub records: u64,
    /// Fields per record.
    pub field_count: u32,
    /// Characters per field.
    pub field_length: u32,
    pub seed: u64,
}

impl Layout {
    pub fn for_plan(plan: &WorkloadPlan, seed: u64) -> Result<Layout> {
        let options = options::read(plan)?;
        Ok(Layout::from_options(
            &options,
            plan.scale.unwrap_or(1),
            seed,
        ))
    }

    pub fn from_options(options: &YcsbOptions, scale: u32, seed: u64) -> Layout {
        Layout {
            records: u64::from(scale) * RECORDS_PER_SCALE,
            field_count: options.field_count(),
            field_length: options.field_length(),
            seed,
        }
    }

    /// The layout that a note records; `None` if it is the note of a different workload.
    pub fn from_note(note: &LoadNote) -> Option<Layout> {
        let number = |name| note.number(name);
        let number_u32 = |name| u32::try_from(number(name)?).ok();
        Some(Layout {
            records: number("records").filter(|records| *records > 0)?,
            field_count: number_u32("fieldcount")?,
            field_length: number_u32("fieldlength")?,
            seed: number("seed")?,
        })
    }

    pub fn note(&self, stage: TableStage) -> LoadNote {
        let Layout {
            records,
            field_count,
            field_length,
            seed,
        } = self;
        LoadNote {
            description: format!(
                "records {records}, fieldcount {field_count}, fieldlength {field_length}, seed {seed}"
            ),
            stage,
        }
    }

    /// Scale, rounded down: a table that YCSB loaded may not have a multiple of 1,000 records.
    pub fn scale(&self) -> u32 {
        u32::try_from(self.records / RECORDS_PER_SCALE).unwrap_or(u32::MAX)
    }

    /// The parameters that determine its records.
    pub fn content(&self) -> Content {
        Content {
            seed: self.seed,
            field_count: self.field_count,
            field_length: self.field_length as usize,
        }
    }

    /// Bytes of the values of a record, including its key.
    pub fn value_bytes(&self) -> u64 {
        u64::from(self.field_count) * u64::from(self.field_length) + engine::KEY_BYTES
    }

    /// The load that left this note.
    pub fn load_spec_from_note(note: &LoadNote) -> LoadSpec {
        match Layout::from_note(note) {
            Some(layout) => layout.load_spec(),
            None => LoadSpec::of(super::NAME, Vec::new()),
        }
    }

    pub fn load_spec(&self) -> LoadSpec {
        let sizes = vec![
            ("scale", self.scale().to_string()),
            ("seed", self.seed.to_string()),
        ];
        LoadSpec::of(super::NAME, sizes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_survives_the_note() {
        let layout = Layout {
            records: 25_000,
            field_count: 3,
            field_length: 7,
            seed: u64::MAX,
        };
        let note = layout.note(TableStage::Filling);
        let read = LoadNote::parse(&note.text()).expect("a note");
        assert_eq!(Layout::from_note(&read), Some(layout));
        let oltp_note = LoadNote {
            description: "tables 1, table_size 100, rows 100, seed 7".to_owned(),
            stage: TableStage::Loaded,
        };
        assert_eq!(Layout::from_note(&oltp_note), None);
    }
}
