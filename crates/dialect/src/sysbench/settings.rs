//! General options from texts to checked values.
//!
//! In: texts by name. Out: [`Settings`], or the first refusal in sysbench's order. Must never: reorder
//! the checks: scripts see the first mistake alone.

use super::compat::Compat;
use super::number;
use super::options::{Database, Mysql, Pgsql, Random, Settings};
use super::printed::{Level, Printed, Refused, fatal, warning};
use super::spec;
use prony_plan::MAX_CLIENTS;
use prony_wire::Secret;
use prony_workload::sysbench::Ignored;
use std::collections::BTreeMap;

/// Texts of general options, and what was said on the way. Not to be shown: passwords are among them.
pub(crate) struct Texts {
    pub compat: Compat,
    /// By name with `_`, as given.
    pub given: BTreeMap<String, String>,
    pub out: Printed,
}

type Checked<T> = Result<T, Refused>;

impl Texts {
    /// The text of an option; `name` has `_`.
    pub fn text(&self, name: &str) -> &str {
        if let Some(text) = self.given.get(name) {
            return text;
        }
        let default = spec::find(self.compat, name).and_then(|spec| spec.default);
        default.unwrap_or_default()
    }

    /// The text of an option that is given and not empty.
    fn filled(&self, name: &str) -> Option<String> {
        let text = self.given.get(name)?;
        (!text.is_empty()).then(|| text.clone())
    }

    pub fn on(&self, name: &str) -> bool {
        number::switch(Some(self.text(name))).unwrap_or(false)
    }

    fn int(&mut self, name: &str) -> Checked<i32> {
        let text = self.text(name);
        let value = number::int(text);
        value.ok_or_else(|| {
            let text = format!("Invalid value for the '{name}' option: '{text}'");
            self.stop().refuse(&text)
        })
    }

    /// A number that may not be negative: below 0 sysbench runs into nonsense.
    fn count(&mut self, name: &str) -> Checked<u32> {
        let value = self.int(name)?;
        self.not_negative(name, value)
    }

    fn not_negative(&self, name: &str, value: i32) -> Checked<u32> {
        u32::try_from(value).map_err(|_| {
            let text = format!("Invalid value for --{}: {value}.", name.replace('_', "-"));
            self.stop().fatal(&text)
        })
    }

    /// What was said so far.
    fn stop(&self) -> Printed {
        self.out.clone()
    }

    /// The value of a deprecated name, which is warned of, where it is not 0 or the default; else that
    /// of the new one.
    fn either(&mut self, old: &str, new: &str, default: i32) -> Checked<i32> {
        if self.compat != Compat::V1_0 {
            return self.int(new);
        }
        let value = self.int(old)?;
        if value == 0 || value == default {
            return self.int(new);
        }
        let old = old.replace('_', "-");
        let text = format!("--{old} is deprecated, use --{new} instead");
        self.out.stdout += &warning(&text);
        Ok(value)
    }

    /// Everything, in sysbench's order.
    pub fn check(&mut self) -> Checked<Settings> {
        let threads = self.either("num_threads", "threads", 1)?;
        let possible = u32::try_from(threads).ok();
        let possible = possible.filter(|threads| (1..=MAX_CLIENTS).contains(threads));
        let Some(threads) = possible else {
            let text = format!("Invalid value for --threads: {threads}.\n");
            return Err(self.stop().fatal(&text));
        };
        let events = self.either("max_requests", "events", 0)?;
        let time = self.either("max_time", "time", 0)?;
        // Negative ones are no limit, as in sysbench.
        let events = u64::try_from(events).ok().filter(|events| *events > 0);
        let time_s = u32::try_from(time).ok().filter(|time| *time > 0);
        let forced_shutdown_s = self.forced_shutdown(time_s)?;
        if events.is_none() && time_s.is_none() {
            self.out.stdout +=
                &warning("Both event and time limits are disabled, running an endless test");
        }
        let thread_stack_bytes = self.stack()?;
        let random = self.random()?;
        let rate = self.either("tx_rate", "rate", 0)?;
        let rate = self.not_negative("rate", rate)?;
        let interval = self.count("report_interval")?;
        let checkpoints_s = self.checkpoints()?;
        let (debug, verbosity) = self.verbosity()?;
        let (percentile, histogram) = self.latency()?;
        let new = self.compat == Compat::V1_1;
        let warmup_s = if new { self.count("warmup_time")? } else { 0 };
        let thread_init_timeout_s = if new {
            self.count("thread_init_timeout")?
        } else {
            30
        };
        if Level::Notice.shows_at(verbosity) {
            self.out.stdout += &self.compat.banner();
        }
        let database = self.database()?;
        Ok(Settings {
            compat: self.compat,
            threads,
            events,
            time_s,
            warmup_s,
            forced_shutdown_s,
            thread_stack_bytes,
            thread_init_timeout_s,
            rate_tps: (rate > 0).then_some(rate),
            report_interval_s: (interval > 0).then_some(interval),
            checkpoints_s,
            debug,
            validate: self.on("validate"),
            verbosity,
            percentile,
            histogram,
            random,
            database,
        })
    }

    /// Seconds behind the end of the time; without a time there is nothing to wait for.
    fn forced_shutdown(&mut self, time_s: Option<u32>) -> Checked<Option<u32>> {
        let Some(time) = time_s else {
            return Ok(None);
        };
        let text = self.text("forced_shutdown").to_owned();
        let seconds = if text == "off" {
            return Ok(None);
        } else if text.is_empty() {
            Some(time / 20)
        } else if let Some(percent) = text.strip_suffix('%') {
            let percent = number::int(percent).and_then(|percent| u64::try_from(percent).ok());
            percent.and_then(|percent| {
                let seconds = u64::from(time).checked_mul(percent)? / 100;
                u32::try_from(seconds).ok()
            })
        } else {
            text.parse().ok()
        };
        match seconds {
            Some(seconds) => Ok(Some(seconds)),
            None => {
                let text = format!("Invalid value for --forced-shutdown: '{text}'");
                Err(self.stop().fatal(&text))
            }
        }
    }

    fn stack(&mut self) -> Checked<u64> {
        match number::size(self.text("thread_stack_size")) {
            0 => Err(self
                .stop()
                .fatal("Invalid value for thread-stack-size: 0.\n")),
            bytes => Ok(bytes),
        }
    }

    fn checkpoints(&mut self) -> Checked<Vec<u32>> {
        let mut seconds = Vec::new();
        for text in number::list(self.text("report_checkpoints")) {
            let Ok(second) = text.parse() else {
                let text = format!("Invalid value for --report-checkpoints: '{text}'");
                return Err(self.stop().fatal(&text));
            };
            seconds.push(second);
        }
        seconds.sort_unstable();
        Ok(seconds)
    }

    fn verbosity(&mut self) -> Checked<(bool, u8)> {
        let debug = self.on("debug");
        // sysbench keeps one byte of it.
        let verbosity = self.int("verbosity")? as u8;
        if verbosity > 5 {
            let mut out = self.stop();
            out.stdout += &format!("Invalid value for verbosity: {verbosity}\n");
            return Err(out.refused());
        }
        Ok((debug, if debug { 5 } else { verbosity }))
    }

    fn latency(&mut self) -> Checked<(u8, bool)> {
        let percentile = self.int("percentile")?;
        let Some(possible) = u8::try_from(percentile).ok().filter(|pct| *pct <= 100) else {
            let text = format!("Invalid value for --percentile: {percentile}");
            return Err(self.stop().fatal(&text));
        };
        let histogram = self.on("histogram");
        if histogram && possible == 0 {
            let text = "--histogram cannot be used with --percentile=0";
            return Err(self.stop().fatal(text));
        }
        Ok((possible, histogram))
    }

    fn random(&mut self) -> Checked<Random> {
        let seed = self.int("rand_seed")?;
        let kind = self.text("rand_type").to_owned();
        let kinds: &[&str] = match self.compat {
            Compat::V1_0 => &["uniform", "gaussian", "special", "pareto"],
            Compat::V1_1 => &["uniform", "gaussian", "pareto", "zipfian"],
        };
        if !kinds.contains(&kind.as_str()) {
            let text = format!("Invalid random numbers distribution: {kind}.");
            return Err(self.stop().fatal(&text));
        }
        let old = self.compat == Compat::V1_0;
        let mut special = |name, default| if old { self.int(name) } else { Ok(default) };
        let (spec_iterations, spec_pct, spec_res) = (
            special("rand_spec_iter", 12)?,
            special("rand_spec_pct", 1)?,
            special("rand_spec_res", 75)?,
        );
        Ok(Random {
            kind,
            seed: (seed != 0).then_some(seed),
            spec_iterations,
            spec_pct,
            spec_res,
            pareto_h: number::leading(self.text("rand_pareto_h")),
            zipfian_exponent: number::leading(self.text("rand_zipfian_exp")),
        })
    }

    fn database(&mut self) -> Checked<Database> {
        // What is no port matters where it is used.
        let mut pgsql_port = 0;
        if self.text("db_driver") == "pgsql" {
            let port = self.int("pgsql_port")?;
            pgsql_port = u16::try_from(port).map_err(|_| {
                let text = format!("Invalid value for --pgsql-port: {port}.");
                self.stop().fatal(&text)
            })?;
        }
        let mysql = self.mysql()?;
        let text = |name| self.text(name).to_owned();
        Ok(Database {
            driver: text("db_driver"),
            ps_mode: text("db_ps_mode"),
            debug: self.on("db_debug"),
            mysql,
            pgsql: Pgsql {
                host: text("pgsql_host"),
                port: pgsql_port,
                user: text("pgsql_user"),
                password: Secret::new(text("pgsql_password")),
                database: text("pgsql_db"),
                sslmode: (self.compat == Compat::V1_1).then(|| text("pgsql_sslmode")),
            },
        })
    }

    fn mysql(&self) -> Checked<Mysql> {
        let text = |name| self.text(name).to_owned();
        let filled = |mut list: Vec<String>, default: &str| {
            if list.is_empty() {
                list.push(default.to_owned());
            }
            list
        };
        let ports = filled(number::list(self.text("mysql_port")), "3306");
        let hosts = filled(number::list(self.text("mysql_host")), "localhost");
        let sockets = number::list(self.text("mysql_socket"));
        // What is no port matters where it is used: localhost means a socket.
        let used = self.text("db_driver") == "mysql"
            && sockets.is_empty()
            && hosts.iter().any(|host| host != "localhost");
        let port = |text: &String| self.mysql_port(text, used);
        let ports: Checked<Vec<u16>> = ports.iter().map(port).collect();
        let ignored = number::list(self.text("mysql_ignore_errors"));
        Ok(Mysql {
            hosts,
            ports: ports?,
            sockets,
            user: text("mysql_user"),
            password: Secret::new(text("mysql_password")),
            database: text("mysql_db"),
            ssl: match self.compat {
                Compat::V1_0 if self.on("mysql_ssl") => "on".to_owned(),
                Compat::V1_0 => "off".to_owned(),
                Compat::V1_1 => text("mysql_ssl").to_lowercase(),
            },
            ssl_cipher: self.filled("mysql_ssl_cipher"),
            ssl_key: self.filled("mysql_ssl_key"),
            ssl_ca: self.filled("mysql_ssl_ca"),
            ssl_cert: self.filled("mysql_ssl_cert"),
            compression: self.on("mysql_compression"),
            ignored: if ignored.iter().any(|code| code == "all") {
                Ignored::All
            } else {
                let codes = ignored.iter().filter_map(|code| code.parse().ok());
                Ignored::Codes(codes.collect())
            },
            dry_run: self.on("mysql_dry_run"),
        })
    }

    /// The number a text begins with. sysbench goes to the usual port where there is none, and to
    /// some other one where it is too large: whoever asks for neither is told.
    fn mysql_port(&self, text: &str, used: bool) -> Checked<u16> {
        let is_number = text.starts_with(|first: char| first.is_ascii_digit() || first == '+');
        let port = u16::try_from(number::whole(text)).ok();
        match port.filter(|_| is_number) {
            Some(port) => Ok(port),
            None if !used => Ok(0),
            None => {
                let text = format!("Invalid value for --mysql-port: {text}.");
                Err(self.stop().fatal(&text))
            }
        }
    }

    /// The refusal of a test that cannot be found.
    pub fn no_such_test(&mut self, name: &str) -> Refused {
        self.out.stdout += &fatal(&format!(
            "Cannot find benchmark '{name}': no such built-in test, file or module"
        ));
        self.stop().refused()
    }
}
