//! A plan file's text, read to the end whatever is wrong in it.
//!
//! In: TOML text and the name of its file. Out: an [`Asked`] that carries every problem found; or,
//! for a text that is no TOML at all, that one problem. Must never: quote a line of the text, since
//! a line may hold a URL with a password.

use crate::asked::{Asked, Placed};
use crate::duration::shorten;
use crate::problem::{Place, Problem, Problems};
use crate::section::{Section, Source};
use crate::suggest;
use serde::Deserialize;
use toml::de::{DeTable, ValueDeserializer};

/// The tables of a plan file.
const TABLES: [&str; 4] = ["server", "workload", "run", "observe"];

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
        let root = DeTable::parse(text).map_err(|error| {
            // The error's own text would quote the line.
            let offset = error.span().map_or(text.len(), |span| span.start);
            let message = format!("is not TOML: {}", error.message());
            let problem = Problem::new(source.place(offset, ""), message);
            Problems(vec![problem.hint(
                "the other problems show when the file can be read; a plan looks as in \
                 `prony plan schema`",
            )])
        })?;
        Ok(read(source, root.get_ref()).0)
    }
}

/// The keys that each table may have, in the order of [`TABLES`].
type Keys = [Vec<&'static str>; 4];

/// Reads all tables; also gives the keys that each may have.
fn read<'a>(source: Source<'a>, root: &'a DeTable<'_>) -> (Asked, Keys) {
    let mut asked = Asked {
        file: Some(source.file.to_owned()),
        ..Asked::default()
    };
    let [mut server, mut workload, mut run, mut observe] =
        TABLES.map(|name| open(source, root, name));
    read_server(&mut server, &mut asked);
    asked.workload = workload.text("name");
    asked.scale = workload.whole("scale");
    read_run(&mut run, &mut asked);
    read_observe(&mut observe, &mut asked);

    let keys = [&server, &workload, &run, &observe].map(|section| section.known.clone());
    read_options(&workload, &mut asked, &keys);
    for section in [server, workload, run, observe] {
        if section.name != "workload" {
            for (key, offset, _) in section.others() {
                let place = source.place(offset, format!("{}.{key}", section.written));
                unknown(&mut asked, place, section.name, key, &keys);
            }
        }
        asked.problems.extend(section.problems);
        asked.refused.extend(section.refused);
    }
    for (key, value) in root {
        let name = key.get_ref().as_ref();
        if TABLES.contains(&name) {
            continue;
        }
        let place = source.place(key.span().start, name);
        if value.get_ref().is_table() {
            asked.problems.push(unknown_table(place, name));
        } else {
            unknown(&mut asked, place, "", name, &keys);
        }
    }
    (asked, keys)
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
fn open<'a, 'i>(source: Source<'a>, root: &'a DeTable<'i>, name: &'static str) -> Section<'a, 'i> {
    let exact = root.iter().find(|(key, _)| key.get_ref() == name);
    let entry = exact.or_else(|| {
        root.iter().find(|(key, value)| {
            let key = key.get_ref().as_ref();
            let stray = value.get_ref().is_table() && !TABLES.contains(&key);
            stray && suggest::nearest(key, &TABLES) == Some(name)
        })
    });
    let mut section = Section {
        source,
        name,
        written: name.to_owned(),
        table: None,
        known: Vec::new(),
        problems: Vec::new(),
        refused: Vec::new(),
    };
    if let Some((key, value)) = entry {
        section.written = key.get_ref().to_string();
        section.table = value.get_ref().as_table();
        if section.table.is_none() {
            let place = source.place(value.span().start, name);
            let hint = format!("write [{name}] on a line of its own, and its keys below");
            let problem = Problem::new(place, "must be a table").hint(hint);
            section.problems.push(problem);
            section.refused.push(name.to_owned());
        }
    }
    section
}

/// Every other key of `[workload]` is an option of that workload, which checks it itself; only what
/// is clearly meant for another place is refused here.
fn read_options(workload: &Section<'_, '_>, asked: &mut Asked, keys: &Keys) {
    for (key, offset, value) in workload.others() {
        let path = format!("{}.{key}", workload.written);
        let place = workload.source.place(offset, path.clone());
        let elsewhere = [0, 2, 3]
            .into_iter()
            .find(|table| keys[*table].contains(&key));
        if let Some(table) = elsewhere {
            let problem = Problem::new(place, format!("{key} is not an option of a workload"));
            let hint = format!("it belongs under [{}]", TABLES[table]);
            asked.problems.push(problem.hint(hint));
            asked.refused.push(format!("{}.{key}", TABLES[table]));
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

fn unknown_table(place: Place, name: &str) -> Problem {
    let problem = Problem::new(place, format!("unknown table [{name}]"));
    match suggest::nearest(name, &TABLES) {
        Some(near) => problem.hint(format!("did you mean [{near}]?")),
        None => problem.hint(format!("a plan has [{}]", TABLES.join("], ["))),
    }
}

/// Refuses an unknown key, and the key that it may have been meant for.
fn unknown(asked: &mut Asked, place: Place, table: &str, key: &str, keys: &Keys) {
    let own = TABLES.iter().position(|name| *name == table);
    let mut hint = match own {
        Some(index) => format!("[{table}] has {}", keys[index].join(", ")),
        None => format!("a plan has [{}]", TABLES.join("], [")),
    };
    if let Some((index, near)) = guess(own, key, keys) {
        hint = match (near == key, Some(index) == own) {
            (true, _) => format!("{key} belongs under [{}]", TABLES[index]),
            (false, true) => format!("did you mean {near}?"),
            (false, false) => format!("did you mean {near} under [{}]?", TABLES[index]),
        };
        asked.refused.push(format!("{}.{near}", TABLES[index]));
    }
    let problem = Problem::new(place, format!("unknown key {}", shorten(key)));
    asked.problems.push(problem.hint(hint));
}

/// The best guess at what an unknown key was meant for, with the index of its table: the same word
/// in another table, a near word in its own, then in another.
fn guess(own: Option<usize>, key: &str, keys: &Keys) -> Option<(usize, &'static str)> {
    let near = |index: usize| {
        let known = &keys[index];
        let name = suggest::nearest(key, known).or_else(|| suggest::other_name(key, known))?;
        Some((index, name))
    };
    let same = |index: usize| {
        let name = keys[index].iter().find(|known| **known == key)?;
        Some((index, *name))
    };
    (0..TABLES.len())
        .find_map(same)
        .or_else(|| own.and_then(near))
        .or_else(|| (0..TABLES.len()).find_map(near))
}

#[cfg(test)]
pub(crate) fn known_keys() -> Vec<(&'static str, Vec<&'static str>)> {
    let source = Source { file: "", text: "" };
    let (_, keys) = read(source, &DeTable::new());
    TABLES.into_iter().zip(keys).collect()
}

#[cfg(test)]
mod tests;
