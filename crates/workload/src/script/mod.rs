//! pgbench's script language.
//!
//! In: a script's text; later the variables and random numbers of a client. Out: commands; later
//! values, statements and waiting times, bit for bit those of pgbench, and its messages where
//! something is wrong. Must never: see a socket, a clock or a file, or print; whoever runs a script
//! does. Nothing in a text can make it panic or recurse without bound.
//!
//! A run reads all its scripts with one [`Names`], and gives each client an [`Evaluator`]:
//!
//! ```
//! use prony_workload::random::Random;
//! use prony_workload::script::{CommandKind, Evaluator, Names, Place, Script, Value};
//! use std::sync::Arc;
//!
//! let mut names = Names::new();
//! let text = "\\set aid random(1, 1000000)\nSELECT :aid;";
//! let script = Script::parse(&mut names, "a.sql", text, 15)?;
//! let mut client = Evaluator::new(Arc::new(names), Random::of_client(42, 0));
//! let mut sent = String::new();
//! for command in &script.commands {
//!     match &command.kind {
//!         CommandKind::Set { target, value } => {
//!             let value = client.eval(value, Place::default())?;
//!             client.assign(target, command.word(), value)?;
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
mod choice;
mod client;
mod error;
mod eval;
mod expr;
mod figures;
mod functions;
mod lex;
mod manner;
mod meta;
mod number;
mod options;
mod parse;
mod program;
mod run;
mod shell;
mod sql;
mod tokens;
mod trouble;
mod value;
mod variables;
mod workload;

#[cfg(test)]
mod tests;

pub use ast::{Command, CommandKind, Results, Script, Shell, Sleep, SqlCommand, Target};
pub use builtin::{BUILTINS, Builtin, builtin};
pub use choice::Choice;
pub use error::{EvalError, ScriptError, SyntaxError};
pub use eval::{Evaluator, Place};
pub use expr::{DEPTH_MAX, Expr};
pub use figures::{CommandFigures, Figures};
pub use manner::{Listener, Manner, OnError};
pub use options::ScriptSet;
pub use program::Scripts;
pub use sql::PARAMETERS_MAX;
pub use value::Value;
pub use variables::{Names, VariableId, Variables, is_valid_name};
pub use workload::{SCRIPT, ScriptWorkload};
