//! Opens a blocking connection: endpoints, routes, time-outs and session attributes.
//!
//! In: a [`Target`]. Out: a connection, or the failures of all attempts. Must never: try a wrong
//! password on a second server.

use super::connect_failure::{ConnectFailure, FailureCause};
use super::connection::BlockingConnection;
use super::error::Error;
use super::route::{Account, AfterFailure, FailedAttempt, Route, routes_to_endpoint};
use super::socket::{Deadline, Socket};
use super::waiting::WaitError;
use crate::target::{AddressRace, Endpoint, ProtocolOptions, SessionAttrs, Target};
use prony_wire::login::LoginProgress;
use prony_wire::mysql::SessionUse;
use prony_wire::{Channel, ConnectError, Exchange, PendingLogin, QueryMode, Session};
use std::io;
use std::sync::atomic::Ordering;

pub(super) struct NewConnection {
    pub connection: BlockingConnection,
    pub route: Route,
    pub session: Session,
}

/// Tries endpoints and routes until a session matches. `mode`: how statements are sent. `session_use`: what they are.
pub(super) fn connect(
    target: &Target,
    mode: QueryMode,
    session_use: SessionUse,
) -> Result<NewConnection, Error> {
    if let Some(race) = target.address_race() {
        return connect_to_first_answer(target, race, mode);
    }
    let mut failures = Vec::new();
    // `prefer-standby` is two searches: the second accepts any server.
    let attrs = target.session_attrs();
    let searches: &[SessionAttrs] = match &attrs {
        SessionAttrs::PreferStandby => &[SessionAttrs::Standby, SessionAttrs::Any],
        other => std::slice::from_ref(other),
    };
    for wanted in searches {
        for endpoint in &target.endpoints {
            let attempt = |route, deadline| {
                let mut opened = log_in(route, deadline, mode)?;
                let checked = opened
                    .connection
                    .check_session(*wanted, &opened.session, deadline);
                let checked =
                    checked.and_then(|()| prepare_session(&mut opened, target, session_use));
                checked.map_err(|cause| opened.route.failure(cause, false))?;
                Ok(opened)
            };
            match connect_endpoint(target, endpoint, attempt, &mut failures) {
                Ok(opened) => return Ok(opened),
                Err(AfterFailure::GiveUp) => return Err(Error::Connect(failures)),
                Err(AfterFailure::NextRoute | AfterFailure::NextEndpoint) => {}
            }
        }
    }
    Err(Error::Connect(failures))
}

/// Gives a session what its statements need. On MySQL and MariaDB, checks the state in which sessions begin: if it is not
/// that, sets it, and lets all later connections do so. The session is open: its statements may take as long as others.
fn prepare_session(
    opened: &mut NewConnection,
    target: &Target,
    session_use: SessionUse,
) -> Result<(), FailureCause> {
    let connection = &mut opened.connection;
    let prepared = match &target.protocol {
        ProtocolOptions::MySql(_) => set_mysql_state(connection, target, session_use),
        ProtocolOptions::PostgreSql(_) if session_use == SessionUse::Control => {
            let sql = without_time_limits(opened.session.cancel.backend_pid);
            connection.request(|exchange| exchange.query(&sql))
        }
        ProtocolOptions::PostgreSql(_) | ProtocolOptions::SqlServer(_) => Ok(()),
    };
    match prepared {
        // A statement that fails in `init_connect` ends the connection.
        Err(error) if error.is_lost() => Err(FailureCause::SessionCheckFailed(Box::new(error))),
        // A compatible engine may lack these settings.
        _ => Ok(()),
    }
}

fn set_mysql_state(
    connection: &mut BlockingConnection,
    target: &Target,
    session_use: SessionUse,
) -> Result<(), Error> {
    connection.request(|exchange| exchange.query(session_use.check()))?;
    let first_row = connection.exchange().rows().next();
    let is_wrong = |column| first_row.as_ref().and_then(|(_, row)| row.text(column)) == Some("0");
    let is_wrong_for_clients = is_wrong(0);
    if !is_wrong_for_clients && !is_wrong(1) {
        return Ok(());
    }
    let reads = target.read_target.as_deref().into_iter();
    let reads = reads.flat_map(|reads| std::iter::once(reads).chain(&reads.additional_targets));
    let own = std::iter::once(target).chain(&target.additional_targets);
    for target in own.chain(reads) {
        if let ProtocolOptions::MySql(options) = &target.protocol {
            options
                .sets_session
                .fetch_or(is_wrong_for_clients, Ordering::Relaxed);
        }
    }
    connection.request(|exchange| exchange.query(session_use.set()))
}

/// Ends PostgreSQL's time limits for statements and pauses in the session of this process, which a role or database may
/// have. A session that a pooler shares with other clients is served by another process, and keeps them.
fn without_time_limits(backend_pid: u32) -> String {
    format!(
        "SELECT set_config('statement_timeout', '0', false) WHERE pg_backend_pid() = {backend_pid}; \
         SELECT set_config(name, '0', false) FROM pg_settings WHERE setting <> '0' AND name IN ('transaction_timeout', \
         'idle_in_transaction_session_timeout', 'idle_session_timeout') AND pg_backend_pid() = {backend_pid}"
    )
}

/// Connects to all endpoints at once, and logs in at the first that answers.
fn connect_to_first_answer(
    target: &Target,
    race: &AddressRace,
    mode: QueryMode,
) -> Result<NewConnection, Error> {
    let endpoints = target.endpoints.iter();
    // Each endpoint has one route in the protocols that race.
    let routes: Vec<Route> = endpoints
        .flat_map(|endpoint| routes_to_endpoint(target, endpoint).into_iter().take(1))
        .collect();
    let deadline = Deadline::after(Some(target.connect_limit()));
    let (index, socket) = Socket::connect_first(&routes, deadline).map_err(|errors| {
        let causes = errors.into_iter().map(cause_of_io_error);
        let failures = routes.iter().zip(causes);
        Error::Connect(
            failures
                .map(|(route, cause)| route.failure(cause, false).failure)
                .collect(),
        )
    })?;
    race.record_answer(index);
    let route = &routes[index];
    let opened = log_in_over(socket, route.clone(), deadline, mode);
    let opened = opened.or_else(|failed| match route.redirected(&failed.failure.cause) {
        Some(redirected) => log_in(redirected, deadline, mode),
        None => Err(failed),
    });
    opened.map_err(|failed| Error::Connect(vec![failed.failure]))
}

/// Tries the routes to one endpoint; an error says whether to try the next endpoint.
fn connect_endpoint(
    target: &Target,
    endpoint: &Endpoint,
    attempt: impl Fn(Route, Deadline) -> Result<NewConnection, FailedAttempt>,
    failures: &mut Vec<ConnectFailure>,
) -> Result<NewConnection, AfterFailure> {
    for route in routes_to_endpoint(target, endpoint) {
        // As in libpq, the limit applies to each address and includes the session check.
        let deadline = Deadline::after(Some(target.connect_limit()));
        let failed = match attempt(route.clone(), deadline) {
            Ok(opened) => return Ok(opened),
            Err(failed) => failed,
        };
        let next = route.after_failure(failed.over_tls, &failed.failure.cause);
        failures.push(failed.failure);
        if next != AfterFailure::NextRoute {
            return Err(next);
        }
    }
    // A reachable server refused every route: do not try other endpoints.
    Err(AfterFailure::GiveUp)
}

/// Makes one attempt, at the server to which the login is routed if it is.
pub(super) fn log_in(
    mut route: Route,
    deadline: Deadline,
    mode: QueryMode,
) -> Result<NewConnection, FailedAttempt> {
    loop {
        match log_in_once(route.clone(), deadline, mode) {
            Ok(opened) => return Ok(opened),
            // A login fails after too many servers that route it on: this ends.
            Err(failed) => match route.redirected(&failed.failure.cause) {
                Some(redirected) => route = redirected,
                None => return Err(failed),
            },
        }
    }
}

fn log_in_once(
    route: Route,
    deadline: Deadline,
    mode: QueryMode,
) -> Result<NewConnection, FailedAttempt> {
    let socket = Socket::connect(&route, deadline)
        .map_err(|error| route.failure(cause_of_io_error(error), false))?;
    log_in_over(socket, route, deadline, mode)
}

fn log_in_over(
    mut socket: Socket,
    route: Route,
    deadline: Deadline,
    mode: QueryMode,
) -> Result<NewConnection, FailedAttempt> {
    let mut login = route.new_login();
    let (session, channel) = run_login(&socket, deadline, &mut login).map_err(|cause| {
        let cause = match cause {
            FailureCause::Closed | FailureCause::Timeout if login.awaits_strict_tls() => {
                let is_silent = matches!(cause, FailureCause::Timeout);
                FailureCause::Login(ConnectError::StrictTlsRefused { is_silent })
            }
            cause => cause,
        };
        route.failure(cause, login.uses_tls())
    })?;
    socket.enable_probes(&route, session.cancel.backend_pid);
    let exchange = match route.account {
        // `true`: each reply includes the row description, which has the number of columns.
        Account::Postgres(_) => Exchange::postgres(mode, true).with_copy(),
        Account::Mysql(_) => Exchange::mysql(mode),
        Account::Tds(_) => Exchange::tds(mode),
    };
    Ok(NewConnection {
        connection: BlockingConnection::new(socket, channel, &session, exchange),
        route,
        session: *session,
    })
}

/// Sends and receives until the login is done.
pub(super) fn run_login(
    socket: &Socket,
    deadline: Deadline,
    login: &mut PendingLogin,
) -> Result<(Box<Session>, Channel), FailureCause> {
    let (mut received, mut to_send) = (Vec::new(), Vec::new());
    let mut progress = login.start(&mut to_send);
    loop {
        // After a failed login, `to_send` may be a TLS alert.
        let sent = socket.send_all(&to_send, deadline);
        // Do not report a failure to send yet: a server that refuses the client may close before it has
        // read everything, and its message, which can still be read, says more than "broken pipe".
        let progress_now = progress.map_err(FailureCause::Login)?;
        to_send.clear();
        received.clear();
        match progress_now {
            LoginProgress::Done(session, channel) => {
                sent.map_err(cause_of_io_error)?;
                return Ok((session, channel));
            }
            LoginProgress::Computing => {
                socket.time_left(deadline).map_err(cause_of_io_error)?;
                progress = login.receive(&[], &mut to_send);
                continue;
            }
            LoginProgress::More => {}
        }
        if socket
            .receive(&mut received, deadline)
            .map_err(cause_of_io_error)?
            == 0
        {
            return Err(FailureCause::Closed);
        }
        progress = login.receive(&received, &mut to_send);
    }
}

pub(super) fn cause_of_io_error(error: io::Error) -> FailureCause {
    let inner = error.get_ref();
    if inner.is_some_and(|inner| matches!(inner.downcast_ref(), Some(WaitError::Interrupted))) {
        return FailureCause::Interrupted;
    }
    match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => FailureCause::Timeout,
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => FailureCause::Closed,
        _ => FailureCause::Io(error),
    }
}
