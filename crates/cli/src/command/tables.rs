//! `prony check` and `prony clean`.
//!
//! Print the findings of a check, or the dropped tables. A check never changes data, unless a repair is
//! requested.

use super::{ledger, output, server};
use crate::args::{CheckArgs, TablesArgs};
use crate::exit::{Exit, Failure};
use prony_report::{data, units};
use prony_runner::{Signals, signals};
use prony_server::Control;
use prony_server::control::Error as ControlError;
use prony_server::observe::CounterReader;
use prony_store::{ObservedTopic, SqlDialect};
use prony_workload::remedy::{Commands, LoadSpec, PronyCommands, Remedy};
use prony_workload::{Error, LOAD_UNFINISHED, Workload};
use std::thread::sleep;
use std::time::Duration;

/// What is checked in place of a workload: the commits of a run.
const LEDGER: &str = "ledger";

/// Refuses an option that says nothing about what is checked.
fn refuse_misplaced(is_ledger: bool, has_run: bool, repairs: bool) -> Result<(), Failure> {
    let (option, hint) = if is_ledger && repairs {
        ("--repair-sequences", "it repairs the data of tpcc")
    } else if !is_ledger && has_run {
        (
            "--run",
            "prony check ledger --run ID looks for the commits of a run",
        )
    } else {
        return Ok(());
    };
    let message = format!("{option} says nothing about this check");
    Err(Failure::usage(message, hint).at(option))
}

/// The workload of these arguments, and a connection to its server, which a signal ends.
fn connect(args: &TablesArgs) -> Result<(&'static dyn Workload, Control), Failure> {
    let workload = server::find_workload(&args.workload)?;
    let target = server::target_with_timeout(args.flags.url(), &args.timeout)?;
    server::require_protocol(&target, workload)?;
    Signals::listen()?;
    Ok((workload, server::connect(&target)?))
}

/// Checks the data, and prints the findings and the sizes of the tables.
pub fn check(args: &CheckArgs) -> Result<Exit, Failure> {
    let CheckArgs {
        tables: args,
        repair_sequences,
        run,
    } = args;
    let is_ledger = args.workload == LEDGER;
    refuse_misplaced(is_ledger, run.is_some(), *repair_sequences)?;
    if is_ledger {
        return ledger::check(args, run.as_deref().unwrap_or("last"));
    }
    let url = args.flags.url();
    let (workload, mut control) = connect(args)?;
    if *repair_sequences {
        let repaired = workload
            .repair_order_numbers(&mut control)
            .map_err(|error| server::workload_failure(&error, url, None))?;
        output::show(|out, _| match repaired {
            0 => writeln!(out, "The next order number of every district is free."),
            count => {
                let districts = units::count(count);
                writeln!(
                    out,
                    "Set d_next_o_id to the next free number in {districts} districts."
                )
            }
        })?;
    }
    let report = workload
        .check(&mut control)
        .map_err(|error| server::workload_failure(&error, url, None))
        .map_err(|failure| with_interrupt_hint(failure, "a check changes nothing"))?;
    let findings = report.rendered(&PronyCommands::for_url(url));
    output::show(|out, style| {
        match report.scale {
            Some(scale) => {
                let scale = units::count(u64::from(scale));
                writeln!(out, "{}, scale {scale}", workload.dataset())?;
            }
            None => writeln!(out, "{}, scale unknown", workload.dataset())?,
        }
        data::write_findings(out, style, &findings)?;
        data::write_table_sizes(out, style, &report.tables)
    })?;
    if report.is_ok() {
        return Ok(Exit::Success);
    }
    if report.is_unfinished() {
        let hint = format!("see {LOAD_UNFINISHED} above");
        return Err(Failure::new(Exit::Data, "the load is unfinished", hint));
    }
    // A finding that says what to do is the only instruction: a second one could contradict it.
    let hint = match report.first_remedied() {
        Some(finding) => format!("see {} above", finding.id),
        None => reload_remedy(workload.dataset()).render(&PronyCommands::for_url(url)),
    };
    let message = "the data failed the check";
    Err(Failure::new(Exit::Data, message, hint))
}

/// What to do about tables that failed a check.
pub fn reload_remedy(workload: &'static str) -> Remedy {
    let scale = vec![("scale", "N".to_owned())];
    Remedy::Reload("load it again", LoadSpec::of(workload, scale))
}

/// Drops the tables and names them.
pub fn clean(args: &TablesArgs) -> Result<Exit, Failure> {
    let url = args.flags.url();
    let (workload, mut control) = connect(args)?;
    let clients = clients_of_runs(&mut control, workload);
    // A signal ends the search, which then says nothing about runs.
    if signals::received().is_some() {
        let message = "interrupted while waiting for the server";
        let hint = "nothing was dropped; start the command again";
        return Err(Failure::new(Exit::LoadOrClean, message, hint));
    }
    if let Ok(clients @ 1..) = clients {
        let sessions = units::count_with_noun(clients, "session", "sessions");
        let owner = match control.dialect() {
            // These servers may not show the program of a session.
            SqlDialect::MySql => "user",
            _ => "user and program",
        };
        let message = format!(
            "a run may be using the tables: {sessions} of this {owner} in this database executed statements in the last \
             second"
        );
        let hint = "end the run, or wait for its end, and repeat the command";
        return Err(Failure::new(Exit::LoadOrClean, message, hint));
    }
    let searched = clients.map_err(|source| Error::Server {
        activity: "looking for runs".to_owned(),
        source,
    });
    let cleaned = searched.and_then(|_| workload.clean(&mut control));
    let dropped_tables = cleaned.map_err(|error| {
        let clean =
            PronyCommands::for_url(url).clean_command(&LoadSpec::of(workload.name(), Vec::new()));
        let hint = format!("some tables may be dropped and others not: start `{clean}` again");
        with_interrupt_hint(server::load_or_clean_failure(&error, url, None), &hint)
    })?;
    output::show(|out, _| match dropped_tables.as_slice() {
        [] => writeln!(
            out,
            "There were no tables of {} to drop.",
            workload.dataset()
        ),
        names => writeln!(out, "Dropped {}.", names.join(", ")),
    })?;
    Ok(Exit::Success)
}

/// How many clients of runs use the database: one of their transactions and a drop would wait for each other. Sessions of a
/// run that has just ended may take a moment to go. Where the server does not show the program of a session, those count
/// only if something uses the workload's tables.
fn clients_of_runs(control: &mut Control, workload: &dyn Workload) -> Result<u64, ControlError> {
    const READINGS: u32 = 12;
    const PAUSE: Duration = Duration::from_millis(250);
    let reader = CounterReader::new(control)?;
    let mut reader = reader.limited_to(&[ObservedTopic::OtherSessions]);
    let mut are_relevant = control.dialect() != SqlDialect::MySql;
    let mut clients = 0;
    for reading in 0..READINGS {
        if reading > 0 {
            sleep(PAUSE);
        }
        let groups = reader.read(control)?.sessions;
        let own: Vec<_> = groups.iter().filter(|group| group.own).collect();
        clients = own.iter().map(|group| u64::from(group.recent)).sum();
        if clients == 0 || signals::received().is_some() {
            return Ok(0);
        }
        are_relevant = are_relevant
            || own.iter().any(|group| !group.application.is_empty())
            || uses_tables(control, workload)?;
    }
    Ok(if are_relevant { clients } else { 0 })
}

/// Whether a statement of MySQL or MariaDB uses a table of the workload within some milliseconds.
fn uses_tables(control: &mut Control, workload: &dyn Workload) -> Result<bool, ControlError> {
    const READINGS: u32 = 20;
    // `sbtest1` stands for all tables with a number.
    let base_of = |name: &str| {
        name.trim_end_matches(|c: char| c.is_ascii_digit())
            .to_owned()
    };
    let bases = workload.tables().iter().map(|table| base_of(table.name));
    let bases: Vec<String> = bases.collect();
    for _ in 0..READINGS {
        let rows =
            control.query("SHOW OPEN TABLES WHERE In_use > 0 AND `Database` = DATABASE()")?;
        let mut names = rows.iter().filter_map(|row| row.get(1)?.as_deref());
        if names.any(|name| bases.contains(&base_of(name))) {
            return Ok(true);
        }
        sleep(Duration::from_millis(2));
    }
    Ok(false)
}

/// The failure, or if a signal interrupted the command, that; the hint says what was left behind.
fn with_interrupt_hint(failure: Failure, interrupt_hint: &str) -> Failure {
    // Whatever the failure is, such as a connection that is closed now, the signal caused it.
    if signals::received().is_none() {
        return failure;
    }
    let message = "interrupted while waiting for the server";
    Failure::new(failure.exit, message, interrupt_hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use clap::Parser;

    #[test]
    fn an_option_of_another_check_is_refused() {
        for (line, option) in [
            ("prony check tpcc --run last", "--run"),
            (
                "prony check ledger --repair-sequences",
                "--repair-sequences",
            ),
        ] {
            let parsed = Cli::try_parse_from(line.split_whitespace()).unwrap();
            let Command::Check(args) = parsed.command else {
                panic!("{line}");
            };
            let failure = check(&args).expect_err("a usage error");
            assert_eq!(failure.exit, Exit::Usage);
            assert!(failure.problems[0].problem.starts_with(option));
        }
    }
}
