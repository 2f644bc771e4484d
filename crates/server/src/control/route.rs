//! Which ways to try to reach an endpoint, and when a failure moves on to the next.
//!
//! In: a [`Target`]. Out: [`Route`]s, each a recipe that `control` and the loop follow alike. Must
//! never: do I/O.
//!
//! For PostgreSQL the rules are libpq's: documentation, "SSL Support" and "Specifying Multiple Hosts",
//! and `PQconnectPoll` where that is silent. For MySQL they are its client's: "Command Options for
//! Encrypted Connections".

use super::error::Cause;
use crate::target::{
    Address, AuthMethod, ChannelBinding, Endpoint, MysqlOptions, Protocol, SslMode, Target,
    TcpOptions,
};
use prony_wire::log_in::{TlsParts, TlsUse};
use prony_wire::postgres::{self, AuthMethods, CancelKey, Connector, Login};
use prony_wire::{ConnectError, LogIn, mysql};
use rustls::pki_types::ServerName;
use std::sync::Arc;

/// One way to connect: where to, with TLS or without, as whom.
#[derive(Clone, Debug)]
pub struct Route {
    /// Where to.
    pub endpoint: Endpoint,
    /// What is done about TLS.
    pub tls_use: TlsUse,
    /// Who logs in.
    pub account: Account,
    /// Configuration and name for TLS.
    pub tls: Option<TlsParts>,
    /// What is asked of a TCP socket.
    pub tcp: TcpOptions,
}

/// Who logs in, and by which protocol.
#[derive(Clone, Debug)]
pub enum Account {
    /// To PostgreSQL. Shared, so that the salted password is computed once for all connections.
    Postgres(Arc<Login>),
    /// To MySQL or MariaDB.
    Mysql(Arc<mysql::Login>),
}

impl Route {
    /// A new log-in to PostgreSQL over this route, if that is where it leads.
    pub fn connector(&self) -> Option<Connector> {
        match &self.account {
            Account::Postgres(login) => Some(Connector::new(
                login.clone(),
                self.tls_use,
                self.tls.clone(),
            )),
            Account::Mysql(_) => None,
        }
    }

    /// A new log-in over this route.
    pub fn log_in(&self) -> LogIn {
        let (tls_use, tls) = (self.tls_use, self.tls.clone());
        match &self.account {
            Account::Postgres(login) => {
                LogIn::Postgres(Box::new(Connector::new(login.clone(), tls_use, tls)))
            }
            Account::Mysql(login) => {
                LogIn::Mysql(Box::new(mysql::Connector::new(login.clone(), tls_use, tls)))
            }
        }
    }

    /// Where a failure on this route leads. `over_tls`: the connection used TLS, or was setting it
    /// up.
    pub fn after_failure(&self, over_tls: bool, cause: &Cause) -> Next {
        match self.account {
            Account::Postgres(_) => after_failure(self.tls_use, over_tls, cause),
            Account::Mysql(_) => after_mysql_failure(self.tls_use, over_tls, cause),
        }
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
    let account = match &target.protocol {
        Protocol::Postgres => Account::Postgres(Arc::new(login(target, endpoint))),
        Protocol::Mysql(options) => {
            Account::Mysql(Arc::new(mysql_login(target, endpoint, options)))
        }
    };
    let is_mysql = matches!(account, Account::Mysql(_));
    let uses: &[TlsUse] = match (&endpoint.address, target.tls.mode) {
        // MySQL's client takes TLS over a socket too, where it is demanded.
        (Address::Unix(_), SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull)
            if is_mysql =>
        {
            &[TlsUse::Must]
        }
        (Address::Unix(_), _) | (_, SslMode::Disable) => &[TlsUse::No],
        // The second attempt takes what it gets, as in libpq: a server without TLS then repeats
        // its refusal, which says more than "no TLS here".
        (_, SslMode::Allow) => &[TlsUse::No, TlsUse::IfOffered],
        (_, SslMode::Prefer) => &[TlsUse::IfOffered, TlsUse::No],
        _ if target.tls.direct => &[TlsUse::Direct],
        _ => &[TlsUse::Must],
    };
    let name = match is_mysql {
        true => endpoint.server_name().or_else(localhost),
        false => endpoint.server_name(),
    };
    uses.iter()
        .map(|&tls_use| Route {
            endpoint: endpoint.clone(),
            tls_use,
            account: account.clone(),
            tls: target.tls.config.clone().zip(name.clone()),
            tcp: target.tcp,
        })
        .collect()
}

/// Whom a certificate must name behind a unix socket.
fn localhost() -> Option<ServerName<'static>> {
    ServerName::try_from("localhost").ok()
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

/// A server that refuses a log-in ends the search: other endpoints are for servers that are away,
/// not for passwords that are wrong.
fn after_failure(tls_use: TlsUse, over_tls: bool, cause: &Cause) -> Next {
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

/// With `PREFERRED`, TLS that cannot be had is done without; a server that shuts down is away.
fn after_mysql_failure(tls_use: TlsUse, over_tls: bool, cause: &Cause) -> Next {
    match cause {
        Cause::Login(ConnectError::Tls(_)) if tls_use == TlsUse::IfOffered => Next::Attempt,
        Cause::Closed if tls_use == TlsUse::IfOffered && over_tls => Next::Attempt,
        Cause::Login(ConnectError::Server(error)) if error.number == 1053 => Next::Endpoint,
        Cause::Login(_) | Cause::Closed => Next::Stop,
        Cause::Timeout | Cause::Session(_) | Cause::SessionUnknown(_) | Cause::Io(_) => {
            Next::Endpoint
        }
    }
}

fn mysql_login(target: &Target, endpoint: &Endpoint, options: &MysqlOptions) -> mysql::Login {
    mysql::Login {
        user: target.user.clone(),
        database: target.database.clone(),
        password: endpoint.password.clone(),
        attributes: target.parameters.clone(),
        cleartext: options.cleartext,
        get_server_public_key: options.get_server_public_key,
        server_public_key: options.server_public_key.clone(),
        local_infile: options.local_infile,
        found_rows: options.found_rows,
        over_unix_socket: matches!(endpoint.address, Address::Unix(_)),
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
