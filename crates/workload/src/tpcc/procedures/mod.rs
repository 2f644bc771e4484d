//! The functions and procedures of the mode `procedures`, on the server.
//!
//! In: a profile, a control connection. Out: its routines, as they should be. Must never: touch a
//! routine whose name does not begin with Prony's prefix, or replace one that is as it should be:
//! another run may be calling it.

mod mysql;
mod mysql_texts;
mod postgres;

use super::profile::Profile;
use super::{delivery, new_order, order_status, payment, stock_level};
use crate::oltp::engine::Engine;
use crate::{Error, sql};
pub use postgres::Function;
use prony_server::Control;
use prony_server::control::Error as ControlError;

/// With what the names of all of them begin; also in the statements that look for them.
const PREFIX: &str = "prony_tpcc_";

/// Sees to it that the routines of a profile are there as they should be.
///
/// # Errors
/// The server refuses them, for want of rights above all.
pub fn install(control: &mut Control, profile: &Profile) -> Result<(), Error> {
    match Engine::of(control) {
        Engine::Postgres => {
            let functions = [
                new_order::function(profile),
                payment::function(profile),
                order_status::function(profile),
                delivery::function(profile),
                stock_level::function(profile),
            ];
            postgres::install(control, &functions)
        }
        Engine::MySql => mysql::install(control, &mysql_texts::procedures(profile)),
    }
}

/// Drops all routines with Prony's prefix, whatever the profile; those of runs under way included.
///
/// # Errors
/// The server refuses it.
pub fn remove(control: &mut Control) -> Result<(), Error> {
    match Engine::of(control) {
        Engine::Postgres => postgres::remove(control),
        Engine::MySql => mysql::remove(control),
    }
}

const DOING: &str = "installing the functions of tpcc";

fn run(control: &mut Control, text: &str) -> Result<(), Error> {
    control.execute(text).map(|_| ()).map_err(refused)
}

fn refused(error: ControlError) -> Error {
    // PostgreSQL's insufficient privilege; MySQL's access denied to a database, to a routine, and
    // for want of a right.
    let denied = [1044, 1227, 1370];
    let number = error.server().map_or(0, |error| error.number);
    if error.sqlstate() == Some("42501") || denied.contains(&number) {
        return Error::Data {
            problem: format!("{DOING}: {error}"),
            hint: "run once as the owner of the tables (any later user can call the functions), \
                   or set the option mode = \"statements\""
                .to_owned(),
        };
    }
    sql::server(DOING, error)
}
