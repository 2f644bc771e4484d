//! The commands, one file each.
//!
//! Each command calls the other crates. Decisions that another crate can make are not made here.

mod agent;
mod audit;
mod capture;
pub mod compare;
mod completed_names;
mod demo;
mod demo_failover;
pub mod doctor;
pub mod embedded;
mod file;
mod find;
mod find_clients;
mod find_resume;
mod fleet;
mod generate;
mod init;
mod judge;
mod kubernetes;
mod ledger;
pub mod load;
mod load_size;
pub mod output;
pub mod plan;
pub mod price;
mod report;
pub mod reproduce;
pub mod run;
mod scenarios;
mod serve;
pub mod server;
mod sizing;
pub mod stored;
mod tables;
mod trend;
pub mod workloads;

use crate::args::Command;
use crate::exit::{Exit, Failure};
use std::ffi::OsString;

/// Executes a command. `arguments` are stored in the Run document, without passwords.
pub fn execute(command: Command, arguments: &[OsString]) -> Result<Exit, Failure> {
    match command {
        Command::Demo(args) => demo::demo(&args, arguments),
        Command::Doctor(args) => doctor::doctor(&args),
        Command::Load(args) => load::load(&args),
        Command::Run(args) => run::run(&args, arguments),
        Command::Drill(args) => run::drill(&args.run, arguments),
        Command::Init(args) => init::init(&args),
        Command::Capture(args) => capture::execute(&args),
        Command::Replay(args) => run::replay(&args, arguments),
        Command::Find(args) => find::find(&args, arguments),
        Command::Check(args) => tables::check(&args),
        Command::Clean(args) => tables::clean(&args),
        Command::Workloads(args) => workloads::workloads(&args),
        Command::Scenarios(args) => scenarios::scenarios(&args),
        Command::Reproduce(args) => reproduce::reproduce(&args, arguments),
        Command::Runs(args) => stored::runs(&args),
        Command::Show(args) => stored::show(&args),
        Command::Judge(args) => judge::judge(&args),
        Command::Compare(args) => compare::compare(&args),
        Command::Trend(args) => trend::show(&args),
        Command::DiffSettings(args) => stored::diff_settings(&args),
        Command::Serve(args) => serve::serve(&args),
        Command::Report(args) => report::report(&args),
        Command::Verify(args) => report::verify(&args),
        Command::Audit(args) => audit::audit(&args),
        Command::Price(args) => price::price(&args),
        Command::Plan { command } => plan::execute(command),
        Command::Fleet { command } => fleet::execute(&command),
        Command::Agent(args) => agent::agent(&args),
        Command::Completions(args) => generate::completions(&args),
        Command::ManPages(args) => generate::man_pages(&args),
        // `main` handles these, because their exit status is that of the other tool.
        Command::Pgbench { .. } | Command::Hammerdbcli { .. } | Command::Sysbench { .. } => {
            Ok(Exit::Unexpected)
        }
    }
}
