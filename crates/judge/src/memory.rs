//! Whether the data fits into memory, whether machines swapped, and whether the server was left untuned.
//!
//! In: a Run. Out: `untuned`, `swap`; the label of the data. Must never: guess a size that was not observed.

use crate::checks::{Finding, caveat, note};
use crate::formatting::{bytes, percent};
use crate::machine;
use crate::observations::{self, observed};
use crate::thresholds::{SWAP_MAX_BYTES_PER_S, UNTUNED_CACHE_MAX_SHARE, UNTUNED_MIN_MEMORY_BYTES};
use prony_store::{MachineSecond, Run};

/// The smallest memory into which the data of a run fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataFit {
    /// In the server's own cache.
    Cached,
    /// In the memory of its machine: reads miss the server's cache, but not the disk.
    Warm,
    /// Neither: reads reach the disk.
    Cold,
}

impl DataFit {
    /// The label with its meaning, for a report.
    pub fn describe(self) -> &'static str {
        match self {
            DataFit::Cached => "cached: it fits into the server's cache",
            DataFit::Warm => "warm: it fits into the machine's memory",
            DataFit::Cold => "cold: it is larger than the machine's memory",
        }
    }
}

/// The smallest memory into which the data fits, by the larger of its sizes before and after the run; `None`
/// if a size is not known.
pub fn data_fit(run: &Run) -> Option<DataFit> {
    let observed = observed(run)?;
    let before_and_after = [observed.before.as_ref(), observed.after.as_ref()];
    let states = || before_and_after.into_iter().flatten();
    let data = states().filter_map(|state| state.database_bytes).max()?;
    let cache = states().find_map(|state| state.cache_bytes)?;
    if data <= cache {
        return Some(DataFit::Cached);
    }
    let memory = observed.machine.memory_bytes?;
    Some(if data <= memory { DataFit::Warm } else { DataFit::Cold })
}

/// Checks for a cache of the default size, such as 128 MB on a machine with 25 GB.
pub(crate) fn check_untuned(run: &Run) -> Option<Finding> {
    let observed = observed(run)?;
    let cache = run.state_before()?.cache_bytes?;
    let memory = observed.machine.memory_bytes?;
    let share = cache as f64 / memory as f64;
    if memory < UNTUNED_MIN_MEMORY_BYTES
        || share >= UNTUNED_CACHE_MAX_SHARE
        || data_fit(run)? == DataFit::Cached
    {
        return None;
    }
    note(
        format!(
            "The server's cache is {}, {} of the {} of its machine: it looks untuned.",
            bytes(cache),
            percent(share),
            bytes(memory)
        ),
        run.server
            .product
            .map_or("Give the server more memory.", |product| {
                product.cache_advice
            }),
    )
}

/// Checks whether the machine of the server or of the client swapped during the window.
pub(crate) fn check_swap(run: &Run) -> Option<Finding> {
    let server = swapped_bytes_per_s(run, |row| row.machine.as_ref());
    let client = swapped_bytes_per_s(run, |row| row.client.as_ref());
    let is_shared = machine::shared_machine_evidence(run).is_some();
    let above_limit = |rate: Option<f64>| rate.filter(|rate| *rate > SWAP_MAX_BYTES_PER_S);
    let (rate, name) = if let Some(rate) = above_limit(server) {
        (rate, if is_shared { "machine" } else { "server's machine" })
    } else {
        (above_limit(client)?, "client's machine")
    };
    caveat(
        format!(
            "The {name} swapped {} per second: its memory was too small for what ran there, and parts of it \
             waited for a disk.",
            bytes(rate as u64)
        ),
        "Use smaller caches or fewer connections, stop other programs, or use a machine with more memory.",
    )
}

/// Bytes swapped per second, in and out; `None` if not observed.
fn swapped_bytes_per_s(
    run: &Run,
    machine: impl Fn(&prony_store::ServerSecond) -> Option<&MachineSecond>,
) -> Option<f64> {
    observations::mean(run, |row| {
        let swapped = machine(row)?.swap_bytes?;
        (row.length_s > 0.0).then(|| swapped as f64 / row.length_s)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{healthy, observed_mut, observed_run};
    use prony_assertions::TextAssertions;
    use prony_store::{Product, Severity};

    fn run(data: u64, cache: u64, memory: u64) -> Run {
        let mut run = observed_run();
        let observed = observed_mut(&mut run);
        observed.machine.memory_bytes = Some(memory);
        let before = observed.before.as_mut().unwrap();
        (before.database_bytes, before.cache_bytes) = (Some(data), Some(cache));
        run
    }

    #[test]
    fn data_is_cached_warm_or_cold() {
        let fit = |data| data_fit(&run(data, 4_000_000_000, 16_000_000_000));
        assert_eq!(fit(3_000_000_000), Some(DataFit::Cached));
        assert_eq!(fit(9_000_000_000), Some(DataFit::Warm));
        assert_eq!(fit(90_000_000_000), Some(DataFit::Cold));
        assert_eq!(data_fit(&observed_run()), None, "no sizes");
        assert_eq!(data_fit(&healthy()), None, "not observed");
    }

    #[test]
    fn a_cache_as_installed_is_a_note() {
        let check = check_untuned(&run(259_000_000, 134_000_000, 25_000_000_000)).unwrap();
        assert_eq!(check.severity, Severity::Note);
        check.finding.assert_contains("134 MB, 0.54 % of the 25 GB");
        check.advice.assert_contains("shared_buffers");
        let mut sql_server = run(259_000_000, 134_000_000, 25_000_000_000);
        sql_server.server.product = Some(Product::SQL_SERVER);
        let advice = check_untuned(&sql_server).unwrap().advice;
        assert_eq!(advice, Product::SQL_SERVER.cache_advice);
        let tuned = run(9_000_000_000, 6_000_000_000, 25_000_000_000);
        assert_eq!(check_untuned(&tuned), None);
        let cached = run(100_000_000, 134_000_000, 25_000_000_000);
        assert_eq!(check_untuned(&cached), None, "more cache would not be used");
        let small = run(259_000_000, 134_000_000, 2_000_000_000);
        assert_eq!(check_untuned(&small), None);
    }

    #[test]
    fn swapping_is_a_doubt() {
        let mut run = observed_run();
        let swap_at = |run: &mut Run, bytes| {
            for row in &mut observed_mut(run).series {
                row.machine.get_or_insert_default().swap_bytes = Some(bytes);
            }
        };
        swap_at(&mut run, 900_000);
        assert_eq!(check_swap(&run), None);
        swap_at(&mut run, 3_000_000);
        let check = check_swap(&run).unwrap();
        assert_eq!(check.severity, Severity::Caveat);
        let finding = &check.finding;
        finding.assert_contains("server's machine swapped 3.0 MB per second");
        swap_at(&mut run, 0);
        for row in &mut observed_mut(&mut run).series {
            row.client.get_or_insert_default().swap_bytes = Some(5_000_000);
        }
        let finding = check_swap(&run).unwrap().finding;
        finding.assert_contains("client's machine");
    }
}
