//! Settings of MySQL and MariaDB: a statement after each log-in, or SET GLOBAL, or SET PERSIST_ONLY and a restart.

use super::{Reach, SettingChange, SettingError, WantedSetting, boolean, literal, quantity};
use crate::Control;
use crate::control::Error as ControlError;
use prony_document::{Product, SqlDialect};

/// `ER_UNKNOWN_SYSTEM_VARIABLE`.
const UNKNOWN: u16 = 1193;
/// `ER_GLOBAL_VARIABLE`: only the server has a value.
const GLOBAL_ONLY: u16 = 1229;
/// `ER_INCORRECT_GLOBAL_LOCAL_VAR`: read-only, at all or for sessions.
const READ_ONLY: u16 = 1238;

/// `name = value`, for SET.
pub(super) fn assignment(setting: &WantedSetting) -> String {
    format!("{} = {}", quoted(&setting.name), value(&setting.value))
}

fn quoted(name: &str) -> String {
    super::quoted(SqlDialect::MySql, name)
}

/// A value for SET, which takes numbers only without quotes, and sizes only as numbers.
fn value(text: &str) -> String {
    let is_number = text.parse::<f64>().is_ok_and(f64::is_finite);
    let sized = text.strip_suffix(['k', 'K', 'm', 'M', 'g', 'G']);
    let is_size = sized.is_some_and(|number| number.parse::<u32>().is_ok());
    match quantity(text, "") {
        _ if is_number => text.to_owned(),
        Some(bytes) if is_size => format!("{bytes:.0}"),
        // The server also reads backslashes.
        _ => literal(&text.replace('\\', "\\\\")),
    }
}

/// How far a setting reaches: what the server answers to setting it tells. Sets it in this session if it can.
pub(super) fn reach(
    control: &mut Control,
    name: &str,
    wanted: &str,
) -> Result<Reach, SettingError> {
    let refused = |source| SettingError::Refused {
        name: name.to_owned(),
        value: wanted.to_owned(),
        source,
    };
    let target = quoted(name);
    let Err(error) = control.execute(&format!("SET SESSION {target} = {}", value(wanted))) else {
        return Ok(Reach::Session);
    };
    match number(&error) {
        Some(GLOBAL_ONLY) => return Ok(Reach::Server),
        Some(READ_ONLY) => {}
        Some(UNKNOWN) => {
            return Err(SettingError::Unknown {
                name: name.to_owned(),
            });
        }
        _ => return Err(refused(error)),
    }
    // Its own value changes nothing, and tells whether the server can change it.
    let same = control.execute(&format!("SET GLOBAL {target} = @@GLOBAL.{target}"));
    match same {
        Ok(_) => Ok(Reach::Server),
        Err(error) if number(&error) == Some(READ_ONLY) => {
            if control.product() == Product::MYSQL && control.server_version() >= 80_000 {
                return Ok(Reach::Restart);
            }
            Err(SettingError::Fixed {
                name: name.to_owned(),
                reason: "this server reads it from its option file when it starts; let the command of `between` in \
                         [experiment] of a plan file write that file for $PRONY_VARIANT, and restart the server",
            })
        }
        Err(error) => Err(refused(error)),
    }
}

fn number(error: &ControlError) -> Option<u16> {
    let error = error.server_error()?;
    u16::try_from(error.number).ok()
}

pub(super) fn change_server(
    control: &mut Control,
    setting: &WantedSetting,
) -> Result<SettingChange, ControlError> {
    let target = quoted(&setting.name);
    let before = control.query_value(&format!("SELECT @@GLOBAL.{target}"))?;
    let (statement, undo) = if setting.reach == Reach::Restart {
        let persisted = control.query_value(&format!(
            "SELECT variable_value FROM performance_schema.persisted_variables WHERE variable_name = {}",
            literal(&setting.name)
        ));
        let undo = match persisted.ok().flatten() {
            Some(earlier) => format!("SET PERSIST_ONLY {target} = {}", value(&earlier)),
            None => format!("RESET PERSIST IF EXISTS {target}"),
        };
        ("SET PERSIST_ONLY", undo)
    } else {
        let old = before.as_deref().map_or("DEFAULT".to_owned(), value);
        ("SET GLOBAL", format!("SET GLOBAL {target} = {old}"))
    };
    control.execute(&format!("{statement} {target} = {}", value(&setting.value)))?;
    Ok(SettingChange {
        name: setting.name.clone(),
        undo: vec![undo],
        before: before.unwrap_or_else(|| "NULL".to_owned()),
        reach: setting.reach,
    })
}

/// The value of a setting in this session, if it is another than the wanted one.
pub(super) fn difference(
    control: &mut Control,
    setting: &WantedSetting,
) -> Result<Option<String>, ControlError> {
    let found = control.query_value(&format!("SELECT @@{}", quoted(&setting.name)))?;
    let found = found.unwrap_or_else(|| "NULL".to_owned());
    let wanted = &setting.value;
    let as_boolean = boolean(wanted).is_some() && boolean(wanted) == boolean(&found);
    let as_quantity =
        quantity(wanted, "").is_some() && quantity(wanted, "") == quantity(&found, "");
    let is_same = as_boolean || as_quantity || wanted.eq_ignore_ascii_case(&found);
    Ok((!is_same).then_some(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_quoted_unless_they_are_numbers_or_sizes() {
        let text = |name: &str, value: &str| {
            assignment(&WantedSetting {
                name: name.to_owned(),
                value: value.to_owned(),
                reach: Reach::Session,
            })
        };
        assert_eq!(text("a", "2"), "`a` = 2");
        assert_eq!(text("a.b", "OFF"), "`a`.`b` = 'OFF'");
        assert_eq!(text("a", "64M"), "`a` = 67108864");
        assert_eq!(text("a", r"it's \n"), r"`a` = 'it''s \\n'");
        assert_eq!(text("a", "inf"), "`a` = 'inf'");
    }
}
