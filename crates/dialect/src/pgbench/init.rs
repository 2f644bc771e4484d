//! The steps of `-i` as statements.
//!
//! In: options and the server's version. Out: texts to print, statements and copies, in order. Must never:
//! send anything, or change the order within a step.
//!
//! The statements are exactly pgbench's, because servers log them and users search the logs for them.

use super::level::Level;
use super::options::{InitOptions, PartitionMethod};
use prony_workload::tpcb::{TELLERS_PER_BRANCH, Table};

/// The lowest scale at which pgbench_accounts has a bigint key.
const BIGINT_SCALE: u32 = 20_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetupAction {
    /// Print this text on standard error, without change.
    Print(String),
    /// Execute this statement; an error ends the program.
    Sql(String),
    /// Run [`copy_sql`] and send all rows of the table.
    Copy { table: Table, freeze: Freeze },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freeze {
    /// COPY does not freeze.
    No,
    /// COPY freezes.
    Yes,
    /// COPY freezes if [`RELKIND_SQL`], executed directly before, reports an ordinary table.
    IfPlainTable,
}

/// The query that level 18 sends for each table before copying. `$1` is the table's name; the result for an
/// ordinary table is [`RELKIND_RELATION`].
pub const RELKIND_SQL: &str =
    "SELECT relkind FROM pg_catalog.pg_class WHERE oid=$1::pg_catalog.regclass";

/// The kind of an ordinary table.
pub const RELKIND_RELATION: &str = "r";

/// Actions in order. They are made one at a time, because up to level 16 there are eleven for each unit of the
/// scale, and one for each partition.
type Actions<'a> = Box<dyn Iterator<Item = SetupAction> + 'a>;

/// The actions of a step of `-I`: a letter of `dtgGvpf`. Other characters, such as blanks, have no actions.
/// `server_version`: the server's `server_version_num`.
pub fn step_actions<'a>(
    level: &'a Level,
    options: &'a InitOptions,
    step: char,
    server_version: u32,
) -> Actions<'a> {
    let actions = match step {
        'd' => {
            let tables = "pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers";
            let drop = format!("drop table if exists {tables}");
            message_and_statements("dropping old tables", [drop])
        }
        't' => return create_tables(level, options),
        'g' => return generate_client_side(level, options, server_version),
        'G' => generate_server_side(options.scale),
        'v' => {
            let tables = ["branches", "tellers", "accounts", "history"];
            let statements = tables.map(|table| format!("vacuum analyze pgbench_{table}"));
            message_and_statements("vacuuming", statements)
        }
        'p' => {
            let keys = [("branches", "bid"), ("tellers", "tid"), ("accounts", "aid")];
            let space = tablespace_clause(" using index", options.index_tablespace.as_deref());
            let statements = keys.map(|(table, column)| {
                format!("alter table pgbench_{table} add primary key ({column}){space}")
            });
            message_and_statements("creating primary keys", statements)
        }
        'f' => add_foreign_keys(),
        _ => Vec::new(),
    };
    Box::new(actions.into_iter())
}

pub fn copy_sql(table: Table, freeze: bool) -> String {
    let with = if freeze { " with (freeze on)" } else { "" };
    format!("copy {} from stdin{with}", table.name())
}

/// Actions that print a message and then execute statements.
fn message_and_statements(
    message: &str,
    statements: impl IntoIterator<Item = String>,
) -> Vec<SetupAction> {
    let mut actions = vec![SetupAction::Print(format!("{message}...\n"))];
    actions.extend(statements.into_iter().map(SetupAction::Sql));
    actions
}

/// A tablespace clause. The identifier is quoted as PQescapeIdentifier does.
fn tablespace_clause(prefix: &str, name: Option<&str>) -> String {
    match name {
        Some(name) => format!("{prefix} tablespace \"{}\"", name.replace('"', "\"\"")),
        None => String::new(),
    }
}

fn create_tables<'a>(level: &'a Level, options: &'a InitOptions) -> Actions<'a> {
    let aid = if options.scale >= BIGINT_SCALE { "aid bigint" } else { "aid    int" };
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
    // From level 18 on, only the partitions are unlogged, because PostgreSQL 18 rejects an unlogged
    // partitioned table.
    let is_parent_logged = level.at_least(18) && options.partitions.is_some();
    let unlogged = if options.unlogged && !is_parent_logged { " unlogged" } else { "" };
    let space = tablespace_clause("", options.tablespace.as_deref());
    let statements = tables.map(|(table, columns)| {
        let with = match (table, options.partitions) {
            ("history", _) => String::new(),
            ("accounts", Some((method, _))) => format!(" partition by {} (aid)", method.name()),
            _ => format!(" with (fillfactor={})", options.fillfactor),
        };
        format!("create{unlogged} table pgbench_{table}({columns}){with}{space}")
    });
    let create_tables = message_and_statements("creating tables", statements).into_iter();
    let Some((method, count)) = options.partitions else {
        return Box::new(create_tables);
    };
    let message = SetupAction::Print(format!("creating {count} partitions...\n"));
    let partition_action =
        move |number| SetupAction::Sql(partition_sql(level, options, method, count, number));
    let partitions = (1..=count).map(partition_action);
    Box::new(create_tables.chain([message]).chain(partitions))
}

/// The statement that creates partition `number`, from 1, of `count`.
fn partition_sql(
    level: &Level,
    options: &InitOptions,
    method: PartitionMethod,
    count: u32,
    number: u32,
) -> String {
    let unlogged = if options.unlogged { " unlogged" } else { "" };
    let bounds = match method {
        PartitionMethod::Range => {
            let rows = Table::Accounts.rows(options.scale);
            let size = rows.div_ceil(u64::from(count));
            // Between the first `parts` partitions and those after them.
            let bound = |parts: u32| match parts {
                0 => "minvalue".to_owned(),
                _ if parts == count => "maxvalue".to_owned(),
                _ => (u64::from(parts) * size + 1).to_string(),
            };
            let (from, to) = (bound(number - 1), bound(number));
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

fn begin_and_truncate(message: &str) -> Vec<SetupAction> {
    let truncate =
        "truncate table pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers";
    message_and_statements(message, ["begin".to_owned(), truncate.to_owned()])
}

/// Step `g`. Levels up to 16 insert branches and tellers row by row; levels up to 14 do not freeze rows.
fn generate_client_side<'a>(
    level: &'a Level,
    options: &'a InitOptions,
    server_version: u32,
) -> Actions<'a> {
    let begin = begin_and_truncate("generating data (client-side)").into_iter();
    let copy = |table: Table| {
        let can_freeze = level.at_least(15) && server_version >= 140_000;
        let partitioned = table == Table::Accounts && options.partitions.is_some();
        let freeze = if can_freeze && level.at_least(18) {
            Freeze::IfPlainTable
        } else if can_freeze && !partitioned {
            Freeze::Yes
        } else {
            Freeze::No
        };
        SetupAction::Copy { table, freeze }
    };
    let end = [copy(Table::Accounts), SetupAction::Sql("commit".to_owned())];
    if level.at_least(17) {
        let small_tables = [copy(Table::Branches), copy(Table::Tellers)];
        Box::new(begin.chain(small_tables).chain(end))
    } else {
        Box::new(begin.chain(insert_rows(options.scale)).chain(end))
    }
}

/// Inserts the rows of branches and tellers.
fn insert_rows(scale: u32) -> impl Iterator<Item = SetupAction> {
    let branches = (1..=Table::Branches.rows(scale))
        .map(|bid| format!("insert into pgbench_branches(bid,bbalance) values({bid},0)"));
    let tellers = (1..=Table::Tellers.rows(scale)).map(|tid| {
        let bid = (tid - 1) / TELLERS_PER_BRANCH + 1;
        format!("insert into pgbench_tellers(tid,bid,tbalance) values ({tid},{bid},0)")
    });
    branches.chain(tellers).map(SetupAction::Sql)
}

fn generate_server_side(scale: u32) -> Vec<SetupAction> {
    let mut actions = begin_and_truncate("generating data (server-side)");
    for (table, columns, values) in [
        (Table::Branches, "bid,bbalance", "bid, 0"),
        (
            Table::Tellers,
            "tid,bid,tbalance",
            "tid, (tid - 1) / 10 + 1, 0",
        ),
        (
            Table::Accounts,
            "aid,bid,abalance,filler",
            "aid, (aid - 1) / 100000 + 1, 0, ''",
        ),
    ] {
        let (name, rows) = (table.name(), table.rows(scale));
        // The first column, such as `bid`, which the series numbers.
        let number = &columns[..3];
        actions.push(SetupAction::Sql(format!(
            "insert into {name}({columns}) select {values} from generate_series(1, {rows}) as {number}"
        )));
    }
    actions.push(SetupAction::Sql("commit".to_owned()));
    actions
}

fn add_foreign_keys() -> Vec<SetupAction> {
    let keys = [
        ("tellers", "bid", "branches"),
        ("accounts", "bid", "branches"),
        ("history", "bid", "branches"),
        ("history", "tid", "tellers"),
        ("history", "aid", "accounts"),
    ];
    let statements = keys.map(|(table, column, referenced)| {
        format!(
            "alter table pgbench_{table} add constraint pgbench_{table}_{column}_fkey \
             foreign key ({column}) references pgbench_{referenced}"
        )
    });
    message_and_statements("creating foreign keys", statements)
}
