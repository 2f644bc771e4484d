//! Times of the round trips in which a program's statements execute.
//!
//! In: the first statement of a round trip, the number of its statements, and its time. Out: one distribution
//! for each combination of the two. Must never: allocate for a round trip, except for the first one of its
//! combination.

use crate::distribution::Distribution;
use hdrhistogram::Counter;

/// The times of round trips, by their first statement and by the number of statements that share them.
/// `C` is the counter of a histogram's bucket: `u32` in a worker, `u64` for totals.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundTripTimes<C: Counter> {
    /// By index of the first statement, then in the order in which the numbers of statements first occurred.
    by_first_statement: Vec<Vec<(u32, Distribution<C>)>>,
    /// Sum of the service times of the transactions that ended, whatever their outcome, nanoseconds.
    pub service_ns: u128,
}

/// The times of the round trips that have the same first statement and the same number of statements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundTripEntry<'a, C: Counter> {
    pub first_statement: usize,
    pub statements: u32,
    /// The times, with histograms of two significant digits.
    pub times: &'a Distribution<C>,
}

impl<C: Counter> Default for RoundTripTimes<C> {
    fn default() -> Self {
        RoundTripTimes {
            by_first_statement: Vec::new(),
            service_ns: 0,
        }
    }
}

impl<C: Counter> RoundTripTimes<C> {
    /// Counts a round trip of this many statements, in nanoseconds. Allocates only for the first round trip
    /// of a combination.
    pub fn record(&mut self, first_statement: usize, statements: u32, time_ns: u64) {
        self.times_mut(first_statement, statements).record(time_ns);
    }

    /// Adds the round trips of another worker of the same program.
    pub fn add<D: Counter>(&mut self, other: &RoundTripTimes<D>) {
        self.service_ns += other.service_ns;
        for entry in other.entries() {
            self.times_mut(entry.first_statement, entry.statements)
                .add(entry.times);
        }
    }

    pub fn add_times<D: Counter>(
        &mut self,
        first_statement: usize,
        statements: u32,
        times: &Distribution<D>,
    ) {
        self.times_mut(first_statement, statements).add(times);
    }

    /// All combinations that occurred, in the order of their first statements, then of the number of
    /// statements.
    pub fn entries(&self) -> impl Iterator<Item = RoundTripEntry<'_, C>> {
        let by_first_statement = self.by_first_statement.iter().enumerate();
        by_first_statement.flat_map(|(first_statement, groups)| {
            let mut entries: Vec<_> = groups
                .iter()
                .map(|(statements, times)| RoundTripEntry {
                    first_statement,
                    statements: *statements,
                    times,
                })
                .collect();
            entries.sort_by_key(|entry| entry.statements);
            entries
        })
    }

    fn times_mut(&mut self, first_statement: usize, statements: u32) -> &mut Distribution<C> {
        if self.by_first_statement.len() <= first_statement {
            self.by_first_statement
                .resize_with(first_statement + 1, Vec::new);
        }
        let groups = &mut self.by_first_statement[first_statement];
        // A program has few numbers of statements after the same first one, so that a search is fast.
        let known = groups.iter().position(|(number, _)| *number == statements);
        let position = known.unwrap_or_else(|| {
            groups.push((statements, Distribution::coarse()));
            groups.len() - 1
        });
        &mut groups[position].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_added_by_first_statement_and_number_of_statements() {
        let mut first_worker = RoundTripTimes::<u32>::default();
        let mut second_worker = RoundTripTimes::<u32>::default();
        first_worker.record(2, 5, 1_000);
        first_worker.record(2, 1, 300);
        second_worker.record(0, 1, 70);
        second_worker.record(2, 5, 3_000);
        (first_worker.service_ns, second_worker.service_ns) = (1_500, 3_100);
        let mut totals = RoundTripTimes::<u64>::default();
        totals.add(&first_worker);
        totals.add(&second_worker);
        let entries: Vec<_> = totals
            .entries()
            .map(|entry| {
                let times = entry.times;
                (
                    entry.first_statement,
                    entry.statements,
                    times.samples,
                    times.sum_ns,
                )
            })
            .collect();
        assert_eq!(totals.service_ns, 4_600);
        assert_eq!(entries, [(0, 1, 1, 70), (2, 1, 1, 300), (2, 5, 2, 4_000)]);
    }
}
