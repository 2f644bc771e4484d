//! Settings of PostgreSQL: parameters of the log-in, or ALTER SYSTEM and a reload.

use super::{Reach, SettingChange, SettingError, WantedSetting, boolean, literal, quantity};
use crate::Control;
use crate::control::Error as ControlError;
use prony_document::SqlDialect;

/// Settings that are lists of names: each name is quoted on its own.
const LISTS: [&str; 6] = [
    "local_preload_libraries",
    "search_path",
    "session_preload_libraries",
    "shared_preload_libraries",
    "temp_tablespaces",
    "unix_socket_directories",
];

/// How far a setting reaches, by its context in `pg_settings`.
pub(super) fn reach(control: &mut Control, name: &str) -> Result<Reach, SettingError> {
    let sql = "SELECT context FROM pg_settings WHERE lower(name) = $1";
    let rows = control.query_with(sql, &[name]);
    let rows = rows.map_err(|source| SettingError::Refused {
        name: name.to_owned(),
        value: "another value".to_owned(),
        source,
    })?;
    let context = rows.into_iter().flatten().flatten().next();
    match context.as_deref() {
        // A setting of an extension that is not loaded: the log-in may set it.
        None if name.contains('.') => Ok(Reach::Session),
        None => Err(SettingError::Unknown {
            name: name.to_owned(),
        }),
        Some("postmaster") => Ok(Reach::Restart),
        Some("sighup") => Ok(Reach::Server),
        Some("internal") => Err(SettingError::Fixed {
            name: name.to_owned(),
            reason: "it was decided when the server was built or initialised",
        }),
        Some(_) => Ok(Reach::Session),
    }
}

pub(super) fn change_server(
    control: &mut Control,
    setting: &WantedSetting,
) -> Result<SettingChange, ControlError> {
    let name = &setting.name;
    // What an earlier ALTER SYSTEM has set, which a reset would remove.
    let sql = "SELECT setting FROM pg_file_settings WHERE lower(name) = $1 AND sourcefile LIKE '%postgresql.auto.conf' \
               ORDER BY seqno DESC LIMIT 1";
    let earlier = control.query_with(sql, &[name])?;
    let earlier = earlier.into_iter().flatten().flatten().next();
    let before = control.query_with("SELECT current_setting($1)", &[name])?;
    let before = before.into_iter().flatten().flatten().next();
    let undo = match earlier {
        Some(value) => alter(name, &value),
        None => format!("ALTER SYSTEM RESET {}", quoted(name)),
    };
    control.execute(&alter(name, &setting.value))?;
    control.execute(RELOAD)?;
    Ok(SettingChange {
        name: name.clone(),
        undo: vec![undo, RELOAD.to_owned()],
        before: before.unwrap_or_default(),
        reach: setting.reach,
    })
}

const RELOAD: &str = "SELECT pg_reload_conf()";

fn alter(name: &str, value: &str) -> String {
    let value = if LISTS.contains(&name) {
        let items = value
            .split(',')
            .map(|item| literal(item.trim().trim_matches('"')));
        items.collect::<Vec<_>>().join(", ")
    } else {
        literal(value)
    };
    format!("ALTER SYSTEM SET {} = {value}", quoted(name))
}

fn quoted(name: &str) -> String {
    super::quoted(SqlDialect::PostgreSql, name)
}

/// The value of a setting in this session, if it is another than the wanted one.
pub(super) fn difference(
    control: &mut Control,
    setting: &WantedSetting,
) -> Result<Option<String>, ControlError> {
    let sql = "SELECT current_setting($1), setting, COALESCE(unit, ''), vartype \
               FROM (SELECT 1) AS one LEFT JOIN pg_settings ON lower(name) = lower($1)";
    let rows = control.query_with(sql, &[&setting.name])?;
    let row = rows.into_iter().next().unwrap_or_default();
    let mut row = row.into_iter().map(Option::unwrap_or_default);
    let [shown, stored, unit, value_type] = std::array::from_fn(|_| row.next().unwrap_or_default());
    let wanted = &setting.value;
    let is_same = match value_type.as_str() {
        "bool" => boolean(wanted) == boolean(&shown),
        "integer" | "real" => {
            let pair = (quantity(wanted, &unit), quantity(&stored, &unit));
            matches!(pair, (Some(wanted), Some(stored)) if is_close(wanted, stored))
        }
        "enum" => {
            let same_meaning = boolean(wanted).is_some() && boolean(wanted) == boolean(&shown);
            same_meaning || wanted.eq_ignore_ascii_case(&shown)
        }
        _ => plain(wanted) == plain(&shown),
    };
    Ok((!is_same).then_some(shown))
}

/// Whether two quantities are the same: the server rounds to its own unit.
fn is_close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-3 * a.abs().max(b.abs())
}

/// A list of names without quotes and spaces.
fn plain(text: &str) -> String {
    text.replace(['"', ' '], "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_quote_names_and_values() {
        assert_eq!(
            alter("work_mem", "6'4MB"),
            "ALTER SYSTEM SET \"work_mem\" = '6''4MB'"
        );
        assert_eq!(
            alter("shared_preload_libraries", "a, \"b\""),
            "ALTER SYSTEM SET \"shared_preload_libraries\" = 'a', 'b'"
        );
        assert_eq!(
            alter("auto_explain.x", "1"),
            "ALTER SYSTEM SET \"auto_explain\".\"x\" = '1'"
        );
    }
}
