//! The longest times within an interval in which no transaction ended.
//!
//! In: the ends of transactions, in order. Out: gaps. Must never: allocate while recording, or report a gap in which a
//! transaction of any worker ended.
//!
//! A worker keeps its longest gaps, and the gaps of all workers are the intersections of these. A common gap is found
//! if each worker keeps the gap that contains it: always, if it is longer than a ninth of the interval.

/// Maximum number of gaps that are kept.
const KEPT_GAPS: usize = 8;
/// Shortest gap that is kept, nanoseconds: keeping shorter ones would cost time for each of many transactions.
const MIN_GAP_NS: u64 = 1_000_000;

/// A time in which no transaction ended, nanoseconds from the start of the interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gap {
    /// The end of a transaction, or the start of the interval.
    pub start_ns: u64,
    /// The next end of a transaction, or the end of the interval.
    pub end_ns: u64,
}

impl Gap {
    /// Its length, nanoseconds.
    pub fn length_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }
}

/// The longest gaps of one interval, of one worker or of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gaps {
    /// The last end of a transaction; 0 without any.
    last_end_ns: u64,
    /// Gaps that are not longer than this are not kept.
    shortest_ns: u64,
    /// The gaps in order of time, without the one after `last_end_ns`.
    kept: [Gap; KEPT_GAPS],
    count: usize,
    /// Whether the gaps are not known: the serialised form had none.
    is_unknown: bool,
}

impl Default for Gaps {
    fn default() -> Self {
        Gaps {
            last_end_ns: 0,
            shortest_ns: MIN_GAP_NS,
            kept: [Gap::default(); KEPT_GAPS],
            count: 0,
            is_unknown: false,
        }
    }
}

impl Gaps {
    /// Gaps that are not known.
    pub(crate) fn unknown() -> Gaps {
        Gaps {
            is_unknown: true,
            ..Gaps::default()
        }
    }

    /// Records the end of a transaction, nanoseconds from the start of the interval.
    #[inline]
    pub(crate) fn record_end(&mut self, end_ns: u64) {
        if end_ns.saturating_sub(self.last_end_ns) > self.shortest_ns {
            self.keep(Gap {
                start_ns: self.last_end_ns,
                end_ns,
            });
        }
        self.last_end_ns = self.last_end_ns.max(end_ns);
    }

    /// Keeps a gap that is later than all others, in place of the shortest if there are too many.
    #[cold]
    fn keep(&mut self, gap: Gap) {
        if self.count == KEPT_GAPS {
            let lengths = self.kept.iter().enumerate();
            let shortest = lengths.min_by_key(|(_, gap)| gap.length_ns());
            let removed = shortest.map_or(0, |(index, _)| index);
            self.kept[removed..].rotate_left(1);
            self.count -= 1;
        }
        self.kept[self.count] = gap;
        self.count += 1;
        if self.count == KEPT_GAPS {
            let shortest_ns = self.kept.iter().map(Gap::length_ns).min();
            self.shortest_ns = shortest_ns.unwrap_or(MIN_GAP_NS);
        }
    }

    /// Adds the gaps of another worker in the same interval: only their common times remain.
    pub(crate) fn intersect(&mut self, other: &Gaps) {
        let mut common = Gaps {
            last_end_ns: self.last_end_ns.max(other.last_end_ns),
            is_unknown: self.is_unknown || other.is_unknown,
            ..Gaps::default()
        };
        for own_gap in self.until(u64::MAX) {
            for other_gap in other.until(u64::MAX) {
                let common_gap = Gap {
                    start_ns: own_gap.start_ns.max(other_gap.start_ns),
                    end_ns: own_gap.end_ns.min(other_gap.end_ns),
                };
                if common_gap.end_ns < u64::MAX && common_gap.length_ns() > common.shortest_ns {
                    common.keep(common_gap);
                }
            }
        }
        *self = common;
    }

    /// The gaps of an interval of this length in order of time; empty if they are not known.
    pub fn until(&self, length_ns: u64) -> impl Iterator<Item = Gap> {
        let last = Gap {
            start_ns: self.last_end_ns,
            end_ns: length_ns,
        };
        let has_last = last.length_ns() > MIN_GAP_NS;
        let kept = self.kept.into_iter().take(self.count);
        let count_max = if self.is_unknown { 0 } else { KEPT_GAPS + 1 };
        kept.chain(has_last.then_some(last)).take(count_max)
    }

    /// The last end, then start and end of each gap that is kept; `None` if the gaps are not known.
    pub(crate) fn to_times(self) -> Option<Vec<u64>> {
        if self.is_unknown {
            return None;
        }
        let mut times = vec![self.last_end_ns];
        let kept = self.kept.iter().take(self.count);
        times.extend(kept.flat_map(|gap| [gap.start_ns, gap.end_ns]));
        Some(times)
    }

    /// The gaps of [`Gaps::to_times`]; `None` if the times contradict each other. Without times the gaps are not known.
    pub(crate) fn from_times(times: Option<&[u64]>) -> Option<Gaps> {
        let Some(times) = times else {
            return Some(Gaps::unknown());
        };
        let (last_end_ns, kept) = times.split_first()?;
        let is_ordered = times[1..].is_sorted() && kept.last().is_none_or(|end| end <= last_end_ns);
        if !is_ordered || kept.len() % 2 > 0 || kept.len() > 2 * KEPT_GAPS {
            return None;
        }
        let mut gaps = Gaps::default();
        for gap in kept.chunks_exact(2) {
            gaps.keep(Gap {
                start_ns: gap[0],
                end_ns: gap[1],
            });
        }
        gaps.last_end_ns = *last_end_ns;
        Some(gaps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    fn of_ends(ends_ms: &[u64]) -> Gaps {
        let mut gaps = Gaps::default();
        ends_ms.iter().for_each(|end| gaps.record_end(end * MS));
        gaps
    }

    fn in_ms(gaps: &Gaps) -> Vec<(u64, u64)> {
        let gaps = gaps.until(1_000 * MS);
        gaps.map(|gap| (gap.start_ns / MS, gap.end_ns / MS))
            .collect()
    }

    #[test]
    fn only_the_time_in_which_no_worker_ended_a_transaction_remains() {
        let mut gaps = of_ends(&[100, 300, 900]);
        assert_eq!(
            in_ms(&gaps),
            [(0, 100), (100, 300), (300, 900), (900, 1000)]
        );
        gaps.intersect(&of_ends(&[250, 800, 950]));
        let common = [
            (0, 100),
            (100, 250),
            (250, 300),
            (300, 800),
            (800, 900),
            (900, 950),
            (950, 1000),
        ];
        assert_eq!(in_ms(&gaps), common);
        gaps.intersect(&Gaps::default());
        assert_eq!(in_ms(&gaps), common, "a worker without ends");
        gaps.intersect(&Gaps::unknown());
        assert_eq!(in_ms(&gaps), []);
    }

    proptest! {
        /// Gaps longer than a ninth of the interval are exact, however the ends are spread over workers.
        #[test]
        fn long_gaps_are_exact(
            ends in proptest::collection::vec((0..1_000_u64, 0..4_usize), 0..300),
            quiet_ms in 0..900_u64,
        ) {
            let mut ends = ends;
            ends.retain(|(end, _)| !(quiet_ms..quiet_ms + 120).contains(end));
            ends.sort_unstable();
            let workers = [0, 1, 2, 3].map(|worker| {
                let of_worker = ends.iter().filter(|(_, of)| *of == worker);
                of_ends(&of_worker.map(|(end, _)| *end).collect::<Vec<_>>())
            });
            let mut merged = workers[0];
            workers[1..].iter().for_each(|gaps| merged.intersect(gaps));
            let mut times: Vec<u64> = ends.iter().map(|(end, _)| *end).collect();
            times.insert(0, 0);
            times.push(1_000);
            let exact = times.windows(2).map(|pair| (pair[0], pair[1]));
            let exact: Vec<_> = exact.filter(|(start, end)| end - start > 111).collect();
            let mut found = in_ms(&merged);
            found.retain(|(start, end)| end - start > 111);
            prop_assert_eq!(found, exact);
            let times = merged.to_times();
            prop_assert_eq!(Gaps::from_times(times.as_deref()), Some(merged));
        }
    }
}
