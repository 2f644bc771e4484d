//! pgbench's script language.
//!
//! Parses scripts and evaluates them with a client's variables and random numbers: values, statements,
//! sleep times and messages are identical to pgbench's. Parser and evaluator access no socket, clock or
//! file, and never print. No input can make them panic or recurse without bound.
//!
//! A run reads all its scripts with one [`VariableNames`], and gives each client an [`Evaluator`]:
//!
//! ```
//! use prony_workload::random::Random;
//! use prony_workload::script::{CommandKind, Evaluator, VariableNames, CommandIndex, Script, Value};
//! use std::sync::Arc;
//!
//! let mut names = VariableNames::new();
//! let text = "\\set aid random(1, 1000000)\nSELECT :aid;";
//! let script = Script::parse(&mut names, "a.sql", text, 15)?;
//! let mut client = Evaluator::new(Arc::new(names), Random::of_client(42, 0));
//! let mut sent = String::new();
//! for command in &script.commands {
//!     match &command.kind {
//!         CommandKind::Set { target, value } => {
//!             let value = client.eval(value, CommandIndex::default())?;
//!             client.assign(target, command.name(), value)?;
//!         }
//!         CommandKind::Sql(sql) => sql.substitute(&client.variables, &mut sent),
//!         _ => {}
//!     }
//! }
//! assert_eq!(sent, "SELECT 668251;");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ast;
mod builtin;
mod captured;
mod choice;
mod client;
mod command_context;
mod error;
mod eval;
mod expr;
mod functions;
mod lex;
mod meta;
mod number;
mod options;
mod own_sql;
mod parse;
mod pipeline;
mod policy;
mod prepare;
mod program;
mod run;
mod samples;
mod server_types;
pub(crate) mod shell;
mod sql;
mod stats;
mod tokens;
mod transactions;
mod trial;
mod unset_variables;
mod utility;
mod value;
mod variables;
mod workload;

#[cfg(test)]
mod tests;

pub use ast::{
    AssignmentTarget, Command, CommandKind, SampleCommand, Script, ShellCommand, SleepTime,
    SqlCommand, StoreCommand,
};
pub use builtin::{BUILTINS, Builtin, find_builtin};
pub use choice::ScriptChooser;
pub use error::{EvalError, ScriptError, SyntaxError};
pub use eval::{CommandIndex, Evaluator};
pub use expr::{DEPTH_MAX, Expr};
pub(crate) use lex::token_length;
pub use options::ScriptSet;
pub use own_sql::SQL;
pub use policy::{MessageListener, OnError, ScriptPolicy};
pub use program::ScriptProgram;
pub use sql::PARAMETERS_MAX;
pub use stats::{CommandStats, StatsByCommand};
pub use value::Value;
pub use variables::{VariableId, VariableNames, Variables, is_valid_name};
pub use workload::{SCRIPT, ScriptWorkload};
