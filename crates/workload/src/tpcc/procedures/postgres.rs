//! The functions of the mode `procedures` on PostgreSQL.
//!
//! In: functions, a control connection. Out: the same functions in the first schema of the search
//! path. Must never: touch a routine whose name does not begin with Prony's prefix, or replace one
//! that is as it should be: another run may be calling it.

use super::{DOING, PREFIX, run};
use crate::{Error, sql};
use prony_server::Control;

/// One function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name after the prefix.
    pub name: String,
    /// Parameters, those that it gives back included.
    pub parameters: String,
    /// It only reads, and sees one state of the database.
    pub stable: bool,
    /// Its text in PL/pgSQL.
    pub body: String,
}

impl Function {
    /// A function of this profile.
    pub fn new(routine: &str, name: &str, parameters: &str, stable: bool, body: String) -> Self {
        Function {
            name: format!("{PREFIX}{routine}_{name}"),
            parameters: parameters.to_owned(),
            stable,
            body,
        }
    }

    /// What the server keeps as its source. It names the parameters too, so that a function whose
    /// source is the same is the same.
    fn source(&self) -> String {
        let kind = if self.stable { "stable" } else { "volatile" };
        format!(
            "\n-- Installed by Prony. ({}) {kind}\n{}",
            self.parameters, self.body
        )
    }

    fn create(&self) -> String {
        format!(
            "create function {}({}) language plpgsql {} as $prony${}$prony$",
            self.name,
            self.parameters,
            if self.stable { "stable" } else { "volatile" },
            self.source()
        )
    }
}

/// Sees to it that the functions are there as they should be.
///
/// # Errors
/// The server refuses them, for want of rights above all.
pub fn install(control: &mut Control, functions: &[Function]) -> Result<(), Error> {
    if missing(control, functions)?.is_empty() {
        return Ok(());
    }
    // Two runs that begin together would stumble over each other's rows in the catalog.
    run(control, "begin")?;
    run(
        control,
        "select pg_advisory_xact_lock(hashtext('prony_tpcc'))",
    )?;
    for function in missing(control, functions)? {
        for old in installed(control, &function.name)? {
            run(control, &format!("drop function {old}"))?;
        }
        run(control, &function.create())?;
    }
    run(control, "commit")
}

/// Drops all functions with Prony's prefix, whatever the profile; those of runs under way included.
///
/// # Errors
/// The server refuses it.
pub fn remove(control: &mut Control) -> Result<(), Error> {
    let doing = "dropping the functions of tpcc";
    let names = sql::rows(
        control,
        doing,
        &format!("select p.oid::regprocedure {OURS}"),
    )?;
    for name in names.iter().filter_map(|row| row.text(0)) {
        sql::run(control, doing, &format!("drop function {name}"))?;
    }
    Ok(())
}

/// All functions with the prefix in the schema that they are installed in.
const OURS: &str = "from pg_proc p join pg_namespace n on n.oid = p.pronamespace \
     where n.nspname = current_schema() and starts_with(p.proname::text, 'prony_tpcc_')";

/// Those that are not there as they should be.
fn missing<'a>(
    control: &mut Control,
    functions: &'a [Function],
) -> Result<Vec<&'a Function>, Error> {
    let found = sql::rows(
        control,
        DOING,
        &format!("select p.proname, p.prosrc {OURS}"),
    )?;
    let is_there = |function: &&Function| {
        let same = |row: &sql::Row| {
            row.text(0) == Some(function.name.as_str())
                && row.text(1) == Some(function.source().as_str())
        };
        found.iter().any(same)
    };
    Ok(functions.iter().filter(|f| !is_there(f)).collect())
}

/// Older ones of this name, as `drop function` takes them.
fn installed(control: &mut Control, name: &str) -> Result<Vec<String>, Error> {
    let rows = sql::rows(
        control,
        DOING,
        &format!("select p.oid::regprocedure {OURS} and p.proname = '{name}'"),
    )?;
    let names = rows.iter().filter_map(|row| row.text(0));
    Ok(names.map(str::to_owned).collect())
}
