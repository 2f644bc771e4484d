//! The server's own count of transactions (TPM). On SQL Server there are two: of batch requests, which HammerDB
//! calls transactions, and of the transactions that began.
//!
//! In: a control connection. Out: readings of its counters, and the rate between two series of
//! readings. Must never: return zero for a counter that could not be read.
//!
//! PostgreSQL's counters lag: a backend flushes its counts at most once per second (PostgreSQL 15 and
//! later; earlier versions every half second, through the statistics collector). One reading is
//! therefore behind by a random amount, up to a second's transactions. A series of readings spread
//! evenly over one second is behind by the same amount on average whenever it is taken under the
//! same load, so the lag cancels in the difference of two series. It does not cancel if the load
//! ends before the second series: take both during the load. The counters of MySQL and MariaDB do
//! not lag: the server adds up the counts of all sessions at each reading.

use crate::control::{Control, Error, TextRow};
use prony_document::SqlDialect;

/// One reading of the server's transaction counters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TxnCount {
    /// Commits and rollbacks of all databases since the server's statistics were reset. On MySQL
    /// and MariaDB these are the statements `COMMIT` and `ROLLBACK`, as HammerDB counts them:
    /// autocommitted statements are in neither. On SQL Server these are the batch requests of all sessions.
    pub transactions: u64,
    /// Transactions that began in all databases; only on SQL Server, which does not count those that end.
    pub begun: Option<u64>,
    /// Time of the reading on the server's clock, in seconds.
    pub at_s: f64,
}

/// A statistics snapshot lasts until the end of the transaction unless it is cleared.
const READ_POSTGRES: &str = "select pg_stat_clear_snapshot(); \
     select sum(xact_commit + xact_rollback)::bigint, extract(epoch from clock_timestamp()) \
     from pg_stat_database";

/// The only form that all versions support: the table that holds these counters differs between
/// them.
const READ_MYSQL: &str = "show global status where variable_name in ('Com_commit', 'Com_rollback')";
/// Batch requests, as HammerDB counts SQL Server's transactions; the clock; and the transactions that began.
/// Trailing spaces of the names do not count in a comparison.
const READ_SQL_SERVER: &str = "select max(case when counter_name = 'Batch Requests/sec' \
     then cast(cntr_value as bigint) end), \
     cast(datediff(second, '20000101', sysutcdatetime()) as float) \
     + datepart(microsecond, sysutcdatetime()) / 1000000.0, \
     max(case when counter_name = 'Transactions/sec' then cast(cntr_value as bigint) end) \
     from sys.dm_os_performance_counters where counter_name = 'Batch Requests/sec' \
     or (counter_name = 'Transactions/sec' and instance_name = '_Total')";
const START_SQL_SERVER: &str =
    "select datediff(second, '20000101', sqlserver_start_time) from sys.dm_os_sys_info";
const CLOCK_MYSQL: &str = "select unix_timestamp(now(6))";

/// Reads the counters `readings` times in one transaction, so that the reader adds only one to the
/// count. Before each reading, calls `pause` with its index, and stops if `pause` returns `false`.
///
/// # Errors
/// The server refuses, or the connection is lost. `Ok(None)`: stopped by `pause`, or the server did
/// not report the counters.
pub fn read_txn_counts(
    control: &mut Control,
    readings: u32,
    mut pause: impl FnMut(u32) -> bool,
) -> Result<Option<Vec<TxnCount>>, Error> {
    let dialect = control.dialect();
    match dialect {
        // At isolation level read committed, the transaction does not hold back VACUUM between two readings.
        SqlDialect::PostgreSql => {
            control.execute("begin transaction isolation level read committed read only")?;
        }
        SqlDialect::MySql | SqlDialect::TransactSql => {}
    }
    let mut series = Vec::new();
    for index in 0..readings {
        if !pause(index) {
            return Ok(None);
        }
        let reading = match dialect {
            SqlDialect::PostgreSql => read_one_row(&control.query(READ_POSTGRES)?),
            SqlDialect::TransactSql => read_one_row(&control.query(READ_SQL_SERVER)?),
            SqlDialect::MySql => {
                read_mysql(&control.query(READ_MYSQL)?, &control.query(CLOCK_MYSQL)?)
            }
        };
        let Some(reading) = reading else {
            return Ok(None);
        };
        series.push(reading);
    }
    match dialect {
        SqlDialect::PostgreSql => drop(control.execute("commit")?),
        SqlDialect::MySql | SqlDialect::TransactSql => {}
    }
    Ok(Some(series))
}

/// One row of the counter, the clock, and on SQL Server the transactions that began.
fn read_one_row(rows: &[TextRow]) -> Option<TxnCount> {
    let cell = |column: usize| rows.first()?.get(column)?.as_deref();
    Some(TxnCount {
        transactions: cell(0)?.parse().ok()?,
        begun: cell(2).and_then(|text| text.parse().ok()),
        at_s: cell(1)?.parse().ok()?,
    })
}

/// `None` unless both counters are present.
fn read_mysql(counters: &[TextRow], clock: &[TextRow]) -> Option<TxnCount> {
    let value = |row: &TextRow| row.get(1)?.as_deref()?.parse::<u64>().ok();
    let [first, second] = counters else {
        return None;
    };
    let clock_text = clock.first()?.first()?.as_deref()?;
    Some(TxnCount {
        transactions: value(first)?.checked_add(value(second)?)?,
        begun: None,
        at_s: clock_text.parse().ok()?,
    })
}

/// Transactions per minute between two series of readings. `None` if a series is empty, no time
/// passed, or the statistics were reset between them.
pub fn txns_per_minute(first: &[TxnCount], last: &[TxnCount]) -> Option<f64> {
    let before = first.iter().map(|reading| reading.transactions).max()?;
    let after = last.iter().map(|reading| reading.transactions).min()?;
    // Relative to the first reading, so that the large numbers lose no digits.
    let origin = first[0];
    let mean = |series: &[TxnCount], difference: fn(&TxnCount, &TxnCount) -> f64| {
        let sum: f64 = series
            .iter()
            .map(|reading| difference(reading, &origin))
            .sum();
        sum / series.len() as f64
    };
    let count = |reading: &TxnCount, origin: &TxnCount| {
        reading.transactions as f64 - origin.transactions as f64
    };
    let time = |reading: &TxnCount, origin: &TxnCount| reading.at_s - origin.at_s;
    let seconds = mean(last, time) - mean(first, time);
    (after >= before && seconds > 0.0)
        .then(|| (mean(last, count) - mean(first, count)) / seconds * 60.0)
}

/// Transactions that began per minute between two series of readings; see [`txns_per_minute`]. `None` also if a
/// reading has no such count.
pub fn begun_per_minute(first: &[TxnCount], last: &[TxnCount]) -> Option<f64> {
    let begun = |series: &[TxnCount]| -> Option<Vec<TxnCount>> {
        let readings = series.iter().map(|reading| {
            Some(TxnCount {
                transactions: reading.begun?,
                ..*reading
            })
        });
        readings.collect()
    };
    txns_per_minute(&begun(first)?, &begun(last)?)
}

/// When the server's transaction counters last started from zero.
#[derive(Clone, Debug)]
pub enum CounterStart {
    /// When PostgreSQL's statistics were last reset: all of them by a crash, or those of one
    /// database by a user.
    Reset(String),
    /// When MySQL, MariaDB or SQL Server was started, in whole seconds of its clock.
    Started(i64),
}

impl CounterStart {
    /// Whether the counters were not reset between the two readings of their start.
    pub fn is_same(&self, other: &CounterStart) -> bool {
        match (self, other) {
            (CounterStart::Reset(a), CounterStart::Reset(b)) => a == b,
            (CounterStart::Started(a), CounterStart::Started(b)) => a.abs_diff(*b) <= 2,
            _ => false,
        }
    }
}

const RESET_QUERY: &str = "select concat_ws(' ', (select stats_reset from pg_stat_bgwriter), \
     (select max(stats_reset) from pg_stat_database))";

/// When the counters last started from zero. If the server does not report it, every call returns
/// the same value, as if they were never reset.
pub fn read_counter_start(control: &mut Control) -> Result<CounterStart, Error> {
    let start = match control.dialect() {
        SqlDialect::PostgreSql => control
            .query_value(RESET_QUERY)
            .map(|value| CounterStart::Reset(value.unwrap_or_default())),
        SqlDialect::MySql => read_server_start(control),
        SqlDialect::TransactSql => control.query_value(START_SQL_SERVER).map(|value| {
            let seconds = value.and_then(|text| text.parse().ok());
            seconds.map_or(CounterStart::Reset(String::new()), CounterStart::Started)
        }),
    };
    match start {
        Err(error) if !error.is_lost() => Ok(CounterStart::Reset(String::new())),
        start => start,
    }
}

fn read_server_start(control: &mut Control) -> Result<CounterStart, Error> {
    let uptime = control.query("show global status like 'Uptime'")?;
    let clock = control.query_value("select unix_timestamp()")?;
    let uptime = uptime.first().and_then(|row| row.get(1)?.as_deref());
    let seconds = |text: Option<&str>| text.and_then(|text| text.parse().ok()).unwrap_or(0_i64);
    Ok(CounterStart::Started(
        seconds(clock.as_deref()) - seconds(uptime),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Readings of counters that are updated once per second, `phase_s` after each full second.
    fn lagging_readings(from_s: f64, phase_s: f64, tps: f64) -> Vec<TxnCount> {
        let times = (0..10).map(|index| from_s + 0.05 + 0.1 * f64::from(index));
        times
            .map(|at_s| TxnCount {
                transactions: (1e9 + tps * ((at_s - phase_s).floor() + phase_s)) as u64,
                begun: None,
                at_s: 1.8e9 + at_s,
            })
            .collect()
    }

    #[test]
    fn the_lag_of_the_counters_cancels() {
        for phase in 0..20 {
            let phase_s = f64::from(phase) / 20.0;
            for (from_s, to_s) in [(2.0, 5.0), (2.3, 9.7), (1.0, 61.45)] {
                let first = lagging_readings(from_s, phase_s, 700.0);
                let last = lagging_readings(to_s, phase_s, 700.0);
                let rate = txns_per_minute(&first, &last).expect("a rate");
                // With ten readings per second the error is at most a tenth of a second's
                // transactions.
                let max_error = 42_000.0 * 0.1 / (to_s - from_s);
                assert!(
                    (rate - 42_000.0).abs() <= max_error + 1.0,
                    "{phase_s}: {rate}"
                );
            }
        }
    }

    #[test]
    fn commits_and_rollbacks_are_added_up() {
        let row = |cells: &[&str]| -> TextRow {
            cells.iter().map(|cell| Some((*cell).to_owned())).collect()
        };
        let counters = [row(&["Com_commit", "712"]), row(&["Com_rollback", "3"])];
        let clock = [row(&["1795213070.250000"])];
        let reading = read_mysql(&counters, &clock).expect("both counters are present");
        assert_eq!(
            (reading.transactions, reading.at_s),
            (715, 1_795_213_070.25)
        );
        assert_eq!(read_mysql(&counters[..1], &clock), None);
        assert_eq!(read_mysql(&counters, &[]), None);
    }

    #[test]
    fn transactions_that_began_are_counted_beside_batch_requests() {
        let reading = |requests: &str, at_s: &str, begun: Option<&str>| {
            let cells = [Some(requests), Some(at_s), begun];
            let row: TextRow = cells.map(|cell| cell.map(str::to_owned)).into();
            read_one_row(&[row]).expect("a reading")
        };
        let first = [reading("100", "1.0", Some("1000"))];
        let last = [reading("220", "3.0", Some("1300"))];
        assert_eq!(txns_per_minute(&first, &last), Some(3_600.0));
        assert_eq!(begun_per_minute(&first, &last), Some(9_000.0));
        let without = [reading("220", "3.0", None)];
        assert_eq!(txns_per_minute(&first, &without), Some(3_600.0));
        assert_eq!(begun_per_minute(&first, &without), None);
    }

    #[test]
    fn an_unknown_rate_is_none_not_zero() {
        let series = lagging_readings(1.0, 0.0, 100.0);
        assert_eq!(txns_per_minute(&series, &series), None, "no time passed");
        assert_eq!(txns_per_minute(&[], &series), None);
        assert_eq!(txns_per_minute(&series, &[]), None);
        let mut reset = lagging_readings(9.0, 0.0, 100.0);
        reset
            .iter_mut()
            .for_each(|reading| reading.transactions -= 900_000_000);
        assert_eq!(
            txns_per_minute(&series, &reset),
            None,
            "the counters were reset"
        );
        let mut unchanged = lagging_readings(9.0, 0.0, 100.0);
        unchanged
            .iter_mut()
            .for_each(|reading| reading.transactions = series[9].transactions);
        assert!(
            txns_per_minute(&series, &unchanged).is_some(),
            "no transaction ended"
        );
    }
}
