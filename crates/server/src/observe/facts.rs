//! Reads a server's version and settings.
//!
//! Must never: return a setting that may contain a secret.

use super::{cell, first_line, pooler, sqlserver_facts};
use crate::control::{Account, Control, Error, TextRow, recognize_product};
use prony_document::{FoundPooler, Product, Service, SqlDialect};
use std::collections::BTreeMap;

/// Replacement for a value that may be a secret.
const WITHHELD: &str = "(not stored)";

/// A setting whose name contains one of these texts may contain a secret, such as a password in a
/// connection string or in a command that the server runs.
const SENSITIVE_NAME_PARTS: [&str; 9] = [
    "conninfo",
    "passw",
    "passphrase",
    "_command",
    "secret",
    "token",
    "license_key",
    "credential",
    "api_key",
];

/// A relation that only Aurora DSQL has, in the form of a setting.
const SERVICE_RELATION_QUERY: &str = "SELECT 'sys.iam_pg_role_mappings', 'relation' FROM pg_catalog.pg_class c \
     JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
     WHERE n.nspname = 'sys' AND c.relname = 'iam_pg_role_mappings'";

/// A server's version and settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerFacts {
    /// Version for display, such as `15.18 (Debian 15.18-0+deb12u1)`.
    pub version: String,
    /// All settings (name, value), sorted, as the server prints them: PostgreSQL's with units, as
    /// in `SHOW`.
    pub settings: Vec<(String, String)>,
    /// The service or derived product that these show.
    pub service: Option<Service>,
    /// What stands before it and shares its sessions between clients; `None` if nothing was found.
    pub pooler: Option<FoundPooler>,
}

impl ServerFacts {
    /// The facts of a server to which a connection failed; they have the reason.
    pub fn not_readable(error: &Error) -> ServerFacts {
        ServerFacts {
            settings: vec![("settings".to_owned(), not_readable(error))],
            ..ServerFacts::default()
        }
    }

    /// The product, of which a log-in named this one: a pooler may name another one than the server's.
    pub fn product(&self, named: Product) -> Product {
        match &*self.version {
            "" => named,
            version => recognize_product(named.dialect, version),
        }
    }

    pub fn setting(&self, name: &str) -> Option<&str> {
        let mut settings = self.settings.iter();
        settings
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }
}

/// Reads the server's version and settings.
///
/// # Errors
/// The connection is lost. What the server refuses is a setting whose value is the reason.
pub fn read_server_facts(control: &mut Control) -> Result<ServerFacts, Error> {
    let version = control.parameter("server_version").unwrap_or_default();
    let version = version.to_owned();
    let rows = match control.dialect() {
        // The view omits settings that this role may not see, for which current_setting would fail.
        SqlDialect::PostgreSql => {
            // Prony's own session has no time limits: those of the clients' are what it began with.
            let sql = "SELECT name, CASE WHEN unit = 'ms' AND setting <> reset_val THEN reset_val || unit \
                       ELSE current_setting(name, true) END FROM pg_settings ORDER BY 1";
            match control.query(sql) {
                // Access to the view can be revoked; SHOW ALL needs no privilege and returns the same.
                Err(error) if !error.is_lost() => control.query("SHOW ALL"),
                result => result,
            }
            .and_then(|settings| with_service_relation(control, settings))
        }
        SqlDialect::MySql => mysql_variables(control),
        SqlDialect::TransactSql => sqlserver_facts::read(control),
    };
    let mut readable = Vec::new();
    extend_or_explain(&mut readable, "settings", rows)?;
    let custom = custom_settings(control);
    extend_or_explain(&mut readable, "custom settings", custom)?;
    let version = match control.dialect() {
        SqlDialect::TransactSql => sqlserver_facts::version(&readable, &version),
        SqlDialect::PostgreSql | SqlDialect::MySql => version,
    };
    let mut settings: Vec<_> = readable
        .iter()
        .filter_map(|row| Some((cell(row, 0)?, cell(row, 1)?)))
        .map(|(name, value)| (name.to_owned(), hide_secret(name, value).to_owned()))
        .collect();
    // The server's order depends on its collation.
    settings.sort();
    settings.dedup_by(|a, b| a.0 == b.0);
    // A pooler may name a version of its own in the log-in, such as that of a MySQL before a MariaDB.
    let own_version = settings.iter().find(|(name, _)| name == "version");
    let own_version = own_version.map(|(_, value)| value.clone());
    let versions = format!("{version} {}", own_version.as_deref().unwrap_or_default());
    let service = Service::recognize(control.dialect(), &versions, &settings);
    let pooler = match pooler::find_pooler(control, service) {
        Err(error) if !error.is_lost() => {
            settings.push(("pooler".to_owned(), not_readable(&error)));
            settings.sort();
            None
        }
        found => found?,
    };
    let version = match own_version {
        Some(own) if pooler.is_some() => own,
        _ => version,
    };
    Ok(ServerFacts {
        pooler,
        service,
        version,
        settings,
    })
}

/// Adds a relation that shows a service whose settings do not.
fn with_service_relation(
    control: &mut Control,
    mut settings: Vec<TextRow>,
) -> Result<Vec<TextRow>, Error> {
    let found = control.query(SERVICE_RELATION_QUERY);
    extend_or_explain(&mut settings, "relations of services", found)?;
    Ok(settings)
}

/// The global variables of MySQL or MariaDB, those of sessions with the value in this session, which `init_connect` may
/// have changed for this account.
fn mysql_variables(control: &mut Control) -> Result<Vec<TextRow>, Error> {
    let mut variables = control.query("SHOW GLOBAL VARIABLES")?;
    let session = control.query("SHOW SESSION VARIABLES")?;
    let mut session: BTreeMap<_, _> = session
        .into_iter()
        .filter_map(|mut row| Some((row.first_mut()?.take()?, row.pop()?)))
        .collect();
    for row in &mut variables {
        // Control connections set their time limits.
        if let [Some(name), value] = &mut row[..]
            && !["wait_timeout", "max_statement_time", "max_execution_time"].contains(&&**name)
            && let Some(in_session) = session.remove(name)
        {
            *value = in_session;
        }
    }
    Ok(variables)
}

/// Custom settings of this session (`x.d`), which PostgreSQL does not list: those of the connection's options, as in a URL
/// or PGOPTIONS, and those of the role and the database.
fn custom_settings(control: &mut Control) -> Result<Vec<TextRow>, Error> {
    let Account::Postgres(login) = &control.route().account else {
        return Ok(Vec::new());
    };
    let of_login = login.parameters.iter();
    let options = of_login.filter(|(name, _)| name == "options");
    let names: Vec<String> = options
        .flat_map(|(_, options)| custom_names(options))
        .map(|name| format!("'{name}'"))
        .collect();
    let sql = format!(
        "SELECT name, current_setting(name, true) FROM (SELECT unnest(ARRAY[{}]::text[]) UNION \
         SELECT split_part(unnest(setconfig), '=', 1) FROM pg_catalog.pg_db_role_setting \
         WHERE setrole IN (0, (SELECT oid FROM pg_catalog.pg_roles WHERE rolname = current_user)) \
         AND setdatabase IN (0, (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database()))) \
         AS names(name) WHERE name LIKE '%.%' AND current_setting(name, true) IS NOT NULL",
        names.join(", ")
    );
    control.query(&sql)
}

/// Adds settings, or the reason why there are none under the name `what`.
pub(super) fn extend_or_explain(
    rows: &mut Vec<TextRow>,
    what: &str,
    settings: Result<Vec<TextRow>, Error>,
) -> Result<(), Error> {
    match settings {
        Ok(settings) => rows.extend(settings),
        Err(error) if error.is_lost() => return Err(error),
        Err(error) => rows.push(vec![Some(what.to_owned()), Some(not_readable(&error))]),
    }
    Ok(())
}

fn not_readable(error: &Error) -> String {
    format!("(not readable: {})", first_line(error))
}

/// The names of the custom settings in the options of a session, such as `-c x.d=1 --x.e=2`.
fn custom_names(options: &str) -> impl Iterator<Item = &str> {
    let names = options.split_whitespace().filter_map(|word| {
        let word = word.strip_prefix("-c").unwrap_or(word);
        let (name, _) = word.trim_start_matches('-').split_once('=')?;
        Some(name)
    });
    names.filter(|name| {
        let is_plain = |char: char| char.is_ascii_alphanumeric() || "._$".contains(char);
        name.contains('.') && name.chars().all(is_plain)
    })
}

/// The value, or its replacement if it may be a secret.
fn hide_secret<'a>(name: &str, value: &'a str) -> &'a str {
    if may_be_secret(name, value) { WITHHELD } else { value }
}

pub(crate) fn may_be_secret(name: &str, value: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_sensitive = SENSITIVE_NAME_PARTS.iter().any(|part| name.contains(part));
    // `password_encryption scram-sha-256` and `default_password_lifetime 0` are not secrets.
    let harmless = ["", "on", "off", "ON", "OFF", "md5", "scram-sha-256", "LOW"];
    let is_number = value.parse::<f64>().is_ok();
    is_sensitive && !harmless.contains(&value) && !is_number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_the_server_decides_on_its_product() {
        for (named, version, product) in [
            (Product::MYSQL, "10.11.6-MariaDB", Product::MARIADB),
            (Product::MARIADB, "8.0.36", Product::MYSQL),
            (Product::MARIADB, "", Product::MARIADB),
            (Product::MYSQL, "", Product::MYSQL),
            (Product::POSTGRESQL, "15.18", Product::POSTGRESQL),
            (Product::SQL_SERVER, "16.0.4105", Product::SQL_SERVER),
        ] {
            let facts = ServerFacts {
                version: version.to_owned(),
                ..ServerFacts::default()
            };
            assert_eq!(facts.product(named), product, "{version}");
        }
    }

    #[test]
    fn custom_settings_are_found_in_options() {
        let options = r"-c x.d=1 -cy.e=a\ b --app.tenant-x=3 --Z.f='2 -c work_mem=1MB";
        let names: Vec<&str> = custom_names(options).collect();
        assert_eq!(names, ["x.d", "y.e", "Z.f"]);
    }

    #[test]
    fn values_that_may_be_secrets_are_hidden() {
        let conninfo = "host=a password=geheim";
        for (name, value) in [
            ("primary_conninfo", conninfo),
            ("archive_command", "scp %p user:geheim@h"),
            ("ssl_passphrase_command", "echo geheim"),
            ("report_password", "geheim"),
            ("Vault_Token", "geheim"),
        ] {
            assert_eq!(hide_secret(name, value), WITHHELD, "{name}");
        }
        for (name, value) in [
            ("password_encryption", "scram-sha-256"),
            ("default_password_lifetime", "0"),
            ("archive_command", ""),
            ("shared_buffers", "128MB"),
        ] {
            assert_eq!(hide_secret(name, value), value, "{name}");
        }
    }
}
