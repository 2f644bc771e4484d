//! Finds a pooler between client and server by the signs in the protocol.
//!
//! In: a control connection. Out: a [`FoundPooler`]. Must never: call a server pooled whose sessions are its own; query an
//! administration console; leave a connection open.
//!
//! A log-in names its session: PostgreSQL's process id, MySQL's connection id. A pooler answers the log-in itself, so
//! that its statements are executed by another session. Only then are more connections made, whose errors may name it.

use super::cell;
use crate::control::{Account, Control, Error, FailureCause};
use prony_document::{FoundPooler, Pooler, Service, SqlDialect};
use prony_wire::ConnectError;
use std::sync::Arc;
use std::time::Duration;

/// How long a further connection may take: a pooler may let it wait for a session.
const PROBE_LIMIT: Duration = Duration::from_secs(2);

/// A start-up parameter and a database that no server has. PostgreSQL accepts the first, as a setting of an extension.
const UNKNOWN_NAME: &str = "prony.probe";

/// How many times two connections ask for their session.
const SHARING_ROUNDS: usize = 4;

/// Finds the pooler. On a service with another engine only one that names itself is found, because the ids of its sessions
/// may have another meaning.
///
/// # Errors
/// The connection is lost, or the server refuses what would show one.
pub(super) fn find_pooler(
    control: &mut Control,
    service: Option<Service>,
) -> Result<Option<FoundPooler>, Error> {
    let version = control.parameter("server_version").unwrap_or_default();
    let version = version.to_owned();
    let in_version = named_by(&version);
    let found = match control.dialect() {
        SqlDialect::PostgreSql => in_version.or(find_postgres_pooler(control)?),
        SqlDialect::MySql => in_version.or(find_mysql_pooler(control)?),
        SqlDialect::TransactSql => None,
    };
    let has_other_ids = service.is_some_and(|service| service.quirks().is_other_engine);
    let found = found.filter(|found| found.product.is_some() || !has_other_ids);
    Ok(match found {
        Some(found) => Some(FoundPooler {
            shares_sessions: shares_sessions(control)?,
            ..found
        }),
        None => None,
    })
}

fn named_by(text: &str) -> Option<FoundPooler> {
    let product = Pooler::recognize(text)?;
    Some(FoundPooler {
        product: Some(product),
        sign: format!("it answers \"{text}\""),
        shares_sessions: false,
    })
}

/// A pooler that is shown only by the session that executes statements.
fn unnamed(log_in: u32, session: u32) -> FoundPooler {
    FoundPooler {
        product: None,
        sign: format!(
            "the log-in names session {log_in}, but session {session} executes the statements"
        ),
        shares_sessions: false,
    }
}

/// The statement that tells which session executes it. ProxySQL answers `SELECT CONNECTION_ID()` itself.
fn session_query(dialect: SqlDialect) -> &'static str {
    match dialect {
        SqlDialect::MySql => "select (connection_id() + 0) % 4294967296",
        SqlDialect::PostgreSql | SqlDialect::TransactSql => "select pg_backend_pid()",
    }
}

/// The first value of a query, if it is not NULL.
fn value(control: &mut Control, sql: &str) -> Result<Option<String>, Error> {
    let rows = control.query(sql)?;
    Ok(rows.first().and_then(|row| cell(row, 0).map(str::to_owned)))
}

/// The session that executes this connection's statements, if it is not the one that the log-in named.
fn other_session(control: &mut Control) -> Result<Option<u32>, Error> {
    let session = value(control, session_query(control.dialect()))?;
    let session = session.and_then(|id| id.parse().ok());
    // Some engines name no session.
    let named = control.backend_pid();
    Ok(session.filter(|session| named != 0 && *session != named))
}

fn find_postgres_pooler(control: &mut Control) -> Result<Option<FoundPooler>, Error> {
    let Some(session) = other_session(control)? else {
        return Ok(None);
    };
    // Which parameters and databases exist is what poolers answer in their own words.
    let unknown_parameter = refusal_of_log_in(control, |login| {
        login
            .parameters
            .push((UNKNOWN_NAME.to_owned(), "1".to_owned()));
    });
    let named = unknown_parameter.as_deref().and_then(named_by);
    let named = named.or_else(|| {
        let unknown_database = refusal_of_log_in(control, |login| {
            UNKNOWN_NAME.clone_into(&mut login.database)
        });
        named_by(&unknown_database?)
    });
    Ok(Some(named.unwrap_or_else(|| {
        unnamed(control.backend_pid(), session)
    })))
}

fn find_mysql_pooler(control: &mut Control) -> Result<Option<FoundPooler>, Error> {
    // ProxySQL answers this text, which MySQL's client sends first, itself.
    let comment = value(control, "select @@version_comment limit 1")?;
    if let Some(named) = comment.as_deref().and_then(named_by) {
        return Ok(Some(named));
    }
    let Some(session) = other_session(control)? else {
        return Ok(None);
    };
    // MaxScale sets these variables itself and refuses what it does not know; to a server it is a name like others. By
    // default its log-in names the server's version.
    let named = match control.execute("set @maxscale.prony = 1") {
        Err(Error::Statement(refused)) => named_by(&refused.message),
        result => {
            result?;
            None
        }
    };
    Ok(Some(named.unwrap_or_else(|| {
        unnamed(control.backend_pid(), session)
    })))
}

/// The error of a further log-in that `change` alters; `None` if it is accepted, or not answered.
fn refusal_of_log_in(
    control: &Control,
    change: impl FnOnce(&mut prony_wire::postgres::Login),
) -> Option<String> {
    let refused = control.connect_again(PROBE_LIMIT, |route| {
        if let Account::Postgres(login) = &mut route.account {
            change(Arc::make_mut(login));
        }
    });
    let Err(Error::Connect(failures)) = refused else {
        return None;
    };
    failures
        .into_iter()
        .find_map(|failure| match failure.cause {
            FailureCause::Login(ConnectError::Server(error)) => Some(error.message),
            _ => None,
        })
}

/// Whether a session serves this connection and another one that is open at the same time.
fn shares_sessions(control: &mut Control) -> Result<bool, Error> {
    let Ok(mut other) = control.connect_again(PROBE_LIMIT, |_| ()) else {
        return Ok(false);
    };
    let sql = session_query(control.dialect());
    let (mut own, mut others) = (Vec::new(), Vec::new());
    for _ in 0..SHARING_ROUNDS {
        // A pooler whose sessions are all in use lets it wait.
        let Ok(of_other) = value(&mut other, sql) else {
            break;
        };
        others.extend(of_other);
        own.extend(value(control, sql)?);
    }
    let changes = |ids: &[String]| ids.iter().any(|id| *id != ids[0]);
    Ok(changes(&own) || changes(&others) || own.iter().any(|id| others.contains(id)))
}
