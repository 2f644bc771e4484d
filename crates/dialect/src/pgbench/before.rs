//! What happens before a run, on a connection of its own: scale, partitions, vacuum.
//!
//! In: what was asked for and what the server answered. Out: statements and messages. Must never:
//! connect.

use super::init::Work;
use super::options::{PartitionMethod, RunOptions};
use super::voice::Voice;

/// Gives the scale where a builtin script runs.
pub const SCALE_SQL: &str = "select count(*) from pgbench_branches";

/// Gives at most one row for the first pgbench_accounts in the search path: its place there, the
/// partition strategy (`r`, `h`, or null where it is not partitioned), and the number of partitions.
/// No such table: no row. A server that cannot answer counts as one without partitions.
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

/// What the two statements say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableFacts {
    /// Rows of pgbench_branches.
    pub scale: u32,
    /// How pgbench_accounts is partitioned.
    pub partitions: Option<(PartitionMethod, u32)>,
}

impl TableFacts {
    /// Reads the answers: the count, and strategy and number of the second statement's row.
    ///
    /// # Errors
    /// pgbench's message about an answer it cannot use, for [`Voice::fatal`].
    pub fn read(count: &str, strategy: Option<&str>, partitions: &str) -> Result<Self, String> {
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

fn perhaps_initialize(database: &str) -> String {
    format!("Perhaps you need to do initialization (\"pgbench -i\") in database \"{database}\".")
}

/// The message where [`SCALE_SQL`] fails; `missing`: by SQLSTATE 42P01.
pub fn count_failed(voice: &Voice, server_error: &str, missing: bool, database: &str) -> String {
    let mut text = voice.fatal(&format!(
        "could not count number of branches: {server_error}"
    ));
    if missing {
        text += &voice.hint(&perhaps_initialize(database));
    }
    text
}

/// The message where [`PARTITIONS_SQL`] gives no row.
pub fn no_accounts(voice: &Voice, database: &str) -> String {
    voice.fatal("no pgbench_accounts table found in search_path")
        + &voice.hint(&perhaps_initialize(database))
}

/// The warning where `-s` was given for a builtin script.
pub fn scale_ignored(voice: &Voice, scale: u32) -> String {
    voice.warning(&format!(
        "scale option ignored, using count from pgbench_branches table ({scale})"
    ))
}

/// The vacuum before a run. A statement that fails is reported and ignored: [`Voice::error`] with the
/// server's words, then [`Voice::detail`] with `(ignoring this error and continuing anyway)`.
pub fn vacuum(options: &RunOptions) -> Vec<Work> {
    let say = |text: &str| Work::Say(text.to_owned());
    let sql = |text: &str| Work::Sql(text.to_owned());
    let mut work = Vec::new();
    if !options.vacuum {
        return work;
    }
    work.extend([
        say("starting vacuum..."),
        sql("vacuum pgbench_branches"),
        sql("vacuum pgbench_tellers"),
        sql("truncate pgbench_history"),
        say("end.\n"),
    ]);
    if options.vacuum_accounts {
        work.extend([
            say("starting vacuum pgbench_accounts..."),
            sql("vacuum analyze pgbench_accounts"),
            say("end.\n"),
        ]);
    }
    work
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read() {
        let facts = TableFacts::read("10", Some("h"), "3").unwrap();
        assert_eq!(
            facts,
            TableFacts {
                scale: 10,
                partitions: Some((PartitionMethod::Hash, 3))
            }
        );
        assert_eq!(TableFacts::read("1", None, "0").unwrap().partitions, None);
        assert!(TableFacts::read("1", Some("l"), "1").is_err());
        assert!(TableFacts::read("-1", None, "0").is_err());
    }
}
