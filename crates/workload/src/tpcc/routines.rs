//! The routines on the server: functions on PostgreSQL, procedures on MySQL and MariaDB.
//!
//! Installs the routines of a profile over a control connection. Must never touch a routine that Prony
//! has not created, or replace one that is up to date, which another run may be calling.

use super::engine::{EngineSql, statements};
use super::profile::{PROFILES, Profile};
use super::template::on_one_line;
use crate::{Error, SqlDialect, sql};
use prony_server::Control;
use prony_server::control::Error as ControlError;
use prony_wire::Protocol;

/// A routine.
#[derive(Clone, Debug)]
pub struct Routine {
    /// `function` or `procedure`.
    pub kind: String,
    /// The name.
    pub name: String,
    /// The parameters, including output parameters.
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

    fn matches(&self, row: &sql::ResultRow) -> bool {
        let name = row.text(0).unwrap_or_default();
        name.eq_ignore_ascii_case(&self.name) && row.text(1) == Some(&self.kind[..1])
    }
}

/// Name prefix of Prony's copies of HammerDB's routines, which a profile calls and no build of
/// HammerDB replaces.
const HAMMERDB_COPY_PREFIX: &str = "prony_tpcc_hammerdb_46_";

/// Name prefix of a profile's routines.
fn routine_prefix(profile: &Profile) -> String {
    match profile.calls_hammerdb_routines {
        true => HAMMERDB_COPY_PREFIX.to_owned(),
        false => format!("prony_tpcc_{}_", profile.routine),
    }
}

/// The calls of a profile's routines, by kind of transaction.
pub fn calls(dialect: SqlDialect, profile: &Profile) -> Vec<String> {
    let engine = EngineSql::of(dialect);
    let calls = match profile.calls_hammerdb_routines {
        true => engine.hammerdb_calls,
        false => engine.calls,
    };
    statements(&engine.fill(calls, profile, &routine_prefix(profile), true)).collect()
}

/// The routines of a profile.
pub fn profile_routines(dialect: SqlDialect, profile: &Profile) -> Vec<Routine> {
    let engine = EngineSql::of(dialect);
    let texts = match profile.calls_hammerdb_routines {
        true => engine.hammerdb_routines,
        false => engine.routines,
    };
    let prefix = routine_prefix(profile);
    let routine = |text: &&str| Routine::parse(&engine.fill(text, profile, &prefix, true));
    texts.iter().filter_map(routine).collect()
}

/// The routines that HammerDB's driver calls. Their names and parameters are HammerDB's, because they
/// are its driver's interface; their bodies are Prony's.
pub fn driver_routines(dialect: SqlDialect) -> Vec<Routine> {
    let engine = EngineSql::of(dialect);
    let function_flags = match dialect {
        // HammerDB calls procedures instead of functions if `pg_storedprocs` is true.
        SqlDialect::PostgreSql => &[true, false][..],
        SqlDialect::MySql | SqlDialect::TransactSql => &[false],
    };
    let texts = function_flags.iter().flat_map(|function| {
        let texts = engine.hammerdb_routines.iter();
        texts.map(|text| engine.fill(text, &PROFILES[2], "", *function))
    });
    texts.filter_map(|text| Routine::parse(&text)).collect()
}

/// Creates or updates the routines of a profile unless they are up to date.
///
/// # Errors
/// The server rejects them, most often for lack of privileges.
pub fn install(control: &mut Control, profile: &Profile) -> Result<(), Error> {
    let routines = profile_routines(SqlDialect::of(control), profile);
    install_all(control, &routines)
}

/// Creates the routines that HammerDB's driver calls, except where another routine has the name.
///
/// # Errors
/// The server rejects them, most often for lack of privileges.
pub fn install_driver_routines(control: &mut Control) -> Result<(), Error> {
    let dialect = SqlDialect::of(control);
    let mut installed = sql::query_rows(
        control,
        INSTALLING_ROUTINES,
        EngineSql::of(dialect).installed,
    )?;
    installed.retain(|row| !is_own(row));
    let mut routines = driver_routines(dialect);
    routines.retain(|routine| !installed.iter().any(|row| routine.matches(row)));
    install_all(control, &routines)
}

fn install_all(control: &mut Control, routines: &[Routine]) -> Result<(), Error> {
    let engine = EngineSql::of(SqlDialect::of(control));
    if find_missing(control, engine, routines)?.is_empty() {
        return Ok(());
    }
    // If two runs start at the same time, the second finds the routines that the first has created.
    let [lock, unlock] = engine.lock;
    execute(control, lock)?;
    let created = create_missing(control, engine, routines);
    let unlocked = execute(control, unlock);
    created.and(unlocked)
}

fn create_missing(
    control: &mut Control,
    engine: &EngineSql,
    routines: &[Routine],
) -> Result<(), Error> {
    for (routine, drops) in find_missing(control, engine, routines)? {
        for drop in drops {
            execute(control, &drop)?;
        }
        execute(control, &(engine.create)(routine))?;
    }
    Ok(())
}

/// Returns the routines that are missing or outdated, each with the statements that drop older versions of
/// it.
fn find_missing<'a>(
    control: &mut Control,
    engine: &EngineSql,
    routines: &'a [Routine],
) -> Result<Vec<(&'a Routine, Vec<String>)>, Error> {
    let mut installed = sql::query_rows(control, INSTALLING_ROUTINES, engine.installed)?;
    installed.retain(is_own);
    let mut missing = Vec::new();
    for routine in routines {
        let fingerprint = (engine.fingerprint)(routine);
        let candidates = installed.iter().filter(|row| routine.matches(row));
        if !candidates
            .clone()
            .any(|row| row.text(2) == Some(&fingerprint))
        {
            let drops = candidates.filter_map(|row| row.text(3));
            missing.push((routine, drops.map(str::to_owned).collect()));
        }
    }
    Ok(missing)
}

/// Whether Prony created this routine.
fn is_own(row: &sql::ResultRow) -> bool {
    row.int(4) == Some(1)
}

/// Drops all routines that Prony has created, for every profile, even if a run is using them.
///
/// # Errors
/// The server refuses to drop one.
pub fn drop_all(control: &mut Control) -> Result<(), Error> {
    let action = "dropping the functions of tpcc";
    let engine = EngineSql::of(SqlDialect::of(control));
    let installed = sql::query_rows(control, action, engine.installed)?;
    let own_routines = installed.iter().filter(|row| is_own(row));
    for drop in own_routines.filter_map(|row| row.text(3)) {
        sql::execute(control, action, drop)?;
    }
    Ok(())
}

const INSTALLING_ROUTINES: &str = "installing the functions of tpcc";

fn execute(control: &mut Control, text: &str) -> Result<(), Error> {
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
            Protocol::Tds => false,
        });
    if is_denied {
        return Error::Data {
            problem: format!("{INSTALLING_ROUTINES}: {error}"),
            remedy: "run once as the owner of the tables (any later user can call the functions), \
                   or set the option mode = \"statements\""
                .into(),
        };
    }
    sql::server_error(INSTALLING_ROUTINES, error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::input::TpccTransaction;

    #[test]
    fn every_profile_has_its_routines_and_calls_them() {
        for dialect in [
            SqlDialect::PostgreSql,
            SqlDialect::MySql,
            SqlDialect::TransactSql,
        ] {
            for profile in PROFILES.iter().map(|profile| profile.on(dialect)) {
                let routines = profile_routines(dialect, profile);
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
                    assert!(name.starts_with("prony_tpcc_"), "{name}");
                    assert!(!body.contains(['{', '}']), "{name}: {body}");
                    assert_eq!(body.contains("c_payment_cnt + 1"), {
                        profile.counters && name.ends_with("payment")
                    });
                }
            }
            let count = driver_routines(dialect).len();
            assert_eq!(
                count,
                match dialect {
                    SqlDialect::PostgreSql => 11,
                    SqlDialect::MySql => 5,
                    SqlDialect::TransactSql => 0,
                }
            );
        }
    }
}
