//! Parses arguments to an [`Invocation`].
//!
//! In: arguments, a [`Level`], and a [`Host`] for access to files and the system. Out: the invocation, or
//! pgbench's error. Must never: change the order of options: the first error on the command line is reported,
//! and a script file is read when its option is parsed.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use super::builtin::list_text;
use super::check::{self, ParsedOptions};
use super::getopt::{Getopt, Key};
use super::help::help;
use super::host::Host;
use super::level::Level;
use super::messages::Messages;
use super::number::{self, InvalidInt};
use super::options::{Invocation, PartitionMethod, RunOptions, ScriptChoice, ScriptSource};
use super::settings::{EnvSettings, parse_percentiles};
use super::table::long_options;
use prony_plan::QueryMode;
use prony_workload::script::{Builtin, find_builtin};

/// pgbench's `MAX_SCRIPTS`.
const MAX_SCRIPTS: usize = 128;
/// The highest latency limit, in microseconds: as nanoseconds, it still fits into an `i64`.
const LATENCY_LIMIT_MAX_US: i64 = i64::MAX / 1000;

/// Parses a command line. `argv0`: the name by which the program was called (for `prony pgbench`: `pgbench`);
/// `arguments`: the arguments after it.
///
/// # Errors
/// The complete text for standard error; pgbench then exits with 1.
pub fn parse_args(
    argv0: &str,
    arguments: &[OsString],
    level: &Level,
    host: &mut dyn Host,
) -> Result<Invocation, String> {
    let messages = Messages::new(argv0, level);
    match arguments.first().map(|first| first.as_bytes()) {
        Some(b"--help" | b"-?") => return Ok(Invocation::Print(help(messages.progname(), level))),
        Some(b"--version" | b"-V") => {
            let text = format!("pgbench (PostgreSQL) {}\n", level.text());
            return Ok(Invocation::Print(text));
        }
        _ => (),
    }
    let settings =
        EnvSettings::read(|name| host.env_var(name)).map_err(|problem| messages.fatal(&problem))?;
    let posix = host.env_var("POSIXLY_CORRECT").is_some();
    let long = long_options(level);
    let mut getopt = Getopt::new(&long, arguments, posix);
    let mut parser = ArgsParser {
        level,
        messages: &messages,
        host,
        parsed: ParsedOptions {
            run: RunOptions {
                percentiles: settings.percentiles,
                ..RunOptions::default()
            },
            ..ParsedOptions::default()
        },
    };
    parser.set_seed_from_environment()?;
    let getopt_error =
        |text: String| format!("{}: {text}\n", messages.argv0()) + &messages.try_help();
    while let Some((key, value)) = getopt.next().map_err(getopt_error)? {
        if let Some(invocation) = parser.parse_option(key, value.unwrap_or_default())? {
            return Ok(invocation);
        }
    }
    let ArgsParser { parsed, host, .. } = parser;
    check::build_invocation(parsed, getopt.operands(), &messages, host)
}

struct ArgsParser<'a> {
    level: &'a Level,
    messages: &'a Messages,
    host: &'a mut dyn Host,
    parsed: ParsedOptions,
}

/// An option whose value is a whole number.
#[derive(Clone, Copy)]
struct IntOption {
    /// Its name in the errors of level 15 and later.
    name: &'static str,
    /// Its name in those of earlier levels.
    old_name: &'static str,
    min: i32,
    max: i32,
}

impl IntOption {
    const fn positive(name: &'static str, old_name: &'static str) -> IntOption {
        IntOption {
            name,
            old_name,
            min: 1,
            max: i32::MAX,
        }
    }
}

const CLIENTS: IntOption = IntOption::positive("-c/--client", "number of clients");
const JOBS: IntOption = IntOption::positive("-j/--jobs", "number of threads");
const SCALE: IntOption = IntOption::positive("-s/--scale", "scaling factor");
const TRANSACTIONS: IntOption = IntOption::positive("-t/--transactions", "number of transactions");
const TIME: IntOption = IntOption::positive("-T/--time", "duration");
const PROGRESS: IntOption = IntOption::positive("-P/--progress", "thread progress delay");
const AGGREGATE_INTERVAL: IntOption =
    IntOption::positive("--aggregate-interval", "number of seconds for aggregation");
const FILLFACTOR: IntOption = IntOption {
    name: "-F/--fillfactor",
    old_name: "fillfactor",
    min: 10,
    max: 100,
};
const PARTITIONS: IntOption = IntOption {
    name: "--partitions",
    old_name: "number of partitions",
    min: 0,
    max: i32::MAX,
};

impl ArgsParser<'_> {
    fn fatal(&self, text: &str) -> String {
        self.messages.fatal(text)
    }

    /// Handles one option. Returns an invocation if the option ends the parsing, as `--help` does.
    fn parse_option(&mut self, key: Key, value: OsString) -> Result<Option<Invocation>, String> {
        let text = value.to_string_lossy().into_owned();
        match key {
            Key::Short('b') if text == "list" => return Ok(Some(Invocation::ListBuiltins)),
            Key::Long("show-script") => {
                return Ok(Some(Invocation::ShowScript(self.find_builtin(&text)?)));
            }
            Key::Short(letter @ ('i' | 'I' | 'F' | 'q')) => self.parse_init(letter, &text)?,
            Key::Short(letter @ ('b' | 'f' | 'S' | 'N')) => self.parse_script(letter, &value)?,
            Key::Short(letter) => self.parse_short(letter, text)?,
            Key::Long(name) => self.parse_long(name, text)?,
        }
        Ok(None)
    }

    /// Parses a short option of both modes, or else one that only a benchmark accepts.
    fn parse_short(&mut self, letter: char, text: String) -> Result<(), String> {
        match letter {
            'h' => self.parsed.connection.host = Some(text),
            'p' => self.parsed.connection.port = Some(text),
            'U' => self.parsed.connection.user = Some(text),
            'd' if self.level.at_least(17) => {
                self.parsed.dbname = Some(text);
                self.parsed.connection.named_by_short_d = true;
            }
            'd' => self.parsed.debug = true,
            'n' => self.parsed.no_vacuum = true,
            's' => self.parsed.scale = Some(self.parse_int(SCALE, &text)?),
            _ => {
                self.parsed.has_benchmark_option = true;
                self.parse_benchmark(letter, &text)?;
            }
        }
        Ok(())
    }

    /// Parses a short option that only a benchmark accepts.
    fn parse_benchmark(&mut self, letter: char, text: &str) -> Result<(), String> {
        match letter {
            'C' => self.parsed.run.reconnect = true,
            'l' => self.parsed.is_logging = true,
            'r' => self.parsed.run.report_per_command = true,
            'v' => self.parsed.run.vacuum_accounts = true,
            'c' => {
                let name = if self.level.spells_client_correctly() {
                    CLIENTS.name
                } else {
                    "-c/--clients"
                };
                let clients = self.parse_int(IntOption { name, ..CLIENTS }, text)?;
                self.require_open_files(clients)?;
                self.parsed.run.clients = clients;
            }
            'j' => self.parsed.run.threads = self.parse_int(JOBS, text)?,
            't' => self.parsed.transactions = Some(self.parse_int(TRANSACTIONS, text)?),
            'T' => self.parsed.duration_s = Some(self.parse_int(TIME, text)?),
            'P' => self.parsed.run.progress_s = Some(self.parse_int(PROGRESS, text)?),
            'D' => self.define_variable(text)?,
            'L' => {
                let limit_us = (self.parse_limit("latency", text)? * 1000.0) as i64;
                let limit_us = limit_us.min(LATENCY_LIMIT_MAX_US) as u64;
                self.parsed.run.latency_limit_us = (limit_us > 0).then_some(limit_us);
            }
            'R' => {
                let rate_tps = self.parse_limit("rate", text)?;
                // pgbench accepts `nan`, with which every start is due.
                let is_nan = rate_tps.is_nan();
                self.parsed.run.rate_tps = Some(if is_nan { f64::MAX } else { rate_tps });
            }
            'M' => match QueryMode::from_name(text) {
                Some(protocol) => self.parsed.run.protocol = protocol,
                None => return Err(self.fatal(&format!("invalid query mode (-M): \"{text}\""))),
            },
            _ => unreachable!("getopt returns only options in its tables"),
        }
        Ok(())
    }

    /// Parses a limit in `-L` or `-R`, which must not be 0 or negative.
    fn parse_limit(&self, name: &str, text: &str) -> Result<f64, String> {
        let limit = number::atof(text);
        if limit <= 0.0 {
            return Err(self.fatal(&format!("invalid {name} limit: \"{text}\"")));
        }
        Ok(limit)
    }

    /// Parses `-i`, or a short option that only an initialization accepts.
    fn parse_init(&mut self, letter: char, text: &str) -> Result<(), String> {
        if letter == 'i' {
            self.parsed.initialize = true;
            return Ok(());
        }
        self.parsed.has_init_option = true;
        match letter {
            'F' => self.parsed.init.fillfactor = self.parse_int(FILLFACTOR, text)?,
            'q' => self.parsed.init.quiet = true,
            _ => {
                self.check_steps(text)?;
                self.parsed.init.steps = text.to_owned();
            }
        }
        Ok(())
    }

    fn parse_long(&mut self, name: &'static str, text: String) -> Result<(), String> {
        match name {
            "debug" => {
                self.parsed.debug = true;
                return Ok(());
            }
            "unlogged-tables" => self.parsed.init.unlogged = true,
            "tablespace" => self.parsed.init.tablespace = Some(text),
            "index-tablespace" => self.parsed.init.index_tablespace = Some(text),
            "foreign-keys" => self.parsed.foreign_keys = true,
            "partitions" => self.parsed.partitions = self.parse_int(PARTITIONS, &text)?,
            "partition-method" => {
                self.parsed.partition_method = Some(self.parse_partition_method(&text)?)
            }
            _ => {
                self.parsed.has_benchmark_option = true;
                return self.parse_long_benchmark(name, text);
            }
        }
        self.parsed.has_init_option = true;
        Ok(())
    }

    fn parse_long_benchmark(&mut self, name: &str, text: String) -> Result<(), String> {
        match name {
            "sampling-rate" => {
                let rate = number::atof(&text);
                if rate <= 0.0 || rate > 1.0 {
                    return Err(self.fatal(&format!("invalid sampling rate: \"{text}\"")));
                }
                self.parsed.sampling_rate = Some(rate);
            }
            "aggregate-interval" => {
                self.parsed.aggregate_interval_s = Some(self.parse_int(AGGREGATE_INTERVAL, &text)?)
            }
            "progress-timestamp" => self.parsed.run.progress_timestamp = true,
            "log-prefix" => self.parsed.log_prefix = Some(text),
            "random-seed" => self.set_seed(Some(&text), "--random-seed option")?,
            "failures-detailed" => self.parsed.run.failures_detailed = true,
            "max-tries" => {
                self.parsed.run.max_tries = u32::try_from(number::atoi(&text)).map_err(|_| {
                    self.fatal(&format!("invalid number of maximum tries: \"{text}\""))
                })?;
            }
            "verbose-errors" => self.parsed.run.verbose_errors = true,
            "exit-on-abort" => self.parsed.run.exit_on_abort = true,
            "continue-on-error" => self.parsed.run.continue_on_error = true,
            "percentiles" => {
                let percentiles = parse_percentiles("--percentiles", &text);
                self.parsed.run.percentiles = percentiles.map_err(|text| self.fatal(&text))?;
            }
            _ => unreachable!("getopt returns only options in its tables"),
        }
        Ok(())
    }

    fn parse_int(&self, option: IntOption, text: &str) -> Result<u32, String> {
        let IntOption {
            name,
            old_name,
            min,
            max,
        } = option;
        if !self.level.at_least(15) {
            let value = number::atoi(text);
            if !(min..=max).contains(&value) {
                return Err(self.fatal(&format!("invalid {old_name}: \"{text}\"")));
            }
            return Ok(value as u32);
        }
        match number::parse_option_int(text, min, max) {
            Ok(value) => Ok(value as u32),
            Err(InvalidInt::NotANumber) => {
                Err(self.fatal(&format!("invalid value \"{text}\" for option {name}")))
            }
            Err(InvalidInt::OutOfRange) => {
                Err(self.fatal(&format!("{name} must be in range {min}..{max}")))
            }
        }
    }

    /// Rejects more clients than files can be opened, as pgbench does. First raises the soft limit, up to the
    /// hard limit; pgbench does so since version 18, Prony at every level.
    fn require_open_files(&mut self, clients: u32) -> Result<(), String> {
        let hint = "Reduce number of clients, or use limit/ulimit to increase the system limit.";
        // As in pgbench, the sum is an int that may overflow, and is compared as unsigned.
        let needed = (clients as i32).wrapping_add(3);
        let Some((soft, hard)) = self.host.open_file_limits() else {
            return Ok(());
        };
        let limit_error =
            |text: String| Err(self.messages.fatal(&text) + &self.messages.hint(hint));
        if hard < needed as u64 {
            return limit_error(format!(
                "need at least {needed} open files, but system limit is {hard}"
            ));
        }
        if soft < needed as u64
            && let Err(reason) = self.host.raise_open_file_limit(needed as u64)
        {
            return limit_error(format!(
                "need at least {needed} open files, but couldn't raise the limit: {reason}"
            ));
        }
        Ok(())
    }

    /// Parses `-D NAME=VALUE`.
    fn define_variable(&mut self, text: &str) -> Result<(), String> {
        match text.split_once('=') {
            Some((name, value)) if !name.is_empty() && !value.is_empty() => {
                if !valid_variable_name(name) {
                    let text = format!("option: invalid variable name: \"{name}\"");
                    return Err(self.messages.error(&text));
                }
                let define = (name.to_owned(), value.to_owned());
                self.parsed.run.defines.push(define);
                Ok(())
            }
            _ => Err(self.fatal(&format!("invalid variable definition: \"{text}\""))),
        }
    }

    fn check_steps(&self, steps: &str) -> Result<(), String> {
        const ALLOWED_STEPS: &str = "dtgGvpf";
        if steps.is_empty() {
            return Err(self.fatal("no initialization steps specified"));
        }
        let is_unknown = |step: &char| *step != ' ' && !ALLOWED_STEPS.contains(*step);
        match steps.chars().find(is_unknown) {
            None => Ok(()),
            Some(step) => {
                let error = format!("unrecognized initialization step \"{step}\"");
                let detail = format!("Allowed step characters are: \"{ALLOWED_STEPS}\".");
                Err(self.messages.fatal(&error) + &self.messages.detail(&detail))
            }
        }
    }

    fn parse_partition_method(&self, text: &str) -> Result<PartitionMethod, String> {
        for method in [PartitionMethod::Range, PartitionMethod::Hash] {
            if text.eq_ignore_ascii_case(method.name()) {
                return Ok(method);
            }
        }
        Err(self.fatal(&format!(
            "invalid partition method, expecting \"range\" or \"hash\", got: \"{text}\""
        )))
    }

    fn find_builtin(&self, name: &str) -> Result<&'static Builtin, String> {
        find_builtin(name).map_err(|error| self.messages.fatal(&error.to_string()) + &list_text())
    }

    /// Parses an option that adds a script: `-b`, `-f`, `-S` or `-N`.
    fn parse_script(&mut self, letter: char, value: &OsStr) -> Result<(), String> {
        let (name, weight) = match letter {
            'S' => (OsString::from("select-only"), 1),
            'N' => (OsString::from("simple-update"), 1),
            _ => self.split_weight(value)?,
        };
        let source = if letter == 'f' {
            let path = PathBuf::from(name);
            self.host.load_script(&path)?;
            ScriptSource::File(path)
        } else {
            ScriptSource::Builtin(self.find_builtin(&name.to_string_lossy())?)
        };
        if self.parsed.run.scripts.len() >= MAX_SCRIPTS {
            return Err(self.fatal(&format!("at most {MAX_SCRIPTS} SQL scripts are allowed")));
        }
        let choice = ScriptChoice { source, weight };
        self.parsed.run.scripts.push(choice);
        self.parsed.has_benchmark_option = true;
        Ok(())
    }

    /// Splits a name and its weight at the last `@`.
    fn split_weight(&self, value: &OsStr) -> Result<(OsString, u32), String> {
        let bytes = value.as_bytes();
        let Some(at) = bytes.iter().rposition(|byte| *byte == b'@') else {
            return Ok((value.to_owned(), 1));
        };
        let text = String::from_utf8_lossy(&bytes[at + 1..]);
        let Some(weight) = number::parse_weight(&text) else {
            return Err(self.fatal(&format!("invalid weight specification: @{text}")));
        };
        let max = i32::MAX;
        match u32::try_from(weight) {
            Ok(weight) if weight <= max as u32 => {
                Ok((OsString::from_vec(bytes[..at].to_vec()), weight))
            }
            _ => Err(self.fatal(&format!(
                "weight specification out of range (0 .. {max}): {weight}"
            ))),
        }
    }

    fn set_seed_from_environment(&mut self) -> Result<(), String> {
        let value = self.host.env_var("PGBENCH_RANDOM_SEED");
        self.set_seed(value.as_deref(), "PGBENCH_RANDOM_SEED environment variable")
    }

    /// Sets the random seed. `origin`: where the value comes from, for messages.
    fn set_seed(&mut self, value: Option<&str>, origin: &str) -> Result<(), String> {
        let messages = self.messages;
        let context = messages.fatal(&format!("error while setting random seed from {origin}"));
        let seed = match value {
            None | Some("time") => self.host.time_seed(),
            Some("rand") => self
                .host
                .strong_seed()
                .ok_or_else(|| messages.error("could not generate random seed") + &context)?,
            Some(text) => number::parse_seed(text).ok_or_else(|| {
                let error = messages.error(&format!("unrecognized random seed option \"{text}\""));
                let period = if self.level.at_least(15) { "." } else { "" };
                let detail = format!("Expecting an unsigned integer, \"time\" or \"rand\"{period}");
                error + &messages.detail(&detail) + &context
            })?,
        };
        if value.is_some() {
            self.host
                .print_stderr(&messages.info(&format!("setting random seed to {seed}")));
        }
        self.parsed.run.random_seed = seed;
        Ok(())
    }
}

/// Whether a name consists of letters, digits (not first), underscores and non-ASCII characters.
fn valid_variable_name(name: &str) -> bool {
    let is_name_byte = |byte: u8| byte >= 0x80 || byte == b'_' || byte.is_ascii_alphabetic();
    name.bytes()
        .enumerate()
        .all(|(index, byte)| is_name_byte(byte) || (index > 0 && byte.is_ascii_digit()))
}
