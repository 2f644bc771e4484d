//! Decides how to connect to an endpoint, and what to try after a failure.
//!
//! In: a [`Target`]. Out: [`Route`]s, which both `control` and the loop use. Must never: do I/O.
//!
//! PostgreSQL's rules are those of libpq (documentation: "SSL Support" and "Specifying Multiple Hosts";
//! code: `PQconnectPoll`). MySQL's are those of its client (documentation: "Command Options for
//! Encrypted Connections").

use super::connect_failure::{ConnectFailure, FailureCause};
use super::waiting::WaitOptions;
use crate::target::{
    Address, Endpoint, MysqlOptions, PostgresOptions, ProtocolOptions, SqlServerOptions, SslMode,
    Target, TcpOptions,
};
use prony_wire::login::{TlsParts, TlsUse};
use prony_wire::postgres::{CancelKey, Connector, Login};
use prony_wire::{ConnectError, ErrorClass, PendingLogin, mysql, tds};
use rustls::pki_types::ServerName;
use std::collections::BTreeMap;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What each session of SQL Server runs first: an error then ends its transaction, as on the other servers.
/// The login itself turns the ANSI options on.
const SESSION_SETUP: &str = "SET XACT_ABORT ON";

/// One way to connect: endpoint, TLS or not, and account.
#[derive(Clone, Debug)]
pub struct Route {
    pub endpoint: Endpoint,
    pub tls_use: TlsUse,
    pub account: Account,
    pub tls: Option<TlsParts>,
    pub tcp: TcpOptions,
    pub wait_options: WaitOptions,
    /// Time limit for connecting and logging in; [`Duration::MAX`]: no limit.
    pub connect_limit: Duration,
    /// Where a SQL Server routed this login, if it was routed.
    pub redirect: Option<Box<tds::Route>>,
}

#[derive(Clone, Debug)]
pub enum Account {
    /// PostgreSQL. Shared, so that the salted password is computed once for all connections.
    Postgres(Arc<Login>),
    /// MySQL or MariaDB.
    Mysql(Arc<mysql::Login>),
    /// SQL Server.
    Tds(Arc<tds::Login>),
}

/// An attempt to connect that failed. Its endpoint is the server to which the login was routed, if it was.
pub(super) struct FailedAttempt {
    pub failure: ConnectFailure,
    /// Whether the connection used TLS.
    pub over_tls: bool,
}

impl Route {
    pub fn new_login(&self) -> PendingLogin {
        let (tls_use, tls) = (self.tls_use, self.tls.clone());
        match &self.account {
            Account::Postgres(login) => {
                PendingLogin::Postgres(Box::new(Connector::new(login.clone(), tls_use, tls)))
            }
            Account::Mysql(login) => {
                PendingLogin::Mysql(Box::new(mysql::Connector::new(login.clone(), tls_use, tls)))
            }
            Account::Tds(login) => {
                let connector = tds::Connector::new(login.clone(), tls_use, tls);
                PendingLogin::Tds(Box::new(match &self.redirect {
                    Some(redirect) => connector.after_route(redirect),
                    None => connector,
                }))
            }
        }
    }

    /// The route to the server to which a SQL Server routed this login. `None` if the failure is a different
    /// one, or the name of that server has no address.
    pub fn redirected(&self, cause: &FailureCause) -> Option<Route> {
        let (FailureCause::Login(ConnectError::Routed(redirect)), Account::Tds(login)) =
            (cause, &self.account)
        else {
            return None;
        };
        // The name may have an instance, which the port makes irrelevant.
        let host = redirect.host.split('\\').next().unwrap_or_default();
        let address = redirected_address(host, redirect.port)?;
        let endpoint = Endpoint {
            address: Address::Tcp(address),
            host: host.to_owned(),
            port: redirect.port,
            password: self.endpoint.password.clone(),
        };
        // A name that the user gave for the certificate stays.
        let tls = self.tls.as_ref().map(|(config, name)| {
            let is_host = self.endpoint.server_name().as_ref() == Some(name);
            let host_name = endpoint.server_name().filter(|_| is_host);
            (config.clone(), host_name.unwrap_or_else(|| name.clone()))
        });
        let login = tds::Login {
            server: redirect.host.clone(),
            ..(**login).clone()
        };
        Some(Route {
            endpoint,
            tls,
            account: Account::Tds(Arc::new(login)),
            redirect: Some(redirect.clone()),
            ..self.clone()
        })
    }

    /// A failed attempt on this route.
    pub(super) fn failure(&self, cause: FailureCause, over_tls: bool) -> FailedAttempt {
        let endpoint = Box::new(self.endpoint.clone());
        let failure = ConnectFailure { endpoint, cause };
        FailedAttempt { failure, over_tls }
    }

    /// What to try after a failure on this route. `over_tls`: the connection used or was negotiating
    /// TLS.
    pub fn after_failure(&self, over_tls: bool, cause: &FailureCause) -> AfterFailure {
        match self.account {
            Account::Postgres(_) => after_postgres_failure(self.tls_use, over_tls, cause),
            Account::Mysql(_) => after_mysql_failure(self.tls_use, over_tls, cause),
            Account::Tds(_) => after_tds_failure(cause),
        }
    }

    /// A request to cancel the statement of the session with this key. `over_tls`: the session's
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

/// The routes to try for one endpoint, in order. Never empty.
pub fn routes_to_endpoint(target: &Target, endpoint: &Endpoint) -> Vec<Route> {
    let requires_tls = match target.tls.mode {
        SslMode::Disable | SslMode::Allow | SslMode::Prefer => false,
        SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull => true,
    };
    let server_name = endpoint.server_name();
    let (account, tls_on_socket, direct_tls, certificate_name) = match &target.protocol {
        ProtocolOptions::PostgreSql(options) => {
            let login = postgres_login(target, endpoint, options);
            let account = Account::Postgres(Arc::new(login));
            (account, false, options.direct_tls, server_name)
        }
        // MySQL's client uses TLS over a unix socket too, if TLS is required.
        ProtocolOptions::MySql(options) => {
            let login = mysql_login(target, endpoint, options);
            let certificate_name = server_name.or_else(localhost);
            let account = Account::Mysql(Arc::new(login));
            (account, requires_tls, false, certificate_name)
        }
        ProtocolOptions::SqlServer(options) => {
            let login = tds_login(target, endpoint, options);
            let certificate_name = options.certificate_name.clone().or(server_name);
            let account = Account::Tds(Arc::new(login));
            (account, false, options.strict, certificate_name)
        }
    };
    let is_tds = matches!(account, Account::Tds(_));
    let tls_uses: &[TlsUse] = match (&endpoint.address, target.tls.mode) {
        (Address::Unix(_), _) if tls_on_socket => &[TlsUse::Must],
        (Address::Unix(_), _) | (_, SslMode::Disable) => &[TlsUse::No],
        // As in libpq, the second attempt also allows no TLS: a server without TLS then repeats its
        // refusal, which is more informative than "no TLS".
        (_, SslMode::Allow) => &[TlsUse::No, TlsUse::IfOffered],
        // The server's answer decides in the same attempt.
        (_, SslMode::Prefer) if is_tds => &[TlsUse::IfOffered],
        (_, SslMode::Prefer) => &[TlsUse::IfOffered, TlsUse::No],
        _ if direct_tls => &[TlsUse::Direct],
        _ => &[TlsUse::Must],
    };
    tls_uses
        .iter()
        .map(|&tls_use| Route {
            endpoint: endpoint.clone(),
            tls_use,
            account: account.clone(),
            tls: target.tls.config.clone().zip(certificate_name.clone()),
            tcp: target.tcp,
            wait_options: target.wait_options.clone(),
            connect_limit: target.connect_limit(),
            redirect: None,
        })
        .collect()
}

/// The first address of a server to which logins are routed. Each name is resolved once in a process: a
/// connection of the load cannot wait for a name server, and the control connection is routed before it.
fn redirected_address(host: &str, port: u16) -> Option<SocketAddr> {
    static ADDRESSES: Mutex<BTreeMap<(String, u16), SocketAddr>> = Mutex::new(BTreeMap::new());
    let key = (host.to_owned(), port);
    let mut addresses = ADDRESSES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(address) = addresses.get(&key) {
        return Some(*address);
    }
    let address = (host, port).to_socket_addrs().ok()?.next()?;
    addresses.insert(key, address);
    Some(address)
}

/// The name that a server's certificate must have on a unix socket.
fn localhost() -> Option<ServerName<'static>> {
    ServerName::try_from("localhost").ok()
}

/// What to try after a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterFailure {
    /// Try the next route to the same endpoint; if there is none, give up.
    NextRoute,
    NextEndpoint,
    GiveUp,
}

/// What to try after a failure that has no rule of its own: a server that is not reached leads to the next address; any
/// answer of a server ends the search.
fn after_other_failure(cause: &FailureCause) -> AfterFailure {
    match cause {
        FailureCause::Login(_) | FailureCause::Closed | FailureCause::Interrupted => {
            AfterFailure::GiveUp
        }
        FailureCause::Timeout
        | FailureCause::SessionMismatch(_)
        | FailureCause::SessionCheckFailed(_)
        | FailureCause::Io(_) => AfterFailure::NextEndpoint,
    }
}

/// A server that refuses a login ends the search: other endpoints are for unreachable servers, not
/// for wrong passwords.
fn after_postgres_failure(tls_use: TlsUse, over_tls: bool, cause: &FailureCause) -> AfterFailure {
    let other_tls_use = match tls_use {
        TlsUse::No => AfterFailure::NextRoute,
        TlsUse::IfOffered if over_tls => AfterFailure::NextRoute,
        _ => AfterFailure::GiveUp,
    };
    match cause {
        FailureCause::Login(ConnectError::Server(error)) if &error.code == b"57P03" => {
            AfterFailure::NextEndpoint
        }
        FailureCause::Login(ConnectError::Server(_) | ConnectError::Tls(_)) => other_tls_use,
        FailureCause::Login(ConnectError::TlsRequestFailed) if tls_use == TlsUse::IfOffered => {
            AfterFailure::NextRoute
        }
        FailureCause::Closed if tls_use == TlsUse::IfOffered && over_tls => AfterFailure::NextRoute,
        cause => after_other_failure(cause),
    }
}

/// With `PREFERRED`, a failed TLS negotiation leads to an attempt without TLS. A server that shuts
/// down counts as unreachable.
fn after_mysql_failure(tls_use: TlsUse, over_tls: bool, cause: &FailureCause) -> AfterFailure {
    match cause {
        FailureCause::Login(ConnectError::Tls(_)) if tls_use == TlsUse::IfOffered => {
            AfterFailure::NextRoute
        }
        FailureCause::Closed if tls_use == TlsUse::IfOffered && over_tls => AfterFailure::NextRoute,
        FailureCause::Login(ConnectError::Server(error)) if error.number == 1053 => {
            AfterFailure::NextEndpoint
        }
        cause => after_other_failure(cause),
    }
}

/// Ends the search with any answer of a server, except that its database is moving.
fn after_tds_failure(cause: &FailureCause) -> AfterFailure {
    match cause {
        FailureCause::Login(ConnectError::Server(error))
            if error.classification.class == ErrorClass::LostConnection =>
        {
            AfterFailure::NextEndpoint
        }
        cause => after_other_failure(cause),
    }
}

fn tds_login(target: &Target, endpoint: &Endpoint, options: &SqlServerOptions) -> tds::Login {
    let password = endpoint.password.clone().unwrap_or_default();
    tds::Login {
        server: endpoint.host.clone(),
        host: options.client_host.clone(),
        application: options.program_name.clone(),
        client_pid: std::process::id(),
        packet_size: options.packet_size,
        read_only: options.read_only,
        session_setup: [SESSION_SETUP]
            .into_iter()
            .chain(options.session_settings.iter().map(String::as_str))
            .collect::<Vec<_>>()
            .join("; "),
        ..tds::Login::new(&target.user, password, &target.database)
    }
}

fn mysql_login(target: &Target, endpoint: &Endpoint, options: &MysqlOptions) -> mysql::Login {
    mysql::Login {
        user: target.user.clone(),
        database: target.database.clone(),
        password: endpoint.password.clone(),
        options: MysqlOptions {
            // On this machine, nobody can answer in place of the server with a key of their own.
            get_server_public_key: options.get_server_public_key || !endpoint.is_remote(),
            ..options.clone()
        },
        session_use: target.session_use(),
        over_unix_socket: matches!(endpoint.address, Address::Unix(_)),
    }
}

fn postgres_login(target: &Target, endpoint: &Endpoint, options: &PostgresOptions) -> Login {
    let mut login = Login::new(&target.user, &target.database);
    login.parameters.clone_from(&options.parameters);
    login.password.clone_from(&endpoint.password);
    login.channel_binding = options.channel_binding;
    login.require_auth.clone_from(&options.require_auth);
    login
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Environment, resolve};

    #[test]
    fn the_rsa_key_of_a_server_on_another_machine_is_requested_only_if_the_user_says_so() {
        for (url, expected) in [
            ("mysql://ann:secret@127.0.0.1/", true),
            ("mysql://ann:secret@[::1]/", true),
            ("mysql://ann:secret@192.0.2.1/", false),
            (
                "mysql://ann:secret@192.0.2.1/?get-server-public-key=1",
                true,
            ),
        ] {
            let target = resolve(url, &Environment::without_home("ann")).expect("a target");
            let ProtocolOptions::MySql(options) = &target.protocol else {
                panic!("{url} is not MySQL's");
            };
            let login = mysql_login(&target, &target.endpoints[0], options);
            assert_eq!(login.options.get_server_public_key, expected, "{url}");
        }
    }
}
