//! What a scenario asks of the server before its run: cold caches, indexes, a vacuum, warm caches.
//!
//! In: a control connection. Out: the server as the scenario wants it. Must never: touch a table that
//! is not the workload's own; say that something was done which was not.

use crate::command::{output, server};
use crate::exit::{Exit, Failure};
use crate::shell;
use crate::signals::Signals;
use prony_judge::thresholds::SAME_START_S;
use prony_plan::scenario::Scenario;
use prony_report::units;
use prony_server::observe::{observe, state};
use prony_server::{Control, Product, Target};
use std::time::{Duration, Instant};

/// How long a server that was restarted may take to answer: it may have to recover first.
const PATIENCE: Duration = Duration::from_secs(600);
/// Time between two looks whether it does.
const PAUSE: Duration = Duration::from_millis(250);
/// Connections beside those of the clients: the observer's, the count's, a spare one.
pub const SPARE: u64 = 3;

/// Connections that this server has left for clients; absent where it does not say.
pub fn room(control: &mut Control) -> Option<u64> {
    let sql = match control.product() {
        Product::Postgres => {
            "SELECT sum(CASE WHEN name = 'max_connections' THEN setting::int ELSE -setting::int END) \
             - (SELECT sum(numbackends) FROM pg_stat_database) + 1 FROM pg_settings WHERE name IN \
             ('max_connections', 'superuser_reserved_connections', 'reserved_connections')"
        }
        Product::Mysql | Product::MariaDb => "SELECT @@global.max_connections",
    };
    let number = |text: String| text.parse::<i64>().ok();
    let mut left = control.query_value(sql).ok().flatten().and_then(number)?;
    if control.product() != Product::Postgres {
        let rows = control
            .query("SHOW GLOBAL STATUS LIKE 'Threads_connected'")
            .ok()?;
        let connected = rows.first()?.get(1)?.clone().and_then(number)?;
        // This connection is one of them, and is closed before the run.
        left -= connected - 1;
    }
    u64::try_from(left)
        .ok()
        .map(|left| left.saturating_sub(SPARE).max(1))
}

/// Restarts the server; whether it was: a command may end before the restart begins, or restart
/// nothing.
///
/// # Errors
/// The command fails, or the server does not answer again.
pub fn restart(command: &str, target: &Target, signals: &Signals) -> Result<bool, Failure> {
    let was = started(&mut server::connect(target)?);
    output::tell("Restarting the server, as --restart-command says.");
    let status = shell::run(command, &[], signals)
        .map_err(|error| Failure::new(Exit::Unexpected, format!("cannot start sh: {error}"), ""))?;
    ended(signals)?;
    if !status.success() {
        let what = format!("the restart command failed: {status}");
        let hint = "what it printed stands above; old tables of the workload are dropped, and nothing is loaded";
        return Err(Failure::new(Exit::Connect, what, hint));
    }
    let since = Instant::now();
    loop {
        ended(signals)?;
        match server::connect(target) {
            Ok(mut control) => {
                let is = started(&mut control);
                // Only PostgreSQL tells when it started; others for how long they have run.
                let least_s = match control.product() {
                    Product::Postgres => 0.0,
                    Product::Mysql | Product::MariaDb => SAME_START_S,
                };
                let anew = was.zip(is).is_some_and(|(was, is)| is - was > least_s);
                if !anew {
                    output::tell(
                        "The server answers, and has run since before the restart command: its caches \
                         are not cold.",
                    );
                }
                return Ok(anew);
            }
            Err(failure) if since.elapsed() > PATIENCE => return Err(failure),
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}

/// When the server was started, seconds since 1970 on its own clock.
fn started(control: &mut Control) -> Option<f64> {
    let facts = observe(control).ok()?;
    state(control, &facts).ok()?.started_unix_s
}

/// Creates the indexes that a scenario has on `pgbench_history`.
pub fn indexes(control: &mut Control, one: &Scenario) -> Result<(), Failure> {
    for column in &one.indexes {
        output::tell(&format!(
            "Creating an index on {column} of pgbench_history."
        ));
        let product = control.product();
        let name = product.quote_identifier(&format!("pgbench_history_{column}_idx"));
        let column = product.quote_identifier(column);
        // A table is loaded anew without them; data that is there may have them.
        execute(
            control,
            &format!("CREATE INDEX IF NOT EXISTS {name} ON pgbench_history ({column})"),
        )?;
    }
    Ok(())
}

/// Vacuums and analyses tables, as pgbench does where it is asked to.
pub fn vacuum(control: &mut Control, tables: &[String]) -> Result<(), Failure> {
    if control.product() != Product::Postgres {
        return Ok(());
    }
    output::tell("Vacuuming.");
    for table in tables {
        let table = control.product().quote_identifier(table);
        execute(control, &format!("VACUUM ANALYZE {table}"))?;
    }
    Ok(())
}

/// Reads tables, so that they are in the server's cache as far as they fit.
pub fn prewarm(control: &mut Control, tables: &[String], signals: &Signals) -> Result<(), Failure> {
    let product = control.product();
    let extension = product == Product::Postgres && {
        let sql = "SELECT count(*) FROM pg_extension WHERE extname = 'pg_prewarm'";
        control.query_value(sql).ok().flatten().as_deref() == Some("1")
    };
    let how = match (product, extension) {
        (Product::Postgres, true) => "with pg_prewarm",
        (Product::Postgres, false) => {
            "by scans, which fill shared_buffers to a part only (the extension pg_prewarm would fill them)"
        }
        _ => "row by row",
    };
    let tables_read = units::counted(tables.len() as u64, "table", "tables");
    output::tell(&format!(
        "Reading {tables_read}, so that they are cached: {how}."
    ));
    for table in tables {
        ended(signals)?;
        let name = product.quote_identifier(table);
        let sql = match product {
            Product::Postgres if extension => format!(
                "SELECT sum(pg_prewarm(c.oid)) FROM pg_class c WHERE c.relkind IN ('r', 'i') AND \
                 (c.oid = {table}::regclass OR c.oid IN (SELECT indexrelid FROM pg_index WHERE \
                 indrelid = {table}::regclass))",
                table = product.quote_literal(&name),
            ),
            Product::Postgres => format!("SELECT count(*) FROM {name}"),
            _ => format!("CHECKSUM TABLE {name}"),
        };
        control
            .query(&sql)
            .map_err(|error| server::told(Exit::Connect, &error.to_string()))?;
    }
    Ok(())
}

fn execute(control: &mut Control, sql: &str) -> Result<(), Failure> {
    control
        .execute(sql)
        .map(drop)
        .map_err(|error| server::told(Exit::Load, &error.to_string()))
}

/// Ends here if a signal asked for the end.
pub fn ended(signals: &Signals) -> Result<(), Failure> {
    match signals.asked() {
        None => Ok(()),
        Some((exit, name)) => {
            let hint = "tables that were loaded are still there";
            Err(Failure::new(
                exit,
                format!("ended by {name} before the run"),
                hint,
            ))
        }
    }
}
