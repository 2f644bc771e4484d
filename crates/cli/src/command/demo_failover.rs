//! `prony demo failover`: a primary and a standby of its own, of which the primary is killed under load.
//!
//! The same as `prony drill` with a command of the user, which is shown on stderr.

use super::{demo, embedded, load, output, plan, server};
use crate::args::DemoArgs;
use crate::exit::{Exit, Failure};
use crate::run::{ResultFormat, run_and_print};
use prony_plan::{Mark, PlanInput, format_duration, value_from_flag};
use prony_runner::Signals;
use prony_server::Control;
use prony_server::embedded::EmbeddedPostgres;
use prony_store::{Requirement, Requirements};
use std::ffi::OsString;
use std::thread::sleep;
use std::time::{Duration, Instant};

const CLIENTS: u64 = 8;
const WARMUP: Duration = Duration::from_secs(2);
/// Enough for ten seconds before the kill, an outage, and ten seconds in which the throughput is back.
const DURATION: Duration = Duration::from_secs(30);
/// When the primary is killed, seconds from the start of the load.
const KILL_AT: Duration = Duration::from_secs(10);
/// How long to wait until the standby receives the log.
const STREAMING_TIMEOUT: Duration = Duration::from_secs(60);

/// Starts both servers, loads, kills and accounts.
pub fn demo(args: &DemoArgs, arguments: &[OsString]) -> Result<Exit, Failure> {
    let signals = Signals::listen()?;
    let options = embedded::options(CLIENTS as u32);
    let for_primary = if args.asynchronous {
        options.clone()
    } else {
        options.clone().set("synchronous_standby_names", "*")
    };
    let primary = embedded::start_with(&for_primary, args.download)?;
    // The copied configuration is the primary's.
    let for_standby = options.set("synchronous_standby_names", "");
    let standby = embedded::start_standby(&primary, &for_standby)?;
    let receiver = wait_until_streaming(&primary, &standby, !args.asynchronous, &signals)?;
    let url = format!(
        "postgres://postgres:{}@127.0.0.1:{},127.0.0.1:{}/postgres?target_session_attrs=read-write",
        standby.password().reveal(),
        primary.port(),
        standby.port()
    );
    let command = kill_and_promote(&primary, &standby, args.asynchronous.then_some(receiver))?;
    let input = input(&url, &command, args.duration.unwrap_or(DURATION))?;
    let plan = plan::check_plan(input.clone(), "the demo")?;
    let workload = server::find_workload(&plan.workload.name)?;
    let target = server::resolve_target(Some(&url))?;
    load::load_embedded(workload, &plan.workload, &target, &signals)?;
    output::notice(&format!(
        "The same as: prony drill tpcb --url '{}' --clients {CLIENTS} --at {} '{command}' --require lost=0 --require 'outage<30s'",
        prony_server::redact(&url),
        format_duration(KILL_AT)
    ));
    let format = match ResultFormat::from_flags(args.json, args.full) {
        ResultFormat::FirstScreen => ResultFormat::Drill,
        format => format,
    };
    run_and_print(&demo::request(args, &input, plan, format, arguments))
}

fn input(url: &str, command: &str, duration: Duration) -> Result<PlanInput, Failure> {
    let origin = "demo";
    let required = ["lost=0", "outage<30s"].map(Requirement::parse);
    let required = required.into_iter().collect::<Result<_, _>>();
    let required = required.map_err(|error| Failure::usage(error, ""))?;
    Ok(PlanInput {
        url: value_from_flag(origin, Some(url.to_owned())),
        workload: value_from_flag(origin, Some("tpcb".to_owned())),
        scale: value_from_flag(origin, Some(CLIENTS)),
        clients: value_from_flag(origin, Some(CLIENTS)),
        warmup: value_from_flag(origin, Some(WARMUP)),
        duration: value_from_flag("--duration", Some(duration)),
        ledger: value_from_flag(origin, Some(true)),
        expect_outage: value_from_flag(origin, Some(true)),
        at: value_from_flag(
            origin,
            Some(vec![Mark {
                at: KILL_AT,
                command: command.to_owned(),
            }]),
        ),
        require: value_from_flag(origin, Some(Requirements(required))),
        ..PlanInput::default()
    })
}

/// Waits until the standby receives the log, and commits wait for it if they are to; returns the process that receives.
fn wait_until_streaming(
    primary: &EmbeddedPostgres,
    standby: &EmbeddedPostgres,
    must_be_synchronous: bool,
    signals: &Signals,
) -> Result<u32, Failure> {
    const RECEIVER: &str = "select pid from pg_stat_wal_receiver where status = 'streaming'";
    const SYNCHRONOUS: &str =
        "select count(*) from pg_stat_replication where sync_state in ('sync', 'quorum')";
    let connect = |server: &EmbeddedPostgres| {
        let target = server::resolve_target(Some(&server.url()))?;
        server::connect(&target)
    };
    let (mut on_primary, mut on_standby) = (connect(primary)?, connect(standby)?);
    let number = |control: &mut Control, sql: &str| -> Result<u32, Failure> {
        let value = control.query_value(sql);
        let value = value.map_err(|error| Failure::of(Exit::Connect, &error))?;
        Ok(value.and_then(|value| value.parse().ok()).unwrap_or(0))
    };
    let deadline = Instant::now() + STREAMING_TIMEOUT;
    loop {
        let receiver = number(&mut on_standby, RECEIVER)?;
        let is_synchronous = !must_be_synchronous || number(&mut on_primary, SYNCHRONOUS)? > 0;
        if receiver > 0 && is_synchronous {
            return Ok(receiver);
        }
        if let Some(signal) = signals.received() {
            return Err(Failure::new(signal.into(), "interrupted", ""));
        }
        if Instant::now() > deadline {
            let message = "the standby does not receive the primary's log";
            let hint = format!("its log: {}", standby.log_path().display());
            return Err(Failure::new(Exit::Connect, message, hint));
        }
        sleep(Duration::from_millis(50));
    }
}

/// A command that kills the primary, all its processes at once, and promotes the standby as `pg_ctl promote` does, which
/// refuses to run as root. With `receiver`, the standby first lags for three seconds.
fn kill_and_promote(
    primary: &EmbeddedPostgres,
    standby: &EmbeddedPostgres,
    receiver: Option<u32>,
) -> Result<String, Failure> {
    let [Some(primary), Some(standby_pid)] = [primary.pid(), standby.pid()] else {
        return Err(Failure::new(Exit::Connect, "a server has ended", ""));
    };
    let [stop, resume] = match receiver {
        Some(receiver) => [
            format!("kill -STOP {receiver}; sleep 3; "),
            format!("kill -CONT {receiver}; "),
        ],
        None => [String::new(), String::new()],
    };
    let data = standby.data_dir();
    Ok(format!(
        "{stop}kill -STOP {primary}; \
         kill -9 {primary} $(cat /proc/{primary}/task/{primary}/children 2>/dev/null || pgrep -P {primary}); \
         {resume}touch {data}/promote && kill -USR1 {standby_pid} && echo the standby is promoted",
        data = data.display()
    ))
}
