//! Checks combinations of options.
//!
//! In: the parsed options. Out: an [`Invocation`]. Must never: check in a different order than pgbench, which
//! reports only the first error.

use std::ffi::OsString;

use super::host::Host;
use super::messages::Messages;
use super::options::{
    ConnectionOptions, InitOptions, Invocation, Limit, LogOptions, PartitionMethod, RunOptions,
    ScriptChoice, ScriptSource,
};
use prony_workload::script::BUILTINS;

/// The parsed options before their combination is checked: options of one mode are in `run` or `init`, except those on
/// which others depend.
#[derive(Default)]
pub(crate) struct ParsedOptions {
    pub connection: ConnectionOptions,
    /// `-d`, from level 17 on.
    pub dbname: Option<String>,
    pub scale: Option<u32>,
    pub no_vacuum: bool,
    pub debug: bool,
    pub run: RunOptions,
    pub transactions: Option<u32>,
    pub duration_s: Option<u32>,
    pub is_logging: bool,
    pub log_prefix: Option<String>,
    pub sampling_rate: Option<f64>,
    pub aggregate_interval_s: Option<u32>,
    /// Whether `-i` is set.
    pub initialize: bool,
    pub init: InitOptions,
    pub foreign_keys: bool,
    pub partitions: u32,
    pub partition_method: Option<PartitionMethod>,
    /// Whether an option is set that only a benchmark accepts.
    pub has_benchmark_option: bool,
    /// Whether an option is set that only `-i` accepts.
    pub has_init_option: bool,
}

/// Checks the parsed options, and builds the invocation from them and the operands.
pub(crate) fn build_invocation(
    mut parsed: ParsedOptions,
    operands: Vec<OsString>,
    messages: &Messages,
    host: &dyn Host,
) -> Result<Invocation, String> {
    let fatal = |text: &str| messages.fatal(text);
    let scripts = &mut parsed.run.scripts;
    if scripts.is_empty() && !parsed.initialize {
        scripts.push(ScriptChoice {
            source: ScriptSource::Builtin(&BUILTINS[0]),
            weight: 1,
        });
    }
    if !parsed.initialize && scripts.iter().all(|script| script.weight == 0) {
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
    check_run(&parsed).map_err(|text| fatal(&text))?;
    Ok(Invocation::Run(run_options(parsed)))
}

/// Sets the database's name: `-d`, the operand, an environment variable, or the user's name. A further
/// operand is an error.
fn set_database_name(
    parsed: &mut ParsedOptions,
    operands: Vec<OsString>,
    messages: &Messages,
    host: &dyn Host,
) -> Result<(), String> {
    let mut operands = operands.into_iter();
    let non_empty = |name: &str| host.env_var(name).filter(|value| !value.is_empty());
    let operand = || Some(operands.next()?.to_string_lossy().into_owned());
    let from_command_line = parsed.dbname.take().or_else(operand);
    let from_environment = || non_empty("PGDATABASE").or_else(|| non_empty("PGUSER"));
    parsed.connection.dbname = match from_command_line.or_else(from_environment) {
        Some(name) => name,
        None => host.user_name().map_err(|text| messages.fatal(&text))?,
    };
    if let Some(extra) = operands.next() {
        let text = format!(
            "too many command-line arguments (first is \"{}\")",
            extra.to_string_lossy()
        );
        return Err(messages.fatal(&text) + &messages.try_help());
    }
    Ok(())
}

/// The options of `-i`.
fn init_options(parsed: ParsedOptions) -> Result<InitOptions, &'static str> {
    if parsed.partitions == 0 && parsed.partition_method.is_some() {
        return Err("--partition-method requires greater than zero --partitions");
    }
    let method = parsed.partition_method.unwrap_or(PartitionMethod::Range);
    let mut steps = parsed.init.steps;
    if parsed.no_vacuum {
        steps = steps.replace('v', " ");
    }
    if parsed.foreign_keys && !steps.contains('f') {
        steps.push('f');
    }
    Ok(InitOptions {
        connection: parsed.connection,
        steps,
        scale: parsed.scale.unwrap_or(1),
        partitions: (parsed.partitions > 0).then_some((method, parsed.partitions)),
        ..parsed.init
    })
}

/// Checks the combinations of options that a benchmark does not allow.
fn check_run(parsed: &ParsedOptions) -> Result<(), String> {
    let invalid = |text: &str| Err(text.to_owned());
    if parsed.transactions.is_some() && parsed.duration_s.is_some() {
        return invalid(
            "specify either a number of transactions (-t) or a duration (-T), not both",
        );
    }
    let is_sampling = parsed.sampling_rate.is_some_and(|rate| rate > 0.0);
    if is_sampling && !parsed.is_logging {
        return invalid(
            "log sampling (--sampling-rate) is allowed only when logging transactions (-l)",
        );
    }
    if is_sampling && parsed.aggregate_interval_s.is_some() {
        return invalid(
            "log sampling (--sampling-rate) and aggregation (--aggregate-interval) cannot be used at the same time",
        );
    }
    if parsed.aggregate_interval_s.is_some() && !parsed.is_logging {
        return invalid("log aggregation is allowed only when actually logging transactions");
    }
    if parsed.log_prefix.is_some() && !parsed.is_logging {
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
    if parsed.run.progress_timestamp && parsed.run.progress_s.is_none() {
        return invalid("--progress-timestamp is allowed only under --progress");
    }
    let is_limited = parsed.run.latency_limit_us.is_some() || parsed.duration_s.is_some();
    if parsed.run.max_tries == 0 && !is_limited {
        return invalid(
            "an unlimited number of transaction tries can only be used with --latency-limit or a duration (-T)",
        );
    }
    Ok(())
}

/// The options of a benchmark; they must have been checked.
fn run_options(parsed: ParsedOptions) -> RunOptions {
    let run = parsed.run;
    let prefix = parsed.log_prefix;
    RunOptions {
        connection: parsed.connection,
        threads: run.threads.min(run.clients),
        log: parsed.is_logging.then_some(LogOptions {
            prefix: prefix.unwrap_or_else(|| "pgbench_log".to_owned()),
            sampling_rate: parsed.sampling_rate,
            aggregate_interval_s: parsed.aggregate_interval_s,
        }),
        limit: match (parsed.transactions, parsed.duration_s) {
            (_, Some(seconds)) => Limit::Seconds(seconds),
            (Some(transactions), None) => Limit::Transactions(transactions),
            (None, None) => run.limit,
        },
        vacuum: !parsed.no_vacuum,
        scale: parsed.scale,
        debug: parsed.debug,
        ..run
    }
}
