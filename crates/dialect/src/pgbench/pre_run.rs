//! The preparation of a run: reads scale and partitions, and vacuums.
//!
//! In: options and the server's answers. Out: statements and messages. Must never: connect.

use super::init::SetupAction;
use super::messages::Messages;
use super::options::{PartitionMethod, RunOptions};

/// The query that returns the scale; sent if a builtin script runs.
pub const SCALE_SQL: &str = "select count(*) from pgbench_branches";

/// The query that returns one row for the first pgbench_accounts in the search path: its position in the
/// path, the partition strategy (`r`, `h`, or null without partitions), and the number of partitions. It
/// returns no row if there is no such table. If the query fails, the table counts as not partitioned.
pub const PARTITIONS_SQL: &str = "\
select o.n, p.partstrat, pg_catalog.count(i.inhparent) \
from pg_catalog.pg_class as c \
join pg_catalog.pg_namespace as n on (n.oid = c.relnamespace) \
cross join lateral (select pg_catalog.array_position(pg_catalog.current_schemas(true), n.nspname)) as o(n) \
left join pg_catalog.pg_partitioned_table as p on (p.partrelid = c.oid) \
left join pg_catalog.pg_inherits as i on (c.oid = i.inhparent) \
where c.relname = 'pgbench_accounts' and o.n is not null \
group by 1, 2 \
order by 1 asc \
limit 1";

/// The results of [`SCALE_SQL`] and [`PARTITIONS_SQL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableFacts {
    /// Rows of pgbench_branches.
    pub scale: u32,
    pub partitions: Option<(PartitionMethod, u32)>,
}

impl TableFacts {
    /// Parses the results: the count of [`SCALE_SQL`]; the row of [`PARTITIONS_SQL`], empty if the query failed.
    ///
    /// # Errors
    ///
    /// pgbench's message about an invalid result, for [`Messages::fatal`].
    pub fn parse(count: &str, partition_row: &[Option<String>]) -> Result<Self, String> {
        let column = |number: usize| partition_row.get(number)?.as_deref();
        let (strategy, partitions) = (column(1), column(2).unwrap_or_default());
        let Ok(scale) = count.trim().parse() else {
            return Err(format!(
                "invalid count(*) from pgbench_branches: \"{count}\""
            ));
        };
        let method = match strategy {
            None => None,
            Some("r") => Some(PartitionMethod::Range),
            Some("h") => Some(PartitionMethod::Hash),
            Some(other) => return Err(format!("unexpected partition method: \"{other}\"")),
        };
        let number = partitions.trim().parse().unwrap_or(0);
        Ok(Self {
            scale,
            partitions: method.map(|method| (method, number)),
        })
    }
}

fn initialize_hint(database: &str) -> String {
    format!("Perhaps you need to do initialization (\"pgbench -i\") in database \"{database}\".")
}

/// The message if [`SCALE_SQL`] fails. `is_missing`: whether it fails because the table does not exist
/// (SQLSTATE 42P01).
pub fn scale_query_message(
    messages: &Messages,
    server_error: &str,
    is_missing: bool,
    database: &str,
) -> String {
    let mut text = messages.fatal(&format!(
        "could not count number of branches: {server_error}"
    ));
    if is_missing {
        text += &messages.hint(&initialize_hint(database));
    }
    text
}

/// The message if [`PARTITIONS_SQL`] returns no row.
pub fn no_accounts_message(messages: &Messages, database: &str) -> String {
    messages.fatal("no pgbench_accounts table found in search_path")
        + &messages.hint(&initialize_hint(database))
}

/// The warning if `-s` is set and a builtin script runs, because the scale is then that of the tables.
pub fn scale_ignored_warning(messages: &Messages, scale: u32) -> String {
    messages.warning(&format!(
        "scale option ignored, using count from pgbench_branches table ({scale})"
    ))
}

/// The actions of the vacuum before a run. A failed statement is reported and ignored: [`Messages::error`]
/// with the server's message, then [`Messages::detail`] with `(ignoring this error and continuing anyway)`.
pub fn vacuum_actions(options: &RunOptions) -> Vec<SetupAction> {
    let print = |text: &str| SetupAction::Print(text.to_owned());
    let sql = |text: &str| SetupAction::Sql(text.to_owned());
    let mut actions = Vec::new();
    if !options.vacuum {
        return actions;
    }
    actions.extend([
        print("starting vacuum..."),
        sql("vacuum pgbench_branches"),
        sql("vacuum pgbench_tellers"),
        sql("truncate pgbench_history"),
        print("end.\n"),
    ]);
    if options.vacuum_accounts {
        actions.extend([
            print("starting vacuum pgbench_accounts..."),
            sql("vacuum analyze pgbench_accounts"),
            print("end.\n"),
        ]);
    }
    actions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_results_are_parsed() {
        let parse = |count: &str, strategy: Option<&str>, partitions: &str| {
            let columns = [Some("1"), strategy, Some(partitions)];
            TableFacts::parse(count, &columns.map(|column| column.map(str::to_owned)))
        };
        let facts = parse("10", Some("h"), "3").unwrap();
        let partitions = Some((PartitionMethod::Hash, 3));
        assert_eq!((facts.scale, facts.partitions), (10, partitions));
        assert_eq!(parse("1", None, "0").unwrap().partitions, None);
        assert_eq!(TableFacts::parse("1", &[]).unwrap().partitions, None);
        assert!(parse("1", Some("l"), "1").is_err());
        assert!(parse("-1", None, "0").is_err());
    }
}
