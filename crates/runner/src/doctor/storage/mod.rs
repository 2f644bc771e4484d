//! Probes the storage of a server by SQL alone: the latency of durable commits, sequential and random reads.
//!
//! In: a target. Out: a [`StorageProbe`]: times, or why there are none. Must never: leave its table behind without
//! saying so, change a setting beyond its own session, ask the operating system, or fail.
//!
//! The probe has a connection of its own, whose waits no signal interrupts: its statements are short, it looks for a
//! signal between two of them, and so it drops its table after a Ctrl-C too.

mod keyed_table;
mod mysql;
mod postgres;
mod sqlserver;

use crate::{random_seed, signals};
use prony_judge::doctor::{ReadProbe, StorageProbe};
use prony_plan::SplitMix;
use prony_server::control::{Error, StopSignal};
use prony_server::{Control, Target};
use prony_store::SqlDialect;
use std::time::{Duration, Instant};

const MAX_COMMITS: usize = 200;
/// Most pages that are read in random order.
const MAX_RANDOM_READS: usize = 200;
/// Fewest reads from outside of the server's cache for percentiles.
const MIN_READS: usize = 20;
/// Longest time of the commits, and of the random reads.
const MAX_TIME: Duration = Duration::from_secs(10);
/// Smallest table that is read, bytes: a smaller one is probably in a cache.
const MIN_TABLE_BYTES: u64 = 16 << 20;
/// Length of a sequential read, bytes.
const SCAN_BYTES: u64 = 64 << 20;
/// Sequential reads that are tried until one is not in the server's cache.
const MAX_SCANS: usize = 5;
/// Share of a scan's pages that must come from outside of the server's cache.
const MIN_COLD_SHARE: f64 = 0.5;
/// Why a part of the probe was not done.
const INTERRUPTED: &str = "it was interrupted";
/// Why there are no reads on a server whose pages can only be selected by ranges of keys.
const NO_KEYED_TABLE: &str = "this database has no table of 16 MB or more whose primary key is one whole number: load data first";

/// Probes the storage of the server of `target`.
pub(super) fn probe(target: &Target) -> StorageProbe {
    let mut target = target.clone();
    target.wait_options.stop = StopSignal::default();
    let mut probe = StorageProbe::default();
    let mut control = match Control::connect(&target) {
        Ok(control) => control,
        Err(error) => {
            let reason = reason_of(&error);
            probe.commits_ns = Err(reason.clone());
            probe.sequential = Err(reason.clone());
            probe.random = Err(reason);
            return probe;
        }
    };
    let mut random = SplitMix::new(random_seed());
    let dialect = control.dialect();
    probe_commits(&mut control, dialect, &mut probe);
    let reads = match dialect {
        SqlDialect::PostgreSql => postgres::reads(&mut control, &mut random),
        SqlDialect::MySql => mysql::largest_table(&mut control)
            .map(|table| table.reads(&mut control, &mut random, mysql::page_reads)),
        SqlDialect::TransactSql => sqlserver::largest_table(&mut control)
            .map(|table| table.reads(&mut control, &mut random, sqlserver::page_reads)),
    };
    let reads = reads.unwrap_or_else(|reason| Reads {
        sequential: Err(reason.clone()),
        random: Err(reason),
    });
    probe.sequential = reads.sequential;
    probe.random = reads.random;
    probe
}

/// The reads of a table, or why they were not done.
struct Reads {
    sequential: Result<ReadProbe, String>,
    random: Result<ReadProbe, String>,
}

/// The error on one line, without a full stop.
fn reason_of(error: &Error) -> String {
    let text = error.to_string().replace('\n', " ");
    text.trim_end_matches('.').to_owned()
}

/// The first column of the first row of a query that may be refused.
fn value_if_allowed(control: &mut Control, sql: &str) -> Option<String> {
    control.query_value(sql).ok().flatten()
}

fn probe_commits(control: &mut Control, dialect: SqlDialect, probe: &mut StorageProbe) {
    probe.not_durable = match dialect {
        SqlDialect::PostgreSql => postgres::not_durable(control),
        SqlDialect::MySql => mysql::not_durable(control),
        SqlDialect::TransactSql => sqlserver::not_durable(control),
    };
    // Two probes at the same time have tables of their own.
    let name = format!(
        "prony_storage_probe_{}_{:08x}",
        control.backend_pid(),
        random_seed()
    );
    let table = dialect.quote_identifier(&name);
    let engine = match dialect {
        SqlDialect::MySql => " engine=InnoDB",
        _ => "",
    };
    let create = format!(
        "create table {table} (id bigint not null primary key, filler varchar(100)){engine}"
    );
    probe.commits_ns = match control.execute(&create) {
        Ok(_) => insert_rows(control, &table),
        Err(error) => Err(reason_of(&error)),
    };
    // It may exist even if its creation failed in the client.
    let drop = match dialect {
        SqlDialect::TransactSql => format!(
            "if object_id({}) is not null drop table {table}",
            dialect.quote_literal(&name)
        ),
        _ => format!("drop table if exists {table}"),
    };
    if let Err(error) = control.execute(&drop) {
        probe.left_behind = Some(format!("{name}: {}", reason_of(&error)));
    }
}

/// Inserts rows one by one, each in a transaction of its own; returns the times, ascending.
fn insert_rows(control: &mut Control, table: &str) -> Result<Vec<u64>, String> {
    let filler = "x".repeat(100);
    let start = Instant::now();
    let mut times_ns = Vec::with_capacity(MAX_COMMITS);
    for number in 0..=MAX_COMMITS {
        if signals::received().is_some() {
            return Err(INTERRUPTED.to_owned());
        }
        let statement = format!("insert into {table} values ({number}, '{filler}')");
        let sent = Instant::now();
        control
            .execute(&statement)
            .map_err(|error| reason_of(&error))?;
        // The first one also extends the files.
        if number > 0 {
            times_ns.push(elapsed_ns(sent));
        }
        if start.elapsed() > MAX_TIME {
            break;
        }
    }
    times_ns.sort_unstable();
    Ok(times_ns)
}

fn elapsed_ns(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// A number below `limit`, which is above 0.
fn random_below(random: &mut SplitMix, limit: u64) -> u64 {
    ((random.uniform() * limit as f64) as u64).min(limit - 1)
}

struct PageReads {
    /// Requests to storage, each of one page or more.
    requests: u64,
    /// Pages from outside of the server's cache.
    read: u64,
    /// Pages from the server's cache.
    cached: u64,
    /// Time of the reads, nanoseconds.
    time_ns: u64,
}

/// The table that is read.
struct ReadTable<'a> {
    /// Its name, in quotes.
    name: &'a str,
    page_bytes: u64,
    /// Whether the server times its reads; otherwise the client times the statements.
    is_timed_by_server: bool,
}

/// Tries scans until at least half of the pages of one come from outside of the server's cache.
fn sequential_read(
    table: &ReadTable<'_>,
    mut scan: impl FnMut() -> Result<PageReads, String>,
) -> Result<ReadProbe, String> {
    for _ in 0..MAX_SCANS {
        if signals::received().is_some() {
            return Err(INTERRUPTED.to_owned());
        }
        let pages = scan()?;
        let all = pages.read + pages.cached;
        if pages.read > 0 && pages.read as f64 >= MIN_COLD_SHARE * all as f64 {
            return Ok(ReadProbe {
                table: table.name.to_owned(),
                bytes: pages.read * table.page_bytes,
                times_ns: vec![pages.time_ns],
                is_timed_by_server: table.is_timed_by_server,
            });
        }
    }
    Err(format!(
        "the pages of {} are in the server's cache: restart the server, or load more data than the cache holds",
        table.name
    ))
}

/// Reads single pages; counts those from outside of the server's cache.
fn random_read(
    table: &ReadTable<'_>,
    mut read_page: impl FnMut() -> Result<PageReads, String>,
) -> Result<ReadProbe, String> {
    let start = Instant::now();
    let mut times_ns = Vec::new();
    let mut bytes = 0;
    for _ in 0..MAX_RANDOM_READS {
        if signals::received().is_some() {
            return Err(INTERRUPTED.to_owned());
        }
        let pages = read_page()?;
        // Without a request, the page was in the cache.
        if let Some(time_ns) = pages.time_ns.checked_div(pages.requests) {
            times_ns.push(time_ns);
            bytes += pages.read * table.page_bytes;
        }
        if start.elapsed() > MAX_TIME {
            break;
        }
    }
    times_ns.sort_unstable();
    if times_ns.len() < MIN_READS {
        return Err(format!(
            "only {} of the pages of {} were not in the server's cache: restart the server, or load more data than \
             the cache holds",
            times_ns.len(),
            table.name
        ));
    }
    Ok(ReadProbe {
        table: table.name.to_owned(),
        bytes,
        times_ns,
        is_timed_by_server: table.is_timed_by_server,
    })
}
