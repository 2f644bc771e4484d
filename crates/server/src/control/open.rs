//! Opening a control connection: endpoints, ways, time-outs and the kind of session asked for.
//!
//! In: a [`Target`]. Out: a [`Control`], or all that was tried. Must never: try a wrong password on
//! a second server.

use super::error::{Cause, Error, Failure};
use super::kind::Aspect;
use super::link::Link;
use super::route::{Next, Route, attempts};
use super::socket::{Deadline, Socket};
use super::{Control, Session, kind, mysql, postgres};
use crate::target::{Endpoint, SessionAttrs, Target};
use prony_wire::postgres::{Connector, Progress};
use prony_wire::{ConnectError, LogIn, LoggedIn, log_in};
use std::io::{self, IoSlice};

/// Walks endpoints and ways until one session suits.
pub(super) fn connect(target: &Target) -> Result<Control, Error> {
    connect_by(target, log_in, check_session)
}

/// The same for any sort of connection, by what makes one of a way and what checks its session.
pub(super) fn connect_by<T>(
    target: &Target,
    log_in: impl Fn(Route, Deadline) -> Result<T, (Cause, bool)>,
    check: impl Fn(&mut T, SessionAttrs, Deadline) -> Result<(), Cause>,
) -> Result<T, Error> {
    let mut failures = Vec::new();
    // `prefer-standby` is two searches: the second takes any server.
    let searches: &[SessionAttrs] = match &target.session {
        SessionAttrs::PreferStandby => &[SessionAttrs::Standby, SessionAttrs::Any],
        other => std::slice::from_ref(other),
    };
    for wanted in searches {
        for endpoint in &target.endpoints {
            let one = |route, deadline| {
                let mut made = log_in(route, deadline)?;
                check(&mut made, *wanted, deadline).map_err(|cause| (cause, false))?;
                Ok(made)
            };
            match connect_endpoint(target, endpoint, one, &mut failures) {
                Ok(made) => return Ok(made),
                Err(Next::Stop) => return Err(Error::Connect(failures)),
                Err(Next::Attempt | Next::Endpoint) => {}
            }
        }
    }
    Err(Error::Connect(failures))
}

/// Tries the ways to one endpoint; an error says whether to go on with the next endpoint.
fn connect_endpoint<T>(
    target: &Target,
    endpoint: &Endpoint,
    one: impl Fn(Route, Deadline) -> Result<T, (Cause, bool)>,
    failures: &mut Vec<Failure>,
) -> Result<T, Next> {
    for route in attempts(target, endpoint) {
        // libpq's limit holds for each address; the session check counts into it.
        let deadline = Deadline::after(target.connect_timeout);
        let way = route.clone();
        let (cause, over_tls) = match one(route, deadline) {
            Ok(made) => return Ok(made),
            Err(failed) => failed,
        };
        let next = way.after_failure(over_tls, &cause);
        failures.push(Failure {
            endpoint: Box::new(endpoint.clone()),
            cause,
        });
        if next != Next::Attempt {
            return Err(next);
        }
    }
    // The ways are used up and each was refused by a server that is there.
    Err(Next::Stop)
}

/// One attempt. The error says whether TLS was in play.
pub(super) fn log_in(route: Route, deadline: Deadline) -> Result<Control, (Cause, bool)> {
    let socket = Socket::connect(&route, deadline).map_err(|error| (io_cause(error), false))?;
    let Some(mut connector) = route.connector() else {
        let mut log_in = route.log_in();
        let session = converse(&socket, deadline, |from_socket, to_socket| {
            step(&mut log_in, from_socket, to_socket)
        })
        .map_err(|cause| (cause, log_in.over_tls()))?;
        let control = mysql::Control::new(route, socket, session);
        return Ok(Control(Session::Mysql(Box::new(control))));
    };
    let (session, channel) = converse(&socket, deadline, |from_socket, to_socket| {
        postgres_step(&mut connector, from_socket, to_socket)
    })
    .map_err(|cause| (cause, connector.over_tls()))?;
    let control = postgres::Control::new(route, *session, |leftover| {
        Link::new(socket, channel, leftover)
    });
    Ok(Control(Session::Postgres(Box::new(control))))
}

/// One step of a log-in: its first without bytes.
pub(super) fn step(
    log_in: &mut LogIn,
    from_socket: Option<&[u8]>,
    to_socket: &mut Vec<u8>,
) -> Result<Option<LoggedIn>, ConnectError> {
    let progress = match from_socket {
        None => log_in.start(to_socket)?,
        Some(bytes) => log_in.receive(bytes, to_socket)?,
    };
    Ok(match progress {
        log_in::Progress::More => None,
        log_in::Progress::Done(session) => Some(session),
    })
}

/// What PostgreSQL's log-in gives, which is more than the loop needs.
pub(super) type PostgresSession = (Box<prony_wire::postgres::Session>, prony_wire::Channel);

/// One step of PostgreSQL's log-in: its first without bytes.
pub(super) fn postgres_step(
    connector: &mut Connector,
    from_socket: Option<&[u8]>,
    to_socket: &mut Vec<u8>,
) -> Result<Option<PostgresSession>, ConnectError> {
    let progress = match from_socket {
        None => connector.start(to_socket)?,
        Some(bytes) => connector.receive(bytes, to_socket)?,
    };
    Ok(match progress {
        Progress::More => None,
        Progress::Done(session, channel) => Some((session, channel)),
    })
}

/// Moves bytes until `step` is done; it begins without any.
pub(super) fn converse<T>(
    socket: &Socket,
    deadline: Deadline,
    mut step: impl FnMut(Option<&[u8]>, &mut Vec<u8>) -> Result<Option<T>, ConnectError>,
) -> Result<T, Cause> {
    let (mut received, mut to_send) = (Vec::new(), Vec::new());
    let mut result = step(None, &mut to_send);
    loop {
        // After a failure this may be a TLS alert: sent if possible, not worth an error.
        let sent = socket.send_all(&mut [IoSlice::new(&to_send)], deadline, |_| Ok(()));
        // A server that refuses may close before it has read all: what it said is still there
        // to be read, and tells more than a broken pipe.
        if let Some(session) = result.map_err(Cause::Login)? {
            sent.map_err(io_cause)?;
            return Ok(session);
        }
        to_send.clear();
        received.clear();
        if socket.receive(&mut received, deadline).map_err(io_cause)? == 0 {
            return Err(Cause::Closed);
        }
        result = step(Some(&received), &mut to_send);
    }
}

pub(super) fn io_cause(error: io::Error) -> Cause {
    match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => Cause::Timeout,
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => Cause::Closed,
        _ => Cause::Io(error),
    }
}

/// Does the session suit `target_session_attrs`?
fn check_session(
    control: &mut Control,
    wanted: SessionAttrs,
    deadline: Deadline,
) -> Result<(), Cause> {
    let Session::Postgres(control) = &mut control.0 else {
        return Ok(());
    };
    control.link.set_patience(deadline);
    kind::check(wanted, |aspect| {
        match (aspect, control.parameter("in_hot_standby")) {
            (Aspect::Standby, Some(value)) => Ok(value == "on"),
            _ => {
                let value = control.query_value(aspect.question())?;
                Ok(kind::is_yes(value.as_deref()))
            }
        }
    })?;
    control.link.set_patience(Deadline::NEVER);
    Ok(())
}
