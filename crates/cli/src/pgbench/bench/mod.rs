//! A benchmark in pgbench's way.
//!
//! In: what the command line asks, a server. Out: pgbench's texts on stdout and stderr, log files, a
//! stored run, an exit status. Must never: print a line that pgbench does not, unless it was asked
//! for by an option or setting of Prony's own.

mod logs;
mod setup;
mod speaker;
mod store;
mod watch;

use super::call::Call;
use crate::exit::Exit;
use crate::run::keep::Keeper;
use crate::signals::Signals;
use prony_dialect::pgbench::{
    Measured, RunOptions, ScriptSource, TableFacts, drive_plan, manner, report, run_report,
};
use prony_drive::{ConnectError, Driven, Error, Incident, Job, clients_of};
use prony_server::Target;
use prony_workload::script::{Names, Script, ScriptSet, Scripts};
use speaker::Speaker;
use std::sync::Arc;
use watch::Watch;

/// pgbench's exit status where some client could not go on.
const ABORTED: u8 = 2;

/// The scripts of `-f`, in order, and the names of their variables.
pub struct Files {
    /// The scripts.
    pub scripts: Vec<Script>,
    /// The names.
    pub names: Names,
}

/// Runs it; gives the exit status.
///
/// # Errors
/// The whole text for stderr; the exit status is 1.
pub fn run(
    call: &Call,
    options: &RunOptions,
    mut target: Target,
    files: Files,
) -> Result<u8, String> {
    let voice = &call.voice;
    let set = scripts(call, options, files)?;
    // Until here a Ctrl-C ended the process by itself; from the run on it ends the run.
    let ready = setup::prepare(call, options, &mut target)?;
    let scale = scale(options, ready.tables);
    let signals = Signals::listen().map_err(|error| voice.fatal(&error.to_string()))?;
    let speaker = Arc::new(Speaker::new(call, options, signals.flag()));
    let shown: Vec<Script> = set.scripts.clone();
    let takes_default = set.defines.iter().all(|(name, _)| name != "default_seed");
    let logs = logs::open(call, options, takes_default)?;
    let program = Arc::new(Scripts::new(
        set,
        scale,
        manner(&call.level, options, speaker.clone()),
    ));
    let plan = drive_plan(options);
    let (run, writer) = store::begin(call, options, &plan, &target, &ready, &program, scale);
    let mut watch = Watch::new(call, options, Keeper::new(writer, run));
    let interrupt = signals.flag();
    let tap = |worker| logs.tap(worker);
    let driven = prony_drive::run(
        &Job {
            program: &*program,
            target: &target,
            tcp_target: None,
            plan: &plan,
            seed: options.random_seed,
            interrupt: &interrupt,
            tap: options
                .log
                .is_some()
                .then_some(&tap as &(dyn Fn(usize) -> Box<dyn prony_drive::Tap> + Sync)),
            refused: None,
        },
        &mut watch,
    );
    let (run, writer) = watch.end();
    let driven = match driven {
        Ok(driven) => driven,
        Err(error) => {
            if let Some(writer) = writer {
                writer.discard();
            }
            signals.pass_on();
            return Err(not_started(call, &error));
        }
    };
    let facts = TableFacts {
        scale,
        partitions: ready.tables.and_then(|tables| tables.partitions),
    };
    let measured = Measured {
        totals: &driven.collected.measured,
        connect_s: driven.start.connect_s,
        commands: &program.figures(),
    };
    let aborted = is_aborted(&driven);
    let mut status = 0;
    if let (Some(client), true) = (speaker.first_aborted(), options.exit_on_abort) {
        // pgbench gives no report then.
        let thread = thread_of(options, client);
        let text = format!("Run was aborted due to an error in thread {thread}");
        call.tell(&voice.error(&text));
        status = ABORTED;
    } else {
        call.print(&report(
            &call.level,
            &run_report(options, facts, &shown, &measured),
        ));
        if aborted || driven.interrupted {
            let text = "Run was aborted; the above results are incomplete.";
            call.tell(&voice.fatal(text));
            status = signals.asked().map_or(ABORTED, |(exit, _)| exit as u8);
        }
    }
    if let Some(failure) = &driven.failure {
        call.tell(&voice.error(failure));
        status = Exit::Unexpected as u8;
    }
    logs.complain();
    store::finish(call, &plan, &driven, run, writer, signals.asked());
    signals.pass_on();
    Ok(status)
}

/// The thread that drives a client.
fn thread_of(options: &RunOptions, client: u32) -> u32 {
    let RunOptions {
        clients, threads, ..
    } = *options;
    (0..threads)
        .find(|thread| clients_of(*thread, clients, threads).contains(&client))
        .unwrap_or_default()
}

/// Files and builtin scripts in the order in which they were given.
fn scripts(call: &Call, options: &RunOptions, files: Files) -> Result<ScriptSet, String> {
    let Files { scripts, mut names } = files;
    let (mut files, mut all) = (scripts.into_iter(), Vec::new());
    let level = u32::from(call.level.major());
    let wrong =
        |error: prony_workload::script::ScriptError| error.as_pgbench(call.voice.progname(), level);
    for choice in &options.scripts {
        let mut script = match &choice.source {
            ScriptSource::Builtin(builtin) => builtin.parse(&mut names, level).map_err(wrong)?,
            // Each was read when its option was.
            ScriptSource::File(_) => match files.next() {
                Some(script) => script,
                None => continue,
            },
        };
        script.weight = choice.weight;
        all.push(script);
    }
    if options.protocol != prony_dialect::pgbench::Protocol::Simple {
        for sql in all.iter().flat_map(Script::statements) {
            sql.check_parameters().map_err(wrong)?;
        }
    }
    Ok(ScriptSet {
        scripts: all,
        names,
        defines: options.defines.clone(),
        builtin: options.uses_builtin,
    })
}

/// The scale that is reported and that `:scale` has.
fn scale(options: &RunOptions, tables: Option<TableFacts>) -> u32 {
    tables.map_or(options.scale.unwrap_or(1), |tables| tables.scale)
}

fn is_aborted(driven: &Driven) -> bool {
    let mut events = driven.events.iter();
    events.any(|event| event.what == Incident::UserFailed)
}

/// pgbench's words for connections that could not be opened.
fn not_started(call: &Call, error: &Error) -> String {
    let voice = &call.voice;
    match error {
        Error::Connect {
            connected,
            source: ConnectError::Refused { failures, .. },
            ..
        } => {
            let text = super::connection::failures(failures);
            let client = format!("could not create connection for client {connected}");
            voice.error(&text) + &voice.fatal(&client)
        }
        other => voice.fatal(&other.to_string()),
    }
}
