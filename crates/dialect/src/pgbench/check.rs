//! Checks combinations of options.
//!
//! In: the parsed options. Out: an [`Invocation`]. Must never: check in a different order than pgbench, which
//! reports only the first error.

use std::ffi::OsString;

use super::host::{Host, UsageError};
use super::level::Level;
use super::messages::Messages;
use super::options::{
    InitOptions, Invocation, Limit, LogOptions, PartitionMethod, RunOptions, ScriptChoice,
    ScriptSource,
};
use super::table::ParsedOptions;
use prony_workload::script::BUILTINS;

/// pgbench's default for `-t` without `-T`.
const DEFAULT_TRANSACTIONS: u32 = 10;

/// Checks the parsed options, and builds the invocation from them and the operands.
pub(crate) fn build_invocation(
    mut parsed: ParsedOptions,
    operands: Vec<OsString>,
    level: &Level,
    messages: &Messages,
    host: &dyn Host,
) -> Result<Invocation, UsageError> {
    let fatal = |text: &str| UsageError::new(messages.fatal(text));
    if parsed.scripts.is_empty() && !parsed.initialize {
        parsed.scripts.push(ScriptChoice {
            source: ScriptSource::Builtin(&BUILTINS[0]),
            weight: 1,
        });
        parsed.uses_builtin = true;
    }
    if !parsed.initialize && parsed.scripts.iter().all(|script| script.weight == 0) {
        return Err(fatal("total script weight must not be zero"));
    }
    set_database_name(&mut parsed, operands, messages, host)?;
    if parsed.initialize {
        if parsed.has_benchmark_option {
            return Err(fatal(
                "some of the specified options cannot be used in initialization (-i) mode",
            ));
        }
        return init_options(parsed)
            .map_err(fatal)
            .map(Invocation::Initialize);
    }
    if parsed.has_init_option {
        return Err(fatal(
            "some of the specified options cannot be used in benchmarking mode",
        ));
    }
    check_run(&parsed, level).map_err(|text| fatal(&text))?;
    Ok(Invocation::Run(run_options(parsed)))
}

/// Sets the database's name: `-d`, the operand, an environment variable, or the user's name. A further
/// operand is an error.
fn set_database_name(
    parsed: &mut ParsedOptions,
    operands: Vec<OsString>,
    messages: &Messages,
    host: &dyn Host,
) -> Result<(), UsageError> {
    let mut operands = operands.into_iter();
    let non_empty = |name: &str| host.env_var(name).filter(|value| !value.is_empty());
    let dbname = match parsed.dbname.take() {
        Some(name) => name,
        None => match operands.next() {
            Some(operand) => operand.to_string_lossy().into_owned(),
            None => match non_empty("PGDATABASE").or_else(|| non_empty("PGUSER")) {
                Some(name) => name,
                None => host
                    .user_name()
                    .map_err(|text| UsageError::new(messages.fatal(&text)))?,
            },
        },
    };
    parsed.connection.dbname = dbname;
    if let Some(extra) = operands.next() {
        let text = format!(
            "too many command-line arguments (first is \"{}\")",
            extra.to_string_lossy()
        );
        return Err(UsageError::new(
            messages.fatal(&text) + &messages.try_help(),
        ));
    }
    Ok(())
}

/// The options of `-i`.
fn init_options(parsed: ParsedOptions) -> Result<InitOptions, &'static str> {
    if parsed.partitions == 0 && parsed.partition_method.is_some() {
        return Err("--partition-method requires greater than zero --partitions");
    }
    let method = parsed.partition_method.unwrap_or(PartitionMethod::Range);
    let mut steps = parsed.init_steps.unwrap_or_else(|| "dtgvp".to_owned());
    if parsed.no_vacuum {
        steps = steps.replace('v', " ");
    }
    if parsed.foreign_keys && !steps.contains('f') {
        steps.push('f');
    }
    let partitions = parsed.partitions as u32;
    Ok(InitOptions {
        connection: parsed.connection,
        steps,
        scale: parsed.scale.unwrap_or(1) as u32,
        fillfactor: parsed.fillfactor.unwrap_or(100) as u32,
        quiet: parsed.quiet,
        tablespace: parsed.tablespace,
        index_tablespace: parsed.index_tablespace,
        partitions: (partitions > 0).then_some((method, partitions)),
        unlogged: parsed.unlogged,
        debug: parsed.debug,
    })
}

/// Checks the combinations of options that a benchmark does not allow.
fn check_run(parsed: &ParsedOptions, level: &Level) -> Result<(), String> {
    let invalid = |text: &str| Err(text.to_owned());
    if parsed.transactions.is_some() && parsed.duration_s.is_some() {
        return invalid(
            "specify either a number of transactions (-t) or a duration (-T), not both",
        );
    }
    let is_sampling = parsed.sampling_rate > 0.0;
    if is_sampling && !parsed.log {
        return invalid(
            "log sampling (--sampling-rate) is allowed only when logging transactions (-l)",
        );
    }
    if is_sampling && parsed.aggregate_interval_s.is_some() {
        return invalid(
            "log sampling (--sampling-rate) and aggregation (--aggregate-interval) cannot be used at the same time",
        );
    }
    if parsed.aggregate_interval_s.is_some() && !parsed.log {
        return invalid("log aggregation is allowed only when actually logging transactions");
    }
    if parsed.log_prefix.is_some() && !parsed.log {
        return invalid(
            "log file prefix (--log-prefix) is allowed only when logging transactions (-l)",
        );
    }
    if let (Some(seconds), Some(interval)) = (parsed.duration_s, parsed.aggregate_interval_s) {
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
    if parsed.progress_timestamp && parsed.progress_s.is_none() {
        return invalid("--progress-timestamp is allowed only under --progress");
    }
    let unlimited_tries = level.at_least(15) && parsed.max_tries == Some(0);
    if unlimited_tries && parsed.latency_limit_us == 0 && parsed.duration_s.is_none() {
        return invalid(
            "an unlimited number of transaction tries can only be used with --latency-limit or a duration (-T)",
        );
    }
    Ok(())
}

/// The options of a benchmark; they must have been checked.
fn run_options(parsed: ParsedOptions) -> RunOptions {
    let clients = parsed.clients.unwrap_or(1) as u32;
    let limit = match (parsed.transactions, parsed.duration_s) {
        (_, Some(seconds)) => Limit::Seconds(seconds as u32),
        (Some(transactions), None) => Limit::Transactions(transactions as u32),
        (None, None) => Limit::Transactions(DEFAULT_TRANSACTIONS),
    };
    let prefix = parsed
        .log_prefix
        .unwrap_or_else(|| "pgbench_log".to_owned());
    RunOptions {
        connection: parsed.connection,
        clients,
        threads: (parsed.jobs.unwrap_or(1) as u32).min(clients),
        reconnect: parsed.reconnect,
        defines: parsed.defines,
        scripts: parsed.scripts,
        uses_builtin: parsed.uses_builtin,
        log: parsed.log.then_some(LogOptions {
            prefix,
            sampling_rate: (parsed.sampling_rate != 0.0).then_some(parsed.sampling_rate),
            aggregate_interval_s: parsed.aggregate_interval_s.map(|interval| interval as u32),
        }),
        latency_limit_us: u64::try_from(parsed.latency_limit_us)
            .ok()
            .filter(|limit| *limit > 0),
        protocol: parsed.protocol,
        progress_s: parsed.progress_s.map(|interval| interval as u32),
        progress_timestamp: parsed.progress_timestamp,
        report_per_command: parsed.report_per_command,
        rate_tps: parsed.rate_tps,
        limit,
        vacuum: !parsed.no_vacuum,
        vacuum_accounts: parsed.vacuum_all,
        max_tries: parsed.max_tries.unwrap_or(1) as u32,
        failures_detailed: parsed.failures_detailed,
        verbose_errors: parsed.verbose_errors,
        exit_on_abort: parsed.exit_on_abort,
        continue_on_error: parsed.continue_on_error,
        random_seed: parsed.random_seed,
        scale: parsed.scale.map(|scale| scale as u32),
        debug: parsed.debug,
        percentiles: parsed.percentiles,
    }
}
