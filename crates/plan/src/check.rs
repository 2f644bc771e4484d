//! Checks a [`PlanInput`].
//!
//! The result is a [`Plan`] with every default filled in, or a list of all problems. A problem that is only a
//! consequence of another one is not reported.

use crate::duration::{format_duration, shorten};
use crate::input::{InputValue, Located, PlanInput};
use crate::observe::{ListenAddress, ObservePlan};
use crate::plan::{Arrival, DrivePlan, Pace, Plan, ServerPlan, Stop, WorkloadPlan};
use crate::problem::{InputLocation, Problem, Problems};
use crate::threads::{cpu_count, default_threads};
use std::path::Path;
use std::time::Duration;

pub const MAX_CLIENTS: u32 = 1_000_000;
/// Clients of a plan that names no number and has a rate: enough that they are rarely all busy below the limit of a
/// server.
pub const OPEN_LOOP_CLIENTS: u32 = 32;
pub const MAX_THREADS: u32 = 1024;
/// Largest scale factor; a workload may allow less.
pub const MAX_SCALE: u32 = 2_000_000_000;
/// Highest rate, transactions per second: one per nanosecond.
pub const MAX_RATE_TPS: f64 = 1e9;
/// Longest duration, warm-up or grace: 366 days.
pub const MAX_DURATION: Duration = Duration::from_secs(366 * 86_400);
/// Warm-up of a plan that names none, if its window is at least [`WARMED_UP_WINDOW`].
const DEFAULT_WARMUP: Duration = Duration::from_secs(5);
/// How long such a warm-up may go on until the load is steady.
const DEFAULT_WARMUP_MAX: Duration = Duration::from_secs(30);
/// Shortest window with a warm-up by default: a shorter one is a trial, of which the warm-up would be most of the time.
const WARMED_UP_WINDOW: Duration = Duration::from_secs(20);
/// The workload whose users replay recorded sessions.
pub const REPLAY_WORKLOAD: &str = "replay";
/// How long before its first statement a recorded session connects, and so the warm-up of a replay at recorded times.
pub const REPLAY_LEAD: Duration = Duration::from_secs(1);

impl PlanInput {
    /// Fills in the defaults and checks the values, alone and against each other.
    ///
    /// # Errors
    /// Every problem at once, including those found while reading the file, in the order of their locations.
    pub fn check(mut self) -> Result<Plan, Problems> {
        let mut checker = Checker {
            problems: std::mem::take(&mut self.file.problems),
            unusable_keys: std::mem::take(&mut self.file.rejected_keys),
            input: &self,
        };
        checker.check_limits();
        let server = checker.check_server();
        let workload = checker.check_workload();
        let drive = checker.check_drive();
        let observe = checker.check_observe();
        checker.check_fleet();
        checker.check_marks(drive.as_ref());
        let problems = checker.problems;
        match (server, workload, drive) {
            (Some(server), Some(workload), Some(drive)) if problems.is_empty() => Ok(Plan {
                name: self.file.name.as_deref().and_then(file_stem),
                server,
                read_from: self.read_from.clone().map(|url| ServerPlan::Url(url.value)),
                declared: value_or_default(&self.declared),
                settings: value_or_default(&self.settings),
                workload,
                drive,
                observe,
                expect_outage: value_or_default(&self.expect_outage),
                agents: value_or_default(&self.agents),
                install_agents: value_or_default(&self.install_agents),
                at: value_or_default(&self.at),
                ledger: value_or_default(&self.ledger),
                require: value_or_default(&self.require),
            }),
            _ => Err(Problems::sorted(problems)),
        }
    }
}

/// Checks the parts of a plan. If a method returns `None`, a problem has been reported, here or by the
/// reader.
struct Checker<'a> {
    input: &'a PlanInput,
    problems: Vec<Problem>,
    /// Keys, or whole tables, with a problem: their values are not used, and they do not count as missing.
    unusable_keys: Vec<String>,
}

impl Checker<'_> {
    fn report(&mut self, location: &InputLocation, message: impl Into<String>) {
        self.problems.push(Problem::new(location.clone(), message));
    }

    fn report_with_hint(
        &mut self,
        location: &InputLocation,
        message: impl Into<String>,
        hint: &str,
    ) {
        let problem = Problem::new(location.clone(), message);
        self.problems.push(problem.with_hint(hint));
    }

    /// Reports a value that is given, where it must not be.
    fn refuse<T>(&mut self, given: Option<&Located<T>>, message: impl Into<String>, hint: &str) {
        if let Some(given) = given {
            self.report_with_hint(&given.location, message, hint);
        }
    }

    fn check_limits(&mut self) {
        for (setting, value, location) in self.input.given_settings() {
            if let Some(problem) = setting.validation_problem(value, location) {
                self.problems.push(problem);
                self.unusable_keys.push(setting.path.to_owned());
            }
        }
    }

    fn is_usable(&self, path: &str) -> bool {
        let table = path.split('.').next();
        let mut unusable_keys = self.unusable_keys.iter();
        !unusable_keys.any(|name| name == path || Some(name.as_str()) == table)
    }

    /// The whole number at `path`, or `default`; `None` if its value was out of range.
    fn count_or_default(&self, path: &str, input: &InputValue<u64>, default: u32) -> Option<u32> {
        let count = value_or(input, u64::from(default));
        u32::try_from(count).ok().filter(|_| self.is_usable(path))
    }

    fn check_server(&mut self) -> Option<ServerPlan> {
        let input = self.input;
        match (&input.url, switched_on(&input.embedded)) {
            (Some(url), Some(embedded)) => {
                let message = format!("embedded and url ({}) exclude each other", url.location);
                let hint = "name a server or let Prony start one: remove one of the two";
                self.report_with_hint(&embedded.location, message, hint);
                None
            }
            (Some(url), None) => Some(ServerPlan::Url(url.value.clone())),
            (None, Some(_)) => Some(ServerPlan::Embedded),
            (None, None) => Some(ServerPlan::Url(String::new())),
        }
    }

    fn check_workload(&mut self) -> Option<WorkloadPlan> {
        let input = self.input;
        let name = self.check_workload_name()?;
        let scale = match &input.scale {
            Some(_) => Some(self.count_or_default("workload.scale", &input.scale, 1)?),
            None => None,
        };
        let options = input.options.iter();
        Some(WorkloadPlan {
            name,
            scale,
            options: options
                .map(|(key, option)| (key.clone(), option.value.clone()))
                .collect(),
        })
    }

    fn check_workload_name(&mut self) -> Option<String> {
        let input = self.input;
        let Some(name) = &input.workload else {
            if self.is_usable("workload.name") {
                let location = match &input.file.name {
                    Some(file) => InputLocation::File {
                        file: file.clone(),
                        line_and_column: None,
                        key: "workload.name".to_owned(),
                    },
                    None => InputLocation::Key("workload.name".to_owned()),
                };
                let hint = "name the workload, such as name = \"tpcb\" under [workload]";
                self.report_with_hint(&location, "is missing", hint);
            }
            return None;
        };
        let text = &name.value;
        let starts_with_letter = text.starts_with(|c: char| c.is_ascii_alphabetic());
        let has_valid_characters = text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
        if starts_with_letter && has_valid_characters && text.len() <= 64 {
            return Some(text.clone());
        }
        let message = format!("\"{}\" is not the name of a workload", shorten(text));
        let hint = "a name consists of letters, digits, - and _, such as tpcb or select-only";
        self.report_with_hint(&name.location, message, hint);
        None
    }

    fn check_drive(&mut self) -> Option<DrivePlan> {
        let input = self.input;
        let default = DrivePlan::default();
        let default_clients = default_clients(input);
        let clients = self.count_or_default("run.clients", &input.clients, default_clients);
        let default_threads = self.default_threads(clients.unwrap_or(default_clients));
        let threads = self.check_at_most_clients(
            "run.threads",
            &input.threads,
            default_threads,
            clients,
            |threads| format!("{threads} threads are"),
            "each client runs on one thread: use at most as many threads as clients",
        );
        let tcp_sample = self.check_at_most_clients(
            "run.tcp_sample",
            &input.tcp_sample,
            default.tcp_sample,
            clients,
            |sample| format!("a sample of {sample} is"),
            "it is the number of clients that use TCP",
        );
        let read_share = self.check_reads();
        let pace = self.check_pace();
        let stop = self.check_stop();
        let default_warmup = default_warmup(input, stop);
        let has_default_warmup = input.warmup.is_none() && !default_warmup.is_zero();
        // Agents begin their windows together, at a time that is known when the load starts.
        let may_go_on = input.agents.is_none() && !input.replays_sessions();
        Some(DrivePlan {
            clients: clients?,
            threads: threads?,
            pace: pace?,
            stop,
            warmup: value_or(&input.warmup, default_warmup),
            warmup_max: (has_default_warmup && may_go_on).then_some(DEFAULT_WARMUP_MAX),
            grace: value_or(&input.grace, default.grace),
            protocol: value_or(&input.protocol, default.protocol),
            describe: value_or(&input.describe, default.describe),
            io: value_or(&input.io, default.io),
            wait: value_or(&input.wait, default.wait),
            connect_per_transaction: value_or(
                &input.connect_per_transaction,
                default.connect_per_transaction,
            ),
            spread: input.spread.as_ref().map(|spread| spread.value),
            read_share: read_share?,
            tcp_sample: tcp_sample?,
            seed: input.seed.as_ref().map(|seed| seed.value),
            pin: input.pin.as_ref().map(|pin| pin.value),
            // A replay compares it with that of the recorded statements.
            statement_latency: value_or(
                &input.statement_latency,
                default.statement_latency || input.replays_sessions(),
            ),
            // These have no setting of their own. The literal names every field, so that the compiler finds a
            // setting that is read and then not used.
            latency_limit: default.latency_limit,
            reconnect: default.reconnect,
            connect_time_counts: default.connect_time_counts,
        })
    }

    /// Checks the server for reads; returns its share of the read-only transactions.
    fn check_reads(&mut self) -> Option<u32> {
        let input = self.input;
        let url = input.read_from.as_ref();
        if let Some(embedded) = switched_on(&input.embedded) {
            let location = &embedded.location;
            let message = format!("read_from and embedded ({location}) exclude each other");
            let hint = "a throw-away server has no replica: name a server with url";
            self.refuse(url, message, hint);
        }
        let empty = url.filter(|url| url.value.is_empty());
        let hint = "give the URL of a server for reads, or leave it out";
        self.refuse(empty, "is empty", hint);
        let share = input.read_share.as_ref().filter(|_| url.is_none());
        let hint = "name the server that takes the reads with read_from";
        self.refuse(share, "has no effect without read_from", hint);
        let default = DrivePlan::default().read_share;
        self.count_or_default("run.read_share", &input.read_share, default)
    }

    /// The default number of threads: that of each machine, as if it were this one.
    fn default_threads(&self, clients: u32) -> u32 {
        let agents = self.input.agents.as_ref();
        let machines = agents.map_or(1, |agents| agents.value.len().max(1) as u32);
        let of_each = default_threads(clients / machines, cpu_count());
        of_each.saturating_mul(machines).min(MAX_THREADS)
    }

    /// Checks what several machines cannot do, or not yet.
    fn check_fleet(&mut self) {
        let input = self.input;
        let Some(agents) = &input.agents else { return };
        let machines = agents.value.len() as u64;
        let clients = value_or(&input.clients, default_clients(input).into());
        if clients < machines {
            let message = format!("{machines} machines are more than the {clients} clients");
            let hint = "each machine drives at least one";
            self.report_with_hint(&agents.location, message, hint);
        }
        if let Some(threads) = &input.threads
            && threads.value < machines
        {
            let count = threads.value;
            let message = format!("{count} threads are fewer than the {machines} machines");
            let hint = "the number is that of all machines together, and each has at least one";
            self.report_with_hint(&threads.location, message, hint);
        }
        let message = "other machines cannot reach a throw-away server of this one";
        let hint = "name a server with url, or drive the load from this machine alone";
        self.refuse(switched_on(&input.embedded), message, hint);
        let sample = input.tcp_sample.as_ref().filter(|sample| sample.value > 0);
        let message = "a sample of clients over TCP is not possible with agents";
        self.refuse(sample, message, "remove one of the two");
    }

    /// Checks that each command can run before the load ends.
    fn check_marks(&mut self, drive: Option<&DrivePlan>) {
        let (Some(marks), Some(drive)) = (&self.input.at, drive) else {
            return;
        };
        let Stop::After(window) = drive.stop else {
            return;
        };
        // A warm-up without a length may end after its shortest one.
        let length = drive.warmup + window;
        for late in marks.value.iter().filter(|mark| mark.at >= length) {
            let message = format!(
                "the load ends after {}, before the command at {}",
                format_duration(length),
                format_duration(late.at)
            );
            let hint = "the time of a command is counted from the start of the load, which is that of the warm-up";
            self.report_with_hint(&marks.location, message, hint);
        }
    }

    /// Checks a number that must be at most the number of clients, if that is known.
    fn check_at_most_clients(
        &mut self,
        path: &str,
        input: &InputValue<u64>,
        default: u32,
        clients: Option<u32>,
        counted: fn(u32) -> String,
        hint: &str,
    ) -> Option<u32> {
        let count = self.count_or_default(path, input, default)?;
        match (input, clients) {
            (Some(input), Some(clients)) if count > clients => {
                let message = format!("{} more than the {clients} clients", counted(count));
                self.report_with_hint(&input.location, message, hint);
                None
            }
            _ => Some(count),
        }
    }

    fn check_observe(&mut self) -> ObservePlan {
        let input = self.input;
        let off = input.observe.as_ref().filter(|observe| !observe.value);
        let metrics = input.server_metrics.as_ref();
        if let Some(off) = off {
            let location = &off.location;
            let message = format!("has no effect if the server is not observed ({location})");
            self.refuse(metrics, message, "remove one of the two");
        }
        if let Some(message) = metrics.and_then(|url| exporter_url_problem(&url.value)) {
            let hint = "name the node_exporter of the server's machine as http://db1:9100/metrics";
            self.refuse(metrics, message, hint);
        }
        let mut metrics_listen = None;
        if let Some(address) = &input.metrics_listen {
            match address.value.parse::<ListenAddress>() {
                Ok(listen) => metrics_listen = Some(listen),
                Err(error) => self.report_with_hint(&address.location, error.message, error.hint),
            }
        }
        ObservePlan {
            server: off.is_none(),
            server_metrics: metrics.map(|url| url.value.clone()),
            metrics_listen,
        }
    }

    /// Checks the pace of sessions that are replayed: their own, unless they run as fast as they can.
    fn check_replay_pace(&mut self) -> Pace {
        let input = self.input;
        let hint = "sessions start at their recorded times: use --speed";
        self.refuse(input.rate_tps.as_ref(), "a replay has no rate", hint);
        self.refuse(input.arrival.as_ref(), "a replay has no arrival", hint);
        let message = "a replay ends with its last session, or after a duration";
        self.refuse(input.transactions.as_ref(), message, "remove transactions");
        let message = "each recorded session has a connection of its own";
        let connects = switched_on(&input.connect_per_transaction);
        self.refuse(connects, message, "remove it");
        let message = "a replay sends each session to one server";
        self.refuse(input.read_from.as_ref(), message, "remove it");
        let pace = replay_pace(input);
        if let Some(warmup) = &input.warmup
            && pace == Pace::Timetable
            && warmup.value < REPLAY_LEAD
        {
            let message = "must be at least 1s, in which the first sessions connect";
            self.report(&warmup.location, message);
        }
        pace
    }

    fn check_pace(&mut self) -> Option<Pace> {
        let input = self.input;
        if input.replays_sessions() {
            return Some(self.check_replay_pace());
        }
        if !self.is_usable("run.rate") {
            return None;
        }
        match (&input.rate_tps, &input.arrival) {
            (Some(rate), arrival) => Some(Pace::Rate {
                rate_tps: rate.value,
                arrival: value_or(arrival, Arrival::default()),
                queue_max: None,
            }),
            (None, Some(arrival)) => {
                let message = "arrival has no effect without a rate";
                let hint = "give a rate in transactions per second, or remove arrival";
                self.report_with_hint(&arrival.location, message, hint);
                None
            }
            (None, None) => Some(Pace::Closed),
        }
    }

    /// Checks when the run ends. The time, or the count of transactions, starts at the end of the warm-up.
    fn check_stop(&mut self) -> Stop {
        let input = self.input;
        if let Some(duration) = &input.duration
            && duration.value.is_zero()
        {
            self.report(&duration.location, "must be more than 0");
        }
        let Some(transactions) = &input.transactions else {
            let default =
                if input.replays_sessions() { Stop::WorkDone } else { DrivePlan::default().stop };
            let duration = input.duration.as_ref();
            return duration.map_or(default, |duration| Stop::After(duration.value));
        };
        if let Some(duration) = &input.duration {
            let location = &duration.location;
            let message = format!("transactions and duration ({location}) exclude each other");
            let hint = "a run ends after a time or after a count: remove one of the two";
            self.report_with_hint(&transactions.location, message, hint);
        }
        Stop::Transactions(transactions.value)
    }
}

/// What is wrong with the URL of a node_exporter; `None` if nothing is. The URL is not quoted: the text before an @ may be a
/// password.
fn exporter_url_problem(url: &str) -> Option<&'static str> {
    let has_host = ["http://", "https://"].iter().any(|scheme| {
        let remainder = url.strip_prefix(scheme);
        remainder.is_some_and(|remainder| !remainder.is_empty() && !remainder.starts_with('/'))
    });
    if url.contains('@') {
        Some("must not hold a user or a password")
    } else {
        (!has_host).then_some("is not the URL of a node_exporter")
    }
}

/// The clients of a plan that names no number.
fn default_clients(input: &PlanInput) -> u32 {
    match input.rate_tps {
        Some(_) => OPEN_LOOP_CLIENTS,
        None => DrivePlan::default().clients,
    }
}

fn replay_pace(input: &PlanInput) -> Pace {
    match input.options.get("speed").map(|speed| speed.value.as_str()) {
        Some(Some("max")) => Pace::Closed,
        _ => Pace::Timetable,
    }
}

/// The warm-up of a plan that names none: that of a short window or a count is 0.
fn default_warmup(input: &PlanInput, stop: Stop) -> Duration {
    if input.replays_sessions() {
        // Recorded sessions are measured from the first statement on.
        let at_recorded_times = replay_pace(input) == Pace::Timetable;
        return if at_recorded_times { REPLAY_LEAD } else { Duration::ZERO };
    }
    match stop {
        Stop::After(window) if window >= WARMED_UP_WINDOW => DEFAULT_WARMUP,
        _ => Duration::ZERO,
    }
}

/// The name of a file without folder and extension.
fn file_stem(file: &str) -> Option<String> {
    let stem = Path::new(file).file_stem()?;
    Some(stem.to_string_lossy().into_owned())
}

fn value_or_default<T: Clone + Default>(input: &InputValue<T>) -> T {
    let value = input.as_ref().map(|input| input.value.clone());
    value.unwrap_or_default()
}

/// The switch, if it is given and on.
fn switched_on(input: &InputValue<bool>) -> Option<&Located<bool>> {
    input.as_ref().filter(|input| input.value)
}

pub(crate) fn value_or<T: Copy>(input: &InputValue<T>, default: T) -> T {
    input.as_ref().map_or(default, |input| input.value)
}

#[cfg(test)]
mod tests;
