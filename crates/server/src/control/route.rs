//! Which ways to try to reach an endpoint, and when a failure moves on to the next.
//!
//! In: a [`Target`]. Out: [`Route`]s, each a recipe that `control` and the loop follow alike. Must
//! never: do I/O.
//!
//! The rules are libpq's: documentation, "SSL Support" and "Specifying Multiple Hosts", and
//! `PQconnectPoll` where that is silent.

use super::error::Cause;
use crate::target::{Address, AuthMethod, ChannelBinding, Endpoint, SslMode, Target, TcpOptions};
use prony_wire::LogIn;
use prony_wire::postgres::connector::TlsParts;
use prony_wire::postgres::{self, AuthMethods, CancelKey, ConnectError, Connector, Login, TlsUse};
use std::sync::Arc;

/// One way to connect: where to, with TLS or without, as whom.
#[derive(Clone, Debug)]
pub struct Route {
    /// Where to.
    pub endpoint: Endpoint,
    /// What is done about TLS.
    pub tls_use: TlsUse,
    /// Who logs in. Shared, so that the salted password is computed once for all connections.
    pub login: Arc<Login>,
    /// Configuration and name for TLS.
    pub tls: Option<TlsParts>,
    /// What is asked of a TCP socket.
    pub tcp: TcpOptions,
}

impl Route {
    /// A new log-in over this route.
    pub fn connector(&self) -> Connector {
        Connector::new(self.login.clone(), self.tls_use, self.tls.clone())
    }

    /// A new log-in over this route, for the loop.
    pub fn log_in(&self) -> LogIn {
        LogIn::Postgres(self.connector())
    }

    /// A request to cancel what the session with this key does. `over_tls`: that session's
    /// connection uses TLS, so the request does too.
    pub fn cancel_connector(&self, key: CancelKey, over_tls: bool) -> Connector {
        let tls_use = match (over_tls, self.tls_use) {
            (false, _) => TlsUse::No,
            (true, TlsUse::Direct) => TlsUse::Direct,
            (true, _) => TlsUse::Must,
        };
        Connector::cancel(key, tls_use, self.tls.clone())
    }
}

/// The ways to try, in order, for one endpoint. Never empty.
pub fn attempts(target: &Target, endpoint: &Endpoint) -> Vec<Route> {
    let login = Arc::new(login(target, endpoint));
    let uses: &[TlsUse] = match (&endpoint.address, target.tls.mode) {
        (Address::Unix(_), _) | (_, SslMode::Disable) => &[TlsUse::No],
        // The second attempt takes what it gets, as in libpq: a server without TLS then repeats
        // its refusal, which says more than "no TLS here".
        (_, SslMode::Allow) => &[TlsUse::No, TlsUse::IfOffered],
        (_, SslMode::Prefer) => &[TlsUse::IfOffered, TlsUse::No],
        _ if target.tls.direct => &[TlsUse::Direct],
        _ => &[TlsUse::Must],
    };
    uses.iter()
        .map(|&tls_use| Route {
            endpoint: endpoint.clone(),
            tls_use,
            login: login.clone(),
            tls: target.tls.config.clone().zip(endpoint.server_name()),
            tcp: target.tcp,
        })
        .collect()
}

/// What to do after a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Try the next route to the same endpoint; where there is none, give up.
    Attempt,
    /// Try the next endpoint.
    Endpoint,
    /// Give up.
    Stop,
}

/// Where a failure leads. `over_tls`: the connection used TLS, or was setting it up.
///
/// A server that refuses a log-in ends the search: other endpoints are for servers that are away,
/// not for passwords that are wrong.
pub fn after_failure(tls_use: TlsUse, over_tls: bool, cause: &Cause) -> Next {
    let other_tls_use = match tls_use {
        TlsUse::No => Next::Attempt,
        TlsUse::IfOffered if over_tls => Next::Attempt,
        _ => Next::Stop,
    };
    match cause {
        Cause::Timeout | Cause::Session(_) | Cause::SessionUnknown(_) => Next::Endpoint,
        Cause::Login(ConnectError::Server(error)) if &error.code == b"57P03" => Next::Endpoint,
        Cause::Login(ConnectError::Server(_) | ConnectError::Tls(_)) => other_tls_use,
        Cause::Login(ConnectError::TlsRequestFailed) if tls_use == TlsUse::IfOffered => {
            Next::Attempt
        }
        Cause::Closed if tls_use == TlsUse::IfOffered && over_tls => Next::Attempt,
        Cause::Login(_) | Cause::Closed => Next::Stop,
        Cause::Io(_) => Next::Endpoint,
    }
}

fn login(target: &Target, endpoint: &Endpoint) -> Login {
    let mut login = Login::new(&target.user, &target.database);
    login.parameters.clone_from(&target.parameters);
    login.password.clone_from(&endpoint.password);
    login.channel_binding = match target.channel_binding {
        ChannelBinding::Disable => postgres::ChannelBinding::Disable,
        ChannelBinding::Prefer => postgres::ChannelBinding::Prefer,
        ChannelBinding::Require => postgres::ChannelBinding::Require,
    };
    // Prony never answers the other methods, whatever the user allows.
    let known = [
        (AuthMethod::None, AuthMethods::NONE),
        (AuthMethod::Password, AuthMethods::PASSWORD),
        (AuthMethod::Md5, AuthMethods::MD5),
        (AuthMethod::ScramSha256, AuthMethods::SCRAM_SHA_256),
    ];
    login.auth_methods = known
        .into_iter()
        .filter(|(method, _)| target.require_auth.allows(*method))
        .fold(AuthMethods::EMPTY, |all, (_, method)| all.and(method));
    login
}
