//! How many transactions a server ends, as it counts them itself.
//!
//! In: a control connection. Out: readings of its counters, and the rate between two series of
//! them. Must never: give a zero where it could not be read.
//!
//! The counters lag: a backend adds what it ended to them at most once a second (PostgreSQL 15
//! and later; before that every half second, by way of the statistics collector), all of a second
//! at once. One reading is therefore up to a second of transactions behind, by chance. A series of
//! readings spread evenly over one second is behind by the same amount on average whenever it is
//! taken under the same load, so that the lag cancels out of the difference of two series. It does
//! not where the load has ended before the second one: both belong inside the load. The counters of
//! MySQL and MariaDB do not lag: a reading adds up what each session has counted so far.

use crate::control::{Control, Error, Product, Row};

/// One reading.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ended {
    /// Commits and rollbacks of all databases since the server's statistics were reset. On MySQL and
    /// MariaDB the statements `COMMIT` and `ROLLBACK`, which is what HammerDB counts there: a
    /// statement that commits by itself is in neither.
    pub transactions: u64,
    /// When, on the server's clock, seconds.
    pub at_s: f64,
}

/// Snapshots of the statistics are kept to the end of a transaction unless they are cleared.
const READ: &str = "select pg_stat_clear_snapshot(); \
     select sum(xact_commit + xact_rollback)::bigint, extract(epoch from clock_timestamp()) \
     from pg_stat_database";

/// The one form that all versions have, each of which keeps the numbers in a table of another name.
const READ_MYSQL: &str = "show global status where variable_name in ('Com_commit', 'Com_rollback')";
const CLOCK_MYSQL: &str = "select unix_timestamp(now(6))";

/// Reads the counters so many times, in one transaction: the reader's own then count as one. It
/// calls `pause` before each; where that gives `false` the series is given up.
///
/// # Errors
/// The server refuses, or the connection is lost. `Ok(None)`: given up, or not told.
pub fn ended(
    control: &mut Control,
    times: u32,
    mut pause: impl FnMut(u32) -> bool,
) -> Result<Option<Vec<Ended>>, Error> {
    let is_postgres = control.product() == Product::Postgres;
    if is_postgres {
        // Neither holds back the horizon of VACUUM between two readings.
        control.execute("begin transaction isolation level read committed read only")?;
    }
    let mut series = Vec::new();
    for time in 0..times {
        if !pause(time) {
            return Ok(None);
        }
        let read = match is_postgres {
            true => read(&control.query(READ)?),
            false => read_mysql(&control.query(READ_MYSQL)?, &control.query(CLOCK_MYSQL)?),
        };
        let Some(one) = read else {
            return Ok(None);
        };
        series.push(one);
    }
    if is_postgres {
        control.execute("commit")?;
    }
    Ok(Some(series))
}

fn read(rows: &[Row]) -> Option<Ended> {
    let cell = |column: usize| rows.first()?.get(column)?.as_deref();
    Some(Ended {
        transactions: cell(0)?.parse().ok()?,
        at_s: cell(1)?.parse().ok()?,
    })
}

/// Both counters have to be there.
fn read_mysql(counters: &[Row], clock: &[Row]) -> Option<Ended> {
    let value = |row: &Row| row.get(1)?.as_deref()?.parse::<u64>().ok();
    let [one, other] = counters else {
        return None;
    };
    let now = clock.first()?.first()?.as_deref()?;
    Some(Ended {
        transactions: value(one)?.checked_add(value(other)?)?,
        at_s: now.parse().ok()?,
    })
}

/// Transactions a minute between two series of readings; none where that cannot be said: one is
/// empty, no time passed, or the statistics were reset between them.
pub fn ended_per_minute(first: &[Ended], last: &[Ended]) -> Option<f64> {
    let before = first.iter().map(|one| one.transactions).max()?;
    let after = last.iter().map(|one| one.transactions).min()?;
    // From the first reading on, so that no digit of the large numbers is lost.
    let origin = first[0];
    let mean = |series: &[Ended], of: fn(&Ended, &Ended) -> f64| {
        let sum: f64 = series.iter().map(|one| of(one, &origin)).sum();
        sum / series.len() as f64
    };
    let count = |one: &Ended, origin: &Ended| one.transactions as f64 - origin.transactions as f64;
    let time = |one: &Ended, origin: &Ended| one.at_s - origin.at_s;
    let seconds = mean(last, time) - mean(first, time);
    (after >= before && seconds > 0.0)
        .then(|| (mean(last, count) - mean(first, count)) / seconds * 60.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What counters show that are fed all of a second at once, `phase_s` after each full second.
    fn lagging(from_s: f64, phase_s: f64, tps: f64) -> Vec<Ended> {
        let times = (0..10).map(|place| from_s + 0.05 + 0.1 * f64::from(place));
        times
            .map(|at_s| Ended {
                transactions: (1e9 + tps * ((at_s - phase_s).floor() + phase_s)) as u64,
                at_s: 1.8e9 + at_s,
            })
            .collect()
    }

    #[test]
    fn the_lag_of_the_counters_cancels() {
        for phase in 0..20 {
            let phase_s = f64::from(phase) / 20.0;
            for (from_s, to_s) in [(2.0, 5.0), (2.3, 9.7), (1.0, 61.45)] {
                let first = lagging(from_s, phase_s, 700.0);
                let last = lagging(to_s, phase_s, 700.0);
                let rate = ended_per_minute(&first, &last).expect("all known");
                // Ten readings of a second: a tenth of a second of transactions at most.
                let most = 42_000.0 * 0.1 / (to_s - from_s);
                assert!((rate - 42_000.0).abs() <= most + 1.0, "{phase_s}: {rate}");
            }
        }
    }

    #[test]
    fn both_statements_are_counted() {
        let row =
            |cells: &[&str]| -> Row { cells.iter().map(|cell| Some((*cell).to_owned())).collect() };
        let counters = [row(&["Com_commit", "712"]), row(&["Com_rollback", "3"])];
        let clock = [row(&["1795213070.250000"])];
        let read = read_mysql(&counters, &clock).expect("both are there");
        assert_eq!((read.transactions, read.at_s), (715, 1_795_213_070.25));
        assert_eq!(read_mysql(&counters[..1], &clock), None);
        assert_eq!(read_mysql(&counters, &[]), None);
    }

    #[test]
    fn what_cannot_be_said_is_not_zero() {
        let series = lagging(1.0, 0.0, 100.0);
        assert_eq!(ended_per_minute(&series, &series), None, "no time passed");
        assert_eq!(ended_per_minute(&[], &series), None);
        assert_eq!(ended_per_minute(&series, &[]), None);
        let mut reset = lagging(9.0, 0.0, 100.0);
        reset
            .iter_mut()
            .for_each(|one| one.transactions -= 900_000_000);
        assert_eq!(ended_per_minute(&series, &reset), None, "it was reset");
        let mut still = lagging(9.0, 0.0, 100.0);
        still
            .iter_mut()
            .for_each(|one| one.transactions = series[9].transactions);
        assert!(ended_per_minute(&series, &still).is_some(), "nothing ended");
    }
}
