//! The steps of `-i` as statements.
//!
//! In: options, and what the server is. Out: what to say, run and copy, in order. Must never: send
//! anything, or change the order within a step.
//!
//! A step's statements are pgbench's to the letter, because servers log them and people grep for them.

use super::level::Level;
use super::options::{InitOptions, PartitionMethod};

/// Scale from which accounts are numbered by bigint.
const BIGINT_SCALE: u32 = 20_000;

/// A table of pgbench.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// pgbench_branches: one row for each unit of scale.
    Branches,
    /// pgbench_tellers: 10.
    Tellers,
    /// pgbench_accounts: 100,000.
    Accounts,
}

impl Table {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Branches => "pgbench_branches",
            Self::Tellers => "pgbench_tellers",
            Self::Accounts => "pgbench_accounts",
        }
    }

    /// Its rows for each unit of scale.
    pub fn rows_per_scale(self) -> u64 {
        match self {
            Self::Branches => 1,
            Self::Tellers => 10,
            Self::Accounts => 100_000,
        }
    }

    /// Its rows.
    pub fn rows(self, scale: u32) -> u64 {
        self.rows_per_scale() * u64::from(scale)
    }
}

/// A piece of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// Print this on standard error, as it is.
    Say(String),
    /// Run this; an error ends the program.
    Sql(String),
    /// Run this COPY and send it all rows of the table, in the form of [`copy_row`].
    Copy {
        /// The table.
        table: Table,
        /// The statement.
        sql: String,
    },
}

/// Level 18 asks this of each table that it copies to; `$1` is the table's name, and `r` an ordinary
/// table.
pub const RELKIND_SQL: &str =
    "SELECT relkind FROM pg_catalog.pg_class WHERE oid=$1::pg_catalog.regclass";

/// What a step must know of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerFacts {
    /// `server_version_num`.
    pub version_num: u32,
    /// Whether pgbench_accounts, as it stands when rows are generated, is partitioned. Level 18 looks
    /// at the table (relkind `p`), the levels before at the options.
    pub accounts_partitioned: bool,
}

/// The work of a step: a letter of `dtgGvpf`. Others, blanks among them, have none.
pub fn step(level: &Level, options: &InitOptions, step: char, server: ServerFacts) -> Vec<Work> {
    match step {
        'd' => {
            let tables = "pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers";
            said(
                "dropping old tables",
                [format!("drop table if exists {tables}")],
            )
        }
        't' => create_tables(level, options),
        'g' => generate_client_side(level, options, server),
        'G' => generate_server_side(options.scale),
        'v' => {
            let tables = ["branches", "tellers", "accounts", "history"];
            said(
                "vacuuming",
                tables.map(|table| format!("vacuum analyze pgbench_{table}")),
            )
        }
        'p' => {
            let keys = [("branches", "bid"), ("tellers", "tid"), ("accounts", "aid")];
            let space = tablespace(" using index", options.index_tablespace.as_deref());
            said(
                "creating primary keys",
                keys.map(|(table, column)| {
                    format!("alter table pgbench_{table} add primary key ({column}){space}")
                }),
            )
        }
        'f' => foreign_keys(),
        _ => Vec::new(),
    }
}

/// The statements among the work.
pub fn sql(work: &[Work]) -> Vec<String> {
    let statement = |piece: &Work| match piece {
        Work::Say(_) => None,
        Work::Sql(sql) | Work::Copy { sql, .. } => Some(sql.clone()),
    };
    work.iter().filter_map(statement).collect()
}

fn said(what: &str, statements: impl IntoIterator<Item = String>) -> Vec<Work> {
    let mut work = vec![Work::Say(format!("{what}...\n"))];
    work.extend(statements.into_iter().map(Work::Sql));
    work
}

/// An identifier, quoted as PQescapeIdentifier does.
fn tablespace(before: &str, name: Option<&str>) -> String {
    match name {
        Some(name) => format!("{before} tablespace \"{}\"", name.replace('"', "\"\"")),
        None => String::new(),
    }
}

fn create_tables(level: &Level, options: &InitOptions) -> Vec<Work> {
    let aid = if options.scale >= BIGINT_SCALE {
        "aid bigint"
    } else {
        "aid    int"
    };
    let tables = [
        (
            "history",
            format!("tid int,bid int,{aid},delta int,mtime timestamp,filler char(22)"),
        ),
        (
            "tellers",
            "tid int not null,bid int,tbalance int,filler char(84)".to_owned(),
        ),
        (
            "accounts",
            format!("{aid} not null,bid int,abalance int,filler char(84)"),
        ),
        (
            "branches",
            "bid int not null,bbalance int,filler char(88)".to_owned(),
        ),
    ];
    // Since 18 no partitioned table is unlogged, because servers refuse it; its partitions are.
    let parents_logged = level.at_least(18) && options.partitions.is_some();
    let unlogged = if options.unlogged && !parents_logged {
        " unlogged"
    } else {
        ""
    };
    let space = tablespace("", options.tablespace.as_deref());
    let statements = tables.map(|(table, columns)| {
        let with = match (table, options.partitions) {
            ("history", _) => String::new(),
            ("accounts", Some((method, _))) => format!(" partition by {} (aid)", method.name()),
            _ => format!(" with (fillfactor={})", options.fillfactor),
        };
        format!("create{unlogged} table pgbench_{table}({columns}){with}{space}")
    });
    let mut work = said("creating tables", statements);
    if let Some((method, count)) = options.partitions {
        work.push(Work::Say(format!("creating {count} partitions...\n")));
        let one = |number| Work::Sql(partition(level, options, method, count, number));
        work.extend((1..=count).map(one));
    }
    work
}

fn partition(
    level: &Level,
    options: &InitOptions,
    method: PartitionMethod,
    count: u32,
    number: u32,
) -> String {
    let unlogged = if options.unlogged { " unlogged" } else { "" };
    let bounds = match method {
        PartitionMethod::Range => {
            let size = Table::Accounts
                .rows(options.scale)
                .div_ceil(u64::from(count));
            let bound = |parts: u32| (u64::from(parts) * size + 1).to_string();
            let from = if number == 1 {
                "minvalue".to_owned()
            } else {
                bound(number - 1)
            };
            let to = if number == count {
                "maxvalue".to_owned()
            } else {
                bound(number)
            };
            format!("from ({from}) to ({to})")
        }
        PartitionMethod::Hash => format!("with (modulus {count}, remainder {})", number - 1),
    };
    let line_end = if level.at_least(14) { "" } else { "\n" };
    format!(
        "create{unlogged} table pgbench_accounts_{number}\n  partition of pgbench_accounts\n  \
         for values {bounds} with (fillfactor={}){line_end}",
        options.fillfactor
    )
}

fn begin(what: &str) -> Vec<Work> {
    let truncate =
        "truncate table pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers";
    said(what, ["begin".to_owned(), truncate.to_owned()])
}

/// Up to 16 branches and tellers are inserted row by row; up to 14 nothing is frozen.
fn generate_client_side(level: &Level, options: &InitOptions, server: ServerFacts) -> Vec<Work> {
    let mut work = begin("generating data (client-side)");
    let copy = |table: Table, ordinary: bool| {
        let freeze = level.at_least(15) && server.version_num >= 140_000 && ordinary;
        let with = if freeze { " with (freeze on)" } else { "" };
        Work::Copy {
            table,
            sql: format!("copy {} from stdin{with}", table.name()),
        }
    };
    let partitioned = if level.at_least(18) {
        server.accounts_partitioned
    } else {
        options.partitions.is_some()
    };
    if level.at_least(17) {
        work.push(copy(Table::Branches, true));
        work.push(copy(Table::Tellers, true));
    } else {
        for bid in 1..=Table::Branches.rows(options.scale) {
            let sql = format!("insert into pgbench_branches(bid,bbalance) values({bid},0)");
            work.push(Work::Sql(sql));
        }
        for tid in 1..=Table::Tellers.rows(options.scale) {
            let bid = (tid - 1) / Table::Tellers.rows_per_scale() + 1;
            let sql =
                format!("insert into pgbench_tellers(tid,bid,tbalance) values ({tid},{bid},0)");
            work.push(Work::Sql(sql));
        }
    }
    work.push(copy(Table::Accounts, !partitioned));
    work.push(Work::Sql("commit".to_owned()));
    work
}

fn generate_server_side(scale: u32) -> Vec<Work> {
    let mut work = begin("generating data (server-side)");
    let rows = |table: Table| table.rows(scale);
    work.extend([
        Work::Sql(format!(
            "insert into pgbench_branches(bid,bbalance) select bid, 0 \
             from generate_series(1, {}) as bid",
            rows(Table::Branches)
        )),
        Work::Sql(format!(
            "insert into pgbench_tellers(tid,bid,tbalance) select tid, (tid - 1) / 10 + 1, 0 \
             from generate_series(1, {}) as tid",
            rows(Table::Tellers)
        )),
        Work::Sql(format!(
            "insert into pgbench_accounts(aid,bid,abalance,filler) \
             select aid, (aid - 1) / 100000 + 1, 0, '' \
             from generate_series(1, {}) as aid",
            rows(Table::Accounts)
        )),
        Work::Sql("commit".to_owned()),
    ]);
    work
}

fn foreign_keys() -> Vec<Work> {
    let keys = [
        ("tellers", "bid", "branches"),
        ("accounts", "bid", "branches"),
        ("history", "bid", "branches"),
        ("history", "tid", "tellers"),
        ("history", "aid", "accounts"),
    ];
    said(
        "creating foreign keys",
        keys.map(|(table, column, other)| {
            format!(
                "alter table pgbench_{table} add constraint pgbench_{table}_{column}_fkey \
             foreign key ({column}) references pgbench_{other}"
            )
        }),
    )
}

/// Appends a row of a table in COPY's text form; `row` counts from 0.
pub fn copy_row(table: Table, row: u64, out: &mut Vec<u8>) {
    let mut numbers = itoa::Buffer::new();
    out.extend_from_slice(numbers.format(row + 1).as_bytes());
    if table != Table::Branches {
        out.push(b'\t');
        out.extend_from_slice(numbers.format(row / table.rows_per_scale() + 1).as_bytes());
    }
    // Fillers are null, but for accounts: blanks, from an empty string.
    out.extend_from_slice(match table {
        Table::Accounts => b"\t0\t\n",
        _ => b"\t0\t\\N\n",
    });
}
