//! Chooses the records that operations request, from the loaded records and those that this client has
//! inserted. Must never choose a record that does not exist, or allocate for a draw.
//!
//! Zipfian requests are drawn as in YCSB, from 10^10 ranks with an exponent of 0.99, and scattered over the
//! records by a hash: the shares of the popular records hardly depend on the number of records. There are
//! three differences from YCSB. The ranks are distributed exactly; YCSB uses an approximation. Zipfian and
//! uniform requests never choose records that are inserted during a run. And `latest` requests the newest
//! records that this client knows, first those that it inserted, then the loaded ones; the threads of YCSB
//! share one counter.

use super::keys;
use crate::names::named_enum;
use crate::random::Random;
use crate::zipf::Zipf;

/// Ranks of popularity, before they are scattered over the records.
const RANK_COUNT: i64 = 10_000_000_000;
pub const ZIPF_EXPONENT: f64 = 0.99;

named_enum! {
    pub enum Distribution {
        /// A few records, scattered over all, receive most of the requests.
        Zipfian = "zipfian",
        /// All records are equally probable.
        Uniform = "uniform",
        /// The newer a record, the more requests it receives.
        Latest = "latest",
    }
}

/// Chooses the records for one client.
#[derive(Clone, Copy, Debug)]
pub struct Requests {
    distribution: Distribution,
    records: u64,
    /// The series in which this client inserts; see [`keys::inserted_number`].
    series: u32,
    /// Number of records in this series, inserted by this run and earlier ones.
    inserted_count: u64,
    ranks: Zipf,
}

impl Requests {
    /// The requests of a client without inserted records.
    pub fn new(distribution: Distribution, records: u64, client: u32) -> Self {
        let mut requests = Requests {
            distribution,
            records: records.max(1),
            series: client,
            inserted_count: 0,
            ranks: Zipf::new(RANK_COUNT, ZIPF_EXPONENT),
        };
        // Fits the ranks to the distribution.
        requests.set_inserted_count(0);
        requests
    }

    /// Number of records in this client's series.
    pub fn inserted_count(&self) -> u64 {
        self.inserted_count
    }

    /// The series in which this client inserts.
    pub fn series(&self) -> u32 {
        self.series
    }

    /// Continues in a different series, which has this many records.
    pub fn set_series(&mut self, series: u32, inserted_count: u64) {
        self.series = series;
        self.set_inserted_count(inserted_count);
    }

    /// Sets the number of records in this client's series.
    pub fn set_inserted_count(&mut self, inserted_count: u64) {
        self.inserted_count = inserted_count;
        if self.distribution == Distribution::Latest {
            let known_records = i64::try_from(self.records + inserted_count).unwrap_or(i64::MAX);
            self.ranks = Zipf::new(known_records, ZIPF_EXPONENT);
        }
    }

    /// The number of the next record that this client inserts.
    pub fn next_insert(&self) -> u64 {
        keys::inserted_number(self.records, self.series, self.inserted_count)
    }

    /// Draws the number of the next record to request.
    #[inline]
    pub fn next(&self, random: &mut Random) -> u64 {
        match self.distribution {
            Distribution::Uniform => {
                let last = i64::try_from(self.records - 1).unwrap_or(i64::MAX);
                random.uniform(0, last).cast_unsigned()
            }
            Distribution::Zipfian => {
                let rank = (self.ranks.rank(random) - 1).cast_unsigned();
                keys::hash(rank) % self.records
            }
            Distribution::Latest => {
                let age = (self.ranks.rank(random) - 1).cast_unsigned();
                match age.checked_sub(self.inserted_count) {
                    None => keys::inserted_number(
                        self.records,
                        self.series,
                        self.inserted_count - 1 - age,
                    ),
                    Some(age_among_loaded) => self.records - 1 - age_among_loaded,
                }
            }
        }
    }
}
