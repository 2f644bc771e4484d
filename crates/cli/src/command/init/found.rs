//! What is found on a server: the same readings as those of `prony doctor` and of a load.

use super::server;
use crate::args::Goal;
use crate::exit::{Exit, Failure};
use prony_judge::doctor::{DatabaseFacts, clients_that_fit};
use prony_plan::scenario::scale_for_memory;
use prony_plan::{WorkloadPlan, shell_word};
use prony_report::text::plain;
use prony_report::units;
use prony_runner::doctor::read_database;
use prony_server::{Control, Target, redact};
use prony_store::SqlDialect;
use prony_workload::Workload;

/// Workloads whose loaded tables are used as they are, otherwise the first one that the server's engine can run.
const WORKLOADS: [&str; 3] = ["tpcb", "tpcc", "ycsb"];
/// The share of the server's page cache that data to be loaded takes.
const SHARE_OF_CACHE: f64 = 0.7;
/// Clients of a closed loop, if the server's limits allow them.
const CLIENTS: u32 = 16;
/// Data to be loaded is not larger without being asked for, bytes.
const MAX_LOAD_BYTES: u64 = 5_000_000_000;

pub struct Found {
    pub facts: DatabaseFacts,
    /// The name of its page cache's setting.
    pub cache_setting: &'static str,
    /// The URL without its password, unless it cannot be separated from it.
    pub url: Option<String>,
    /// Whether a password was left out of the URL.
    pub has_password: bool,
    /// How many clients the limits of the server allow; `None` if it does not report them.
    pub fitting_clients: Option<u64>,
    pub workload: &'static dyn Workload,
    /// The scale of the workload's tables, loaded or to be loaded.
    pub scale: u32,
    pub is_loaded: bool,
    /// Size of the workload's data at that scale, bytes.
    pub data_bytes: Option<u64>,
}

impl Found {
    /// Reads the server's facts, and looks for tables of a workload.
    pub fn read(
        control: &mut Control,
        target: &Target,
        url: Option<&str>,
        goal: Goal,
    ) -> Result<Found, Failure> {
        let facts =
            read_database(control, target).map_err(|error| Failure::of(Exit::Connect, &error))?;
        let dialect = control.dialect();
        let workloads = WORKLOADS.map(server::find_workload).into_iter();
        let mut workloads = workloads.collect::<Result<Vec<_>, _>>()?;
        workloads.retain(|workload| workload.dialects().contains(&dialect));
        let loaded = match goal {
            // The tables of Prony's workloads do not matter to an application's statements.
            Goal::Own => None,
            _ => find_loaded(control, &workloads, url)?,
        };
        let first = || {
            let workload = *workloads.first()?;
            Some((workload, scale_to_load(&facts, workload, dialect)))
        };
        let (workload, scale) = loaded.or_else(first).ok_or_else(|| {
            let hint = "prony workloads lists what runs where";
            Failure::usage("no workload of a plan runs on this engine", hint)
        })?;
        let bytes_per_scale = workload.bytes_per_scale(dialect, &plan_of(workload));
        let stripped = without_password(url.unwrap_or_default());
        Ok(Found {
            cache_setting: control.product().cache_setting,
            fitting_clients: clients_that_fit(&facts),
            url: stripped.url.filter(|url| !url.is_empty()),
            has_password: stripped.had_password,
            workload,
            scale,
            is_loaded: loaded.is_some(),
            data_bytes: bytes_per_scale.map(|bytes| bytes * u64::from(scale)),
            facts,
        })
    }

    /// This many clients, or as many as the server's limits allow.
    pub fn clients(&self, wanted: u32) -> u32 {
        match self.fitting_clients {
            Some(fitting) => fitting.clamp(1, wanted.into()) as u32,
            None => wanted,
        }
    }

    pub fn usual_clients(&self) -> u32 {
        self.clients(CLIENTS)
    }

    /// `--url URL` for a command that reads no plan; empty without a URL.
    pub fn url_argument(&self) -> String {
        match &self.url {
            Some(url) => format!(" --url {}", shell_word(url)),
            None => String::new(),
        }
    }

    pub fn product(&self) -> String {
        let name = self.facts.product_name();
        plain(&format!("{name} {}", self.facts.version))
    }

    /// What was found, one line each with its name.
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let facts = &self.facts;
        let place = match facts.same_machine {
            Some(true) => ", on this machine: the clients take CPU time from it",
            _ => "",
        };
        let size = |what: &str, bytes: Option<u64>| {
            let bytes = bytes.map_or("of unknown size".to_owned(), units::bytes);
            format!("{what} {bytes}")
        };
        let memory = size("memory of its machine", facts.memory_bytes);
        let sizes = [
            size("database", facts.database_bytes),
            size(
                &format!("cache ({})", self.cache_setting),
                facts.cache_bytes,
            ),
            memory,
        ];
        let connections = match (self.fitting_clients, facts.max_connections) {
            (Some(clients), Some(max)) => format!(
                "{} of {} connections are free for clients of this user",
                units::count(clients),
                units::count(max)
            ),
            (Some(clients), None) => format!("{} are free", units::count(clients)),
            (None, _) => "the server does not report its limit".to_owned(),
        };
        vec![
            ("server", format!("{}{place}", self.product())),
            ("sizes", sizes.join(", ")),
            ("clients", connections),
            ("tables", self.tables()),
        ]
    }

    fn tables(&self) -> String {
        let (name, scale) = (self.workload.name(), units::count(self.scale.into()));
        let size = self.data_bytes.map_or(String::new(), |bytes| {
            let fits = match self.facts.cache_bytes {
                Some(cache) if bytes <= cache => ", which its cache holds",
                Some(_) => ", more than its cache holds",
                None => "",
            };
            format!(": about {}{fits}", units::bytes(bytes))
        });
        if self.is_loaded {
            format!("those of {name} are loaded, at scale {scale}{size}")
        } else {
            format!("none of a workload; the plan needs {name} at scale {scale}{size}")
        }
    }
}

/// The first of these workloads whose tables are loaded, and their scale.
fn find_loaded(
    control: &mut Control,
    workloads: &[&'static dyn Workload],
    url: Option<&str>,
) -> Result<Option<(&'static dyn Workload, u32)>, Failure> {
    for workload in workloads {
        let scale = workload
            .loaded_scale(control)
            .map_err(|error| server::workload_failure(&error, url, None))?;
        if let Some(scale) = scale {
            return Ok(Some((*workload, scale)));
        }
    }
    Ok(None)
}

/// The plan of a workload without options.
fn plan_of(workload: &dyn Workload) -> WorkloadPlan {
    WorkloadPlan {
        name: workload.name().to_owned(),
        ..WorkloadPlan::default()
    }
}

/// A scale whose data the cache holds, but with so many rows to lock that the clients rarely wait for each other.
fn scale_to_load(facts: &DatabaseFacts, workload: &dyn Workload, dialect: SqlDialect) -> u32 {
    let plan = plan_of(workload);
    let bytes_per_scale = workload.bytes_per_scale(dialect, &plan).unwrap_or(u64::MAX);
    let cache = facts.cache_bytes.unwrap_or(0) as f64 * SHARE_OF_CACHE;
    let scale = scale_for_memory((cache as u64).min(MAX_LOAD_BYTES), 1.0, bytes_per_scale);
    let contention = workload.contention(&plan);
    let least = contention.map_or(1, |it| CLIENTS.div_ceil(it.clients_per_scale.max(1)));
    u32::try_from(scale).unwrap_or(u32::MAX).max(least)
}

/// A URL from which the password was removed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct StrippedUrl {
    /// `None` if the password cannot be removed.
    pub url: Option<String>,
    pub had_password: bool,
}

pub(super) fn without_password(url: &str) -> StrippedUrl {
    let redacted = redact(url);
    if redacted == url {
        return StrippedUrl {
            url: Some(url.to_owned()),
            had_password: false,
        };
    }
    let stripped = redacted.replacen(":***@", "@", 1);
    StrippedUrl {
        url: Some(stripped).filter(|url| !url.contains("***")),
        had_password: true,
    }
}
