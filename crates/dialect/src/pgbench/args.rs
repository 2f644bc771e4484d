//! Arguments to an [`Invocation`].
//!
//! In: arguments, a [`Level`], and a [`Host`] for what lies outside. Out: what was asked for, or
//! pgbench's refusal. Must never: reorder: options take effect one by one, so that the first mistake
//! on the line is the one complained of, and a script file is read when its option is met.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use super::builtin::list_text;
use super::check;
use super::getopt::{Getopt, Key};
use super::help::help;
use super::host::{Host, Refused};
use super::level::Level;
use super::number::{self, BadInt};
use super::options::{Invocation, PartitionMethod, Protocol, ScriptChoice, ScriptSource};
use super::settings::{BadSetting, Settings, read_percentiles};
use super::table::{Said, long_options, short_options};
use super::voice::Voice;
use prony_workload::script::{Builtin, builtin};

/// pgbench's most scripts.
const MAX_SCRIPTS: usize = 128;

/// Reads a command line. `argv0` is how the program was called (for `prony pgbench`: `pgbench`),
/// `arguments` what follows.
///
/// # Errors
/// The refusal that pgbench of this level gives.
pub fn read(
    argv0: &str,
    arguments: &[OsString],
    level: &Level,
    host: &mut dyn Host,
) -> Result<Invocation, Refused> {
    let voice = Voice::new(argv0, level);
    match arguments.first().map(|first| first.as_bytes()) {
        Some(b"--help" | b"-?") => return Ok(Invocation::Help(help(voice.progname(), level))),
        Some(b"--version" | b"-V") => {
            let text = format!("pgbench (PostgreSQL) {}\n", level.text());
            return Ok(Invocation::Version(text));
        }
        _ => (),
    }
    let settings = Settings::read(|name| host.variable(name)).map_err(|bad| refuse(&voice, bad))?;
    let posix = host.variable("POSIXLY_CORRECT").is_some();
    let long = long_options(level);
    let mut getopt = Getopt::new(short_options(level), &long, arguments, posix);
    let mut reader = Reader {
        level,
        voice: &voice,
        host,
        said: Said {
            percentiles: settings.percentiles,
            ..Said::default()
        },
    };
    reader.seed_from_environment()?;
    loop {
        match getopt.next() {
            Ok(Some((key, value))) => {
                if let Some(done) = reader.take(key, value.unwrap_or_default())? {
                    return Ok(done);
                }
            }
            Ok(None) => break,
            Err(complaint) => {
                let complaint = format!("{}: {complaint}\n", voice.argv0());
                return Err(Refused::new(complaint + &voice.try_help()));
            }
        }
    }
    let Reader { said, host, .. } = reader;
    check::finish(said, getopt.operands(), level, &voice, host)
}

fn refuse(voice: &Voice, bad: BadSetting) -> Refused {
    Refused::new(voice.fatal(&bad.to_string()))
}

struct Reader<'a> {
    level: &'a Level,
    voice: &'a Voice,
    host: &'a mut dyn Host,
    said: Said,
}

type Taken = Result<Option<Invocation>, Refused>;

impl Reader<'_> {
    fn fatal(&self, text: &str) -> Refused {
        Refused::new(self.voice.fatal(text))
    }

    /// One option. Some invocation ends the reading at once.
    fn take(&mut self, key: Key, value: OsString) -> Taken {
        let text = value.to_string_lossy().into_owned();
        match key {
            Key::Short('b') if text == "list" => return Ok(Some(Invocation::ListBuiltins)),
            Key::Long("show-script") => {
                return Ok(Some(Invocation::ShowScript(self.find_builtin(&text)?)));
            }
            Key::Short(letter @ ('i' | 'I' | 'F' | 'q')) => self.take_init(letter, &text)?,
            Key::Short(letter @ ('b' | 'f' | 'S' | 'N')) => self.take_script(letter, &value)?,
            Key::Short(letter) => self.take_short(letter, text)?,
            Key::Long(name) => self.take_long(name, text)?,
        }
        Ok(None)
    }

    fn take_short(&mut self, letter: char, text: String) -> Result<(), Refused> {
        // Options of both modes first; all that follow are a benchmark's.
        match letter {
            'h' => self.said.connection.host = Some(text),
            'p' => self.said.connection.port = Some(text),
            'U' => self.said.connection.user = Some(text),
            'd' if self.level.at_least(17) => self.said.dbname = Some(text),
            'd' => self.said.debug = true,
            'n' => self.said.no_vacuum = true,
            's' => self.said.scale = Some(self.int(letter, &text)?),
            _ => {
                self.said.benchmarking = true;
                self.take_benchmark(letter, &text)?;
            }
        }
        Ok(())
    }

    fn take_benchmark(&mut self, letter: char, text: &str) -> Result<(), Refused> {
        match letter {
            'c' => {
                let clients = self.int(letter, text)?;
                self.need_open_files(clients)?;
                self.said.clients = Some(clients);
            }
            'j' => self.said.jobs = Some(self.int(letter, text)?),
            't' => self.said.transactions = Some(self.int(letter, text)?),
            'T' => self.said.seconds = Some(self.int(letter, text)?),
            'P' => self.said.progress = Some(self.int(letter, text)?),
            'C' => self.said.reconnect = true,
            'l' => self.said.log = true,
            'r' => self.said.report_per_command = true,
            'v' => self.said.vacuum_all = true,
            'D' => self.define(text)?,
            'L' => {
                let limit_ms = number::atof(text);
                if limit_ms <= 0.0 {
                    return Err(self.fatal(&format!("invalid latency limit: \"{text}\"")));
                }
                self.said.latency_limit_us = (limit_ms * 1000.0) as i64;
            }
            'R' => {
                let rate_tps = number::atof(text);
                if rate_tps <= 0.0 {
                    return Err(self.fatal(&format!("invalid rate limit: \"{text}\"")));
                }
                self.said.rate_tps = Some(rate_tps);
            }
            'M' => match Protocol::of_name(text) {
                Some(protocol) => self.said.protocol = protocol,
                None => return Err(self.fatal(&format!("invalid query mode (-M): \"{text}\""))),
            },
            _ => unreachable!("getopt gives only options of its tables"),
        }
        Ok(())
    }

    fn take_init(&mut self, letter: char, text: &str) -> Result<(), Refused> {
        if letter == 'i' {
            self.said.initialize = true;
            return Ok(());
        }
        self.said.initialization = true;
        match letter {
            'F' => self.said.fillfactor = Some(self.int(letter, text)?),
            'q' => self.said.quiet = true,
            _ => {
                self.check_steps(text)?;
                self.said.init_steps = Some(text.to_owned());
            }
        }
        Ok(())
    }

    fn take_long(&mut self, name: &'static str, text: String) -> Result<(), Refused> {
        match name {
            "debug" => {
                self.said.debug = true;
                return Ok(());
            }
            "unlogged-tables" => self.said.unlogged = true,
            "tablespace" => self.said.tablespace = Some(text),
            "index-tablespace" => self.said.index_tablespace = Some(text),
            "foreign-keys" => self.said.foreign_keys = true,
            "partitions" => self.said.partitions = self.int('p', &text)?,
            "partition-method" => self.said.partition_method = Some(self.method(&text)?),
            _ => {
                self.said.benchmarking = true;
                return self.take_long_benchmark(name, text);
            }
        }
        self.said.initialization = true;
        Ok(())
    }

    fn take_long_benchmark(&mut self, name: &str, text: String) -> Result<(), Refused> {
        match name {
            "sampling-rate" => {
                self.said.sampling_rate = number::atof(&text);
                if self.said.sampling_rate <= 0.0 || self.said.sampling_rate > 1.0 {
                    return Err(self.fatal(&format!("invalid sampling rate: \"{text}\"")));
                }
            }
            "aggregate-interval" => self.said.aggregate = Some(self.int('a', &text)?),
            "progress-timestamp" => self.said.progress_timestamp = true,
            "log-prefix" => self.said.log_prefix = Some(text),
            "random-seed" => self.seed(Some(&text), "--random-seed option")?,
            "failures-detailed" => self.said.failures_detailed = true,
            "max-tries" => {
                let tries = number::atoi(&text);
                if tries < 0 {
                    return Err(self.fatal(&format!("invalid number of maximum tries: \"{text}\"")));
                }
                self.said.max_tries = Some(tries);
            }
            "verbose-errors" => self.said.verbose_errors = true,
            "exit-on-abort" => self.said.exit_on_abort = true,
            "continue-on-error" => self.said.continue_on_error = true,
            "percentiles" => {
                let read = read_percentiles("--percentiles", &text);
                self.said.percentiles = read.map_err(|bad| refuse(self.voice, bad))?;
            }
            _ => unreachable!("getopt gives only options of its tables"),
        }
        Ok(())
    }

    /// An integer option. `p` and `a` stand for --partitions and --aggregate-interval.
    fn int(&self, letter: char, text: &str) -> Result<i32, Refused> {
        let client = if self.level.names_client_rightly() {
            "-c/--client"
        } else {
            "-c/--clients"
        };
        let (name, old, least, most) = match letter {
            'c' => (client, "number of clients", 1, i32::MAX),
            'j' => ("-j/--jobs", "number of threads", 1, i32::MAX),
            's' => ("-s/--scale", "scaling factor", 1, i32::MAX),
            't' => ("-t/--transactions", "number of transactions", 1, i32::MAX),
            'T' => ("-T/--time", "duration", 1, i32::MAX),
            'F' => ("-F/--fillfactor", "fillfactor", 10, 100),
            'P' => ("-P/--progress", "thread progress delay", 1, i32::MAX),
            'p' => ("--partitions", "number of partitions", 0, i32::MAX),
            _ => (
                "--aggregate-interval",
                "number of seconds for aggregation",
                1,
                i32::MAX,
            ),
        };
        if !self.level.at_least(15) {
            let value = number::atoi(text);
            let good = (least..=most).contains(&value).then_some(value);
            return good.ok_or_else(|| self.fatal(&format!("invalid {old}: \"{text}\"")));
        }
        number::option_int(text, least, most).map_err(|bad| match bad {
            BadInt::NotANumber => {
                self.fatal(&format!("invalid value \"{text}\" for option {name}"))
            }
            BadInt::OutOfRange => self.fatal(&format!("{name} must be in range {least}..{most}")),
        })
    }

    /// pgbench refuses more clients than files can be open. Where the hard limit allows it, the soft
    /// one is raised at every level, which pgbench does since 18.
    fn need_open_files(&mut self, clients: i32) -> Result<(), Refused> {
        let hint = "Reduce number of clients, or use limit/ulimit to increase the system limit.";
        // An int in pgbench, compared as unsigned.
        let needed = clients.wrapping_add(3);
        let Some((soft, hard)) = self.host.open_files() else {
            return Ok(());
        };
        let refuse = |text: String| {
            Err(Refused::new(
                self.voice.fatal(&text) + &self.voice.hint(hint),
            ))
        };
        if hard < needed as u64 {
            return refuse(format!(
                "need at least {needed} open files, but system limit is {hard}"
            ));
        }
        if soft < needed as u64
            && let Err(reason) = self.host.raise_open_files(needed as u64)
        {
            return refuse(format!(
                "need at least {needed} open files, but couldn't raise the limit: {reason}"
            ));
        }
        Ok(())
    }

    fn define(&mut self, text: &str) -> Result<(), Refused> {
        match text.split_once('=') {
            Some((name, value)) if !name.is_empty() && !value.is_empty() => {
                if !valid_variable_name(name) {
                    let text = format!("option: invalid variable name: \"{name}\"");
                    return Err(Refused::new(self.voice.error(&text)));
                }
                self.said.defines.push((name.to_owned(), value.to_owned()));
                Ok(())
            }
            _ => Err(self.fatal(&format!("invalid variable definition: \"{text}\""))),
        }
    }

    fn check_steps(&self, steps: &str) -> Result<(), Refused> {
        const ALL: &str = "dtgGvpf";
        if steps.is_empty() {
            return Err(self.fatal("no initialization steps specified"));
        }
        match steps
            .chars()
            .find(|step| *step != ' ' && !ALL.contains(*step))
        {
            None => Ok(()),
            Some(step) => {
                let error = format!("unrecognized initialization step \"{step}\"");
                let detail = format!("Allowed step characters are: \"{ALL}\".");
                Err(Refused::new(
                    self.voice.fatal(&error) + &self.voice.detail(&detail),
                ))
            }
        }
    }

    fn method(&self, text: &str) -> Result<PartitionMethod, Refused> {
        for method in [PartitionMethod::Range, PartitionMethod::Hash] {
            if text.eq_ignore_ascii_case(method.name()) {
                return Ok(method);
            }
        }
        Err(self.fatal(&format!(
            "invalid partition method, expecting \"range\" or \"hash\", got: \"{text}\""
        )))
    }

    fn find_builtin(&self, name: &str) -> Result<&'static Builtin, Refused> {
        builtin(name)
            .map_err(|error| Refused::new(self.voice.fatal(&error.to_string()) + &list_text()))
    }

    fn take_script(&mut self, letter: char, value: &OsStr) -> Result<(), Refused> {
        let (name, weight) = match letter {
            'S' => (OsString::from("select-only"), 1),
            'N' => (OsString::from("simple-update"), 1),
            _ => self.split_weight(value)?,
        };
        let source = if letter == 'f' {
            let path = PathBuf::from(name);
            self.host.load_script(&path).map_err(Refused::new)?;
            ScriptSource::File(path)
        } else {
            self.said.builtin_used = true;
            ScriptSource::Builtin(self.find_builtin(&name.to_string_lossy())?)
        };
        if self.said.scripts.len() >= MAX_SCRIPTS {
            return Err(self.fatal(&format!("at most {MAX_SCRIPTS} SQL scripts are allowed")));
        }
        self.said.scripts.push(ScriptChoice { source, weight });
        self.said.benchmarking = true;
        Ok(())
    }

    /// Name and weight: the last `@` parts them.
    fn split_weight(&self, value: &OsStr) -> Result<(OsString, u32), Refused> {
        let bytes = value.as_bytes();
        let Some(at) = bytes.iter().rposition(|byte| *byte == b'@') else {
            return Ok((value.to_owned(), 1));
        };
        let text = String::from_utf8_lossy(&bytes[at + 1..]);
        let Some(weight) = number::weight(&text) else {
            return Err(self.fatal(&format!("invalid weight specification: @{text}")));
        };
        let most = i32::MAX;
        match u32::try_from(weight) {
            Ok(weight) if weight <= most as u32 => {
                Ok((OsString::from_vec(bytes[..at].to_vec()), weight))
            }
            _ => Err(self.fatal(&format!(
                "weight specification out of range (0 .. {most}): {weight}"
            ))),
        }
    }

    fn seed_from_environment(&mut self) -> Result<(), Refused> {
        let value = self.host.variable("PGBENCH_RANDOM_SEED");
        self.seed(value.as_deref(), "PGBENCH_RANDOM_SEED environment variable")
    }

    fn seed(&mut self, value: Option<&str>, origin: &str) -> Result<(), Refused> {
        let voice = self.voice;
        let last = voice.fatal(&format!("error while setting random seed from {origin}"));
        let seed = match value {
            None | Some("time") => self.host.time_seed(),
            Some("rand") => self.host.strong_seed().ok_or_else(|| {
                Refused::new(voice.error("could not generate random seed") + &last)
            })?,
            Some(text) => number::seed(text).ok_or_else(|| {
                let error = voice.error(&format!("unrecognized random seed option \"{text}\""));
                let stop = if self.level.at_least(15) { "." } else { "" };
                let detail = format!("Expecting an unsigned integer, \"time\" or \"rand\"{stop}");
                Refused::new(error + &voice.detail(&detail) + &last)
            })?,
        };
        if value.is_some() {
            self.host
                .say(&voice.info(&format!("setting random seed to {seed}")));
        }
        self.said.random_seed = seed;
        Ok(())
    }
}

/// Letters, digits (not first), underscores, and all that is not ASCII.
fn valid_variable_name(name: &str) -> bool {
    let good = |byte: u8| byte >= 0x80 || byte == b'_' || byte.is_ascii_alphabetic();
    name.bytes()
        .enumerate()
        .all(|(at, byte)| good(byte) || (at > 0 && byte.is_ascii_digit()))
}
