//! Settings that a plan asks for: how far each one reaches, how it is set, verified and put back.
//!
//! In: a control connection and [`ServerSettings`]. Out: [`SettingChange`]s, the sessions' part of a [`Target`], and errors
//! that say what to do. Must never: leave a changed server without a [`SettingChange`] that puts it back, or take a
//! setting for set that a new session does not show.

mod lock;
mod mysql;
mod postgres;
mod sqlserver;

pub use lock::{SettingsLock, lock_settings};
pub(crate) use sqlserver::is_secondary;

use crate::control::Error as ControlError;
use crate::observe::may_be_secret;
use crate::{Control, ProtocolOptions, Target};
use prony_document::{ServerSettings, SqlDialect};
use prony_plan::{ErrorParts, UserError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Each session has its own value.
    Session,
    /// The server has one value, which can be changed while it runs.
    Server,
    /// The server reads it when it starts.
    Restart,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedSetting {
    pub name: String,
    pub value: String,
    pub reach: Reach,
}

/// A setting of the whole server that was changed, with what it was before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingChange {
    pub name: String,
    /// What puts it back.
    undo: Vec<String>,
    /// The value before, for messages; not that of a setting that may have a secret.
    pub before: String,
    pub reach: Reach,
}

impl SettingChange {
    /// The statements that put it back.
    pub fn undo(&self) -> &[String] {
        &self.undo
    }
}

/// PostgreSQL's `insufficient_privilege`.
const INSUFFICIENT_PRIVILEGE: &str = "42501";

/// Why settings cannot be what a plan asks for.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.parts().problem)]
pub enum SettingError {
    Unknown {
        name: String,
    },
    /// It cannot be changed, for this reason.
    Fixed {
        name: String,
        reason: &'static str,
    },
    /// The server refused the value, or another statement.
    Refused {
        name: String,
        value: String,
        source: ControlError,
    },
    /// A new session has another value.
    Different {
        name: String,
        wanted: String,
        found: String,
    },
}

impl UserError for SettingError {
    fn parts(&self) -> ErrorParts {
        match self {
            SettingError::Unknown { name } => {
                ErrorParts::new(format!("the server has no setting {name}"))
                    .with_hint(
                        "SHOW ALL (PostgreSQL) or SHOW VARIABLES (MySQL) lists its settings; on SQL Server it is an option of SET, a \
                         database.* setting of a result, or a name in sys.configurations with _ in place of spaces",
                    )
            }
            SettingError::Fixed { name, reason } => {
                ErrorParts::new(format!("the setting {name} cannot be changed: {reason}"))
            }
            SettingError::Refused {
                name,
                value,
                source,
            } => {
                let context = format_args!("cannot set {name} to {value}: ");
                let mut parts = source.parts().with_context(context);
                // The privilege that the message names, such as that on a view, is not the only one.
                if source.sqlstate() == Some(INSUFFICIENT_PRIVILEGE) {
                    let superuser = "connect as a superuser: ALTER SYSTEM, pg_reload_conf() and pg_file_settings need one";
                    parts.hint = Some(superuser.to_owned());
                }
                if sqlserver::is_in_use(source) {
                    let others = "it needs the database without other sessions: end those of others, and repeat the command";
                    parts.hint = Some(others.to_owned());
                }
                parts
            }
            SettingError::Different {
                name,
                wanted,
                found,
            } => ErrorParts::new(format!(
                "the plan asks for {name} = {wanted}, but a new session has {found}"
            ))
            .with_hint(
                "the server may have adjusted the value, another place may override it (a role, a database, an option of the \
                 server's command), or a pooler serves the sessions",
            ),
        }
    }
}

/// How far each of these settings reaches on the server of this connection. May set them in this connection's session.
///
/// # Errors
/// One of them does not exist, cannot be changed, or has a value that the server refuses.
pub fn find_reach(
    control: &mut Control,
    settings: &ServerSettings,
) -> Result<Vec<WantedSetting>, SettingError> {
    let wanted = settings.iter().map(|(name, value)| {
        let reach = match control.dialect() {
            SqlDialect::PostgreSql => postgres::reach(control, name)?,
            SqlDialect::MySql => mysql::reach(control, name, value)?,
            SqlDialect::TransactSql => sqlserver::reach(control, name, value)?,
        };
        Ok(WantedSetting {
            name: name.to_owned(),
            value: value.to_owned(),
            reach,
        })
    });
    wanted.collect()
}

/// Lets each session of this target begin with the settings that a session has of its own.
pub fn set_in_sessions(target: &mut Target, wanted: &[WantedSetting]) {
    let own = || {
        wanted
            .iter()
            .filter(|setting| setting.reach == Reach::Session)
    };
    match &mut target.protocol {
        ProtocolOptions::PostgreSql(options) => {
            for setting in own() {
                let is_other = |name: &str| !name.eq_ignore_ascii_case(&setting.name);
                options.parameters.retain(|(name, _)| is_other(name));
                let parameter = (setting.name.clone(), setting.value.clone());
                options.parameters.push(parameter);
            }
        }
        ProtocolOptions::MySql(options) => {
            options.session_settings = own().map(mysql::assignment).collect();
        }
        ProtocolOptions::SqlServer(options) => {
            options.session_settings = own().map(sqlserver::assignment).collect();
        }
    }
    for additional in &mut target.additional_targets {
        set_in_sessions(additional, wanted);
    }
}

/// Changes a setting of the whole server; for one that it reads when it starts, it has to be restarted afterwards. `None`:
/// the server is a replica that gets it from its primary.
///
/// # Errors
/// The server refuses; then nothing is changed.
pub fn change_server(
    control: &mut Control,
    setting: &WantedSetting,
) -> Result<Option<SettingChange>, SettingError> {
    let change = match control.dialect() {
        SqlDialect::PostgreSql => postgres::change_server(control, setting).map(Some),
        SqlDialect::MySql => mysql::change_server(control, setting).map(Some),
        SqlDialect::TransactSql => sqlserver::change_server(control, setting),
    };
    let change = change.map_err(|source| SettingError::Refused {
        name: setting.name.clone(),
        value: setting.value.clone(),
        source,
    })?;
    Ok(change.map(|change| SettingChange {
        before: shown(&setting.name, change.before),
        ..change
    }))
}

fn shown(name: &str, value: String) -> String {
    if may_be_secret(name, &value) {
        "a value that may have a secret".to_owned()
    } else {
        value
    }
}

/// Undoes a change; a setting that the server reads when it starts has its old value after a restart.
pub fn put_back(control: &mut Control, change: &SettingChange) -> Result<(), ControlError> {
    undo(control, &change.undo)
}

/// Executes the statements that put a setting back ([`SettingChange::undo`]).
pub fn undo(control: &mut Control, statements: &[String]) -> Result<(), ControlError> {
    statements
        .iter()
        .try_for_each(|statement| control.execute(statement).map(drop))
}

/// Verifies that a new session, that of this connection, has these settings.
///
/// # Errors
/// It has not, or the server does not say.
pub fn verify(control: &mut Control, wanted: &[WantedSetting]) -> Result<(), SettingError> {
    for setting in wanted {
        let found = match control.dialect() {
            SqlDialect::PostgreSql => postgres::difference(control, setting),
            SqlDialect::MySql => mysql::difference(control, setting),
            SqlDialect::TransactSql => sqlserver::difference(control, setting),
        };
        let found = found.map_err(|source| SettingError::Refused {
            name: setting.name.clone(),
            value: setting.value.clone(),
            source,
        })?;
        if let Some(found) = found {
            return Err(SettingError::Different {
                name: setting.name.clone(),
                wanted: setting.value.clone(),
                found: shown(&setting.name, found),
            });
        }
    }
    Ok(())
}

/// A setting's name, each part of it quoted as an identifier.
fn quoted(dialect: SqlDialect, name: &str) -> String {
    let parts = name.split('.').map(|part| dialect.quote_identifier(part));
    parts.collect::<Vec<_>>().join(".")
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// What a text such as `on` or `FALSE` means.
fn boolean(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => Some(true),
        "off" | "false" | "no" | "0" => Some(false),
        _ => None,
    }
}

/// A number with a unit of memory or time, such as `64MB` or `5 min`, in bytes or microseconds; one without a unit is in
/// `unit`, such as `8kB`.
fn quantity(text: &str, unit: &str) -> Option<f64> {
    let text = text.trim();
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+')))
        .unwrap_or(text.len());
    let (number, own_unit) = text.split_at(end);
    let number: f64 = number.parse().ok()?;
    let (count, unit) = match own_unit.trim() {
        "" => {
            let digits = unit.bytes().take_while(u8::is_ascii_digit).count();
            let (count, unit) = unit.split_at(digits);
            (count.parse().unwrap_or(1.0), unit)
        }
        own_unit => (1.0, own_unit),
    };
    let factor = match unit.to_ascii_lowercase().as_str() {
        "" | "b" | "us" => 1.0,
        "k" | "kb" => 1024.0,
        "m" | "mb" => 1024_f64.powi(2),
        "g" | "gb" => 1024_f64.powi(3),
        "t" | "tb" => 1024_f64.powi(4),
        "ms" => 1e3,
        "s" => 1e6,
        "min" => 60e6,
        "h" => 3600e6,
        "d" => 86_400e6,
        _ => return None,
    };
    Some(number * count * factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;
    use prony_wire::{Protocol, ServerError};

    #[test]
    fn a_missing_privilege_is_not_only_that_on_the_view() {
        let message = "permission denied for view pg_file_settings".to_owned();
        let error = ServerError::new(Protocol::PostgreSql, 0, *b"42501", message);
        let refused = SettingError::Refused {
            name: "fsync".to_owned(),
            value: "off".to_owned(),
            source: ControlError::Statement(Box::new(error)),
        };
        let hint = refused.parts().hint.expect("a hint");
        hint.assert_starts_with("connect as a superuser");
    }

    #[test]
    fn a_setting_of_sql_server_is_the_wanted_one_in_each_way_to_write_it() {
        let is_same = |found, name, wanted| sqlserver::is_same(name, wanted, found);
        for name in [
            "is_parameterization_forced",
            "database.is_parameterization_forced",
        ] {
            for forced in ["forced", "FORCED", "on", "1", "true"] {
                assert!(
                    is_same("1", name, forced) && !is_same("0", name, forced),
                    "{forced}"
                );
            }
            for simple in ["simple", "off", "0", "false"] {
                assert!(
                    is_same("0", name, simple) && !is_same("1", name, simple),
                    "{simple}"
                );
            }
        }
        assert!(is_same("low", "deadlock_priority", "-5"));
        assert!(is_same("1", "ansi_nulls", "on") && !is_same("0", "ansi_nulls", "on"));
    }

    #[test]
    fn values_that_may_have_a_secret_are_not_shown() {
        let text = |name: &str, value: &str| shown(name, value.to_owned());
        assert_eq!(text("work_mem", "4MB"), "4MB");
        text("archive_command", "scp %p u:geheim@h").assert_contains("may have a secret");
        assert_eq!(text("archive_command", ""), "");
    }

    #[test]
    fn quantities_with_and_without_units_are_compared() {
        assert_eq!(quantity("64MB", ""), quantity("8192", "8kB"));
        assert_eq!(quantity("5 min", ""), quantity("300", "s"));
        assert_eq!(quantity("0.5", ""), Some(0.5));
        assert_eq!(quantity("-1", "kB"), Some(-1024.0));
        assert_eq!(quantity("replica", ""), None);
        assert_eq!(quantity("128M", ""), quantity("134217728", ""));
        assert_eq!(quantity("1 parsec", ""), None);
        assert_eq!(literal("it's"), "'it''s'");
        assert_eq!(
            (boolean("TRUE"), boolean("0"), boolean("2")),
            (Some(true), Some(false), None)
        );
    }
}
