//! Tests of settings that a plan asks for, on a server in this process that keeps them.

use super::target;
use crate::observe::is_replica;
use crate::settings::{
    Reach, SettingError, SettingsLock, WantedSetting, change_server, find_reach, lock_settings,
    put_back, set_in_sessions, verify,
};
use crate::{Control, Target};
use prony_document::ServerSettings;
use prony_plan::UserError;
use prony_tds_server::{Column, Config, Datum, Listener, Outcome, Type};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

struct State {
    values: BTreeMap<&'static str, String>,
    executed: Vec<String>,
    is_locked: bool,
    is_secondary: bool,
    /// Whether the database is read-only at the primary.
    is_read_only: bool,
    /// How often others use the database when an option needs it alone.
    refusals: u32,
}

fn rows(cells: &[&[&str]]) -> Vec<Outcome> {
    let width = cells.first().map_or(0, |row| row.len());
    let columns = vec![Column::new("c", Type::NVarChar(800)); width];
    let row = |row: &&[&str]| row.iter().map(|cell| Datum::from(*cell)).collect();
    vec![Outcome::Rows(columns, cells.iter().map(row).collect())]
}

/// Executes a statement that changes or reads a setting. The server gives each statement of a text on its own.
fn execute(state: &mut State, sql: &str) -> Vec<Outcome> {
    let sql = sql.trim();
    state.executed.push(sql.to_owned());
    if sql.ends_with(" WITH NO_WAIT") && state.refusals > 0 {
        state.refusals -= 1;
        let used = "Database state cannot be changed while other users are using the database";
        let failed = "ALTER DATABASE statement failed.";
        return vec![
            Outcome::Error(5070, 2, 16, used.to_owned()),
            Outcome::Error(5069, 1, 16, failed.to_owned()),
        ];
    }
    let changes = [
        (
            "ALTER DATABASE CURRENT SET READ_COMMITTED_SNAPSHOT ",
            "snapshot",
        ),
        (
            "ALTER DATABASE CURRENT SET DELAYED_DURABILITY = ",
            "durability",
        ),
        (
            "ALTER DATABASE SCOPED CONFIGURATION SET MAXDOP = ",
            "scoped",
        ),
        ("EXEC sp_configure 'max degree of parallelism', ", "maxdop"),
        ("EXEC sp_configure 'fill factor (%)', ", "fill"),
    ];
    for (change, name) in changes {
        if let Some((_, value)) = sql.split_once(change) {
            if value == "NEVER" {
                let message = "Incorrect syntax near 'NEVER'.".to_owned();
                return vec![Outcome::Error(102, 1, 15, message)];
            }
            state.values.insert(name, value.to_owned());
            return vec![Outcome::Done];
        }
    }
    let readings = [
        ("cast(is_read_committed_snapshot_on as", "snapshot"),
        ("case deadlock_priority", "priority"),
        ("cast(delayed_durability_desc as", "durability"),
        (
            "from sys.database_scoped_configurations where name = 'MAXDOP'",
            "scoped",
        ),
        (
            "from sys.configurations where name = 'max degree of parallelism'",
            "maxdop",
        ),
        (
            "from sys.configurations where name = 'fill factor (%)'",
            "fill",
        ),
        ("cast(@@lock_timeout as", "lock_timeout"),
    ];
    for (reading, name) in readings {
        if sql.contains(reading) {
            return rows(&[&[state.values[name].as_str()]]);
        }
    }
    match sql {
        _ if sql.contains("is_dynamic") => rows(&[
            &["max degree of parallelism", "1", "1"],
            &["fill factor (%)", "0", "1"],
        ]),
        "select name from sys.database_scoped_configurations" => rows(&[&["MAXDOP"]]),
        "SELECT @result" => {
            let result = if state.is_locked { "-1" } else { "0" };
            state.is_locked = true;
            rows(&[&[result]])
        }
        _ if sql.contains("Updateability") && (state.is_secondary || state.is_read_only) => {
            rows(&[&["READ_ONLY"]])
        }
        _ if sql.contains("fn_hadr_is_primary_replica") => {
            rows(&[&[if state.is_secondary { "0" } else { "1" }]])
        }
        _ if sql.contains("sys.dm_tran_locks") => rows(&[&["session 57, login sa"]]),
        _ => {
            if let Some((_, value)) = sql.split_once("SET lock_timeout ") {
                state.values.insert("lock_timeout", value.to_owned());
            }
            vec![Outcome::Done]
        }
    }
}

fn server() -> (Target, Arc<Mutex<State>>) {
    server_without(None)
}

/// A server whose account may not use this database.
fn server_without(refused_database: Option<&'static str>) -> (Target, Arc<Mutex<State>>) {
    let values = [
        ("durability", "DISABLED"),
        ("scoped", "8"),
        ("maxdop", "0"),
        ("fill", "0"),
        ("lock_timeout", "-1"),
        ("snapshot", "0"),
        ("priority", "normal"),
    ];
    let state = Arc::new(Mutex::new(State {
        values: values.map(|(name, value)| (name, value.to_owned())).into(),
        executed: Vec::new(),
        is_locked: false,
        is_secondary: false,
        is_read_only: false,
        refusals: 0,
    }));
    let shared = Arc::clone(&state);
    let mut config = Config::new(move |sql, _| execute(&mut shared.lock().unwrap(), sql));
    config.refused_database = refused_database;
    let port = Listener::start(config).address().port();
    let url = format!("sqlserver://sa:Sesame1@127.0.0.1:{port}?encrypt=disable&database=bench");
    (target(&url), state)
}

fn settings(pairs: &[(&str, &str)]) -> ServerSettings {
    let mut settings = ServerSettings::default();
    for (name, value) in pairs {
        settings.set(name, value).expect("a setting");
    }
    settings
}

#[test]
fn settings_of_server_and_database_are_changed_verified_and_put_back() {
    let (target, state) = server();
    let mut control = Control::connect(&target).expect("connects");
    let wanted = settings(&[
        ("database.delayed_durability_desc", "Forced"),
        ("database.maxdop", "4"),
        ("max_degree_of_parallelism", "1"),
        ("fill_factor", "90"),
    ]);
    let wanted = find_reach(&mut control, &wanted).expect("they exist");
    let reaches: Vec<(&str, Reach)> = wanted
        .iter()
        .map(|setting| (&*setting.name, setting.reach))
        .collect();
    assert_eq!(
        reaches,
        [
            ("database.delayed_durability_desc", Reach::Server),
            ("database.maxdop", Reach::Server),
            ("fill_factor", Reach::Restart),
            ("max_degree_of_parallelism", Reach::Server),
        ]
    );
    let before = state.lock().unwrap().values.clone();
    assert!(matches!(
        verify(&mut control, &wanted),
        Err(SettingError::Different { .. })
    ));
    let changes: Vec<_> = wanted
        .iter()
        .map(|setting| change_server(&mut control, setting).expect("changes"))
        .map(|change| change.expect("it is no replica"))
        .collect();
    verify(&mut control, &wanted).expect("they are set");
    let during = state.lock().unwrap().values.clone();
    let values = ["durability", "scoped", "maxdop", "fill"].map(|name| during[name].clone());
    assert_eq!(values, ["Forced", "4", "1", "90"]);
    let was: Vec<&str> = changes.iter().map(|change| &*change.before).collect();
    assert_eq!(was, ["DISABLED", "8", "0", "0"]);
    for change in changes.iter().rev() {
        put_back(&mut control, change).expect("puts it back");
    }
    assert_eq!(state.lock().unwrap().values, before);
    let refused = WantedSetting {
        name: "database.delayed_durability_desc".to_owned(),
        value: "NEVER".to_owned(),
        reach: Reach::Server,
    };
    let error = change_server(&mut control, &refused).expect_err("refused");
    assert!(error.to_string().contains("near 'NEVER'"), "{error}");
    assert_eq!(state.lock().unwrap().values, before);
}

#[test]
fn settings_of_sessions_follow_each_login() {
    let (mut target, state) = server();
    let mut control = Control::connect(&target).expect("connects");
    let wanted = settings(&[("lock_timeout", "250"), ("arithabort", "true")]);
    let wanted = find_reach(&mut control, &wanted).expect("they exist");
    assert!(wanted.iter().all(|setting| setting.reach == Reach::Session));
    set_in_sessions(&mut target, &wanted);
    state.lock().unwrap().executed.clear();
    let mut control = Control::connect(&target).expect("connects");
    let setup = [
        "SET XACT_ABORT ON",
        "SET arithabort ON",
        "SET lock_timeout 250",
    ];
    assert_eq!(state.lock().unwrap().executed, setup);
    verify(&mut control, &wanted[1..]).expect("a session has it");
    // The server calls 0 NORMAL.
    for (value, is_set) in [("0", true), ("NORMAL", true), ("5", false)] {
        let wanted = WantedSetting {
            name: "deadlock_priority".to_owned(),
            value: value.to_owned(),
            reach: Reach::Session,
        };
        assert_eq!(verify(&mut control, &[wanted]).is_ok(), is_set, "{value}");
    }
    for (name, value, expected) in [
        ("xact_abort", "off", "Prony's sessions rely on it"),
        ("lock_timeout", "1; DROP TABLE t", "a word or a number"),
        ("no_such_setting", "1", "no setting no_such_setting"),
        (
            "database.no_such_option",
            "1",
            "no setting database.no_such_option",
        ),
    ] {
        let error = find_reach(&mut control, &settings(&[(name, value)])).expect_err("refused");
        assert!(error.to_string().contains(expected), "{name}: {error}");
    }
}

#[test]
fn one_run_at_a_time_changes_a_server() {
    let (target, _state) = server();
    let lock = lock_settings(&target).expect("a server");
    assert!(matches!(lock, SettingsLock::Held(_)));
    let Ok(SettingsLock::HeldByOther(Some(holder))) = lock_settings(&target) else {
        panic!("locked twice");
    };
    assert_eq!(holder, "session 57, login sa");
}

#[test]
fn an_option_that_needs_the_database_alone_is_tried_until_others_have_gone() {
    let (target, state) = server();
    let mut control = Control::connect(&target).expect("connects");
    let wanted = WantedSetting {
        name: "database.is_read_committed_snapshot_on".to_owned(),
        value: "on".to_owned(),
        reach: Reach::Server,
    };
    state.lock().unwrap().refusals = 2;
    let change = change_server(&mut control, &wanted).expect("the third attempt succeeds");
    assert_eq!(change.expect("a change").before, "0");
    assert_eq!(state.lock().unwrap().values["snapshot"], "ON WITH NO_WAIT");
    state.lock().unwrap().refusals = u32::MAX;
    let error = change_server(&mut control, &wanted).expect_err("others stay");
    let hint = error.parts().hint.expect("a hint");
    assert!(hint.contains("without other sessions"), "{hint}");
}

#[test]
fn options_of_a_database_are_not_sent_to_a_readable_secondary() {
    let (target, state) = server();
    state.lock().unwrap().is_secondary = true;
    let mut control = Control::connect(&target).expect("connects");
    let wanted = settings(&[
        ("database.delayed_durability_desc", "forced"),
        ("max_degree_of_parallelism", "1"),
    ]);
    let wanted = find_reach(&mut control, &wanted).expect("they exist");
    let is_changed = |setting: &WantedSetting, control: &mut Control| {
        change_server(control, setting).expect("no error").is_some()
    };
    assert!(!is_changed(&wanted[0], &mut control));
    assert!(is_changed(&wanted[1], &mut control));
    let alters = |state: &State| {
        let mut executed = state.executed.iter();
        executed.any(|sql| sql.starts_with("ALTER DATABASE"))
    };
    assert!(!alters(&state.lock().unwrap()));
    assert!(is_replica(&mut control));
    {
        let mut state = state.lock().unwrap();
        (state.is_secondary, state.is_read_only) = (false, true);
    }
    assert!(!is_replica(&mut control));
    assert!(is_changed(&wanted[0], &mut control));
    assert!(alters(&state.lock().unwrap()));
}

#[test]
fn a_user_of_one_database_has_no_lock() {
    let (target, _state) = server_without(Some("master"));
    let lock = lock_settings(&target).expect("the server answers");
    assert!(matches!(lock, SettingsLock::Absent));
}
