//! From what was asked to a checked plan.
//!
//! In: an [`Asked`]. Out: a [`Plan`] with every default filled in, or every problem. Must never:
//! report a problem that is only the echo of another one.

use crate::asked::{Asked, Given};
use crate::duration::{format_duration, shorten};
use crate::observe::{Listen, ObservePlan};
use crate::plan::{
    Arrival, DrivePlan, IoEngine, Pace, Plan, QueryMode, ServerPlan, Stop, WorkloadPlan,
};
use crate::problem::{Place, Problem, Problems};
use std::time::Duration;

/// Most clients of a run.
pub const MAX_CLIENTS: u32 = 1_000_000;
/// Most threads of a run.
pub const MAX_THREADS: u32 = 1024;
/// Largest scale factor; a workload may allow less.
pub const MAX_SCALE: u32 = 2_000_000_000;
/// Highest rate, transactions a second: one each nanosecond.
pub const MAX_RATE_TPS: f64 = 1e9;
/// Longest duration, warm-up or grace: 366 days.
pub const MAX_TIME: Duration = Duration::from_secs(366 * 86_400);

pub(crate) const DEFAULT_CLIENTS: u32 = 8;
pub(crate) const DEFAULT_THREADS: u32 = 1;
pub(crate) const DEFAULT_DURATION: Duration = Duration::from_secs(60);
pub(crate) const DEFAULT_GRACE: Duration = Duration::from_secs(5);

impl Asked {
    /// Fills in the defaults and checks the values, alone and against each other.
    ///
    /// # Errors
    /// Every problem at once, those found while reading the file included, in the order of their
    /// places.
    pub fn check(mut self) -> Result<Plan, Problems> {
        let mut found = std::mem::take(&mut self.problems);
        let mut checker = Checker {
            asked: &self,
            found: &mut found,
        };
        let server = checker.server();
        let workload = checker.workload();
        let drive = checker.drive();
        let observe = checker.observe();
        match (server, workload, drive) {
            (Some(server), Some(workload), Some(drive)) if found.is_empty() => Ok(Plan {
                server,
                workload,
                drive,
                observe,
            }),
            _ => Err(Problems::sorted(found)),
        }
    }
}

/// Each method gives `None` only after it has found a problem, or where reading had found one.
struct Checker<'a> {
    asked: &'a Asked,
    found: &'a mut Vec<Problem>,
}

impl Checker<'_> {
    fn problem(&mut self, place: &Place, message: impl Into<String>) {
        self.found.push(Problem::new(place.clone(), message));
    }

    fn hinted(&mut self, place: &Place, message: impl Into<String>, hint: &str) {
        let problem = Problem::new(place.clone(), message);
        self.found.push(problem.hint(hint));
    }

    /// Whether reading the file refused this key, or its table: then its absence means nothing.
    fn refused(&self, key: &str) -> bool {
        let table = key.split('.').next();
        let refused = &self.asked.refused;
        refused
            .iter()
            .any(|name| name == key || Some(name.as_str()) == table)
    }

    fn server(&mut self) -> Option<ServerPlan> {
        let asked = self.asked;
        let embedded = asked.embedded.as_ref().filter(|given| given.value);
        match (&asked.url, embedded) {
            (Some(url), Some(embedded)) => {
                let message = format!("embedded and url ({}) exclude each other", url.place);
                let hint =
                    "name a server, or let Prony start one of its own: remove one of the two";
                self.hinted(&embedded.place, message, hint);
                None
            }
            (Some(url), None) if url.value.contains('\0') => {
                self.problem(&url.place, "contains a zero byte");
                None
            }
            (Some(url), None) => Some(ServerPlan::Url(url.value.clone())),
            (None, Some(_)) => Some(ServerPlan::Embedded),
            (None, None) => Some(ServerPlan::Url(String::new())),
        }
    }

    fn workload(&mut self) -> Option<WorkloadPlan> {
        let asked = self.asked;
        let scale = asked.scale.as_ref().map(|_| {
            // The default is never used: the scale is given.
            self.whole(&asked.scale, "workload.scale", 1, MAX_SCALE, 1)
        });
        let name = self.workload_name()?;
        Some(WorkloadPlan {
            name,
            scale: match scale {
                Some(given) => Some(given?),
                None => None,
            },
            options: asked
                .options
                .iter()
                .map(|(key, placed)| (key.clone(), placed.value.clone()))
                .collect(),
        })
    }

    fn workload_name(&mut self) -> Option<String> {
        let asked = self.asked;
        let Some(name) = &asked.workload else {
            if !self.refused("workload.name") {
                let place = match &asked.file {
                    Some(file) => Place::File {
                        file: file.clone(),
                        at: None,
                        key: "workload.name".to_owned(),
                    },
                    None => Place::Key("workload.name".to_owned()),
                };
                let hint = "name the workload, such as name = \"tpcb\" under [workload]";
                self.hinted(&place, "is missing", hint);
            }
            return None;
        };
        let text = &name.value;
        let starts_well = text.starts_with(|c: char| c.is_ascii_alphabetic());
        let ends_well = text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
        if starts_well && ends_well && text.len() <= 64 {
            return Some(text.clone());
        }
        let message = format!("\"{}\" is not the name of a workload", shorten(text));
        let hint = "a name is letters, digits, - and _, such as tpcb or select-only";
        self.hinted(&name.place, message, hint);
        None
    }

    /// A whole number within limits, or its default.
    fn whole(&mut self, given: &Given<u64>, key: &str, min: u32, max: u32, or: u32) -> Option<u32> {
        let Some(given) = given else {
            return (!self.refused(key)).then_some(or);
        };
        match u32::try_from(given.value) {
            Ok(value) if (min..=max).contains(&value) => Some(value),
            _ => {
                let message = format!("must be from {min} to {max}, is {}", given.value);
                self.problem(&given.place, message);
                None
            }
        }
    }

    /// A time within limits, or its default.
    fn time(&mut self, given: &Given<Duration>, or: Duration) -> Duration {
        let Some(given) = given else { return or };
        if given.value > MAX_TIME {
            let message = format!("must be at most 366d, is {}", format_duration(given.value));
            self.problem(&given.place, message);
        }
        given.value
    }

    fn drive(&mut self) -> Option<DrivePlan> {
        let asked = self.asked;
        let clients = self.whole(
            &asked.clients,
            "run.clients",
            1,
            MAX_CLIENTS,
            DEFAULT_CLIENTS,
        );
        let threads = self.threads(clients);
        let tcp_sample = self.tcp_sample(clients);
        let pace = self.pace();
        let stop = self.stop();
        let warmup = self.time(&asked.warmup, Duration::ZERO);
        let grace = self.time(&asked.grace, DEFAULT_GRACE);
        Some(DrivePlan {
            clients: clients?,
            threads: threads?,
            pace: pace?,
            stop: stop?,
            warmup,
            grace,
            latency_limit: None,
            reconnect: true,
            connect_counts: true,
            protocol: value(&asked.protocol, QueryMode::Prepared),
            describe: value(&asked.describe, true),
            io: value(&asked.io, IoEngine::Auto),
            connect_per_transaction: value(&asked.connect_per_transaction, false),
            tcp_sample: tcp_sample?,
            seed: asked.seed.as_ref().map(|given| given.value),
            pin: value(&asked.pin, false),
        })
    }

    fn observe(&mut self) -> ObservePlan {
        let asked = self.asked;
        let off = asked.observe.as_ref().filter(|given| !given.value);
        if let Some((given, off)) = asked.server_metrics.as_ref().zip(off) {
            let message = format!(
                "has no meaning where the server is not looked at ({})",
                off.place
            );
            self.hinted(&given.place, message, "remove one of the two");
        }
        let metrics = asked.server_metrics.as_ref();
        // None of these is quoted: what stands before an @ may be a password.
        let hint = "name the node_exporter of the server's machine as http://db1:9100/metrics";
        if let Some(given) = metrics {
            let url = given.value.as_str();
            let of_http = |scheme: &str| {
                let rest = url.strip_prefix(scheme);
                rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'))
            };
            if url.contains('@') {
                self.hinted(&given.place, "must not hold a user or a password", hint);
            } else if !of_http("http://") && !of_http("https://") {
                self.hinted(&given.place, "is not the URL of a node_exporter", hint);
            }
        }
        let mut metrics_listen = None;
        if let Some(given) = &asked.metrics_listen {
            match given.value.parse::<Listen>() {
                Ok(listen) => metrics_listen = Some(listen),
                Err(error) => self.hinted(&given.place, error.message, error.hint),
            }
        }
        ObservePlan {
            server: off.is_none(),
            server_metrics: metrics.map(|given| given.value.clone()),
            metrics_listen,
        }
    }

    fn threads(&mut self, clients: Option<u32>) -> Option<u32> {
        let given = &self.asked.threads;
        let threads = self.whole(given, "run.threads", 1, MAX_THREADS, DEFAULT_THREADS)?;
        if let (Some(given), Some(clients)) = (given, clients)
            && threads > clients
        {
            let message = format!("{threads} threads are more than the {clients} clients");
            let hint = "each client lives on one thread: use at most as many threads as clients";
            self.hinted(&given.place, message, hint);
            return None;
        }
        Some(threads)
    }

    fn tcp_sample(&mut self, clients: Option<u32>) -> Option<u32> {
        let given = &self.asked.tcp_sample;
        let sample = self.whole(given, "run.tcp_sample", 0, MAX_CLIENTS, 0)?;
        if let (Some(given), Some(clients)) = (given, clients)
            && sample > clients
        {
            let message = format!("a sample of {sample} is more than the {clients} clients");
            let hint = "it counts those of the clients that use TCP";
            self.hinted(&given.place, message, hint);
            return None;
        }
        Some(sample)
    }

    fn pace(&mut self) -> Option<Pace> {
        let asked = self.asked;
        let Some(rate) = &asked.rate_tps else {
            if let Some(arrival) = &asked.arrival
                && !self.refused("run.rate")
            {
                let hint = "give a rate in transactions a second, or remove arrival";
                self.hinted(
                    &arrival.place,
                    "arrival has no meaning without a rate",
                    hint,
                );
                return None;
            }
            return Some(Pace::Closed);
        };
        // Written so that NaN is refused.
        if !(rate.value > 0.0 && rate.value <= MAX_RATE_TPS) {
            let message = format!(
                "must be more than 0 and at most {MAX_RATE_TPS:.0} transactions a second, is {}",
                rate.value
            );
            let hint = "leave rate out for a closed loop, as fast as the server answers";
            self.hinted(&rate.place, message, hint);
            return None;
        }
        Some(Pace::Rate {
            rate_tps: rate.value,
            arrival: value(&asked.arrival, Arrival::Poisson),
            queue_max: None,
        })
    }

    /// A warm-up goes with either stop: transactions are counted from its end.
    fn stop(&mut self) -> Option<Stop> {
        let asked = self.asked;
        let duration = self.time(&asked.duration, DEFAULT_DURATION);
        if let Some(given) = &asked.duration
            && duration.is_zero()
        {
            self.problem(&given.place, "must be more than 0");
        }
        let Some(transactions) = &asked.transactions else {
            return Some(Stop::After(duration));
        };
        if let Some(given) = &asked.duration {
            let message = format!(
                "transactions and duration ({}) exclude each other",
                given.place
            );
            let hint = "a run ends after a time or after a count: remove one of the two";
            self.hinted(&transactions.place, message, hint);
        }
        if transactions.value == 0 {
            self.problem(&transactions.place, "must be at least 1, is 0");
        }
        Some(Stop::Transactions(transactions.value))
    }
}

fn value<T: Copy>(given: &Given<T>, or: T) -> T {
    given.as_ref().map_or(or, |given| given.value)
}

#[cfg(test)]
mod tests;
