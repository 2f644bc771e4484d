//! The routines on the server: functions on PostgreSQL, procedures on MySQL, MariaDB and SQL Server.
//!
//! Installs the routines of a profile over a control connection. Must never touch a routine that Prony
//! has not created, or replace one that is up to date, which another run may be calling.

use super::engine::{EngineSql, InstallationLock, RoutineForm, statements};
use super::profile::{HAMMERDB_46_PROFILE, Profile};
use super::template::on_one_line;
use crate::loader::lock_name;
use crate::{Error, Result, sql};
use prony_document::SqlDialect;
use prony_server::control::Error as ControlError;
use prony_server::{Control, UserLock, take_user_lock};
use prony_wire::Protocol;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A routine as Prony creates it.
#[derive(Clone, Debug)]
pub struct Routine {
    /// `function` or `procedure`.
    pub kind: String,
    pub name: String,
    pub parameters: String,
    /// The text between its parameters and its body.
    pub attributes: String,
    /// The text from its first `declare` or `begin`.
    pub body: String,
}

impl Routine {
    /// Parses the `create` statement from a `.sql` file; `None` for an empty text.
    fn parse(text: &str) -> Option<Routine> {
        let position_of = |word: &&str| text.find(&format!("\n{word}\n"));
        let body = ["declare", "begin"].iter().filter_map(position_of).min()?;
        let head = on_one_line(&text[..body]);
        let (kind, head) = head.strip_prefix("create ")?.split_once(' ')?;
        let (name, head) = head.split_once('(')?;
        let (parameters, attributes) = head.rsplit_once(')')?;
        Some(Routine {
            kind: kind.to_owned(),
            name: name.to_owned(),
            parameters: parameters.trim().to_owned(),
            attributes: attributes.trim().to_owned(),
            body: text[body..].trim().to_owned(),
        })
    }

    fn matches(&self, installed: &InstalledRoutine) -> bool {
        installed.name.eq_ignore_ascii_case(&self.name) && self.kind.starts_with(&installed.kind)
    }
}

/// A routine on the server, with one of Prony's or HammerDB's names.
struct InstalledRoutine {
    name: String,
    /// The first letter of `function` or `procedure`.
    kind: String,
    fingerprint: String,
    drop_statement: String,
    is_own: bool,
}

impl InstalledRoutine {
    /// Reads all rows of [`EngineSql::installed`].
    fn query_all(
        control: &mut Control,
        action: &str,
        engine: &EngineSql,
    ) -> Result<Vec<InstalledRoutine>> {
        let rows = sql::query_rows(control, action, engine.installed)?;
        let from_row = |row: &sql::ResultRow| {
            let text = |column| row.text(column).unwrap_or_default().to_owned();
            InstalledRoutine {
                name: text(0),
                kind: text(1),
                fingerprint: text(2),
                drop_statement: text(3),
                is_own: row.int(4) == Some(1),
            }
        };
        Ok(rows.iter().map(from_row).collect())
    }
}

/// How long an installation waits for another one on MySQL and MariaDB, seconds.
const LOCK_WAIT_S: u32 = 60;

/// Name prefix of the routines for profiles with HammerDB's statements. HammerDB's `buildschema` replaces
/// routines with the original names, but not these.
const HAMMERDB_46_PREFIX: &str = "prony_tpcc_hammerdb_46_";

fn routine_prefix(profile: &Profile) -> String {
    if profile.calls_hammerdb_routines {
        HAMMERDB_46_PREFIX.to_owned()
    } else {
        format!("prony_tpcc_{}_", profile.routine)
    }
}

/// The calls of a profile's routines, in the order of `TpccTransaction::ALL`.
pub fn calls(dialect: SqlDialect, profile: &Profile) -> Vec<String> {
    let engine = EngineSql::of(dialect);
    let calls = if profile.calls_hammerdb_routines { engine.hammerdb_calls } else { engine.calls };
    let prefix = routine_prefix(profile);
    statements(&engine.fill(calls, profile, &prefix, RoutineForm::ENGINE)).collect()
}

/// The routines that the transactions of a profile call.
pub fn profile_routines(
    dialect: SqlDialect,
    profile: &Profile,
    is_for_babelfish: bool,
) -> Vec<Routine> {
    let engine = EngineSql::of(dialect);
    let texts =
        if profile.calls_hammerdb_routines { engine.hammerdb_routines } else { engine.routines };
    let prefix = routine_prefix(profile);
    let form = RoutineForm {
        is_for_babelfish,
        ..RoutineForm::ENGINE
    };
    let routine = |text: &&str| Routine::parse(&engine.fill(text, profile, &prefix, form));
    texts.iter().filter_map(routine).collect()
}

/// The routines that HammerDB's driver calls. Their names and parameters are HammerDB's, because they
/// are its driver's interface; their bodies are Prony's.
pub fn driver_routines(dialect: SqlDialect, is_for_babelfish: bool) -> Vec<Routine> {
    let engine = EngineSql::of(dialect);
    let function_forms: &[bool] = match dialect {
        // HammerDB calls procedures instead of functions if `pg_storedprocs` is true.
        SqlDialect::PostgreSql => &[true, false],
        SqlDialect::MySql | SqlDialect::TransactSql => &[false],
    };
    let texts = function_forms.iter().flat_map(|is_function| {
        let form = RoutineForm {
            is_function: *is_function,
            is_for_babelfish,
        };
        let texts = engine.hammerdb_routines.iter();
        texts.map(move |text| engine.fill(text, &HAMMERDB_46_PROFILE, "", form))
    });
    texts.filter_map(|text| Routine::parse(&text)).collect()
}

/// Creates or updates the routines of a profile unless they are up to date.
///
/// # Errors
/// The server rejects them, most often for lack of privileges.
pub fn install(control: &mut Control, profile: &Profile) -> Result<()> {
    let routines = profile_routines(control.dialect(), profile, is_babelfish(control)?);
    install_all(control, &routines)
}

/// Creates the routines that HammerDB's driver calls, except where another routine has the name.
pub fn install_driver_routines(control: &mut Control) -> Result<()> {
    let dialect = control.dialect();
    let engine = EngineSql::of(dialect);
    let mut foreign = InstalledRoutine::query_all(control, INSTALLING_ROUTINES, engine)?;
    foreign.retain(|installed| !installed.is_own);
    let mut routines = driver_routines(dialect, is_babelfish(control)?);
    routines.retain(|routine| !foreign.iter().any(|other| routine.matches(other)));
    install_all(control, &routines)
}

fn is_babelfish(control: &mut Control) -> Result<bool> {
    if control.dialect() != SqlDialect::TransactSql {
        return Ok(false);
    }
    let query = "select cast(serverproperty('babelfish') as int)";
    let row = sql::query_row(control, INSTALLING_ROUTINES, query)?;
    Ok(row.int(0) == Some(1))
}

fn install_all(control: &mut Control, routines: &[Routine]) -> Result<()> {
    let engine = EngineSql::of(control.dialect());
    if find_missing(control, engine, routines)?.is_empty() {
        return Ok(());
    }
    // If two runs start at the same time, the second finds the routines that the first has created.
    let Some(unlock) = take_lock(control, engine.lock)? else {
        return create_missing(control, engine, routines);
    };
    let created = create_missing(control, engine, routines);
    let unlocked = match execute(control, &unlock) {
        // A user-level lock ends with the session.
        Err(error)
            if error.is_refusal() && matches!(engine.lock, InstallationLock::UserLevel(_)) =>
        {
            Ok(())
        }
        unlocked => unlocked,
    };
    created.and(unlocked)
}

/// Takes the lock that serializes installations. Returns the statement that releases it; `None` if the server has no such
/// lock.
///
/// # Errors
/// The session does not get the lock, or the server refuses it.
fn take_lock(control: &mut Control, lock: InstallationLock) -> Result<Option<String>> {
    let name = match lock {
        InstallationLock::Statements([lock, unlock]) => {
            execute(control, lock)?;
            return Ok(Some(unlock.to_owned()));
        }
        InstallationLock::UserLevel(name) => lock_name(name),
    };
    match take_user_lock(control, &name, LOCK_WAIT_S).map_err(installation_error)? {
        UserLock::Held => Ok(Some(format!("do release_lock({name})"))),
        // Some Galera clusters have no such lock.
        UserLock::Refused => Ok(None),
        UserLock::HeldByOther => Err(Error::Data {
            problem: format!(
                "{INSTALLING_ROUTINES}: their lock, which another session may hold, was not to be had within {LOCK_WAIT_S} s"
            ),
            remedy: "start again when the other run has installed them; SHOW PROCESSLIST has its session"
                .into(),
        }),
    }
}

fn create_missing(control: &mut Control, engine: &EngineSql, routines: &[Routine]) -> Result<()> {
    for missing in find_missing(control, engine, routines)? {
        for drop_statement in &missing.drop_statements {
            execute(control, drop_statement)?;
        }
        execute(control, &(engine.create)(missing.routine))?;
    }
    Ok(())
}

/// A routine that the server lacks, or has in an older version.
struct MissingRoutine<'a> {
    routine: &'a Routine,
    /// The statements that drop its older versions.
    drop_statements: Vec<String>,
}

fn find_missing<'a>(
    control: &mut Control,
    engine: &EngineSql,
    routines: &'a [Routine],
) -> Result<Vec<MissingRoutine<'a>>> {
    let mut own = InstalledRoutine::query_all(control, INSTALLING_ROUTINES, engine)?;
    own.retain(|installed| installed.is_own);
    let mut missing = Vec::new();
    for routine in routines {
        let fingerprint = (engine.fingerprint)(routine);
        let versions = own.iter().filter(|installed| routine.matches(installed));
        let mut fingerprints = versions.clone().map(|installed| &installed.fingerprint);
        if fingerprints.all(|installed| *installed != fingerprint) {
            let drop_statements = versions.map(|installed| installed.drop_statement.clone());
            missing.push(MissingRoutine {
                routine,
                drop_statements: drop_statements.collect(),
            });
        }
    }
    Ok(missing)
}

/// Drops all routines that Prony has created, for every profile, even if a run is using them.
pub fn drop_all(control: &mut Control) -> Result<()> {
    let action = "dropping the functions of tpcc";
    let engine = EngineSql::of(control.dialect());
    let installed = InstalledRoutine::query_all(control, action, engine)?;
    for routine in installed.iter().filter(|routine| routine.is_own) {
        sql::execute(control, action, &routine.drop_statement)?;
    }
    Ok(())
}

const INSTALLING_ROUTINES: &str = "installing the functions of tpcc";

fn execute(control: &mut Control, text: &str) -> Result<()> {
    control
        .execute(text)
        .map(|_| ())
        .map_err(installation_error)
}

fn installation_error(error: ControlError) -> Error {
    let is_denied = error
        .server_error()
        .is_some_and(|error| match error.protocol {
            Protocol::PostgreSql => &error.code == b"42501",
            // Access to a database is denied, a privilege is missing, or access to a routine is denied.
            Protocol::MySql => matches!(error.number, 1044 | 1227 | 1370),
            // CREATE PROCEDURE denied, no permission on the schema or on the procedure.
            Protocol::Tds => matches!(error.number, 262 | 2760 | 229 | 3701),
        });
    if is_denied {
        return Error::Data {
            problem: format!("{INSTALLING_ROUTINES}: {error}"),
            remedy: "run once as the owner of the tables (any later user can call the functions; on SQL \
                   Server, after GRANT EXECUTE), or set the option mode = \"statements\""
                .into(),
        };
    }
    sql::server_error(INSTALLING_ROUTINES, error)
}

/// A comment with a hash of the routine's text, which identifies it where the server does not return the text.
pub fn hashed_comment(routine: &Routine) -> String {
    // With fixed keys: the same text has the same hash in every process.
    let mut hasher = DefaultHasher::new();
    (&routine.parameters, &routine.body).hash(&mut hasher);
    format!("Installed by Prony ({:016x})", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::input::TpccTransaction;
    use crate::tpcc::profile::PROFILES;
    use prony_assertions::TextAssertions;
    use prony_server::Environment;
    use prony_test_servers::canned::{Answer, CannedError, CannedProtocol, Conversation, start};

    /// Installs on a server without routines, whose `get_lock` answers this.
    fn install_with_lock(lock: Answer) -> Result<(), Error> {
        let answers = vec![
            (
                "information_schema.routines".to_owned(),
                Answer::Rows(Vec::new()),
            ),
            ("get_lock(".to_owned(), lock),
        ];
        let conversation = Conversation::new("8.0.36", answers);
        let port = start(CannedProtocol::MySql, conversation).expect("a port");
        let url = format!("mysql://ann@127.0.0.1:{port}/d");
        let target = prony_server::resolve(&url, &Environment::without_home("ann"));
        let mut control = Control::connect(&target.expect("an address")).expect("it answers");
        install(&mut control, &PROFILES[0])
    }

    #[test]
    fn nothing_is_installed_without_the_lock() {
        let row = |value: Option<&str>| Answer::Rows(vec![vec![value.map(str::to_owned)]]);
        install_with_lock(row(Some("1"))).expect("it is installed");
        for not_got in [Some("0"), None] {
            let error = install_with_lock(row(not_got)).expect_err("another session has it");
            error.problem().assert_contains(
                "their lock, which another session may hold, was not to be had within 60 s",
            );
        }
        let refusal = CannedError {
            number: 1105,
            sqlstate: "HY000",
            message: "the cluster prohibits GET_LOCK".to_owned(),
        };
        install_with_lock(Answer::Error(refusal)).expect("it is installed without a lock");
    }

    #[test]
    fn every_profile_has_its_routines_and_calls_them() {
        for dialect in [
            SqlDialect::PostgreSql,
            SqlDialect::MySql,
            SqlDialect::TransactSql,
        ] {
            for profile in PROFILES.iter().map(|profile| profile.on(dialect)) {
                let routines = profile_routines(dialect, profile, false);
                let calls = calls(dialect, profile);
                assert_eq!(
                    calls.len(),
                    TpccTransaction::ALL.len(),
                    "{dialect:?} {}",
                    profile.name
                );
                for call in &calls {
                    let called = |routine: &Routine| {
                        let mut ends = ["(", " "].iter();
                        ends.any(|end| call.contains(&format!("{}{end}", routine.name)))
                    };
                    assert!(routines.iter().any(called), "{call}");
                }
                for routine in routines {
                    let Routine { name, body, .. } = &routine;
                    name.assert_starts_with("prony_tpcc_");
                    assert!(!body.contains(['{', '}']), "{name}: {body}");
                    assert_eq!(body.contains("c_payment_cnt + 1"), {
                        profile.counters && name.ends_with("payment")
                    });
                }
            }
            let count = driver_routines(dialect, false).len();
            assert_eq!(
                count,
                match dialect {
                    SqlDialect::PostgreSql => 11,
                    SqlDialect::MySql | SqlDialect::TransactSql => 5,
                }
            );
        }
    }
}
