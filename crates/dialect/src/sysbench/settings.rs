//! Checks general options and converts them to values.
//!
//! In: texts by name. Out: [`GeneralOptions`], or the first error in sysbench's order. Must never: change the
//! order of the checks, because only the first error is printed.

use super::compat::Compat;
use super::number;
use super::options::{DatabaseOptions, GeneralOptions, MysqlOptions, PgsqlOptions, RandomOptions};
use super::output::{LogLevel, Output, UsageError, warning_line};
use super::spec;
use prony_plan::MAX_CLIENTS;
use prony_wire::Secret;
use prony_workload::sysbench::IgnoredErrors;
use std::collections::BTreeMap;

/// The texts of general options, and the output so far. Not `Debug`, because some texts are passwords.
pub(crate) struct OptionTexts {
    pub compat: Compat,
    /// The texts of options that are set, by name with `_`.
    pub values: BTreeMap<String, String>,
    pub out: Output,
}

type UsageResult<T> = Result<T, UsageError>;

impl OptionTexts {
    /// The text of an option; `name` is written with `_`.
    pub fn text(&self, name: &str) -> &str {
        if let Some(text) = self.values.get(name) {
            return text;
        }
        let default = spec::find_general_option(self.compat, name).and_then(|spec| spec.default);
        default.unwrap_or_default()
    }

    /// The text of an option that is set and not empty.
    fn non_empty_text(&self, name: &str) -> Option<String> {
        let text = self.values.get(name)?;
        (!text.is_empty()).then(|| text.clone())
    }

    pub fn is_on(&self, name: &str) -> bool {
        number::parse_switch(Some(self.text(name))).unwrap_or(false)
    }

    fn int_value(&self, name: &str) -> UsageResult<i32> {
        let text = self.text(name);
        let value = number::parse_int(text);
        value.ok_or_else(|| {
            // sysbench prints this error before the lines that it has written to standard output.
            let mut out = self.out.clone();
            out.warnings += &format!("Invalid value for the '{name}' option: '{text}'\n");
            UsageError(out)
        })
    }

    /// Parses a number that must not be negative; sysbench misbehaves with negative values.
    fn non_negative_int(&self, name: &str) -> UsageResult<u32> {
        let value = self.int_value(name)?;
        self.check_not_negative(name, value)
    }

    fn check_not_negative(&self, name: &str, value: i32) -> UsageResult<u32> {
        u32::try_from(value).map_err(|_| {
            let text = format!("Invalid value for --{}: {value}.\n", name.replace('_', "-"));
            self.fatal(&text)
        })
    }

    /// An error after the output so far.
    fn fatal(&self, text: &str) -> UsageError {
        self.out.clone().fatal(text)
    }

    /// The value of the deprecated option `old`, with a warning; or the value of `new`, if that of `old` is 0
    /// or its default.
    fn int_or_deprecated(&mut self, old: &str, new: &str, default: i32) -> UsageResult<i32> {
        if self.compat != Compat::V1_0 {
            return self.int_value(new);
        }
        let value = self.int_value(old)?;
        if value == 0 || value == default {
            return self.int_value(new);
        }
        let old = old.replace('_', "-");
        let text = format!("--{old} is deprecated, use --{new} instead");
        self.out.stdout += &warning_line(&text);
        Ok(value)
    }

    /// Checks all general options, in sysbench's order, and converts them to values. Adds warnings and the banner to the
    /// output.
    pub fn check_options(&mut self) -> UsageResult<GeneralOptions> {
        let threads = self.int_or_deprecated("num_threads", "threads", 1)?;
        let valid_threads = u32::try_from(threads).ok();
        let valid_threads = valid_threads.filter(|threads| (1..=MAX_CLIENTS).contains(threads));
        let Some(threads) = valid_threads else {
            let text = format!("Invalid value for --threads: {threads}.\n");
            return Err(self.fatal(&text));
        };
        let max_events = self.int_or_deprecated("max_requests", "events", 0)?;
        let max_time = self.int_or_deprecated("max_time", "time", 0)?;
        // A negative value means no limit, as in sysbench.
        let events = u64::try_from(max_events).ok().filter(|events| *events > 0);
        let time_s = u32::try_from(max_time).ok().filter(|time| *time > 0);
        let forced_shutdown_s = self.parse_forced_shutdown(time_s)?;
        if events.is_none() && time_s.is_none() {
            self.out.stdout +=
                &warning_line("Both event and time limits are disabled, running an endless test");
        }
        let thread_stack_bytes = self.parse_thread_stack()?;
        let random = self.parse_random()?;
        let rate = self.int_or_deprecated("tx_rate", "rate", 0)?;
        let rate = self.check_not_negative("rate", rate)?;
        let interval = self.non_negative_int("report_interval")?;
        let checkpoints_s = self.parse_checkpoints()?;
        let (debug, verbosity) = self.parse_verbosity()?;
        let (percentile, histogram) = self.parse_latency_options()?;
        let seconds = |name: &str, default| match self.compat {
            Compat::V1_0 => Ok(default),
            Compat::V1_1 => self.non_negative_int(name),
        };
        let warmup_s = seconds("warmup_time", 0)?;
        let thread_init_timeout_s = seconds("thread_init_timeout", 30)?;
        if LogLevel::Notice.is_printed_at(verbosity) {
            self.out.stdout += &self.compat.banner();
        }
        let database = self.parse_database()?;
        Ok(GeneralOptions {
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
            validate: self.is_on("validate"),
            verbosity,
            percentile,
            histogram,
            random,
            database,
        })
    }

    /// Seconds from the end of `--time` to a forced shutdown; `None` without a time limit.
    fn parse_forced_shutdown(&self, time_s: Option<u32>) -> UsageResult<Option<u32>> {
        let text = self.text("forced_shutdown").to_owned();
        let Some(time) = time_s.filter(|_| text != "off") else {
            return Ok(None);
        };
        let seconds = if text.is_empty() {
            Some(time / 20)
        } else if let Some(percent) = text.strip_suffix('%') {
            number::parse_int(percent).and_then(|percent| {
                let percent = u64::try_from(percent).ok()?;
                u32::try_from(u64::from(time).checked_mul(percent)? / 100).ok()
            })
        } else {
            text.parse().ok()
        };
        let problem = || self.fatal(&format!("Invalid value for --forced-shutdown: '{text}'"));
        seconds.ok_or_else(problem).map(Some)
    }

    fn parse_thread_stack(&self) -> UsageResult<u64> {
        match number::parse_size(self.text("thread_stack_size")) {
            0 => Err(self.fatal("Invalid value for thread-stack-size: 0.\n")),
            bytes => Ok(bytes),
        }
    }

    fn parse_checkpoints(&self) -> UsageResult<Vec<u32>> {
        let mut seconds = Vec::new();
        for text in number::parse_list(self.text("report_checkpoints")) {
            let Ok(second) = text.parse() else {
                let text = format!("Invalid value for --report-checkpoints: '{text}'");
                return Err(self.fatal(&text));
            };
            seconds.push(second);
        }
        seconds.sort_unstable();
        Ok(seconds)
    }

    /// `--debug` and the verbosity, which is 5 with `--debug`.
    fn parse_verbosity(&self) -> UsageResult<(bool, u8)> {
        let debug = self.is_on("debug");
        // sysbench stores the verbosity in one byte.
        let verbosity = self.int_value("verbosity")? as u8;
        if verbosity > 5 {
            let mut out = self.out.clone();
            out.stdout += &format!("Invalid value for verbosity: {verbosity}\n");
            return Err(UsageError(out));
        }
        Ok((debug, if debug { 5 } else { verbosity }))
    }

    /// `--percentile` and `--histogram`.
    fn parse_latency_options(&self) -> UsageResult<(u8, bool)> {
        let percentile = self.int_value("percentile")?;
        let Some(valid) = u8::try_from(percentile).ok().filter(|pct| *pct <= 100) else {
            let text = format!("Invalid value for --percentile: {percentile}");
            return Err(self.fatal(&text));
        };
        let histogram = self.is_on("histogram");
        if histogram && valid == 0 {
            let text = "--histogram cannot be used with --percentile=0";
            return Err(self.fatal(text));
        }
        Ok((valid, histogram))
    }

    fn parse_random(&self) -> UsageResult<RandomOptions> {
        let seed = self.int_value("rand_seed")?;
        let distribution = self.text("rand_type").to_owned();
        let known_distributions: &[&str] = match self.compat {
            Compat::V1_0 => &["uniform", "gaussian", "special", "pareto"],
            Compat::V1_1 => &["uniform", "gaussian", "pareto", "zipfian"],
        };
        if !known_distributions.contains(&distribution.as_str()) {
            let text = format!("Invalid random numbers distribution: {distribution}.");
            return Err(self.fatal(&text));
        }
        let special = |name, default| match self.compat {
            Compat::V1_0 => self.int_value(name),
            Compat::V1_1 => Ok(default),
        };
        Ok(RandomOptions {
            distribution,
            seed: (seed != 0).then_some(seed),
            spec_iterations: special("rand_spec_iter", 12)?,
            spec_pct: special("rand_spec_pct", 1)?,
            spec_res: special("rand_spec_res", 75)?,
            pareto_h: number::leading_number(self.text("rand_pareto_h")),
            zipfian_exponent: number::leading_number(self.text("rand_zipfian_exp")),
        })
    }

    fn parse_database(&self) -> UsageResult<DatabaseOptions> {
        // An invalid port is an error only if the driver uses it.
        let mut pgsql_port = 0;
        if self.text("db_driver") == "pgsql" {
            let port = self.int_value("pgsql_port")?;
            pgsql_port = u16::try_from(port).map_err(|_| {
                let text = format!("Invalid value for --pgsql-port: {port}.");
                self.fatal(&text)
            })?;
        }
        let mysql = self.parse_mysql()?;
        let text = |name| self.text(name).to_owned();
        Ok(DatabaseOptions {
            driver: text("db_driver"),
            ps_mode: text("db_ps_mode"),
            debug: self.is_on("db_debug"),
            mysql,
            pgsql: PgsqlOptions {
                host: text("pgsql_host"),
                port: pgsql_port,
                user: text("pgsql_user"),
                password: Secret::new(text("pgsql_password")),
                database: text("pgsql_db"),
                sslmode: (self.compat == Compat::V1_1).then(|| text("pgsql_sslmode")),
            },
        })
    }

    fn parse_mysql(&self) -> UsageResult<MysqlOptions> {
        let text = |name| self.text(name).to_owned();
        let or_default = |mut list: Vec<String>, default: &str| {
            if list.is_empty() {
                list.push(default.to_owned());
            }
            list
        };
        let port_texts = or_default(number::parse_list(self.text("mysql_port")), "3306");
        let hosts = or_default(number::parse_list(self.text("mysql_host")), "localhost");
        let sockets = number::parse_list(self.text("mysql_socket"));
        // An invalid port is an error only if the driver uses it; for localhost, it uses a socket.
        let is_used = self.text("db_driver") == "mysql"
            && sockets.is_empty()
            && hosts.iter().any(|host| host != "localhost");
        let port = |text: &String| self.parse_mysql_port(text, is_used);
        let ports: UsageResult<Vec<u16>> = port_texts.iter().map(port).collect();
        let ignored_codes = number::parse_list(self.text("mysql_ignore_errors"));
        Ok(MysqlOptions {
            hosts,
            ports: ports?,
            sockets,
            user: text("mysql_user"),
            password: Secret::new(text("mysql_password")),
            database: text("mysql_db"),
            ssl: match self.compat {
                Compat::V1_0 if self.is_on("mysql_ssl") => "on".to_owned(),
                Compat::V1_0 => "off".to_owned(),
                Compat::V1_1 => text("mysql_ssl").to_lowercase(),
            },
            ssl_cipher: self.non_empty_text("mysql_ssl_cipher"),
            ssl_key: self.non_empty_text("mysql_ssl_key"),
            ssl_ca: self.non_empty_text("mysql_ssl_ca"),
            ssl_cert: self.non_empty_text("mysql_ssl_cert"),
            get_server_public_key: self.is_on("mysql_get_server_public_key"),
            compression: self.is_on("mysql_compression"),
            ignored_errors: if ignored_codes.iter().any(|code| code == "all") {
                IgnoredErrors::All
            } else {
                let codes = ignored_codes.iter().filter_map(|code| code.parse().ok());
                IgnoredErrors::Codes(codes.collect())
            },
            dry_run: self.is_on("mysql_dry_run"),
        })
    }

    /// Parses the port number at the beginning of a text. Without a number sysbench uses the default port,
    /// and with a too large number an arbitrary port; Prony reports an error.
    fn parse_mysql_port(&self, text: &str, is_used: bool) -> UsageResult<u16> {
        let is_number = text.starts_with(|first: char| first.is_ascii_digit() || first == '+');
        let port = u16::try_from(number::leading_integer(text)).ok();
        match port.filter(|_| is_number) {
            Some(port) => Ok(port),
            None if !is_used => Ok(0),
            None => Err(self.fatal(&format!("Invalid value for --mysql-port: {text}."))),
        }
    }
}
