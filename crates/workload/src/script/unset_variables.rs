//! Finds variables that a statement uses and that nothing sets, such as a misspelt one.
//!
//! In the extended protocol such a variable is bound as NULL, so
//! that the statement finds no row and measures nothing; in the simple protocol it stays in the text, which the
//! server refuses.

use super::ast::{CommandKind, Script};
use super::options::ScriptSet;
use super::variables::{VariableId, VariableNames};
use std::collections::HashSet;

/// The variables that something sets.
struct SetVariables<'a> {
    ids: HashSet<VariableId>,
    /// `\gset` and `\aset` set variables whose names begin with these prefixes and end with the names of columns.
    prefixes: Vec<&'a str>,
}

impl<'a> SetVariables<'a> {
    fn of(set: &'a ScriptSet) -> SetVariables<'a> {
        let mut ids = HashSet::from(VariableNames::AUTOMATIC_IDS);
        ids.extend(
            set.defines
                .iter()
                .filter_map(|(name, _)| set.names.find(name)),
        );
        let mut prefixes = Vec::new();
        for command in set.scripts.iter().flat_map(|script| &script.commands) {
            match &command.kind {
                CommandKind::Set { target, .. } | CommandKind::SetShell { target, .. } => {
                    ids.extend(target.id);
                }
                CommandKind::Sample(sample) => ids.extend(&sample.targets),
                CommandKind::Sql(sql) => {
                    prefixes.extend(sql.store_command.iter().map(|store| store.prefix.as_str()));
                }
                _ => {}
            }
        }
        SetVariables { ids, prefixes }
    }

    fn may_contain(&self, id: VariableId, name: &str) -> bool {
        self.ids.contains(&id) || self.prefixes.iter().any(|prefix| name.starts_with(prefix))
    }
}

/// The first statement that uses a variable that nothing sets, as a message; with `with_expressions`, the first statement
/// or expression.
pub(super) fn unset_variable_problem(set: &ScriptSet, with_expressions: bool) -> Option<String> {
    let set_variables = SetVariables::of(set);
    let is_unset = |id: &VariableId| !set_variables.may_contain(*id, set.names.name(*id));
    let first_in = |script: &Script| {
        script.commands.iter().find_map(|command| {
            let unset = match &command.kind {
                CommandKind::Sql(sql) => sql.parameters().iter().copied().find(is_unset)?,
                CommandKind::Set { value, .. }
                | CommandKind::If {
                    condition: value, ..
                }
                | CommandKind::Elif {
                    condition: value, ..
                } if with_expressions => value.variables().find(is_unset)?,
                _ => return None,
            };
            let name = set.names.name(unset);
            Some(format!(
                "{}:{}: nothing sets the variable :{name}",
                script.name, command.line
            ))
        })
    };
    set.scripts.iter().find_map(first_in)
}
