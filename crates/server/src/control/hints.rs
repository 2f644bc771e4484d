//! Hints on what the user can do about an error.
//!
//! In: errors of logins and statements. Out: one or two sentences. Must never: quote the server.

use prony_wire::{ConnectError, Protocol};
use rustls::{CertificateError, Error as TlsError};

pub(super) fn for_login(error: &ConnectError) -> Option<&'static str> {
    match error {
        ConnectError::Server(error) => match error.protocol {
            Protocol::PostgreSql => for_sqlstate(&error.code, &error.message),
            Protocol::MySql => for_number(error.number),
            Protocol::Tds => for_sql_server(error.number),
        },
        ConnectError::PasswordNeeded => Some(
            "Give the password in PGPASSWORD, in the password file (~/.pgpass), or in the URL.",
        ),
        ConnectError::TlsUnsupported => Some(
            "Turn TLS on in the server (PostgreSQL: ssl = on; MySQL and MariaDB: ssl-cert and \
             ssl-key), or use sslmode=prefer (MySQL: ssl-mode=PREFERRED, SQL Server: encrypt=optional) to connect \
             without it.",
        ),
        ConnectError::Tls(error) => for_tls(error),
        ConnectError::AlpnMissing => {
            Some("sslnegotiation=direct needs PostgreSQL 17 or later; leave it out.")
        }
        ConnectError::AuthUnsupported(_) => Some(
            "Prony supports trust, password, md5 and scram-sha-256; the server's pg_hba.conf selects the method.",
        ),
        ConnectError::AuthExcluded { .. } => Some("require_auth does not allow it."),
        ConnectError::ChannelBinding(_) => Some(
            "channel_binding=require needs TLS and scram-sha-256 on the server; use prefer to connect \
             without it.",
        ),
        ConnectError::Scram(_) => {
            Some("Another server may be answering in place of yours; the password was not sent.")
        }
        ConnectError::PluginUnsupported(_) => Some(
            "Prony supports mysql_native_password, caching_sha2_password, sha256_password, ed25519 \
             and mysql_clear_password; ALTER USER gives the account another one.",
        ),
        ConnectError::SecureTransportNeeded(_) => Some(
            "Use ssl-mode=REQUIRED or the server's unix socket; or, on a trusted network, \
             get-server-public-key=1.",
        ),
        ConnectError::CleartextRefused => Some(
            "The server requests the password in clear text: LIBMYSQL_ENABLE_CLEARTEXT_PLUGIN=1 in the environment or \
             enable-cleartext-plugin=1 in the URL allows that, only over TLS or a unix socket.",
        ),
        ConnectError::TlsRequired => Some("Leave out encrypt=disable."),
        ConnectError::StrictTlsRefused { .. } => Some("Use encrypt=mandatory."),
        ConnectError::Routed(_) => Some("The name of that server has no address on this machine."),
        ConnectError::Protocol(_) | ConnectError::NotMysql(_) | ConnectError::NotTds(_) => {
            Some("Check host and port.")
        }
        _ => None,
    }
}

fn for_sql_server(number: u32) -> Option<&'static str> {
    Some(match number {
        18456 => {
            "Check user and password in the URL or in SQLCMDPASSWORD; the login must be SQL Server's own, and the \
             server must allow such logins (mixed mode)."
        }
        4060 => {
            "Check the database in the URL (database=NAME), and that the login is a user of it."
        }
        40615 => "Add this machine's address to the firewall rules of the server in Azure.",
        _ => return None,
    })
}

/// The hint for an error number of MySQL or MariaDB, in a login or from a statement.
pub(super) fn for_number(number: u32) -> Option<&'static str> {
    Some(match number {
        1045 => {
            "Check user, host and password (URL, MYSQL_PWD, ~/.my.cnf); REQUIRE SSL: ssl-mode=REQUIRED."
        }
        1698 => {
            "The account authenticates by the operating-system user (unix_socket): run as that user."
        }
        1146 => "Load the tables into this database, or name the database that has them.",
        1290 => {
            "An option of the server, such as read_only on a replica, forbids this: the error names \
             the option."
        }
        1836 => "The server is read-only, such as a replica: use the primary.",
        // Also the error for a database that does not exist, if the account may not see it.
        1044 => "Create the database if it does not exist, and GRANT the account privileges on it.",
        1049 => "Create it with CREATE DATABASE, or name another database.",
        1040 => "The server's max_connections is reached: use fewer clients, or raise it.",
        1203 => "The server's max_user_connections is reached: use fewer clients, or raise it.",
        1226 => {
            "A limit of the account is reached: use fewer clients, or ALTER USER ... WITH, followed by the resource \
             that the error names and a higher value."
        }
        1129 => "The server blocks this host after too many failed attempts: run FLUSH HOSTS.",
        1130 => "The server has no account that may connect from this host.",
        1251 | 2059 => "The account's authentication plugin needs a newer client.",
        1820 | 1862 => {
            "The password has expired: set a new one with ALTER USER in the server's client."
        }
        3159 => "The server accepts only encrypted connections: use ssl-mode=REQUIRED.",
        3118 | 4151 => "The account is locked: ALTER USER ... ACCOUNT UNLOCK.",
        1053 => "The server is stopping: try again in a moment.",
        1173 | 3750 => {
            "The server refuses tables without a primary key (innodb_force_primary_key, sql_require_primary_key): turn \
             that off, leave out options such as secondary=on, or, for tables whose key Prony can hide, use MySQL 8.0.23 \
             or MariaDB 10.3 or newer."
        }
        4109 => {
            "The server adds a primary key to tables without one (sql_generate_invisible_primary_key), but this one has \
             another AUTO_INCREMENT column: create it with a primary key."
        }
        _ => return None,
    })
}

/// The hint for an error of a PostgreSQL login. Errors with the same SQLSTATE may differ only in their
/// messages.
fn for_sqlstate(code: &[u8; 5], message: &str) -> Option<&'static str> {
    Some(match code {
        b"28000" if message.ends_with("does not exist") => {
            "Name a role that exists (user in the URL, or PGUSER), or create it: CREATE ROLE name LOGIN."
        }
        b"28000" if message.ends_with("is not permitted to log in") => {
            "As a superuser: ALTER ROLE name LOGIN; or name another role."
        }
        b"28000" if message.starts_with("Peer ") => {
            "The server's pg_hba.conf requires peer authentication: only the operating-system user of the same name may \
             connect as this role over the socket. Connect over TCP (host=localhost), or as that user."
        }
        b"28P01" => "Check the password in the URL, in PGPASSWORD or in the password file.",
        b"28000" => {
            "The server's pg_hba.conf decides who may connect, from which hosts, and whether with TLS."
        }
        b"3D000" => "Create it with createdb, or name another database.",
        b"53300" if message.starts_with("too many connections for role") => {
            "The role's own limit is reached: use fewer clients, or ALTER ROLE name CONNECTION LIMIT number."
        }
        b"53300" if message.starts_with("too many connections for database") => {
            "The database's own limit is reached: use fewer clients, or ALTER DATABASE name CONNECTION LIMIT number."
        }
        b"53300" => "The server's max_connections is reached: use fewer clients, or raise it.",
        b"57P03" => "The server is starting, stopping or recovering: try again in a moment.",
        _ => return None,
    })
}

fn for_tls(error: &TlsError) -> Option<&'static str> {
    Some(match error {
        TlsError::InvalidCertificate(reason) => match reason {
            // BadSignature: a different authority with the same name.
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                "The server's certificate is not signed by a trusted authority: name the right one with \
                 sslrootcert=FILE (SQL Server: certificate=FILE, ServerCertificate=FILE or TrustServerCertificate=true)."
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "The certificate is for another host name: connect to a name in it, or use sslmode=verify-ca \
                 (SQL Server: HostNameInCertificate=NAME)."
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "The server's certificate has expired, or this machine's clock is wrong."
            }
            _ => {
                "The server needs a certificate that passes verification; without verifying it, connect with \
                 sslmode=require (MySQL: ssl-mode=REQUIRED, SQL Server: TrustServerCertificate=true)."
            }
        },
        TlsError::InvalidMessage(_) => "Does the server speak TLS 1.2 or newer at this address?",
        TlsError::AlertReceived(_) => {
            "The server aborted the TLS handshake: it may require a client certificate (sslcert, \
                 sslkey) or another TLS version."
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{for_number, for_sqlstate};
    use prony_assertions::TextAssertions;

    #[test]
    fn the_hint_for_a_missing_role_does_not_mention_pg_hba() {
        let hint = |message| for_sqlstate(b"28000", message).expect("a hint");
        hint("role \"nosuch\" does not exist").assert_contains("CREATE ROLE");
        hint("role \"x\" is not permitted to log in").assert_contains("ALTER ROLE");
        hint("Peer authentication failed for user \"x\"").assert_contains("peer");
        let rejected =
            "no pg_hba.conf entry for host \"10.0.0.1\", user \"x\", database \"d\", no encryption";
        hint(rejected).assert_contains("pg_hba.conf decides");
    }

    #[test]
    fn the_hint_for_too_many_connections_names_the_limit() {
        let hint = |message| for_sqlstate(b"53300", message).expect("a hint");
        for (message, limit) in [
            ("too many connections for role \"x\"", "ALTER ROLE"),
            ("too many connections for database \"x\"", "ALTER DATABASE"),
            ("sorry, too many clients already", "max_connections"),
        ] {
            hint(message).assert_contains(limit);
        }
        for (number, limit) in [
            (1040, "max_connections"),
            (1203, "max_user_"),
            (1226, "ALTER USER"),
        ] {
            for_number(number).expect("a hint").assert_contains(limit);
        }
    }

    /// The option may be secure_file_priv, skip-grant-tables or another; only the server's message names it.
    #[test]
    fn the_hint_does_not_guess_which_option_forbids_a_statement() {
        let hint = for_number(1290).expect("a hint");
        hint.assert_contains("An option of the server");
        hint.assert_contains("names the option");
        hint.assert_lacks("is read-only");
    }
}
