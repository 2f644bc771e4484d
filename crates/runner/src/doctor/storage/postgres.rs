//! Reads of PostgreSQL's pages. `EXPLAIN (ANALYZE, BUFFERS)` says how many pages a statement read into the server's
//! cache, and with `track_io_timing` how long that took.

use super::{
    MIN_TABLE_BYTES, PageReads, ReadTable, Reads, SCAN_BYTES, random_below, random_read, reason_of,
    sequential_read, value_if_allowed,
};
use prony_plan::SplitMix;
use prony_server::Control;
use serde_json::Value;

/// The largest table that this user may read: its name in quotes, pages, page size.
const LARGEST_TABLE: &str = "select format('%I.%I', n.nspname, c.relname), \
    pg_relation_size(c.oid) / current_setting('block_size')::bigint, current_setting('block_size') \
    from pg_class c join pg_namespace n on n.oid = c.relnamespace \
    where c.relkind in ('r', 'm') and c.relpersistence = 'p' \
    and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname not like 'pg\\_toast%' \
    and has_schema_privilege(n.oid, 'USAGE') and has_table_privilege(c.oid, 'SELECT') \
    order by pg_relation_size(c.oid) desc limit 1";

/// Scans of a range of pages exist since PostgreSQL 14.
const RANGE_SCANS_SINCE: u32 = 140_000;

/// Makes the commits of this session wait for the local disk, and for no replica. Returns why they are not durable; `None` if
/// they are.
pub(super) fn not_durable(control: &mut Control) -> Option<String> {
    let fsync = value_if_allowed(control, "show fsync");
    if fsync.as_deref() == Some("off") {
        return Some("fsync is off".to_owned());
    }
    match control.execute("set synchronous_commit = local") {
        Ok(_) => None,
        Err(error) => Some(format!(
            "synchronous_commit could not be set: {}",
            reason_of(&error)
        )),
    }
}

struct Table {
    name: String,
    pages: u64,
    page_bytes: u64,
}

/// A sequential and a random read of the largest table.
pub(super) fn reads(control: &mut Control, random: &mut SplitMix) -> Result<Reads, String> {
    let table = largest_table(control)?;
    for setting in [
        "statement_timeout = '20s'",
        "max_parallel_workers_per_gather = 0",
    ] {
        let set = control.execute(&format!("set {setting}"));
        set.map_err(|error| reason_of(&error))?;
    }
    // Only some users may set it.
    let _ = control.execute("set track_io_timing = on");
    let is_timed = value_if_allowed(control, "show track_io_timing").as_deref() == Some("on");
    let read_table = ReadTable {
        name: &table.name,
        page_bytes: table.page_bytes,
        is_timed_by_server: is_timed,
    };
    let sequential = if control.server_version() < RANGE_SCANS_SINCE {
        Err("PostgreSQL has scans of a range of pages since version 14".to_owned())
    } else {
        let length = (SCAN_BYTES / table.page_bytes).min(table.pages / 2).max(1);
        sequential_read(&read_table, || {
            let first = random_below(random, table.pages - length);
            let range = format!(
                "ctid >= '({first},0)'::tid and ctid < '({},0)'::tid",
                first + length
            );
            page_reads(control, &read_table, &range)
        })
    };
    let random_pages = random_read(&read_table, || {
        let page = random_below(random, table.pages);
        page_reads(control, &read_table, &format!("ctid = '({page},1)'::tid"))
    });
    Ok(Reads {
        sequential,
        random: random_pages,
    })
}

fn largest_table(control: &mut Control) -> Result<Table, String> {
    let rows = control
        .query(LARGEST_TABLE)
        .map_err(|error| reason_of(&error))?;
    let table = rows.first().and_then(|row| {
        let number = |column: usize| row.get(column)?.as_deref()?.parse::<u64>().ok();
        Some(Table {
            name: row.first()?.clone()?,
            pages: number(1)?,
            page_bytes: number(2)?,
        })
    });
    let table = table.filter(|table| table.pages * table.page_bytes >= MIN_TABLE_BYTES);
    table.ok_or_else(|| "this user may read no table of 16 MB or more: load data first".to_owned())
}

fn page_reads(
    control: &mut Control,
    table: &ReadTable<'_>,
    condition: &str,
) -> Result<PageReads, String> {
    let sql = format!(
        "explain (analyze, buffers, timing off, format json) select count(*) from only {} where {condition}",
        table.name
    );
    let rows = control.query(&sql).map_err(|error| reason_of(&error))?;
    // The reply is one text, in one row or in one for each line.
    let lines: Vec<String> = rows
        .into_iter()
        .filter_map(|row| row.into_iter().next()?)
        .collect();
    let plan: Value = serde_json::from_str(&lines.join("\n")).map_err(|error| error.to_string())?;
    parse_plan(&plan, table.is_timed_by_server)
        .ok_or_else(|| "EXPLAIN does not count pages".to_owned())
}

/// The reads of a statement by its plan. `is_timed`: whether the plan has the time of the reads; otherwise that of the
/// statement is taken.
fn parse_plan(plan: &Value, is_timed: bool) -> Option<PageReads> {
    let root = &plan[0]["Plan"];
    // PostgreSQL 17 distinguishes shared from local pages.
    let io = ["Shared I/O Read Time", "I/O Read Time"];
    let io_ms = io.iter().find_map(|name| root[*name].as_f64());
    let time_ms = if is_timed { io_ms? } else { plan[0]["Execution Time"].as_f64()? };
    let read = root["Shared Read Blocks"].as_u64()?;
    Some(PageReads {
        requests: read,
        read,
        cached: root["Shared Hit Blocks"].as_u64()?,
        time_ns: (time_ms * 1e6) as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_and_times_of_old_and_new_versions_are_read() {
        let plan = |time: &str| {
            let text = format!(
                "[{{\"Plan\": {{\"Shared Hit Blocks\": 3, \"Shared Read Blocks\": 61, \"{time}\": 12.5}}, \"Execution Time\": 20.0}}]"
            );
            serde_json::from_str::<Value>(&text).unwrap()
        };
        for time in ["I/O Read Time", "Shared I/O Read Time"] {
            let reads = parse_plan(&plan(time), true).unwrap();
            assert_eq!(
                (reads.read, reads.cached, reads.time_ns),
                (61, 3, 12_500_000)
            );
        }
        assert_eq!(parse_plan(&plan("x"), false).unwrap().time_ns, 20_000_000);
        assert!(parse_plan(&plan("x"), true).is_none());
    }
}
