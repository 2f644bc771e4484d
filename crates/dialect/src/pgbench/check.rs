//! What options must fulfil together.
//!
//! In: what each said. Out: an [`Invocation`]. Must never: check in another order than pgbench, whose
//! first complaint is the only one.

use std::ffi::OsString;

use super::host::{Host, Refused};
use super::level::Level;
use super::options::{
    InitOptions, Invocation, Limit, Log, PartitionMethod, RunOptions, ScriptChoice, ScriptSource,
};
use super::table::Said;
use super::voice::Voice;
use prony_workload::script::BUILTINS;

/// pgbench's `-t` where neither that nor `-T` is given.
const DEFAULT_TRANSACTIONS: u32 = 10;

pub(crate) fn finish(
    mut said: Said,
    operands: Vec<OsString>,
    level: &Level,
    voice: &Voice,
    host: &dyn Host,
) -> Result<Invocation, Refused> {
    let fatal = |text: &str| Refused::new(voice.fatal(text));
    if said.scripts.is_empty() && !said.initialize {
        said.scripts.push(ScriptChoice {
            source: ScriptSource::Builtin(&BUILTINS[0]),
            weight: 1,
        });
        said.builtin_used = true;
    }
    if !said.initialize && said.scripts.iter().all(|script| script.weight == 0) {
        return Err(fatal("total script weight must not be zero"));
    }
    take_operands(&mut said, operands, voice, host)?;
    if said.initialize {
        if said.benchmarking {
            return Err(fatal(
                "some of the specified options cannot be used in initialization (-i) mode",
            ));
        }
        return initialization(said)
            .map_err(fatal)
            .map(Invocation::Initialize);
    }
    if said.initialization {
        return Err(fatal(
            "some of the specified options cannot be used in benchmarking mode",
        ));
    }
    check_run(&said, level).map_err(|text| fatal(&text))?;
    Ok(Invocation::Run(run(said)))
}

/// The database's name, and nothing after it.
fn take_operands(
    said: &mut Said,
    operands: Vec<OsString>,
    voice: &Voice,
    host: &dyn Host,
) -> Result<(), Refused> {
    let mut operands = operands.into_iter();
    let filled = |name: &str| host.variable(name).filter(|value| !value.is_empty());
    let dbname = match said.dbname.take() {
        Some(name) => name,
        None => match operands.next() {
            Some(operand) => operand.to_string_lossy().into_owned(),
            None => match filled("PGDATABASE").or_else(|| filled("PGUSER")) {
                Some(name) => name,
                None => host
                    .user_name()
                    .map_err(|text| Refused::new(voice.fatal(&text)))?,
            },
        },
    };
    said.connection.dbname = dbname;
    if let Some(extra) = operands.next() {
        let text = format!(
            "too many command-line arguments (first is \"{}\")",
            extra.to_string_lossy()
        );
        return Err(Refused::new(voice.fatal(&text) + &voice.try_help()));
    }
    Ok(())
}

fn initialization(said: Said) -> Result<InitOptions, &'static str> {
    if said.partitions == 0 && said.partition_method.is_some() {
        return Err("--partition-method requires greater than zero --partitions");
    }
    let method = said.partition_method.unwrap_or(PartitionMethod::Range);
    let mut steps = said.init_steps.unwrap_or_else(|| "dtgvp".to_owned());
    if said.no_vacuum {
        steps = steps.replace('v', " ");
    }
    if said.foreign_keys && !steps.contains('f') {
        steps.push('f');
    }
    let partitions = said.partitions as u32;
    Ok(InitOptions {
        connection: said.connection,
        steps,
        scale: said.scale.unwrap_or(1) as u32,
        fillfactor: said.fillfactor.unwrap_or(100) as u32,
        quiet: said.quiet,
        tablespace: said.tablespace,
        index_tablespace: said.index_tablespace,
        partitions: (partitions > 0).then_some((method, partitions)),
        unlogged: said.unlogged,
        debug: said.debug,
    })
}

fn check_run(said: &Said, level: &Level) -> Result<(), String> {
    let refuse = |text: &str| Err(text.to_owned());
    if said.transactions.is_some() && said.seconds.is_some() {
        return refuse("specify either a number of transactions (-t) or a duration (-T), not both");
    }
    let sampling = said.sampling_rate > 0.0;
    if sampling && !said.log {
        return refuse(
            "log sampling (--sampling-rate) is allowed only when logging transactions (-l)",
        );
    }
    if sampling && said.aggregate.is_some() {
        return refuse(
            "log sampling (--sampling-rate) and aggregation (--aggregate-interval) cannot be used at the same time",
        );
    }
    if said.aggregate.is_some() && !said.log {
        return refuse("log aggregation is allowed only when actually logging transactions");
    }
    if said.log_prefix.is_some() && !said.log {
        return refuse(
            "log file prefix (--log-prefix) is allowed only when logging transactions (-l)",
        );
    }
    if let (Some(seconds), Some(interval)) = (said.seconds, said.aggregate) {
        if interval > seconds {
            return Err(format!(
                "number of seconds for aggregation ({interval}) must not be higher than test duration ({seconds})"
            ));
        }
        if seconds % interval != 0 {
            return Err(format!(
                "duration ({seconds}) must be a multiple of aggregation interval ({interval})"
            ));
        }
    }
    if said.progress_timestamp && said.progress.is_none() {
        return refuse("--progress-timestamp is allowed only under --progress");
    }
    let unlimited_tries = level.at_least(15) && said.max_tries == Some(0);
    if unlimited_tries && said.latency_limit_us == 0 && said.seconds.is_none() {
        return refuse(
            "an unlimited number of transaction tries can only be used with --latency-limit or a duration (-T)",
        );
    }
    Ok(())
}

fn run(said: Said) -> RunOptions {
    let clients = said.clients.unwrap_or(1) as u32;
    let limit = match (said.transactions, said.seconds) {
        (_, Some(seconds)) => Limit::Seconds(seconds as u32),
        (Some(transactions), None) => Limit::Transactions(transactions as u32),
        (None, None) => Limit::Transactions(DEFAULT_TRANSACTIONS),
    };
    let prefix = said.log_prefix.unwrap_or_else(|| "pgbench_log".to_owned());
    RunOptions {
        connection: said.connection,
        clients,
        threads: (said.jobs.unwrap_or(1) as u32).min(clients),
        reconnect: said.reconnect,
        defines: said.defines,
        scripts: said.scripts,
        uses_builtin: said.builtin_used,
        log: said.log.then_some(Log {
            prefix,
            sampling_rate: (said.sampling_rate != 0.0).then_some(said.sampling_rate),
            aggregate_interval_s: said.aggregate.map(|interval| interval as u32),
        }),
        latency_limit_us: u64::try_from(said.latency_limit_us)
            .ok()
            .filter(|limit| *limit > 0),
        protocol: said.protocol,
        progress_s: said.progress.map(|interval| interval as u32),
        progress_timestamp: said.progress_timestamp,
        report_per_command: said.report_per_command,
        rate_tps: said.rate_tps,
        limit,
        vacuum: !said.no_vacuum,
        vacuum_accounts: said.vacuum_all,
        max_tries: said.max_tries.unwrap_or(1) as u32,
        failures_detailed: said.failures_detailed,
        verbose_errors: said.verbose_errors,
        exit_on_abort: said.exit_on_abort,
        continue_on_error: said.continue_on_error,
        random_seed: said.random_seed,
        scale: said.scale.map(|scale| scale as u32),
        debug: said.debug,
        percentiles: said.percentiles,
    }
}
