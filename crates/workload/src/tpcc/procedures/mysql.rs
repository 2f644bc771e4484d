//! The procedures of the mode `procedures` on MySQL and MariaDB.
//!
//! In: procedures, a control connection. Out: the same procedures in its database. Must never: take
//! one for what it should be whose comment does not say so: the text of a procedure shows to its
//! owner alone.

use super::{DOING, PREFIX, run};
use crate::loader::lock_name;
use crate::{Error, sql};
use prony_server::Control;
use std::hash::{DefaultHasher, Hash, Hasher};

/// One procedure.
#[derive(Clone, Debug)]
pub struct Procedure {
    /// Its name.
    pub name: String,
    /// Its parameters, all of them of the kind IN.
    pub parameters: String,
    /// From `BEGIN` to `END`.
    pub body: String,
}

impl Procedure {
    /// What tells it from any other text.
    fn comment(&self) -> String {
        // With fixed keys: the same text has the same number in every process.
        let mut hasher = DefaultHasher::new();
        (&self.parameters, &self.body).hash(&mut hasher);
        format!("Installed by Prony ({:016x})", hasher.finish())
    }

    fn create(&self) -> String {
        format!(
            "create procedure {}({}) modifies sql data sql security invoker comment '{}'\n{}",
            self.name,
            self.parameters,
            self.comment(),
            self.body
        )
    }
}

/// All procedures with the prefix in the connection's database.
const OURS: &str = "select routine_name, routine_comment from information_schema.routines \
     where routine_schema = database() and routine_type = 'PROCEDURE' \
     and routine_name like 'prony\\_tpcc\\_%'";

/// Sees to it that the procedures are there as they should be.
pub fn install(control: &mut Control, procedures: &[Procedure]) -> Result<(), Error> {
    if missing(control, procedures)?.is_empty() {
        return Ok(());
    }
    // Of two runs that begin together the second finds the procedures of the first.
    let lock = lock_name("prony tpcc procedures");
    run(control, &format!("do get_lock({lock}, 60)"))?;
    let made = make(control, procedures);
    let freed = run(control, &format!("do release_lock({lock})"));
    made.and(freed)
}

fn make(control: &mut Control, procedures: &[Procedure]) -> Result<(), Error> {
    for procedure in missing(control, procedures)? {
        // Left as they are between the two, so that nothing in a text depends on the server's own.
        run(
            control,
            &format!("drop procedure if exists {}", procedure.name),
        )?;
        run(control, &procedure.create())?;
    }
    Ok(())
}

/// Those that are not there as they should be.
fn missing<'a>(
    control: &mut Control,
    procedures: &'a [Procedure],
) -> Result<Vec<&'a Procedure>, Error> {
    let found = sql::rows(control, DOING, OURS)?;
    let is_there = |procedure: &&Procedure| {
        let (name, comment) = (procedure.name.as_str(), procedure.comment());
        let same =
            |row: &sql::Row| row.text(0) == Some(name) && row.text(1) == Some(comment.as_str());
        found.iter().any(same)
    };
    Ok(procedures.iter().filter(|p| !is_there(p)).collect())
}

/// Drops all procedures with the prefix.
pub fn remove(control: &mut Control) -> Result<(), Error> {
    let doing = "dropping the procedures of tpcc";
    let found = sql::rows(control, doing, OURS)?;
    let names = found.iter().filter_map(|row| row.text(0));
    for name in names.filter(|name| name.starts_with(PREFIX)) {
        let name = control.product().quote_identifier(name);
        sql::run(control, doing, &format!("drop procedure if exists {name}"))?;
    }
    Ok(())
}
