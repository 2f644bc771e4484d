//! `pgbench -i`: makes the tables and fills them.
//!
//! In: options, a server, how many connections may load. Out: pgbench's tables; its words on standard
//! error. Must never: send another statement than pgbench of the level does (with one connection),
//! or leave a connection behind when it is told to stop.

mod rows;

use super::call::{Call, say};
use super::connection;
use super::refuse;
use crate::exit::Exit;
use crate::signals::Signals;
use prony_dialect::pgbench::Freeze;
use prony_dialect::pgbench::{
    InitOptions, ORDINARY, RELKIND_SQL, Refused, Work, copy_sql, done_line, step,
};
use prony_server::{Control, Target, control};
use prony_workload::stop::{Watch, watched};
use prony_workload::tpcb::Table;
use std::time::Instant;

/// Does the steps that the options name.
///
/// `load_jobs`: connections that fill pgbench_accounts; one, and none said, is pgbench's way: all
/// tables in one transaction.
///
/// # Errors
/// All that is still to be said on standard error, and the exit status. After a signal the status is
/// 128 and its number.
pub fn initialize(
    call: &Call,
    options: &InitOptions,
    target: &Target,
    load_jobs: Option<u32>,
) -> Result<(), Refused> {
    let mut target = target.clone();
    connection::warn(&target);
    let mut control = connection::connect(&mut target).map_err(|problem| {
        let database = &options.connection.dbname;
        refuse(connection::refusal(
            call,
            database,
            &problem,
            "initialization",
        ))
    })?;
    // With several hosts, all connections must go to the same one.
    target.endpoints = vec![control.endpoint().clone()];
    let signals =
        Signals::listen().map_err(|error| refuse(call.voice.fatal(&error.to_string())))?;
    let done = watched(&signals.flag(), |watch| {
        watch.add(&control);
        let init = Init {
            call,
            options,
            target: &target,
            jobs: load_jobs.unwrap_or(1),
            watch,
        };
        init.steps(&mut control)
    });
    done.map_err(|text| match signals.asked() {
        None => refuse(text),
        Some((exit, _)) => stopped(exit, &text),
    })
}

/// pgbench's word on a request to cancel comes before what the server says to it.
fn stopped(exit: Exit, text: &str) -> Refused {
    Refused {
        stderr: format!("Cancel request sent\n{text}"),
        exit_status: exit as u8,
    }
}

/// One initialization.
struct Init<'a> {
    call: &'a Call,
    options: &'a InitOptions,
    /// For further connections.
    target: &'a Target,
    jobs: u32,
    watch: &'a Watch<'a>,
}

/// What fails is told as text for standard error.
type Told = Result<(), String>;

impl Init<'_> {
    fn steps(&self, control: &mut Control) -> Told {
        connection::notices(control);
        let mut took = Vec::new();
        for letter in self.options.steps.chars() {
            let started = Instant::now();
            self.step(control, letter)?;
            took.push((letter, started.elapsed().as_secs_f64()));
        }
        say(&done_line(&took));
        Ok(())
    }

    fn step(&self, control: &mut Control, letter: char) -> Told {
        for work in step(
            &self.call.level,
            self.options,
            letter,
            control.server_version(),
        ) {
            match work {
                Work::Say(text) => say(&text),
                Work::Sql(sql) => self.statement(control, &sql)?,
                Work::Copy { table, .. } if table == Table::Accounts && self.jobs > 1 => {
                    // The other connections must see the tables as they are now. What is left of
                    // the step is the commit.
                    self.statement(control, "commit")?;
                    return self.accounts_in_parts();
                }
                Work::Copy { table, freeze } => self.table(control, table, freeze)?,
            }
        }
        Ok(())
    }

    /// All rows of a table, over this connection.
    fn table(&self, control: &mut Control, table: Table, freeze: Freeze) -> Told {
        let freeze = match freeze {
            Freeze::No => false,
            Freeze::Yes => true,
            Freeze::IfOrdinary => self.is_ordinary(control, table)?,
        };
        let progress = rows::Progress::start(&self.call.level, self.options, table);
        let all = 0..table.rows(self.options.scale);
        self.copy(control, &copy_sql(table, freeze), table, all, &progress)?;
        progress.finish();
        Ok(())
    }

    fn is_ordinary(&self, control: &mut Control, table: Table) -> Result<bool, String> {
        self.go_on()?;
        let rows = control.query_with(RELKIND_SQL, &[table.name()]);
        connection::notices(control);
        let rows = rows.map_err(|error| self.query_failed(&error, RELKIND_SQL))?;
        let kind = rows.first().and_then(|row| row.first());
        Ok(kind.and_then(Option::as_deref) == Some(ORDINARY))
    }

    fn statement(&self, control: &mut Control, sql: &str) -> Told {
        self.go_on()?;
        let done = control.execute(sql);
        connection::notices(control);
        done.map(drop)
            .map_err(|error| self.query_failed(&error, sql))
    }

    fn query_failed(&self, error: &control::Error, sql: &str) -> String {
        let said = connection::in_statement(error, sql);
        let query = if self.call.level.at_least(15) {
            "Query"
        } else {
            "query"
        };
        self.call.voice.fatal(&format!("query failed: {said}"))
            + &self.call.voice.detail(&format!("{query} was: {sql}"))
    }

    /// # Errors
    /// The user asked to stop, or another connection failed; there is nothing to say of that here.
    fn go_on(&self) -> Told {
        if self.watch.goes_on() {
            Ok(())
        } else {
            Err(String::new())
        }
    }
}
