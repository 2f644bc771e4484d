//! Checks whether a silent server still serves a connection.
//!
//! In: the connection's socket, its route, its process or connection id. Out: why the
//! connection is lost, or nothing. Must never: give up a server that executes a statement, even a long one.

use super::connect_failure::{ConnectFailure, FailureCause};
use super::error::Error;
use super::open::{NewConnection, cause_of_io_error, log_in};
use super::route::{Account, Route};
use super::socket::Deadline;
use prony_wire::{ConnectError, QueryMode};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

/// Time limit of a probe if the user set no limit for connecting.
const PROBE_TIMEOUT: Duration = Duration::from_secs(60);

/// Why a silent connection counts as lost.
#[derive(Debug)]
pub enum LossReason {
    /// A second connection got no answer either.
    Unanswered(ConnectFailure),
    /// The server answered a second connection, but packets sent on the first are not acknowledged.
    Unacknowledged,
    /// The server answered a second connection, and reports that it waits for the client of the
    /// first.
    ServerWaitsForClient,
    /// The server answered a second connection, and no longer has the session of the first.
    SessionGone,
}

enum SessionStatus {
    /// The session is executing a statement, or its status is not known.
    ActiveOrUnknown,
    /// The session waits for the client to send or to read.
    WaitsForClient,
    /// The session does not exist.
    Gone,
}

pub(super) struct ProbeTarget {
    pub(super) route: Route,
    /// The process id or connection id of the session; 0: not known.
    pub(super) session_id: u32,
}

/// Checks whether the connection is lost, with a second connection. A refused second connection is
/// an answer too: it comes from the server, from a proxy at its connection limit, or from a host on
/// which nothing listens any more. If the server had exited, that host would have closed the first
/// connection. A probe that a signal interrupts has no result; the same signal ends the next wait.
pub(super) fn probe(
    target: &ProbeTarget,
    socket: &OwnedFd,
    silence: Duration,
    deadline: Deadline,
) -> Option<LossReason> {
    let limit = match target.route.connect_limit {
        Duration::MAX => PROBE_TIMEOUT,
        limit => limit,
    };
    let deadline = Deadline::after(Some(limit)).min(deadline);
    let mut route = target.route.clone();
    // The probe's connection is not probed itself.
    route.wait_options.io_timeout = None;
    let status = log_in(route, deadline, QueryMode::Simple)
        .map_err(|failed| failed.failure.cause)
        .and_then(|opened| session_status(opened, target, deadline));
    match status {
        Err(cause) if is_no_answer(&cause) => Some(LossReason::Unanswered(ConnectFailure {
            endpoint: Box::new(target.route.endpoint.clone()),
            cause,
        })),
        _ if is_unacknowledged(socket, silence) => Some(LossReason::Unacknowledged),
        Ok(SessionStatus::WaitsForClient) => Some(LossReason::ServerWaitsForClient),
        Ok(SessionStatus::Gone) => Some(LossReason::SessionGone),
        Ok(SessionStatus::ActiveOrUnknown) | Err(_) => None,
    }
}

fn is_no_answer(cause: &FailureCause) -> bool {
    use io::ErrorKind::{HostUnreachable, NetworkDown, NetworkUnreachable};
    match cause {
        FailureCause::Timeout
        | FailureCause::Login(ConnectError::StrictTlsRefused { is_silent: true }) => true,
        FailureCause::Io(error) => matches!(
            error.kind(),
            HostUnreachable | NetworkUnreachable | NetworkDown
        ),
        _ => false,
    }
}

/// Queries the status of the probed session. If a proxy dropped only one side of the session's
/// connection, both ends wait for each other, or the client waits for a session that no longer
/// exists. A pooler has its own session ids, so a different session may have this id: user, database
/// and program must match, and a session counts as gone only if the probe's own session has the id
/// that its login reported.
fn session_status(
    mut opened: NewConnection,
    target: &ProbeTarget,
    deadline: Deadline,
) -> Result<SessionStatus, FailureCause> {
    let (session, probe_session) = (target.session_id, opened.session.cancel.backend_pid);
    opened.connection.set_deadline(deadline);
    let sql = match (&target.route.account, session) {
        // Without an id, check only that a statement is answered: a proxy or pooler accepts
        // connections even if its server no longer does.
        (_, 0) => "SELECT 'unknown'".to_owned(),
        (Account::Postgres(_), _) => format!(
            "SELECT CASE WHEN EXISTS (SELECT 1 FROM pg_stat_activity WHERE pid = {session} AND \
             usename = current_user AND datname = current_database() AND \
             application_name = current_setting('application_name') AND \
             wait_event IN ('ClientRead', 'ClientWrite')) THEN 'waits' \
             WHEN pg_backend_pid() = {probe_session} AND NOT EXISTS \
             (SELECT 1 FROM pg_stat_activity WHERE pid = {session}) THEN 'gone' ELSE 'unknown' END"
        ),
        // Without the permission a login sees only its own session.
        (Account::Tds(_), _) => format!(
            "SELECT CASE WHEN EXISTS (SELECT 1 FROM sys.dm_exec_sessions WHERE session_id = {session} AND \
             login_name = ORIGINAL_LOGIN() AND status = 'sleeping') THEN 'waits' \
             WHEN @@SPID = {probe_session} AND HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER STATE') = 1 AND \
             NOT EXISTS (SELECT 1 FROM sys.dm_exec_sessions WHERE session_id = {session}) \
             THEN 'gone' ELSE 'unknown' END"
        ),
        (Account::Mysql(_), _) => format!(
            "SELECT CASE WHEN EXISTS (SELECT 1 FROM information_schema.processlist WHERE id = {session} AND \
             user = substring_index(current_user(), '@', 1) AND (command = 'Sleep' OR state IN \
             ('Reading from net', 'Receiving from client', 'Writing to net', 'Sending to client'))) \
             THEN 'waits' WHEN connection_id() = {probe_session} AND NOT EXISTS \
             (SELECT 1 FROM information_schema.processlist WHERE id = {session}) \
             THEN 'gone' ELSE 'unknown' END"
        ),
    };
    match opened.connection.request(|exchange| exchange.query(&sql)) {
        Ok(()) => {
            let first_row = opened.connection.exchange().rows().next();
            Ok(match first_row.and_then(|(_, row)| row.text(0)) {
                Some("waits") => SessionStatus::WaitsForClient,
                Some("gone") => SessionStatus::Gone,
                _ => SessionStatus::ActiveOrUnknown,
            })
        }
        Err(Error::Io(error)) => Err(cause_of_io_error(error)),
        Err(Error::Interrupted) => Err(FailureCause::Interrupted),
        Err(Error::Closed) => Err(FailureCause::Closed),
        // An error of the statement is an answer too.
        Err(_) => Ok(SessionStatus::ActiveOrUnknown),
    }
}

/// Whether retransmitted packets have not been acknowledged for `limit`. The kernel retransmits for
/// about 15 minutes (`tcp_retries2`) and sends no keepalive probes meanwhile. `TCP_USER_TIMEOUT`
/// would be shorter, but also ends connections to a live peer that does not read, such as a `COPY`
/// that waits for a lock. Such a peer still acknowledges.
fn is_unacknowledged(socket: &OwnedFd, limit: Duration) -> bool {
    // SAFETY: all-zero bytes are a valid `tcp_info`, which contains only numbers.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the descriptor is open; `info` and `length` are valid for writing, and `length` is the size.
    let status = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            std::ptr::from_mut(&mut info).cast(),
            &mut length,
        )
    };
    // A unix socket does not have this information; it loses no data.
    status == 0
        && info.tcpi_unacked > 0
        && info.tcpi_retransmits > 0
        && Duration::from_millis(info.tcpi_last_ack_recv.into()) >= limit
}
