//! Settings of SQL Server: SET in each session, ALTER DATABASE, or sp_configure with RECONFIGURE.
//!
//! A setting has the name under which results show it, with `_` for what a name in a plan cannot have: of the server
//! `max_degree_of_parallelism`, of the database `database.delayed_durability_desc`. SET options have the words after SET.

use super::{Reach, SettingChange, SettingError, WantedSetting, boolean, literal};
use crate::Control;
use crate::control::Error as ControlError;
use prony_document::setting_name;
use prony_wire::Protocol;
use std::thread::sleep;
use std::time::Duration;

/// Options of a session: the words after SET, and what reads the value.
const SESSION_OPTIONS: [(&str, &str); 11] = [
    ("ansi_nulls", "sessionproperty('ANSI_NULLS')"),
    ("ansi_padding", "sessionproperty('ANSI_PADDING')"),
    ("ansi_warnings", "sessionproperty('ANSI_WARNINGS')"),
    ("arithabort", "sessionproperty('ARITHABORT')"),
    (
        "concat_null_yields_null",
        "sessionproperty('CONCAT_NULL_YIELDS_NULL')",
    ),
    (
        "numeric_roundabort",
        "sessionproperty('NUMERIC_ROUNDABORT')",
    ),
    ("quoted_identifier", "sessionproperty('QUOTED_IDENTIFIER')"),
    ("lock_timeout", "@@lock_timeout"),
    ("textsize", "@@textsize"),
    (
        "deadlock_priority",
        "(select case deadlock_priority when -5 then 'low' when 0 then 'normal' when 5 then 'high' \
         else cast(deadlock_priority as nvarchar(20)) end from sys.dm_exec_sessions where session_id = @@spid)",
    ),
    (
        "transaction_isolation_level",
        "(select case transaction_isolation_level when 1 then 'read uncommitted' when 2 then 'read committed' \
         when 3 then 'repeatable read' when 4 then 'serializable' when 5 then 'snapshot' end \
         from sys.dm_exec_sessions where session_id = @@spid)",
    ),
];

/// Options that Prony's own sessions rely on.
const OWN_OPTIONS: [&str; 4] = ["xact_abort", "nocount", "implicit_transactions", "noexec"];

/// Options of a database: the column of sys.databases, and the words of ALTER DATABASE.
const DATABASE_OPTIONS: [(&str, &str); 11] = [
    ("delayed_durability_desc", "DELAYED_DURABILITY = "),
    ("is_read_committed_snapshot_on", "READ_COMMITTED_SNAPSHOT "),
    ("snapshot_isolation_state_desc", "ALLOW_SNAPSHOT_ISOLATION "),
    ("recovery_model_desc", "RECOVERY "),
    ("page_verify_option_desc", "PAGE_VERIFY "),
    ("compatibility_level", "COMPATIBILITY_LEVEL = "),
    ("is_auto_create_stats_on", "AUTO_CREATE_STATISTICS "),
    ("is_auto_update_stats_on", "AUTO_UPDATE_STATISTICS "),
    (
        "is_auto_update_stats_async_on",
        "AUTO_UPDATE_STATISTICS_ASYNC ",
    ),
    (
        "is_accelerated_database_recovery_on",
        "ACCELERATED_DATABASE_RECOVERY = ",
    ),
    ("is_parameterization_forced", "PARAMETERIZATION "),
];

const DATABASE_PREFIX: &str = "database.";

enum Place {
    Session(&'static str),
    Database(&'static str, &'static str),
    /// A scoped configuration of the database, with its name.
    Scoped(String),
    /// A configuration of the server: its name, and whether it can change while the server runs, and whether it is shown only
    /// among the advanced options.
    Server {
        name: String,
        is_dynamic: bool,
        is_advanced: bool,
    },
}

fn find(control: &mut Control, name: &str) -> Result<Option<Place>, ControlError> {
    if let Some((_, reading)) = SESSION_OPTIONS.iter().find(|(option, _)| *option == name) {
        return Ok(Some(Place::Session(reading)));
    }
    if let Some(name) = name.strip_prefix(DATABASE_PREFIX) {
        let mut options = DATABASE_OPTIONS.iter();
        if let Some((column, words)) = options.find(|(column, _)| *column == name) {
            return Ok(Some(Place::Database(column, words)));
        }
        // Versions before 2016 have none.
        let names = control.query("select name from sys.database_scoped_configurations");
        let names = match names {
            Err(ControlError::Statement(_)) => Vec::new(),
            names => names?,
        };
        let mut names = names.into_iter().flatten().flatten();
        return Ok(names
            .find(|found| setting_name(found) == name)
            .map(Place::Scoped));
    }
    let rows = control.query(
        "select name, cast(is_dynamic as int), cast(is_advanced as int) from sys.configurations",
    )?;
    let server = rows.into_iter().find_map(|row| {
        let mut cells = row.into_iter().map(Option::unwrap_or_default);
        let found = cells.next().filter(|found| setting_name(found) == name)?;
        Some(Place::Server {
            name: found,
            is_dynamic: cells.next().as_deref() == Some("1"),
            is_advanced: cells.next().as_deref() == Some("1"),
        })
    });
    Ok(server)
}

/// The statement that gives a session an option.
pub(super) fn assignment(setting: &WantedSetting) -> String {
    let words = match setting.name.as_str() {
        "transaction_isolation_level" => "TRANSACTION ISOLATION LEVEL",
        name => name,
    };
    let value = match boolean(&setting.value) {
        Some(is_on) if setting.value.parse::<i64>().is_err() => on_or_off(is_on).to_owned(),
        _ => setting.value.clone(),
    };
    format!("SET {words} {value}")
}

fn on_or_off(is_on: bool) -> &'static str {
    if is_on { "ON" } else { "OFF" }
}

/// How far a setting reaches. Sets it in this session if it is one of sessions, to learn whether the server takes the value.
pub(super) fn reach(control: &mut Control, name: &str, value: &str) -> Result<Reach, SettingError> {
    let refused = |source| SettingError::Refused {
        name: name.to_owned(),
        value: value.to_owned(),
        source,
    };
    if OWN_OPTIONS.contains(&name) {
        return Err(SettingError::Fixed {
            name: name.to_owned(),
            reason: "Prony's sessions rely on it",
        });
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ' ');
    if value.is_empty() || !value.chars().all(is_plain) {
        return Err(SettingError::Fixed {
            name: name.to_owned(),
            reason: "on SQL Server a value is a word or a number",
        });
    }
    match find(control, name).map_err(refused)? {
        None => Err(SettingError::Unknown {
            name: name.to_owned(),
        }),
        Some(Place::Session(_)) => {
            let wanted = WantedSetting {
                name: name.to_owned(),
                value: value.to_owned(),
                reach: Reach::Session,
            };
            control.execute(&assignment(&wanted)).map_err(refused)?;
            Ok(Reach::Session)
        }
        Some(Place::Server {
            is_dynamic: false, ..
        }) => Ok(Reach::Restart),
        Some(_) => Ok(Reach::Server),
    }
}

/// The statement that gives the database or the server a value.
fn change(place: &Place, value: &str) -> String {
    match place {
        Place::Session(_) => String::new(),
        Place::Database(column, words) => {
            let value = match boolean(value) {
                Some(true) if *column == "is_parameterization_forced" => "FORCED",
                Some(false) if *column == "is_parameterization_forced" => "SIMPLE",
                Some(is_on) if column.starts_with("is_") || words.ends_with("ISOLATION ") => {
                    on_or_off(is_on)
                }
                _ => value,
            };
            // It needs the database for itself, and would wait for the sessions of others.
            let end = match *column {
                "is_read_committed_snapshot_on" | "is_accelerated_database_recovery_on" => {
                    " WITH NO_WAIT"
                }
                _ => "",
            };
            format!("ALTER DATABASE CURRENT SET {words}{value}{end}")
        }
        Place::Scoped(name) => {
            // MAXDOP and durations are numbers; 0 and 1 of the others mean OFF and ON.
            let is_number = name.eq_ignore_ascii_case("maxdop")
                || name.to_ascii_lowercase().ends_with("_minutes");
            let value = match boolean(value) {
                Some(is_on) if !is_number => on_or_off(is_on),
                _ => value,
            };
            format!("ALTER DATABASE SCOPED CONFIGURATION SET {name} = {value}")
        }
        Place::Server {
            name, is_advanced, ..
        } => {
            let value = match boolean(value) {
                Some(is_on) => i32::from(is_on).to_string(),
                None => value.to_owned(),
            };
            let set = format!("EXEC sp_configure {}, {value}; RECONFIGURE", literal(name));
            if !is_advanced {
                return set;
            }
            // Advanced options can be set only while they are shown.
            format!(
                "DECLARE @shown int = (select cast(value_in_use as int) from sys.configurations \
                 where name = 'show advanced options'); \
                 IF @shown = 0 BEGIN EXEC sp_configure 'show advanced options', 1; RECONFIGURE; END; \
                 {set}; \
                 IF @shown = 0 BEGIN EXEC sp_configure 'show advanced options', 0; RECONFIGURE; END"
            )
        }
    }
}

/// The query for the value of a setting. `server_column`: for a setting of the server, the column of `sys.configurations`:
/// `value_in_use`, or `value`, which it will have.
fn reading(place: &Place, server_column: &str) -> String {
    match place {
        Place::Session(expression) => format!("select cast({expression} as nvarchar(400))"),
        Place::Database(column, _) => format!(
            "select cast({column} as nvarchar(400)) from sys.databases where name = db_name()"
        ),
        Place::Scoped(name) => format!(
            "select cast(value as nvarchar(400)) from sys.database_scoped_configurations where name = {}",
            literal(name)
        ),
        Place::Server { name, .. } => format!(
            "select cast({server_column} as nvarchar(400)) from sys.configurations where name = {}",
            literal(name)
        ),
    }
}

/// How often, and after which pause, an option is set that needs the database without other sessions: those of a run
/// that has just ended may take a moment to go.
const TRIES: u32 = 10;
const RETRY_PAUSE: Duration = Duration::from_millis(300);

/// Whether the server did not change a database because others use it: 5061 (no lock), 5070 (other users), and 5069, which
/// follows one of them.
pub(super) fn is_in_use(error: &ControlError) -> bool {
    let error = error.server_error();
    error.is_some_and(|error| {
        error.protocol == Protocol::Tds && matches!(error.number, 5061 | 5069 | 5070)
    })
}

/// `READ_ONLY` on a readable secondary, whose database has the options of the primary's.
const UPDATEABILITY: &str =
    "select cast(databasepropertyex(db_name(), 'Updateability') as nvarchar(20))";

/// 1 on the primary, whose database may be read-only by itself; NULL without an availability group.
const IS_PRIMARY: &str = "select cast(sys.fn_hadr_is_primary_replica(db_name()) as int)";

pub(crate) fn is_secondary(control: &mut Control) -> Result<bool, ControlError> {
    if control.query_value(UPDATEABILITY)?.as_deref() != Some("READ_ONLY") {
        return Ok(false);
    }
    // Some engines have secondaries without this function.
    let is_primary = control.query_value(IS_PRIMARY).unwrap_or_default();
    Ok(is_primary.as_deref() != Some("1"))
}

pub(super) fn change_server(
    control: &mut Control,
    setting: &WantedSetting,
) -> Result<Option<SettingChange>, ControlError> {
    let name = setting.name.clone();
    let mut changed = SettingChange {
        name,
        undo: Vec::new(),
        before: "unknown".to_owned(),
        reach: setting.reach,
    };
    let Some(place) = find(control, &setting.name)? else {
        return Ok(Some(changed));
    };
    let is_of_database = matches!(place, Place::Database(..) | Place::Scoped(_));
    if is_of_database && is_secondary(control)? {
        return Ok(None);
    }
    if let Some(before) = control.query_value(&reading(&place, "value"))? {
        changed.undo.push(change(&place, &before));
        changed.before = before;
    }
    let statement = change(&place, &setting.value);
    for remaining in (0..TRIES).rev() {
        match control.execute(&statement) {
            Err(error) if remaining > 0 && is_in_use(&error) => sleep(RETRY_PAUSE),
            result => {
                result?;
                break;
            }
        }
    }
    Ok(Some(changed))
}

fn normalised<'a>(name: &str, value: &'a str) -> &'a str {
    match (name, value) {
        ("deadlock_priority", "-5") => "low",
        ("deadlock_priority", "0") => "normal",
        ("deadlock_priority", "5") => "high",
        _ => value,
    }
}

/// The value of a setting in this session, if it is another than the wanted one.
pub(super) fn difference(
    control: &mut Control,
    setting: &WantedSetting,
) -> Result<Option<String>, ControlError> {
    let found = match find(control, &setting.name)? {
        Some(place) => control.query_value(&reading(&place, "value_in_use"))?,
        None => None,
    };
    let found = found.unwrap_or_else(|| "NULL".to_owned());
    if is_same(&setting.name, &setting.value, &found) { Ok(None) } else { Ok(Some(found)) }
}

/// Whether a value that was read is the wanted one, which may be written in another way.
pub(super) fn is_same(name: &str, wanted: &str, found: &str) -> bool {
    let wanted = normalised(name, wanted);
    if name.ends_with("is_parameterization_forced") {
        let wants_forced = boolean(wanted).unwrap_or(wanted.eq_ignore_ascii_case("forced"));
        return wants_forced == (found == "1");
    }
    let is_same_boolean = boolean(wanted).is_some() && boolean(wanted) == boolean(found);
    is_same_boolean || wanted.eq_ignore_ascii_case(found)
}
