//! The settings that only SQL Server's dictionary has.
//!
//! HammerDB has separate keys for clients on Windows (`mssqls_server`, `mssqls_authentication`); Prony reads
//! those for Linux.

use super::{Login, RequestBuilder, SqlServerConnection, key};
use prony_wire::Secret;

pub(super) const LOGIN_SECTION: &str = "connection";

/// The database in which databases are created and dropped.
const ADMINISTRATION_DATABASE: &str = "master";

const SYSTEM_DATABASES: [&str; 4] = [ADMINISTRATION_DATABASE, "model", "msdb", "tempdb"];

impl RequestBuilder<'_> {
    /// The role, in the schema's database.
    pub(super) fn sql_server_login(&mut self) -> Login {
        self.require_value(LOGIN_SECTION, "linux_authent", "sql");
        let connection = SqlServerConnection {
            uses_port: self.switch(LOGIN_SECTION, "tcp"),
            encrypts: self.switch(LOGIN_SECTION, "encrypt_connection"),
            trusts_certificate: self.switch(LOGIN_SECTION, "trust_server_cert"),
            azure: self.switch(LOGIN_SECTION, "azure"),
        };
        let host = self.setting_text(LOGIN_SECTION, "linux_server");
        let database = self.setting_text("tpcc", "dbase");
        if SYSTEM_DATABASES
            .iter()
            .any(|name| database.eq_ignore_ascii_case(name))
        {
            let key = key(self.product, "dbase");
            self.problems.push(format!(
                "Error: {key} {database} is a database of the server itself: diset tpcc {key} tpcc"
            ));
        }
        Login {
            product: self.product,
            // HammerDB's sample scripts write it so.
            host: match host.as_str() {
                "(localhost)" => "localhost".to_owned(),
                _ => host,
            },
            port: if connection.uses_port {
                self.setting_number(LOGIN_SECTION, "port", 1, 65_535) as u16
            } else {
                1433
            },
            ssl_mode: String::new(),
            socket: None,
            ssl: None,
            sql_server: Some(connection),
            user: self.setting_text(LOGIN_SECTION, "uid"),
            password: Secret::new(self.setting_text(LOGIN_SECTION, "pass")),
            database,
        }
    }

    /// The role, where it creates and drops the schema's database. In Azure SQL Database it stays in that
    /// database, which nobody creates in passing: it is paid for.
    pub(super) fn sql_server_administrator(&mut self) -> Login {
        let login = self.sql_server_login();
        match login.sql_server {
            Some(SqlServerConnection { azure: true, .. }) => login,
            _ => Login {
                database: ADMINISTRATION_DATABASE.to_owned(),
                ..login
            },
        }
    }

    /// Reports a problem if tables in memory are requested. Rows always travel in bulk streams, so
    /// `mssqls_use_bcp` is read only to report an invalid value.
    pub(super) fn refuse_memory_optimized_tables(&mut self) {
        self.require_off("imdb");
        self.tpcc_switch("use_bcp");
    }
}
