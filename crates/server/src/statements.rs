//! What a server's own statistics say of the statements that it has executed since some time: `pg_stat_statements`, the
//! digests of `performance_schema`, and SQL Server's query store, or `sys.dm_exec_query_stats` if it is off.
//!
//! In: a control connection. Out: texts with their totals, of this database and without Prony's own. Must never: change
//! a setting or reset a statistic.

use crate::control::{Control, Error as ControlError, TextRow};
use prony_document::SqlDialect;
use prony_plan::{ErrorParts, UserError};
use std::collections::{BTreeMap, HashMap};

/// A statement with what the server has counted since its statistics began.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatementTotals {
    /// The text without literals, as the server normalised it.
    pub text: String,
    /// Whether the text is that of a prepared statement instead, with its literals.
    pub has_literals: bool,
    pub calls: u64,
    /// Time in the server, in microseconds.
    pub time_us: f64,
    pub rows: u64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatementStatistics {
    /// The totals by the server's name for the statement, on SQL Server with that of a plan after a blank.
    pub totals: HashMap<String, StatementTotals>,
    /// How often the server had no space for a statement: it forgot others, or did not tell this one from others.
    pub overflows: u64,
    /// Executions of prepared statements that the server counts apart from others, and those of statements that were
    /// closed, of which it has forgotten the texts.
    pub prepared: [u64; 2],
    /// What the rights of this user or the server's settings hide, as a sentence.
    pub hidden: Option<&'static str>,
    /// The view that they come from, for users.
    pub view: &'static str,
}

/// Transactions that sessions executed, as far as the server remembered whole ones: the texts of their statements, by what
/// tells them from others.
pub type Sequences = BTreeMap<String, Vec<String>>;

/// A comment in Prony's own statements about an application's tables, which are none of the application.
pub const OWN_STATEMENT: &str = "/* prony */";
/// The name of a column of such statements on MySQL, whose digests have no comments.
pub const OWN_COLUMN: &str = "prony_sample";

/// Why a server's statistics cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum StatementsError {
    /// The server collects none, or not for this user.
    #[error("{problem}")]
    Unavailable {
        problem: &'static str,
        hint: &'static str,
    },
    #[error("reading the statistics of statements: {0}")]
    Server(#[from] ControlError),
}

impl UserError for StatementsError {
    fn parts(&self) -> ErrorParts {
        match self {
            StatementsError::Unavailable { problem, hint } => {
                ErrorParts::new(*problem).with_hint(*hint)
            }
            StatementsError::Server(error) => {
                let context = "reading the statistics of statements: ";
                error.parts().with_context(context)
            }
        }
    }
}

const POSTGRES_VIEW: &str = "pg_stat_statements";
const MYSQL_VIEW: &str = "performance_schema.events_statements_summary_by_digest";
const PLANS_VIEW: &str = "sys.dm_exec_query_stats";
const QUERY_STORE: &str = "sys.query_store_runtime_stats";

/// Reads the totals of the statements of this database.
///
/// # Errors
/// [`StatementsError::Unavailable`] says what is missing.
pub fn read_statements(control: &mut Control) -> Result<StatementStatistics, StatementsError> {
    match control.dialect() {
        SqlDialect::PostgreSql => read_postgres(control),
        SqlDialect::MySql => read_mysql(control),
        SqlDialect::TransactSql => read_sql_server(control),
    }
}

impl StatementStatistics {
    /// What was counted since `before`. A statement whose totals are lower than before was forgotten and seen again.
    pub fn since(self, before: &StatementStatistics) -> Vec<StatementTotals> {
        let differences = self.totals.into_iter().filter_map(|(key, mut totals)| {
            if let Some(earlier) = before.totals.get(&key)
                && earlier.calls <= totals.calls
            {
                totals.calls -= earlier.calls;
                totals.time_us = (totals.time_us - earlier.time_us).max(0.0);
                totals.rows = totals.rows.saturating_sub(earlier.rows);
            }
            (totals.calls > 0).then_some((key, totals))
        });
        // Only now, because a plan may have been forgotten.
        let mut statements: HashMap<String, StatementTotals> = HashMap::new();
        for (key, totals) in differences {
            let statement = key.split(' ').next().unwrap_or_default().to_owned();
            let same = statements
                .entry(statement)
                .or_insert_with(|| StatementTotals {
                    text: totals.text.clone(),
                    has_literals: totals.has_literals,
                    ..StatementTotals::default()
                });
            same.calls += totals.calls;
            same.time_us += totals.time_us;
            same.rows += totals.rows;
            if totals.text < same.text {
                same.text = totals.text;
            }
        }
        let mut statements: Vec<StatementTotals> = statements.into_values().collect();
        let by_time = |a: &StatementTotals, b: &StatementTotals| {
            b.time_us.total_cmp(&a.time_us).then(a.text.cmp(&b.text))
        };
        statements.sort_by(by_time);
        statements
    }

    /// A sentence if the server has lost statements since `before`.
    pub fn incomplete_since(
        &self,
        before: &StatementStatistics,
        dialect: SqlDialect,
    ) -> Option<&'static str> {
        let [executed, closed] =
            [0, 1].map(|index| self.prepared[index].saturating_sub(before.prepared[index]));
        if closed > executed / 10 {
            return Some(
                "the server forgets a prepared statement when it is closed, and more than a tenth of their executions were of closed \
                 ones: capture a log instead",
            );
        }
        (self.overflows > before.overflows).then_some(match dialect {
            SqlDialect::MySql => {
                "the table of digests is full, so that statements were counted without their texts: raise performance_schema_digests_size"
            }
            SqlDialect::PostgreSql | SqlDialect::TransactSql => {
                "pg_stat_statements was full and has forgotten statements: raise pg_stat_statements.max"
            }
        })
    }

    /// The totals of rows with the columns key, text, calls, time in microseconds and rows.
    fn of_rows(rows: Vec<TextRow>, view: &'static str) -> StatementStatistics {
        let totals = rows.into_iter().filter_map(|row| {
            let [key, text, calls, time_us, rows] = row.try_into().ok()?;
            let text = text?;
            let marks = [view, OWN_STATEMENT, OWN_COLUMN];
            if marks.iter().any(|mark| text.contains(mark)) {
                return None;
            }
            let number = |text: Option<String>| text?.parse::<f64>().ok();
            let totals = StatementTotals {
                text: without_declarations(&text).to_owned(),
                calls: number(calls)? as u64,
                time_us: number(time_us)?,
                rows: number(rows)? as u64,
                ..StatementTotals::default()
            };
            Some((key?, totals))
        });
        StatementStatistics {
            totals: totals.collect(),
            view,
            ..StatementStatistics::default()
        }
    }
}

fn read_postgres(control: &mut Control) -> Result<StatementStatistics, StatementsError> {
    let facts = control.query(
        "SELECT /* prony */ extnamespace::regnamespace::text, \
           (SELECT string_agg(attname, ' ') FROM pg_attribute WHERE attrelid = \
             to_regclass(extnamespace::regnamespace::text || '.pg_stat_statements') AND attnum > 0), \
           pg_has_role(current_user, 'pg_read_all_stats', 'usage'), \
           to_regclass(extnamespace::regnamespace::text || '.pg_stat_statements_info') \
         FROM pg_extension WHERE extname = 'pg_stat_statements'",
    )?;
    let Some([Some(schema), Some(columns), sees_all, info]) = facts.first().map(Vec::as_slice)
    else {
        return Err(StatementsError::Unavailable {
            problem: "the database has no extension pg_stat_statements, which counts statements",
            hint: "shared_preload_libraries = 'pg_stat_statements' (needs a restart), then CREATE EXTENSION pg_stat_statements",
        });
    };
    let has = |column: &str| columns.split(' ').any(|name| name == column);
    // Since PostgreSQL 13 and 14. Statements of functions are in the time of the statement that calls them.
    let time = if has("total_exec_time") { "total_exec_time" } else { "total_time" };
    let toplevel = if has("toplevel") { "AND toplevel" } else { "" };
    let query = format!(
        "SELECT queryid, min(query), sum(calls), sum({time}) * 1000, sum(rows) \
         FROM {schema}.pg_stat_statements \
         WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) \
           AND queryid IS NOT NULL {toplevel} AND query <> '<insufficient privilege>' \
         GROUP BY queryid"
    );
    let rows = control.query(&query).map_err(|error| {
        match error.sqlstate() {
            // Only the library counts, and only the server can load it.
            Some("55000") => StatementsError::Unavailable {
                problem: "the server has not loaded pg_stat_statements, which counts statements",
                hint: "shared_preload_libraries = 'pg_stat_statements', and a restart of the server",
            },
            _ => error.into(),
        }
    })?;
    let mut statistics = StatementStatistics::of_rows(rows, POSTGRES_VIEW);
    // Since PostgreSQL 14.
    if info.is_some() {
        let query = format!("SELECT dealloc FROM {schema}.pg_stat_statements_info");
        statistics.overflows = number(control.query_value(&query)?);
    }
    if sees_all.as_deref() != Some("t") {
        statistics.hidden = Some(
            "this user sees only statements of its own: GRANT pg_read_all_stats shows those of others",
        );
    }
    Ok(statistics)
}

fn read_mysql(control: &mut Control) -> Result<StatementStatistics, StatementsError> {
    if control.query_value("SELECT database()")?.is_none() {
        return Err(StatementsError::Unavailable {
            problem: "the URL names no database, whose statements are to be captured",
            hint: "mysql://user@host/database",
        });
    }
    let is_on = control.query_value("SELECT @@performance_schema")?;
    if is_on.as_deref() != Some("1") {
        return Err(StatementsError::Unavailable {
            problem: "the server's performance_schema is off, which counts statements",
            hint: "performance_schema = ON in the server's configuration, and a restart of the server",
        });
    }
    let rows = control.query(
        "SELECT digest, digest_text, count_star, sum_timer_wait / 1000000, \
           sum_rows_sent + sum_rows_affected \
         FROM performance_schema.events_statements_summary_by_digest \
         WHERE schema_name = database() AND digest IS NOT NULL",
    );
    let rows = rows.map_err(
        |error| match error.server_error().map(|error| error.number) {
            // ER_TABLEACCESS_DENIED_ERROR
            Some(1142) => StatementsError::Unavailable {
                problem: "this user may not read performance_schema, which counts statements",
                hint: "GRANT SELECT ON performance_schema.* TO the user",
            },
            _ => error.into(),
        },
    )?;
    let mut statistics = StatementStatistics::of_rows(rows, MYSQL_VIEW);
    // A full table has one row for the statements that it does not tell apart, of all databases.
    let query = "SELECT sum(count_star) FROM performance_schema.events_statements_summary_by_digest \
         WHERE digest IS NULL";
    statistics.overflows = number(control.query_value(query)?);
    read_prepared(control, &mut statistics)?;
    Ok(statistics)
}

/// Adds the prepared statements of the protocol, which have no digest. The server counts them until they are closed.
fn read_prepared(
    control: &mut Control,
    statistics: &mut StatementStatistics,
) -> Result<(), ControlError> {
    let rows = control.query(
        "SELECT concat('prepared-', sha1(p.sql_text)), p.sql_text, sum(p.count_execute), sum(p.sum_timer_execute) / 1000000, \
           sum(p.sum_rows_affected + p.sum_rows_sent) \
         FROM performance_schema.prepared_statements_instances p \
         JOIN performance_schema.threads t ON t.thread_id = p.owner_thread_id \
         WHERE t.processlist_db = database() AND t.processlist_id <> connection_id() GROUP BY p.sql_text",
    );
    let rows = match rows {
        // MySQL before 5.7 and MariaDB before 10.5 have no such table.
        Err(error) if error.server_error().is_some() => return Ok(()),
        rows => rows?,
    };
    let prepared = StatementStatistics::of_rows(rows, MYSQL_VIEW).totals;
    for (key, mut totals) in prepared {
        totals.has_literals = true;
        statistics.totals.insert(key, totals);
    }
    let executed = control.query_value(
        "SELECT count_star FROM performance_schema.events_statements_summary_global_by_event_name \
         WHERE event_name = 'statement/com/Execute'",
    )?;
    let open = control.query_value(
        "SELECT sum(count_execute) FROM performance_schema.prepared_statements_instances",
    )?;
    let (executed, open) = (number(executed), number(open));
    statistics.prepared = [executed, executed.saturating_sub(open)];
    Ok(())
}

/// The transactions among the last statements of each session of MySQL; none where the user may not read them, on MariaDB,
/// where the server does not keep them by default, and on other servers.
pub fn read_sequences(control: &mut Control) -> Result<Sequences, ControlError> {
    if control.dialect() != SqlDialect::MySql {
        return Ok(Sequences::new());
    }
    // Statements of procedures are nested in another statement.
    let rows = control.query(
        "SELECT h.thread_id, h.event_id, h.nesting_event_type, h.digest_text FROM performance_schema.events_statements_history h \
         JOIN performance_schema.threads t ON t.thread_id = h.thread_id \
         WHERE h.digest_text IS NOT NULL AND h.current_schema = database() AND t.processlist_id <> connection_id() \
           AND (h.nesting_event_type IS NULL OR h.nesting_event_type = 'TRANSACTION') \
         ORDER BY h.thread_id, h.event_id",
    );
    let rows = match rows {
        Err(error) if error.server_error().is_some() => return Ok(Sequences::new()),
        rows => rows?,
    };
    let rows = rows.into_iter().filter_map(|row| {
        let [thread, event, nesting, text] = row.try_into().ok()?;
        Some(([thread?, event?], nesting.is_some(), text?))
    });
    Ok(whole_transactions(rows))
}

/// The transactions of which both ends are there, of statements in the order of each session: its name and the statement's
/// number, whether it is within a transaction that began before it, and its text. A statement that is a transaction by
/// itself is one too.
fn whole_transactions(rows: impl Iterator<Item = ([String; 2], bool, String)>) -> Sequences {
    /// Its first statement, its statements, and whether it began with BEGIN.
    struct Open {
        key: String,
        texts: Vec<String>,
        has_begin: bool,
    }
    let (mut whole, mut session) = (Sequences::new(), String::new());
    let mut open: Option<Open> = None;
    for ([thread, event], is_within, text) in rows {
        if thread != session {
            (session, open) = (thread, None);
        }
        let word = text.split([' ', ';']).next().unwrap_or_default();
        let word = word.to_ascii_uppercase();
        if !is_within {
            // Only now is it known that the statement before it was alone.
            let alone = open
                .take()
                .filter(|open| !open.has_begin && open.texts.len() == 1);
            whole.extend(alone.map(|open| (open.key, open.texts)));
            let has_begin = matches!(&*word, "BEGIN" | "START");
            open = Some(Open {
                key: format!("{session} {event}"),
                texts: if has_begin { Vec::new() } else { vec![text] },
                has_begin,
            });
        } else if matches!(&*word, "COMMIT" | "ROLLBACK") {
            let is_whole = |open: &Open| word == "COMMIT" && !open.texts.is_empty();
            let ended = open.take().filter(is_whole);
            whole.extend(ended.map(|open| (open.key, open.texts)));
        } else if let Some(open) = &mut open {
            open.texts.push(text);
        }
    }
    whole
}

fn number(text: Option<String>) -> u64 {
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// The text of a statement of SQL Server without the types of its parameters, which the query store has before it.
fn without_declarations(text: &str) -> &str {
    if !text.starts_with("(@") {
        return text;
    }
    let mut depth = 0;
    let end = text.find(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth == 0
    });
    end.map_or(text, |end| text[end + 1..].trim_start())
}

/// Reads the query store, if the database has one that records: unlike the cache of plans it survives restarts, and forgets
/// no statement when memory is short.
fn read_query_store(control: &mut Control) -> Result<Option<StatementStatistics>, StatementsError> {
    let query =
        "SELECT actual_state, query_capture_mode_desc FROM sys.database_query_store_options";
    let options = match control.query(query) {
        Ok(options) => options,
        // Before SQL Server 2016 there is none; the cache of plans names the right that is missing.
        Err(error) if error.server_error().is_some() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    const READ_WRITE: &str = "2";
    let Some([Some(state), mode]) = options.first().map(Vec::as_slice) else {
        return Ok(None);
    };
    if state != READ_WRITE {
        return Ok(None);
    }
    // Its means are of successful executions in an interval.
    let rows = control.query(
        "SELECT /* prony */ CONVERT(varchar(18), q.query_hash, 1) + ' ' + CONVERT(varchar(20), p.plan_id), MIN(t.query_sql_text), \
           SUM(s.count_executions), SUM(s.count_executions * s.avg_duration), ROUND(SUM(s.count_executions * s.avg_rowcount), 0) \
         FROM sys.query_store_runtime_stats s \
         JOIN sys.query_store_plan p ON p.plan_id = s.plan_id \
         JOIN sys.query_store_query q ON q.query_id = p.query_id \
         JOIN sys.query_store_query_text t ON t.query_text_id = q.query_text_id \
         WHERE s.execution_type = 0 AND q.is_internal_query = 0 GROUP BY q.query_hash, p.plan_id",
    )?;
    let mut statistics = StatementStatistics::of_rows(rows, QUERY_STORE);
    statistics.hidden = mode.as_deref().filter(|mode| *mode != "ALL").map(|_| {
        "the query store leaves out statements that are rare or cheap: ALTER DATABASE CURRENT SET QUERY_STORE (QUERY_CAPTURE_MODE = ALL)"
    });
    Ok(Some(statistics))
}

fn read_sql_server(control: &mut Control) -> Result<StatementStatistics, StatementsError> {
    if let Some(statistics) = read_query_store(control)? {
        return Ok(statistics);
    }
    // Texts of one shape with different literals have one hash, and a plan each, whose counts vanish with it. Offsets
    // count bytes of UTF-16.
    let rows = control.query(
        "SELECT CONVERT(varchar(18), s.query_hash, 1) + ' ' + CONVERT(varchar(130), s.plan_handle, 1), MIN(t.statement), \
           SUM(s.execution_count), SUM(s.total_elapsed_time), SUM(s.total_rows) \
         FROM sys.dm_exec_query_stats s \
         CROSS APPLY sys.dm_exec_sql_text(s.sql_handle) x \
         CROSS APPLY (SELECT SUBSTRING(x.text, s.statement_start_offset / 2 + 1, \
             (CASE s.statement_end_offset WHEN -1 THEN DATALENGTH(x.text) ELSE s.statement_end_offset END \
              - s.statement_start_offset) / 2 + 1) AS statement) t \
         CROSS APPLY (SELECT CONVERT(int, value) AS dbid FROM sys.dm_exec_plan_attributes(s.plan_handle) \
           WHERE attribute = 'dbid') d \
         WHERE d.dbid = DB_ID() GROUP BY s.query_hash, s.plan_handle",
    );
    let rows = rows.map_err(|error| match error.server_error().map(|error| error.number) {
        Some(300 | 262) => StatementsError::Unavailable {
            problem: "this login may not read sys.dm_exec_query_stats, which counts statements",
            hint: "GRANT VIEW SERVER STATE TO the login (VIEW SERVER PERFORMANCE STATE since SQL Server 2022)",
        },
        _ => error.into(),
    })?;
    Ok(StatementStatistics::of_rows(rows, PLANS_VIEW))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statistics(rows: &[(&str, &str, u64, u64)]) -> StatementStatistics {
        let text = |text: &dyn ToString| Some(text.to_string());
        let rows = rows.iter().map(|(key, sql, calls, rows)| {
            vec![
                text(key),
                text(sql),
                text(calls),
                text(&(calls * 10)),
                text(rows),
            ]
        });
        StatementStatistics::of_rows(rows.collect(), POSTGRES_VIEW)
    }

    #[test]
    fn what_was_counted_between_two_readings_is_without_that_before() {
        let before = statistics(&[("1", "a", 5, 50), ("2", "b", 9, 9), ("3", "c", 7, 7)]);
        let after = statistics(&[
            ("1", "a", 15, 70),
            ("2", "b", 9, 9),
            // Forgotten and seen again.
            ("3", "c", 2, 3),
            ("4", "d", 100, 0),
            ("5", "select from pg_stat_statements", 1, 1),
            ("6", "select /* prony */ a from t", 1, 1),
        ]);
        let since = after.since(&before);
        let seen: Vec<_> = since
            .iter()
            .map(|totals| (&*totals.text, totals.calls, totals.time_us, totals.rows))
            .collect();
        let expected = [
            ("d", 100, 1000.0, 0),
            ("a", 10, 100.0, 20),
            ("c", 2, 20.0, 3),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn plans_of_a_statement_are_summed_after_the_subtraction() {
        let before = statistics(&[("0x1 0xa", "a", 900, 900), ("0x1 0xb", "b", 10, 10)]);
        let after = statistics(&[
            // The plan 0xa was forgotten.
            ("0x1 0xb", "b", 30, 30),
            ("0x1 0xc", "a", 5, 5),
            ("0x2 0xd", "SELECT `a` , ? AS `prony_sample` FROM `t`", 9, 9),
        ]);
        let since = after.since(&before);
        let seen: Vec<_> = since
            .iter()
            .map(|totals| (&*totals.text, totals.calls))
            .collect();
        assert_eq!(seen, [("a", 25)]);
    }

    #[test]
    fn the_query_store_has_the_types_of_parameters_before_a_text() {
        for (text, expected) in [
            (
                "(@P1 int,@P2 decimal(10,2))SELECT a FROM t",
                "SELECT a FROM t",
            ),
            (
                "(@a nvarchar(4000))\nUPDATE t SET a = @a",
                "UPDATE t SET a = @a",
            ),
            ("(SELECT 1)", "(SELECT 1)"),
            ("(@cut off", "(@cut off"),
        ] {
            assert_eq!(without_declarations(text), expected);
        }
    }

    #[test]
    fn transactions_that_are_remembered_from_their_first_to_their_last_statement_are_whole() {
        let rows = [
            // The beginning is forgotten.
            ("1", true, "UPDATE `t`"),
            ("1", true, "COMMIT"),
            ("1", false, "BEGIN"),
            ("1", true, "SELECT ?"),
            ("1", true, "UPDATE `t`"),
            ("1", true, "COMMIT"),
            // By itself.
            ("1", false, "SELECT ? + ?"),
            // Without autocommit the first statement begins the transaction.
            ("1", false, "INSERT `t`"),
            ("1", true, "DELETE `t`"),
            ("1", true, "COMMIT"),
            ("1", false, "START TRANSACTION"),
            ("1", true, "SELECT ?"),
            ("1", true, "ROLLBACK"),
            ("1", false, "BEGIN"),
            ("1", true, "SELECT ?"),
            ("2", true, "COMMIT"),
            ("2", false, "SELECT ?"),
        ];
        let rows = rows.iter().enumerate();
        let rows = rows.map(|(number, (thread, is_within, text))| {
            let key = [(*thread).to_owned(), format!("{number:02}")];
            (key, *is_within, (*text).to_owned())
        });
        let whole: Vec<Vec<String>> = whole_transactions(rows).into_values().collect();
        assert_eq!(
            whole,
            [
                vec!["SELECT ?", "UPDATE `t`"],
                vec!["SELECT ? + ?"],
                vec!["INSERT `t`", "DELETE `t`"],
            ]
        );
    }

    #[test]
    fn statistics_that_lost_statements_since_then_are_incomplete() {
        let of = |overflows| StatementStatistics {
            overflows,
            ..StatementStatistics::default()
        };
        let sentence = |dialect| of(3).incomplete_since(&of(2), dialect).unwrap_or_default();
        assert!(sentence(SqlDialect::MySql).contains("performance_schema_digests_size"));
        assert!(sentence(SqlDialect::PostgreSql).contains("pg_stat_statements.max"));
        assert_eq!(of(3).incomplete_since(&of(3), SqlDialect::MySql), None);
        // Of 100 executions of prepared statements, the server has forgotten the texts of 11.
        let prepared = |executed, closed| StatementStatistics {
            prepared: [executed, closed],
            ..of(0)
        };
        let since = |closed| {
            let after = prepared(150, closed);
            after.incomplete_since(&prepared(50, 20), SqlDialect::MySql)
        };
        assert!(
            since(31)
                .unwrap_or_default()
                .contains("capture a log instead")
        );
        assert_eq!(since(30), None);
    }
}
