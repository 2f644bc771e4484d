//! Prepares a server for a scenario: indexes, vacuum, warm caches, free connections.
//!
//! Must never: decide what a scenario needs, or print.

use prony_judge::thresholds::SAME_START_MAX_GAP_S;
use prony_server::Control;
use prony_server::control::Error;
use prony_server::observe::{read_server_facts, read_server_state};
use prony_store::SqlDialect;

pub use prony_judge::doctor::SPARE_CONNECTIONS;

/// Number of connections that this server has left for the clients of a run, at least 1; [`SPARE_CONNECTIONS`] stay free for
/// others. `None` if the server does not report its limit.
pub fn free_client_connections(control: &mut Control) -> Option<u64> {
    let sql = match control.dialect() {
        SqlDialect::PostgreSql => {
            "SELECT sum(CASE WHEN name = 'max_connections' THEN setting::int ELSE -setting::int END) \
             - (SELECT sum(numbackends) FROM pg_stat_database) + 1 FROM pg_settings WHERE name IN \
             ('max_connections', 'superuser_reserved_connections', 'reserved_connections')"
        }
        SqlDialect::MySql => "SELECT @@global.max_connections",
        // A limit of 0 means the largest number of connections, 32767.
        SqlDialect::TransactSql => {
            "SELECT CASE WHEN CAST(value_in_use AS int) = 0 THEN 32767 ELSE CAST(value_in_use AS int) END \
             - (SELECT count(*) FROM sys.dm_exec_sessions WHERE is_user_process = 1) + 1 \
             FROM sys.configurations WHERE name = 'user connections'"
        }
    };
    let number = |text: String| text.parse::<i64>().ok();
    let mut available = control.query_value(sql).ok().flatten().and_then(number)?;
    match control.dialect() {
        SqlDialect::PostgreSql | SqlDialect::TransactSql => {}
        SqlDialect::MySql => {
            let rows = control
                .query("SHOW GLOBAL STATUS LIKE 'Threads_connected'")
                .ok()?;
            let connected = rows.first()?.get(1)?.clone().and_then(number)?;
            // As in the other queries, which add 1: the count includes this connection, which is closed before the run.
            available -= connected - 1;
        }
    }
    u64::try_from(available)
        .ok()
        .map(|available| available.saturating_sub(SPARE_CONNECTIONS).max(1))
}

/// When the server was started, in seconds since 1970 on the server's clock; `None` if it is not reported.
pub fn started_unix_s(control: &mut Control) -> Option<f64> {
    let facts = read_server_facts(control).ok()?;
    let (state, _) = read_server_state(control, &facts).ok()?;
    state.started_unix_s
}

/// Whether the server restarted since it reported the start time `before_unix_s`, in seconds since 1970.
pub fn was_restarted(control: &mut Control, before_unix_s: Option<f64>) -> bool {
    // PostgreSQL reports its start time; that of other servers is computed from the uptime, so it varies
    // slightly.
    let tolerance_s = match control.dialect() {
        SqlDialect::PostgreSql => 0.0,
        SqlDialect::MySql | SqlDialect::TransactSql => SAME_START_MAX_GAP_S,
    };
    let after = started_unix_s(control);
    before_unix_s
        .zip(after)
        .is_some_and(|(before, after)| after - before > tolerance_s)
}

/// Creates the index `TABLE_COLUMN_idx` on a column, unless it exists.
pub fn create_index(control: &mut Control, table: &str, column: &str) -> Result<(), Error> {
    let dialect = control.dialect();
    control
        .execute(&create_index_statement(dialect, table, column))
        .map(drop)
}

fn create_index_statement(dialect: SqlDialect, table: &str, column: &str) -> String {
    let name = format!("{table}_{column}_idx");
    let [quoted_name, table, column] =
        [name.as_str(), table, column].map(|name| dialect.quote_identifier(name));
    let on_table = format!("{quoted_name} ON {table} ({column})");
    match dialect {
        SqlDialect::PostgreSql | SqlDialect::MySql => {
            format!("CREATE INDEX IF NOT EXISTS {on_table}")
        }
        SqlDialect::TransactSql => format!(
            "IF NOT EXISTS (SELECT 1 FROM sys.indexes WHERE object_id = object_id({}) AND name = {}) \
             CREATE INDEX {on_table}",
            dialect.quote_literal(&table),
            dialect.quote_literal(&name)
        ),
    }
}

pub fn vacuum_analyze(control: &mut Control, table: &str) -> Result<(), Error> {
    let table = control.dialect().quote_identifier(table);
    control
        .execute(&format!("VACUUM ANALYZE {table}"))
        .map(drop)
}

/// How to read tables into the server's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prewarm {
    /// The extension pg_prewarm, which reads tables and indexes.
    Extension,
    /// A sequential scan, which uses only a part of shared_buffers.
    Scan,
    /// CHECKSUM TABLE, which reads every row.
    Checksum,
}

impl Prewarm {
    /// The best way on this server, which pg_prewarm is if it is installed.
    pub fn best_for(control: &mut Control) -> Prewarm {
        match control.dialect() {
            SqlDialect::MySql => Prewarm::Checksum,
            SqlDialect::TransactSql => Prewarm::Scan,
            SqlDialect::PostgreSql => {
                let sql = "SELECT count(*) FROM pg_extension WHERE extname = 'pg_prewarm'";
                match control.query_value(sql).ok().flatten().as_deref() {
                    Some("1") => Prewarm::Extension,
                    _ => Prewarm::Scan,
                }
            }
        }
    }

    /// Reads a table into the server's cache, as far as it fits.
    pub fn read_table(self, control: &mut Control, table: &str) -> Result<(), Error> {
        let dialect = control.dialect();
        let name = dialect.quote_identifier(table);
        let sql = match self {
            Prewarm::Extension => format!(
                "SELECT sum(pg_prewarm(c.oid)) FROM pg_class c WHERE c.relkind IN ('r', 'i') AND \
                 (c.oid = {table}::regclass OR c.oid IN (SELECT indexrelid FROM pg_index WHERE \
                 indrelid = {table}::regclass))",
                table = dialect.quote_literal(&name),
            ),
            Prewarm::Scan => format!("SELECT count(*) FROM {name}"),
            Prewarm::Checksum => format!("CHECKSUM TABLE {name}"),
        };
        control.query(&sql).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;

    #[test]
    fn an_index_is_created_unless_it_exists() {
        assert_eq!(
            create_index_statement(SqlDialect::PostgreSql, "history", "aid"),
            "CREATE INDEX IF NOT EXISTS \"history_aid_idx\" ON \"history\" (\"aid\")"
        );
        let text = create_index_statement(SqlDialect::TransactSql, "it's", "k");
        text.assert_contains("object_id('[it''s]')");
        text.assert_contains("name = 'it''s_k_idx'");
        text.assert_ends_with("CREATE INDEX [it's_k_idx] ON [it's] ([k])");
    }
}
