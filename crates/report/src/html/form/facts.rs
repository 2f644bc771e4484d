//! Facts about a test, each read from the documents of its runs.
//!
//! In: Runs. Out: tables of facts, beside the published ones if the runs repeat a publication. Must never: give a value
//! for an unknown one, or a declared value without saying so.

use super::super::table::{end_table, start_table_of_section, write_text_row};
use crate::html::markup::Html;
use crate::text::setup::describe_load;
use crate::text::{joined, plain};
use crate::units;
use prony_judge::memory::data_fit;
use prony_store::scenario::OriginalSetup;
use prony_store::{Choice, DeclaredFact, Host, Replication, Run, ServerMachine};
use std::fmt;

/// Stands for what no document says.
pub(super) const NOT_OBSERVED: &str = "not observed";

/// A fact: what it is, its value in a run, and its value in the publication that the run repeats.
pub(super) struct Fact {
    label: &'static str,
    read: Read,
    published: fn(&OriginalSetup) -> Option<String>,
}

enum Read {
    Text(fn(&Run) -> Option<String>),
    /// Only a publication states it: the row is left out without one.
    PublishedOnly,
    /// A number that differs a little in every run: the lowest and the highest are shown.
    Range {
        read: fn(&Run) -> Option<f64>,
        format: fn(f64) -> String,
    },
}

/// A fact that no publication states.
const fn fact(label: &'static str, read: fn(&Run) -> Option<String>) -> Fact {
    published_fact(label, read, |_| None)
}

const fn published_fact(
    label: &'static str,
    read: fn(&Run) -> Option<String>,
    published: fn(&OriginalSetup) -> Option<String>,
) -> Fact {
    Fact {
        label,
        read: Read::Text(read),
        published,
    }
}

impl Fact {
    fn is_known(&self, run: &Run) -> bool {
        match self.read {
            Read::Text(read) => read(run).is_some(),
            Read::PublishedOnly => true,
            Read::Range { read, .. } => read(run).is_some(),
        }
    }

    fn describe(&self, runs: &[&Run]) -> String {
        let (read, format) = match self.read {
            Read::Text(read) => return describe_by_runs(runs, read),
            Read::PublishedOnly => return NOT_OBSERVED.to_owned(),
            Read::Range { read, format } => (read, format),
        };
        let values: Vec<f64> = runs.iter().filter_map(|run| read(run)).collect();
        if values.is_empty() {
            return NOT_OBSERVED.to_owned();
        }
        let lowest = format(values.iter().copied().fold(f64::INFINITY, f64::min));
        let highest = format(values.iter().copied().fold(0.0, f64::max));
        let range = if lowest == highest { lowest } else { format!("{lowest} to {highest}") };
        match runs.len() - values.len() {
            0 => range,
            missing => {
                let missing = units::count_of(missing as u64, "run");
                format!("{range}; {NOT_OBSERVED} in {missing}")
            }
        }
    }
}

pub(super) const ENVIRONMENT: [Fact; 9] = [
    fact("provider", |run| declared(run, DeclaredFact::Provider)),
    fact("service", |run| {
        let service = run.server.service.map(|service| service.name().to_owned());
        service.or_else(|| declared(run, DeclaredFact::Service))
    }),
    published_fact(
        "region",
        |run| declared(run, DeclaredFact::Region),
        |original| original.setup.region.clone(),
    ),
    published_fact(
        "zones",
        |run| declared(run, DeclaredFact::Zones),
        |original| original.setup.zones.map(|zones| zones.to_string()),
    ),
    fact("place of the client", |run| {
        let is_shared = server_machine(run).and_then(|machine| machine.shared);
        if run.check("one-host").is_some() || is_shared == Some(true) {
            return Some("on the server's machine".to_owned());
        }
        is_shared.map(|_| "on another machine".to_owned())
    }),
    fact("network", |run| {
        let network = run.drive.network?.to_string();
        let tls = run.server.tls.as_deref().map(plain);
        Some(match tls {
            Some(tls) => format!("{network}, TLS {}", tls.trim_start_matches("TLS ")),
            None => format!("{network}, no TLS"),
        })
    }),
    Fact {
        label: "round trip of an empty statement, median",
        read: Read::Range {
            read: |run| Some(run.observed.as_ref()?.round_trip.as_ref()?.p50_ns as f64),
            format: units::time,
        },
        published: |_| None,
    },
    fact("date", |run| text(run.started_at.split('T').next()?)),
    fact("test tool", |run| {
        let version = text(&run.build.version)?;
        Some(format!("Prony {version}"))
    }),
];

pub(super) const INSTANCE: [Fact; 16] = [
    published_fact("server", server, |original| {
        let version = original.setup.version.as_deref().unwrap_or_default();
        text(&format!("{} {version}", original.setup.product))
    }),
    published_fact(
        "instance type",
        |run| declared(run, DeclaredFact::Machine),
        |original| original.setup.machine.clone(),
    ),
    published_fact(
        "CPUs",
        |run| {
            let cpus = server_machine(run).and_then(|machine| machine.cpus);
            let observed = cpus.map(|cpus| cpus.to_string());
            observed.or_else(|| declared(run, DeclaredFact::Cpus))
        },
        |original| original.setup.cpus.map(|cpus| cpus.to_string()),
    ),
    published_fact(
        "memory",
        |run| {
            let bytes = server_machine(run).and_then(|machine| machine.memory_bytes);
            let observed = bytes.map(units::bytes);
            observed.or_else(|| declared(run, DeclaredFact::Memory))
        },
        |original| original.memory_bytes.map(units::bytes),
    ),
    published_fact(
        "storage",
        |run| {
            let declared = declared(run, DeclaredFact::Storage);
            declared.or_else(|| text(server_machine(run)?.storage.as_deref()?))
        },
        |original| original.setup.disk.clone(),
    ),
    published_fact(
        "size of storage",
        |run| declared(run, DeclaredFact::StorageSize),
        |original| original.setup.storage_size.clone(),
    ),
    published_fact(
        "IOPS limit",
        |run| declared(run, DeclaredFact::Iops),
        |original| original.setup.iops.map(units::count),
    ),
    published_fact(
        "maximum connections",
        |run| super::setting(run, "max_connections"),
        |original| original.setup.max_connections.map(units::count),
    ),
    Fact {
        label: "rows that it can store",
        read: Read::PublishedOnly,
        published: |original| original.setup.max_rows.map(units::count),
    },
    published_fact(
        "replication",
        |run| {
            let state = run.state_before()?;
            let replication = state.replication.map(Replication::name)?;
            Some(match state.replicas.len() as u64 {
                0 => replication.to_owned(),
                count => {
                    let replicas = units::count_of(count, "replica");
                    format!("{replication}, {replicas} connected")
                }
            })
        },
        |original| original.replication.map(|how| how.name().to_owned()),
    ),
    fact("replicas", |run| declared(run, DeclaredFact::Replicas)),
    published_fact(
        "high availability",
        |run| declared(run, DeclaredFact::HighAvailability),
        |original| {
            original
                .setup
                .high_availability
                .map(|kind| kind.name().to_owned())
        },
    ),
    published_fact(
        "durability of a commit",
        |run| {
            let durability = run.state_before()?.durability.as_ref()?;
            let because = durability.because.join(", ");
            let because = text(&because).map_or(String::new(), |text| format!(": {text}"));
            Some(format!("class {}{because}", durability.description()))
        },
        |original| original.setup.durability.clone(),
    ),
    fact("backups", |run| declared(run, DeclaredFact::Backups)),
    fact("encryption of the data", |run| {
        declared(run, DeclaredFact::Encryption)
    }),
    fact("operating system", |run| {
        text(server_machine(run)?.kernel.as_deref()?)
    }),
];

pub(super) const CLIENT: [Fact; 6] = [
    published_fact(
        "machine",
        |run| text(&host(run).name),
        |original| original.setup.client_machine.clone(),
    ),
    fact("CPU", |run| text(&host(run).cpu)),
    published_fact(
        "CPUs",
        |run| positive(host(run).cpus.into()).map(units::count),
        |original| original.setup.client_cpus.map(|cpus| cpus.to_string()),
    ),
    fact("memory", |run| {
        positive(host(run).memory_bytes).map(units::bytes)
    }),
    fact("operating system", |run| text(&host(run).kernel)),
    fact("threads of the load", |run| {
        positive(run.drive.threads.into()).map(units::count)
    }),
];

pub(super) const DATA: [Fact; 8] = [
    fact("workload", |run| text(&run.workload.name)),
    published_fact(
        "scale",
        |run| {
            let scale = positive(run.workload.scale.into())?;
            let unit = run.workload.description.as_ref();
            let unit = unit.and_then(|description| description.scale_unit.as_ref());
            Some(match unit {
                Some(unit) => units::count_with_noun(scale, &unit.singular, &unit.plural),
                None => units::count(scale),
            })
        },
        |original| original.data.clone(),
    ),
    fact("options", |run| {
        let options = run.workload.settings.iter();
        let options = options.map(|option| option.to_string());
        let workload = text(&run.workload.name);
        text(&joined(options, ", ")).or_else(|| workload.map(|_| "none".to_owned()))
    }),
    Fact {
        label: "size of the database before the run",
        read: Read::Range {
            read: |run| Some(run.state_before()?.database_bytes? as f64),
            format: |bytes| units::bytes(bytes as u64),
        },
        published: |original| {
            original
                .setup
                .data_gb
                .map(|size| format!("about {size} GB"))
        },
    },
    fact("server's cache", |run| {
        run.state_before()?.cache_bytes.map(units::bytes)
    }),
    published_fact(
        "data and memory",
        |run| data_fit(run).map(|fit| fit.describe().to_owned()),
        |original| {
            original
                .cached
                .as_ref()
                .map(|cached| format!("cached: {cached}"))
        },
    ),
    fact("caches before the run", |run| {
        let scenario = run.scenario.as_ref()?;
        Some(match (scenario.restarted, scenario.prewarmed) {
            (true, false) => "cold: the server was restarted".to_owned(),
            (true, true) => "restarted, then all tables read".to_owned(),
            (false, true) => "all tables read".to_owned(),
            (false, false) => "warm: the server was not restarted".to_owned(),
        })
    }),
    fact("load of the data", |run| {
        let load = run.scenario.as_ref()?.load.as_ref()?;
        let rows = units::count_of(load.rows, "row");
        Some(format!("{rows} in {}", units::span(load.seconds)))
    }),
];

pub(super) const METHOD: [Fact; 5] = [
    published_fact(
        "load",
        |run| {
            let is_known = run.drive.clients > 0;
            is_known.then(|| describe_load(&run.drive))
        },
        |original| {
            let clients = original
                .clients
                .map(|clients| units::count_of(clients.into(), "client"));
            let protocol = original
                .setup
                .protocol
                .map(|mode| format!("{} protocol", mode.name()));
            text(&joined(clients.into_iter().chain(protocol), ", "))
        },
    ),
    published_fact(
        "warm-up",
        |run| Some(units::span(run.window.warmup_s)),
        |original| original.warmup_s.map(units::span),
    ),
    published_fact(
        "measured time",
        |run| (run.measured.length_s > 0.0).then(|| units::span(run.measured.length_s)),
        |original| original.duration_s.map(units::span),
    ),
    fact("repeats", |run| {
        let experiment = run.experiment.as_ref()?;
        let runs = units::count_of(experiment.runs.into(), "run");
        Some(format!("{runs} in {} order", experiment.order.name()))
    }),
    fact("figures", |_| {
        Some(
            "medians of the runs of a row; runs that are invalid or not complete do not count"
                .to_owned(),
        )
    }),
];

/// A text without control characters; `None` if it is empty.
pub(super) fn text(text: &str) -> Option<String> {
    Some(plain(text).trim().to_owned()).filter(|text| !text.is_empty())
}

fn positive(number: u64) -> Option<u64> {
    Some(number).filter(|number| *number > 0)
}

pub(super) fn server(run: &Run) -> Option<String> {
    text(&run.server.name_and_version())
}

fn declared(run: &Run, fact: DeclaredFact) -> Option<String> {
    let value = text(run.server.declared.get(fact)?)?;
    Some(format!("{value} (declared)"))
}

/// The server's machine as it was observed.
fn server_machine(run: &Run) -> Option<&ServerMachine> {
    Some(&run.observed.as_ref()?.machine)
}

fn host(run: &Run) -> &Host {
    &run.machine().host
}

/// The values of the runs, each with the numbers of its runs, from 1; `None` stands for those that do not have it.
pub(super) fn by_runs(
    runs: &[&Run],
    read: impl Fn(&Run) -> Option<String>,
) -> Vec<(Option<String>, Vec<usize>)> {
    let mut values: Vec<(Option<String>, Vec<usize>)> = Vec::new();
    for (index, run) in runs.iter().enumerate() {
        let value = read(run);
        match values.iter_mut().find(|(known, _)| *known == value) {
            Some((_, numbers)) => numbers.push(index + 1),
            None => values.push((value, vec![index + 1])),
        }
    }
    values
}

/// `run 3`, or `runs 1 to 4, 6`.
pub(super) fn runs_text(numbers: &[usize]) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => ranges.push((*number, *number)),
        }
    }
    let ranges = ranges.into_iter().map(|(first, last)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first} to {last}"),
    });
    let noun = if numbers.len() == 1 { "run" } else { "runs" };
    format!("{noun} {}", joined(ranges, ", "))
}

/// The value of all runs; if they differ, each value with its runs.
pub(super) fn describe_by_runs(runs: &[&Run], read: impl Fn(&Run) -> Option<String>) -> String {
    let values = by_runs(runs, read);
    let is_of_all = values.len() == 1;
    let texts = values.into_iter().map(|(value, numbers)| {
        let value = value.unwrap_or_else(|| NOT_OBSERVED.to_owned());
        if is_of_all { value } else { format!("{value} ({})", runs_text(&numbers)) }
    });
    joined(texts, "; ")
}

/// The published values; `None` if the runs repeat no publication that states one.
fn describe_published(runs: &[&Run], fact: &Fact) -> Option<String> {
    let published = |run: &Run| {
        let value = (fact.published)(&run.scenario.as_ref()?.original)?;
        text(&value)
    };
    let is_known = runs.iter().any(|run| published(run).is_some());
    is_known.then(|| describe_by_runs(runs, published).replace(NOT_OBSERVED, "not stated"))
}

/// Writes the table of facts of a section; with the published ones, if the runs repeat a publication that states one of
/// them.
pub(super) fn write_facts(
    out: &mut Html,
    section: &str,
    facts: &[Fact],
    runs: &[&Run],
) -> fmt::Result {
    let published: Vec<Option<String>> = facts
        .iter()
        .map(|fact| describe_published(runs, fact))
        .collect();
    let has_published = published.iter().any(Option::is_some);
    let mut columns = vec!["what", "this test"];
    columns.extend(has_published.then_some("published"));
    start_table_of_section(out, section, &columns)?;
    for (fact, published) in facts.iter().zip(&published) {
        if published.is_none() && matches!(fact.read, Read::PublishedOnly) {
            continue;
        }
        let value = fact.describe(runs);
        let mut cells = vec![fact.label, &value];
        if has_published {
            cells.push(published.as_deref().unwrap_or("not stated"));
        }
        write_text_row(out, &cells)?;
    }
    end_table(out)
}

/// Facts about environment and instance that no run has.
pub(super) fn missing_facts(runs: &[&Run]) -> Vec<&'static str> {
    let facts = ENVIRONMENT.iter().chain(&INSTANCE);
    let missing = facts.filter(|fact| !runs.iter().any(|run| fact.is_known(run)));
    missing.map(|fact| fact.label).collect()
}
