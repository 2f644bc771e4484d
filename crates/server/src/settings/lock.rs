//! The lock that keeps two runs from changing the settings of one server at the same time.
//!
//! In: a [`Target`]. Out: a connection that holds the lock, or who holds it. Must never: wait for the lock, or outlive the
//! connection.

use crate::control::{Error as ControlError, TextRow};
use crate::mysql::{UserLock, take_user_lock};
use crate::{Control, ProtocolOptions, Target};
use prony_document::SqlDialect;

pub enum SettingsLock {
    /// This connection holds it until it is closed.
    Held(Box<Control>),
    /// Another session does; what the server tells of it.
    HeldByOther(Option<String>),
    /// The server has no such lock, as some Galera clusters, or this user may not take it.
    Absent,
}

/// The key of PostgreSQL's lock: the letters of the program's name.
const POSTGRES_KEY: (i32, i32) = (i32::from_be_bytes(*b"pron"), b'y' as i32);
/// The name of MySQL's and SQL Server's lock.
const LOCK_NAME: &str = "prony settings";

/// Whether a connection has taken the lock; of another session that holds it, what the server tells.
enum LockAttempt {
    Held,
    HeldByOther(Option<String>),
}

/// Takes the lock on a new connection.
pub fn lock_settings(target: &Target) -> Result<SettingsLock, ControlError> {
    let mut target = target.clone();
    target.set_program_name("prony");
    target.has_own_statements = true;
    let is_sql_server = matches!(target.protocol, ProtocolOptions::SqlServer(_));
    if is_sql_server {
        // Its locks are of one database, and some options of a database can be set only while it has no other session.
        "master".clone_into(&mut target.database);
    }
    let mut control = match Control::connect(&target) {
        // A user of one database, as on Azure SQL, may not use `master`.
        Err(error) if is_sql_server && error.server_error().is_some() => {
            return Ok(SettingsLock::Absent);
        }
        control => control?,
    };
    let attempt = match control.dialect() {
        SqlDialect::PostgreSql => lock_postgres(&mut control, &target)?,
        SqlDialect::MySql => match take_user_lock(&mut control, &format!("'{LOCK_NAME}'"), 0)? {
            UserLock::Held => LockAttempt::Held,
            UserLock::HeldByOther => LockAttempt::HeldByOther(holder_in_mysql(&mut control)),
            UserLock::Refused => return Ok(SettingsLock::Absent),
        },
        SqlDialect::TransactSql => lock_sql_server(&mut control)?,
    };
    Ok(match attempt {
        LockAttempt::Held => SettingsLock::Held(Box::new(control)),
        LockAttempt::HeldByOther(holder) => SettingsLock::HeldByOther(holder),
    })
}

/// Locks, in a transaction, so that a pooler keeps the session. PostgreSQL's lock is that of one database, but all
/// sessions see it: two that lock at the same time in different databases both give way.
fn lock_postgres(control: &mut Control, target: &Target) -> Result<LockAttempt, ControlError> {
    let (first, second) = POSTGRES_KEY;
    control.execute("BEGIN")?;
    let lock = "SELECT pg_try_advisory_xact_lock($1::text::int, $2::text::int), pg_backend_pid()";
    let rows = control.query_with(lock, &[&first.to_string(), &second.to_string()])?;
    let [is_locked, own_pid] = cells(rows);
    // In another session: a transaction that reads the views locks them.
    let find_other = "SELECT concat('process ', l.pid, ', role ' || a.usename, ', database ' || a.datname, \
                  ', from ' || host(a.client_addr), ', since ' || to_char(a.backend_start, 'YYYY-MM-DD HH24:MI:SS TZ')) \
                  FROM pg_locks AS l LEFT JOIN pg_stat_activity AS a ON a.pid = l.pid \
                  WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 2 AND l.classid::text = $1 \
                  AND l.objid::text = $2 AND l.pid::text <> $3";
    let keys = [
        &first.to_string(),
        &second.to_string(),
        own_pid.as_deref().unwrap_or_default(),
    ];
    let [other] = cells(Control::connect(target)?.query_with(find_other, &keys)?);
    let is_free = is_locked.as_deref() == Some("t") && other.is_none();
    Ok(if is_free { LockAttempt::Held } else { LockAttempt::HeldByOther(other) })
}

fn holder_in_mysql(control: &mut Control) -> Option<String> {
    let holder = control.query_value(&format!(
        "SELECT CONCAT_WS(', ', CONCAT('connection ', h.id), CONCAT('user ', p.user), CONCAT('from ', p.host)) \
         FROM (SELECT IS_USED_LOCK('{LOCK_NAME}') AS id) AS h \
         LEFT JOIN information_schema.processlist AS p ON p.id = h.id WHERE h.id IS NOT NULL"
    ));
    holder.ok().flatten()
}

fn lock_sql_server(control: &mut Control) -> Result<LockAttempt, ControlError> {
    let locked = control.query_value(&format!(
        "DECLARE @result int; \
         EXEC @result = sp_getapplock '{LOCK_NAME}', 'Exclusive', 'Session', 0; \
         SELECT @result"
    ))?;
    if locked.as_deref() == Some("0") {
        return Ok(LockAttempt::Held);
    }
    // Only administrators may see who holds it.
    let holder = control.query_value(&format!(
        "SELECT TOP (1) concat('session ', s.session_id, ', login ', s.login_name, ', from ', s.host_name) \
         FROM sys.dm_tran_locks AS l JOIN sys.dm_exec_sessions AS s ON s.session_id = l.request_session_id \
         WHERE l.resource_type = 'APPLICATION' AND l.resource_description LIKE '%{LOCK_NAME}%'"
    ));
    Ok(LockAttempt::HeldByOther(holder.ok().flatten()))
}

/// The first cells of the first row; `None` for NULL, or without a row.
fn cells<const COUNT: usize>(rows: Vec<TextRow>) -> [Option<String>; COUNT] {
    let mut cells = rows.into_iter().next().unwrap_or_default().into_iter();
    std::array::from_fn(|_| cells.next().flatten())
}
