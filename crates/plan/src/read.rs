//! A plan file's text, read to the end whatever is wrong in it.
//!
//! In: TOML text and the name of its file. Out: an [`Asked`] that carries every problem found; or,
//! for a text that is no TOML at all, that one problem. Must never: quote a line of the text, since
//! a line may hold a URL with a password.

use crate::asked::{Asked, Placed};
use crate::duration::shorten;
use crate::experiment::AskedVariant;
use crate::problem::{Place, Problem, Problems};
use crate::section::{Section, Source};
use crate::suggest;
use serde::Deserialize;
use toml::de::{DeTable, ValueDeserializer};

/// The tables of a plan, which a variant has too.
const PLAN: [&str; 3] = ["server", "workload", "run"];
/// The tables of a plan file.
const FILE: [&str; 6] = ["server", "workload", "run", OBSERVE, EXPERIMENT, VARIANTS];
const OBSERVE: &str = "observe";
const EXPERIMENT: &str = "experiment";
const VARIANTS: &str = "variants";

/// Tables that stand beside each other: those of the file, or those of a variant.
#[derive(Clone, Copy)]
struct Level<'a> {
    /// What stands before their names: nothing, or `variants.NAME.`.
    prefix: &'a str,
    /// The names that they may have.
    tables: &'static [&'static str],
}

impl Asked {
    /// Reads a plan file's text. `file` is its name for messages, as the user wrote it.
    ///
    /// Unknown keys and values of a wrong type are kept for [`Asked::check`], which reports them
    /// with all others.
    ///
    /// # Errors
    /// Where the text is not TOML: that one problem, since nothing behind it can be trusted.
    pub fn from_toml(file: &str, text: &str) -> Result<Self, Problems> {
        let source = Source { file, text };
        let root = source.root("a plan looks as in `prony plan schema`")?;
        Ok(read(source, root.get_ref()).0)
    }
}

/// The keys that each table may have.
type Keys = Vec<(&'static str, Vec<&'static str>)>;

/// Reads all tables; also gives the keys that each may have.
fn read<'a>(source: Source<'a>, root: &'a DeTable<'_>) -> (Asked, Keys) {
    let level = Level {
        prefix: "",
        tables: &FILE,
    };
    let (mut asked, keys) = read_tables(source, root, level);
    read_variants(source, root, level, &mut asked);
    (asked, keys)
}

/// Each variant is a plan of its own, of which nothing need be there.
fn read_variants(source: Source<'_>, root: &DeTable<'_>, level: Level<'_>, asked: &mut Asked) {
    let variants = open(source, root, VARIANTS, level);
    let mut tables = variants.others();
    // A parsed table has lost the order of the file, which is that of the variants.
    tables.sort_by_key(|(_, offset, _)| *offset);
    asked.experiment.table |= variants.table.is_some();
    asked.problems.extend(variants.problems);
    if variants.table.is_some() && tables.is_empty() {
        let key = root.keys().find(|key| *key.get_ref() == variants.written);
        let offset = key.map_or(0, |key| key.span().start);
        let problem = Problem::new(source.place(offset, VARIANTS), "has no variant");
        asked.problems.push(problem.hint(
            "two at least are set beside each other, such as [variants.base] and [variants.new.run]; \
             without [variants] the plan itself is run",
        ));
    }
    for (name, offset, value) in tables {
        let path = format!("{}.{name}", variants.written);
        let place = source.place(offset, path.clone());
        let Some(table) = value.get_ref().as_table() else {
            let hint =
                "a variant is a table, such as [variants.new.run] with what it changes below";
            let problem = Problem::new(place, "must be a table");
            asked.problems.push(problem.hint(hint));
            continue;
        };
        let prefix = format!("{path}.");
        let level = Level {
            prefix: &prefix,
            tables: &PLAN,
        };
        let value = name.to_owned();
        asked.experiment.variants.push(AskedVariant {
            name: Placed { value, place },
            asked: read_tables(source, table, level).0,
            replaced: false,
        });
    }
}

/// Reads the tables of one level.
fn read_tables<'a>(source: Source<'a>, root: &'a DeTable<'_>, level: Level<'_>) -> (Asked, Keys) {
    let mut asked = Asked {
        file: Some(source.file.to_owned()),
        ..Asked::default()
    };
    let [mut server, mut workload, mut run] = PLAN.map(|name| open(source, root, name, level));
    read_server(&mut server, &mut asked);
    asked.workload = workload.text("name");
    asked.scale = workload.whole("scale");
    read_run(&mut run, &mut asked);
    let mut sections = vec![server, workload, run];
    if level.tables.contains(&OBSERVE) {
        let mut observe = open(source, root, OBSERVE, level);
        read_observe(&mut observe, &mut asked);
        sections.push(observe);
    }
    if level.tables.contains(&EXPERIMENT) {
        let mut experiment = open(source, root, EXPERIMENT, level);
        read_experiment(&mut experiment, &mut asked);
        sections.push(experiment);
    }

    let keys = sections.iter().map(|one| (one.name, one.known.clone()));
    let keys: Keys = keys.collect();
    for section in sections {
        if section.name == "workload" {
            read_options(&section, &mut asked, &keys, level);
        } else {
            for (key, offset, _) in section.others() {
                let place = source.place(offset, format!("{}.{key}", section.written));
                unknown(&mut asked, place, section.name, key, &keys, level);
            }
        }
        asked.problems.extend(section.problems);
        asked.refused.extend(section.refused);
    }
    for (key, value) in root {
        let name = key.get_ref().as_ref();
        if level.tables.contains(&name) {
            continue;
        }
        let place = source.place(key.span().start, format!("{}{name}", level.prefix));
        if value.get_ref().is_table() {
            asked.problems.push(unknown_table(place, name, level));
        } else {
            unknown(&mut asked, place, "", name, &keys, level);
        }
    }
    (asked, keys)
}

fn read_experiment(experiment: &mut Section<'_, '_>, asked: &mut Asked) {
    let of = &mut asked.experiment;
    of.table = experiment.table.is_some();
    of.repeats = experiment.whole("repeats");
    of.order = experiment.choice("order");
    of.pause = experiment.duration("pause");
    of.between = experiment.text("between");
}

fn read_server(server: &mut Section<'_, '_>, asked: &mut Asked) {
    asked.url = server.text("url");
    asked.embedded = server.truth("embedded");
}

fn read_run(run: &mut Section<'_, '_>, asked: &mut Asked) {
    asked.clients = run.whole("clients");
    asked.threads = run.whole("threads");
    asked.duration = run.duration("duration");
    asked.transactions = run.whole("transactions");
    asked.warmup = run.duration("warmup");
    asked.grace = run.duration("grace");
    asked.rate_tps = run.number("rate");
    asked.arrival = run.choice("arrival");
    asked.protocol = run.choice("protocol");
    asked.describe = run.truth("describe");
    asked.io = run.choice("io");
    asked.connect_per_transaction = run.truth("connect_per_transaction");
    asked.tcp_sample = run.whole("tcp_sample");
    asked.seed = run.whole("seed");
    asked.pin = run.truth("pin");
}

fn read_observe(observe: &mut Section<'_, '_>, asked: &mut Asked) {
    asked.observe = observe.truth("server");
    asked.server_metrics = observe.text("server_metrics");
    asked.metrics_listen = observe.text("metrics_listen");
}

/// Finds a table by its name, or by a misspelt one, so that what stands in it is checked as well.
fn open<'a, 'i>(
    source: Source<'a>,
    root: &'a DeTable<'i>,
    name: &'static str,
    level: Level<'_>,
) -> Section<'a, 'i> {
    let exact = root.iter().find(|(key, _)| key.get_ref() == name);
    let entry = exact.or_else(|| {
        root.iter().find(|(key, value)| {
            let key = key.get_ref().as_ref();
            let stray = value.get_ref().is_table() && !level.tables.contains(&key);
            stray && suggest::nearest(key, level.tables) == Some(name)
        })
    });
    let mut section = Section {
        source,
        name,
        written: format!("{}{name}", level.prefix),
        table: None,
        known: Vec::new(),
        problems: Vec::new(),
        refused: Vec::new(),
    };
    if let Some((key, value)) = entry {
        section.written = format!("{}{}", level.prefix, key.get_ref());
        section.table = value.get_ref().as_table();
        if section.table.is_none() {
            let path = &section.written;
            let place = source.place(value.span().start, path.clone());
            let hint = format!("write [{path}] on a line of its own, and its keys below");
            let problem = Problem::new(place, "must be a table").hint(hint);
            section.problems.push(problem);
            section.refused.push(name.to_owned());
        }
    }
    section
}

/// Every other key of `[workload]` is an option of that workload, which checks it itself; only what
/// is clearly meant for another place is refused here.
fn read_options(workload: &Section<'_, '_>, asked: &mut Asked, keys: &Keys, level: Level<'_>) {
    for (key, offset, value) in workload.others() {
        let path = format!("{}.{key}", workload.written);
        let place = workload.source.place(offset, path.clone());
        let elsewhere = keys.iter().find(|(table, known)| {
            // A workload may well have options of its own named as those of an experiment.
            ["server", "run", OBSERVE].contains(table) && known.contains(&key)
        });
        if let Some((table, _)) = elsewhere {
            let problem = Problem::new(place, format!("{key} is not an option of a workload"));
            let hint = format!("it belongs under [{}{table}]", level.prefix);
            asked.problems.push(problem.hint(hint));
            asked.refused.push(format!("{table}.{key}"));
            continue;
        }
        let missing = [
            ("name", asked.workload.is_none()),
            ("scale", asked.scale.is_none()),
        ];
        let meant = missing
            .iter()
            .find(|(name, missing)| *missing && suggest::distance(key, name) <= 1);
        if let Some((name, _)) = meant {
            let problem = Problem::new(place, format!("unknown key {key}"));
            asked
                .problems
                .push(problem.hint(format!("did you mean {name}?")));
            asked.refused.push(format!("workload.{name}"));
            continue;
        }
        let place = workload.source.place(value.span().start, path);
        match toml::Value::deserialize(ValueDeserializer::from(value.clone())) {
            Ok(value) => {
                asked
                    .options
                    .insert(key.to_owned(), Placed { value, place });
            }
            Err(error) => asked.problems.push(Problem::new(place, error.message())),
        }
    }
}

fn unknown_table(place: Place, name: &str, level: Level<'_>) -> Problem {
    let problem = Problem::new(place, format!("unknown table [{}{name}]", level.prefix));
    match suggest::nearest(name, level.tables) {
        Some(near) => problem.hint(format!("did you mean [{}{near}]?", level.prefix)),
        None => problem.hint(level.has()),
    }
}

impl Level<'_> {
    /// What may stand here, in words.
    fn has(&self) -> String {
        match self.prefix {
            "" => format!("a plan has [{}]", self.tables.join("], [")),
            prefix => {
                let tables = self.tables.iter().map(|name| format!("[{prefix}{name}]"));
                let tables: Vec<String> = tables.collect();
                format!("a variant has {}", tables.join(", "))
            }
        }
    }
}

/// Refuses an unknown key, and the key that it may have been meant for.
fn unknown(asked: &mut Asked, place: Place, table: &str, key: &str, keys: &Keys, level: Level<'_>) {
    let prefix = level.prefix;
    let own = keys.iter().find(|(name, _)| *name == table);
    let mut hint = match own {
        Some((_, known)) => format!("[{prefix}{table}] has {}", known.join(", ")),
        None => level.has(),
    };
    if let Some((in_table, near)) = guess(table, key, keys) {
        hint = match (near == key, in_table == table) {
            (true, _) => format!("{key} belongs under [{prefix}{in_table}]"),
            (false, true) => format!("did you mean {near}?"),
            (false, false) => format!("did you mean {near} under [{prefix}{in_table}]?"),
        };
        asked.refused.push(format!("{in_table}.{near}"));
    }
    let problem = Problem::new(place, format!("unknown key {}", shorten(key)));
    asked.problems.push(problem.hint(hint));
}

/// The best guess at what an unknown key was meant for, with its table: the same word in another
/// table, a near word in its own, then in another.
fn guess(own: &str, key: &str, keys: &Keys) -> Option<(&'static str, &'static str)> {
    let near = |(table, known): &(&'static str, Vec<&'static str>)| {
        let name = suggest::nearest(key, known).or_else(|| suggest::other_name(key, known))?;
        Some((*table, name))
    };
    let same = |(table, known): &(&'static str, Vec<&'static str>)| {
        let name = known.iter().find(|known| **known == key)?;
        Some((*table, *name))
    };
    keys.iter()
        .find_map(same)
        .or_else(|| keys.iter().find(|(table, _)| *table == own).and_then(near))
        .or_else(|| keys.iter().find_map(near))
}

#[cfg(test)]
pub(crate) fn known_keys() -> Keys {
    let source = Source { file: "", text: "" };
    read(source, &DeTable::new()).1
}

#[cfg(test)]
mod tests;
