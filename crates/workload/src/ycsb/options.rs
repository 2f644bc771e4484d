//! The options, named like YCSB's properties. Reads the options of a plan; returns their values or every
//! problem with them. Must never query a server.

use super::layout::SCALE_MAX;
use super::mix::{LETTERS, MIXES, Mix};
use super::requests::Distribution;
use crate::Error;
use crate::describe::OptionKind::{Choice, Integer, Switch};
use crate::option_reader::{OptionReader, options};
use prony_plan::WorkloadPlan;

pub const FIELDS_MAX: u32 = 100;
const FIELD_LENGTH_MAX: u32 = 10_000;
const DEFAULT_FIELD_COUNT: u32 = 10;
const DEFAULT_FIELD_LENGTH: u32 = 100;

options! {
    #[derive(Clone, Copy, Debug)]
    YcsbOptions {
        fieldcount: Option<u32>, Integer(1, FIELDS_MAX), None,
            "Fields of a record; default: 10 for a load, those of the table for a run";
        fieldlength: Option<u32>, Integer(1, FIELD_LENGTH_MAX), None,
            "Characters of a field; default: 100 for a load, the loaded length for a run";
        maxscanlength: u32, Integer(1, 10_000), Some("100"),
            "Maximum records of a scan; lengths are uniformly distributed from 1";
        readallfields: bool, Switch, Some("on"), "Read all fields of a record instead of one";
        requestdistribution: Option<usize>, Choice(&Distribution::NAMES), None,
            "Distribution of the requested records; default: latest for workload d, zipfian for the others";
        workload: usize, Choice(&LETTERS), Some("a"),
            "a: half reads, half updates; b: 5 % updates; c: reads; d: reads of the latest records, 5 % \
             inserts; e: short scans, 5 % inserts; f: half reads, half read-modify-writes";
        writeallfields: bool, Switch, Some("off"), "Update all fields of a record instead of one";
    }
}

impl YcsbOptions {
    pub fn mix(&self) -> &'static Mix {
        &MIXES[self.workload]
    }

    pub fn distribution(&self) -> Distribution {
        let requested = self.requestdistribution;
        requested.map_or(self.mix().distribution, |index| Distribution::ALL[index])
    }

    /// Number of fields of a record in a load.
    pub fn field_count(&self) -> u32 {
        self.fieldcount.unwrap_or(DEFAULT_FIELD_COUNT)
    }

    /// Number of characters of a field in a load.
    pub fn field_length(&self) -> u32 {
        self.fieldlength.unwrap_or(DEFAULT_FIELD_LENGTH)
    }
}

pub fn read(plan: &WorkloadPlan) -> Result<YcsbOptions, Vec<Error>> {
    let mut reader = OptionReader::new(plan, OPTIONS);
    let options = YcsbOptions::read_all(&mut reader);
    if let Some(scale) = plan.scale.filter(|scale| !(1..=SCALE_MAX).contains(scale)) {
        let problem = format!("a scale of {scale} is not possible");
        let hint = format!("1 to {SCALE_MAX}; each step is 1,000 records");
        reader.add_problem(problem, hint);
    }
    reader.finish(options)
}
