//! Reads a plan file completely, even if it has mistakes.
//!
//! The result is a [`PlanInput`] with every problem; if the text is not TOML, only that problem. No line of
//! the text is ever quoted, since it may contain a URL with a password.

use crate::duration::shorten;
use crate::experiment::{MAX_VARIANTS, VariantInput};
use crate::input::{FileInput, Located, PlanInput};
use crate::problem::{InputLocation, MAX_PROBLEMS, Problem, Problems};
use crate::section::{Entry, Positions, Section, Source};
use crate::settings::{Setting, TABLES, VARIANT_SETTINGS, VARIANT_TABLES, settings_of_table};
use crate::suggest;
use crate::transaction_files::TRANSACTIONS;
use serde::Deserialize;
use toml::de::{DeTable, ValueDeserializer};

mod sweep;

const VARIANTS: &str = "variants";
const SWEEP: &str = "sweep";

/// The tables of one level: those of the plan, or those of a variant.
#[derive(Clone, Copy)]
struct TableLevel<'a> {
    /// Prefix of the tables' names: empty, or `variants.NAME.`.
    prefix: &'a str,
    /// Valid names of tables, without the prefix.
    tables: &'a [&'static str],
}

impl PlanInput {
    /// Reads a plan file's text. `file` is its name for messages, as the user wrote it.
    ///
    /// Unknown keys and values of a wrong type are stored for [`PlanInput::check`], which reports all
    /// problems together.
    ///
    /// # Errors
    /// If the text is not TOML: only that problem, since the remaining text cannot be interpreted.
    pub fn from_toml(file: &str, text: &str) -> Result<Self, Problems> {
        let positions = Positions::of(text);
        let source = Source::new(file, text, &positions);
        let root = source.parse_root("`prony plan schema` prints the format")?;
        Ok(read_plan(source, root.get_ref()))
    }
}

fn read_plan<'a>(source: Source<'a>, root: &'a DeTable<'_>) -> PlanInput {
    let mut tables = TABLES.map(|(name, _)| name).to_vec();
    tables.extend([VARIANTS, SWEEP]);
    let level = TableLevel {
        prefix: "",
        tables: &tables,
    };
    let mut input = read_tables(source, root, level);
    read_variants(source, root, level, &mut input);
    sweep::read_sweep(source, root, level, &mut input);
    input
}

/// The valid keys of a table.
fn known_keys(table: &str) -> Vec<&'static str> {
    settings_of_table(table).map(Setting::key).collect()
}

/// Reads the variants. Each is like a plan in which every table is optional.
fn read_variants(
    source: Source<'_>,
    root: &DeTable<'_>,
    level: TableLevel<'_>,
    input: &mut PlanInput,
) {
    let variants = find_table(source, root, VARIANTS, level);
    let mut entries = variants.unread_entries();
    // `check` reports the first one beyond the limit; reading all others would take long for nothing.
    entries.truncate(MAX_VARIANTS + 1);
    input.file.has_experiment |= variants.table.is_some();
    input.file.problems.extend(variants.problems);
    if variants.table.is_some() && entries.is_empty() {
        let key = root.keys().find(|key| *key.get_ref() == variants.path);
        let offset = key.map_or(0, |key| key.span().start);
        let problem = Problem::new(source.location(offset, VARIANTS), "has no variant");
        input.file.problems.push(problem.with_hint(
            "an experiment compares at least two, such as [variants.base] and [variants.new.run]; \
             without [variants] the plan itself is run",
        ));
    }
    for Entry { key, offset, value } in entries {
        let path = format!("{}.{key}", variants.path);
        let location = source.location(offset, path.clone());
        let Some(table) = value.get_ref().as_table() else {
            let hint =
                "a variant is a table, such as [variants.new.run] with the changed keys below";
            let problem = Problem::new(location, "must be a table");
            input.file.problems.push(problem.with_hint(hint));
            continue;
        };
        let prefix = format!("{path}.");
        let mut tables = VARIANT_TABLES.to_vec();
        tables.push(VARIANT_SETTINGS);
        let level = TableLevel {
            prefix: &prefix,
            tables: &tables,
        };
        let value = key.to_owned();
        input.variants.push(VariantInput {
            name: Located { value, location },
            input: read_tables(source, table, level),
            ..VariantInput::default()
        });
    }
}

fn read_tables<'a>(source: Source<'a>, root: &'a DeTable<'_>, level: TableLevel<'_>) -> PlanInput {
    let mut input = PlanInput {
        file: FileInput {
            name: Some(source.file().to_owned()),
            ..FileInput::default()
        },
        ..PlanInput::default()
    };
    let settings = level
        .tables
        .iter()
        .filter(|name| ![VARIANTS, SWEEP, VARIANT_SETTINGS].contains(name));
    for name in settings.copied() {
        let mut section = find_table(source, root, name, level);
        input.read_section(&mut section);
        match name {
            "workload" => read_options(&section, &mut input, level),
            _ => {
                for (index, entry) in section.unread_entries().into_iter().enumerate() {
                    let key = KeyOfTable {
                        table: name,
                        key: entry.key,
                    };
                    let path = format!("{}.{}", section.path, entry.key);
                    let location = source.location(entry.offset, path);
                    report_unknown_key(&mut input, location, key, level, index);
                }
            }
        }
        input.file.has_experiment |= name == "experiment" && section.table.is_some();
        input.file.problems.extend(section.problems);
        input.file.rejected_keys.extend(section.rejected_keys);
    }
    if level.tables.contains(&VARIANT_SETTINGS) {
        read_variant_settings(source, root, level, &mut input);
    }
    let mut unknown: Vec<_> = root
        .iter()
        .filter(|(key, _)| !level.tables.contains(&key.get_ref().as_ref()))
        .collect();
    unknown.sort_by_key(|(key, _)| key.span().start);
    for (index, (key, value)) in unknown.into_iter().enumerate() {
        let name = key.get_ref().as_ref();
        let location = source.location(key.span().start, format!("{}{name}", level.prefix));
        if value.get_ref().is_table() {
            input
                .file
                .problems
                .push(unknown_table_problem(location, name, level, index));
        } else {
            let key = KeyOfTable {
                table: "",
                key: name,
            };
            report_unknown_key(&mut input, location, key, level, index);
        }
    }
    input
}

/// Reads `[variants.NAME.settings]`, which are settings of the server.
fn read_variant_settings(
    source: Source<'_>,
    root: &DeTable<'_>,
    level: TableLevel<'_>,
    input: &mut PlanInput,
) {
    let mut section = find_table(source, root, VARIANT_SETTINGS, level);
    if let Some(table) = section.table {
        let path = section.path.clone();
        let value = section.read_server_setting_table(VARIANT_SETTINGS, &path, table);
        let key = root.keys().find(|key| key.get_ref() == VARIANT_SETTINGS);
        let offset = key.map_or(0, |key| key.span().start);
        let location = source.location(offset, path);
        match &mut input.settings {
            Some(settings) => settings.value.extend(&value),
            None => input.settings = Some(Located { value, location }),
        }
    }
    input.file.problems.extend(section.problems);
}

/// Finds a table by its name, or by a misspelling of the name, so that the content of a misspelt table is
/// checked too.
fn find_table<'a, 'i>(
    source: Source<'a>,
    root: &'a DeTable<'i>,
    name: &'static str,
    level: TableLevel<'_>,
) -> Section<'a, 'i> {
    let exact_match = root.iter().find(|(key, _)| key.get_ref() == name);
    let entry = exact_match.or_else(|| {
        let unknown_tables = root.iter().filter(|(key, value)| {
            value.get_ref().is_table() && !level.tables.contains(&key.get_ref().as_ref())
        });
        unknown_tables
            .take(MAX_PROBLEMS)
            .find(|(key, _)| suggest::nearest(key.get_ref(), level.tables) == Some(name))
    });
    let mut section = Section::new(source, name, format!("{}{name}", level.prefix), None);
    if let Some((key, value)) = entry {
        section.path = format!("{}{}", level.prefix, key.get_ref());
        section.table = value.get_ref().as_table();
        if section.table.is_none() {
            let path = &section.path;
            let location = source.location(value.span().start, path.clone());
            let hint = format!("write [{path}] on a line of its own, and its keys below");
            let problem = Problem::new(location, "must be a table").with_hint(hint);
            section.problems.push(problem);
            section.rejected_keys.push(name.to_owned());
        }
    }
    section
}

/// Reads the options of the workload: every unknown key of `[workload]` is an option, which the workload
/// checks. Only keys that clearly belong to a different table are rejected here.
fn read_options(workload: &Section<'_, '_>, input: &mut PlanInput, level: TableLevel<'_>) {
    for Entry { key, offset, value } in workload.unread_entries() {
        let path = format!("{}.{key}", workload.path);
        let location = workload.source.location(offset, path.clone());
        // A workload may have options with the same names as keys of `[experiment]`.
        let mut other_tables = ["server", "run", "observe"].into_iter();
        let other_table = other_tables
            .find(|table| level.tables.contains(table) && known_keys(table).contains(&key));
        // The number of transactions of a run is no list; the transactions of a workload are one.
        let is_list = value.get_ref().as_array().is_some();
        let are_transactions = is_list && key == TRANSACTIONS;
        if let Some(table) = other_table.filter(|_| !are_transactions) {
            let problem = Problem::new(location, format!("{key} is not an option of a workload"));
            let hint = format!("it belongs under [{}{table}]", level.prefix);
            input.file.problems.push(problem.with_hint(hint));
            input.file.rejected_keys.push(format!("{table}.{key}"));
            continue;
        }
        let is_like = |name| strsim::osa_distance(key, name) <= 1;
        let misspelt = if input.workload.is_none() && is_like("name") {
            Some("name")
        } else if input.scale.is_none() && is_like("scale") {
            Some("scale")
        } else {
            None
        };
        if let Some(name) = misspelt {
            let problem = Problem::new(location, format!("unknown key {key}"));
            input
                .file
                .problems
                .push(problem.with_hint(format!("did you mean {name}?")));
            input.file.rejected_keys.push(format!("workload.{name}"));
            continue;
        }
        let location = workload.source.location(value.span().start, path);
        match toml::Value::deserialize(ValueDeserializer::from(value.clone())) {
            Ok(value) => {
                input
                    .options
                    .insert(key.to_owned(), Located { value, location });
            }
            Err(error) => input
                .file
                .problems
                .push(Problem::new(location, error.message())),
        }
    }
}

/// The problem of a table that no plan has. `index`: how many such problems stand before this one.
fn unknown_table_problem(
    location: InputLocation,
    name: &str,
    level: TableLevel<'_>,
    index: usize,
) -> Problem {
    let problem = Problem::new(location, format!("unknown table [{}{name}]", level.prefix));
    if index > MAX_PROBLEMS {
        return problem;
    }
    match suggest::nearest(name, level.tables) {
        Some(similar) => problem.with_hint(format!("did you mean [{}{similar}]?", level.prefix)),
        None => problem.with_hint(level.valid_tables()),
    }
}

impl TableLevel<'_> {
    /// The hint that lists the valid tables.
    fn valid_tables(&self) -> String {
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

/// A key of a plan file.
#[derive(Clone, Copy, PartialEq)]
struct KeyOfTable<'a> {
    /// The name of its table; empty for a key above all tables.
    table: &'a str,
    key: &'a str,
}

/// Reports an unknown key. The key that was probably meant is marked as rejected, so that it does not
/// count as missing. `index`: how many unknown keys of the table stand before this one. Of many, only the first are shown,
/// and only these get a hint: it costs more than all the rest of reading a plan.
fn report_unknown_key(
    input: &mut PlanInput,
    location: InputLocation,
    unknown: KeyOfTable<'_>,
    level: TableLevel<'_>,
    index: usize,
) {
    let KeyOfTable { table, key } = unknown;
    let problem = Problem::new(location, format!("unknown key {}", shorten(key)));
    if index > MAX_PROBLEMS {
        input.file.problems.push(problem);
        return;
    }
    let prefix = level.prefix;
    let mut hint = match table {
        "" => level.valid_tables(),
        _ => format!("[{prefix}{table}] has {}", known_keys(table).join(", ")),
    };
    if let Some(meant) = suggest_key(unknown, level) {
        hint = if meant.key == key {
            format!("{key} belongs under [{prefix}{}]", meant.table)
        } else if meant.table == table {
            format!("did you mean {}?", meant.key)
        } else {
            format!(
                "did you mean {} under [{prefix}{}]?",
                meant.key, meant.table
            )
        };
        let path = format!("{}.{}", meant.table, meant.key);
        input.file.rejected_keys.push(path);
    }
    input.file.problems.push(problem.with_hint(hint));
}

/// The key that was probably meant by an unknown key: the same key in another table, otherwise a similar key in
/// the same table, otherwise a similar key in another table.
fn suggest_key(unknown: KeyOfTable<'_>, level: TableLevel<'_>) -> Option<KeyOfTable<'static>> {
    let key = unknown.key;
    for table in level.tables.iter().copied() {
        if let Some(key) = known_keys(table).into_iter().find(|name| *name == key) {
            return Some(KeyOfTable { table, key });
        }
    }
    let similar_key = |table: &&'static str| {
        let keys = known_keys(table);
        let key = suggest::nearest(key, &keys).or_else(|| suggest::name_for_term(key, &keys))?;
        Some(KeyOfTable { table, key })
    };
    let mut tables = level.tables.iter();
    let same_table = tables.find(|table| **table == unknown.table);
    same_table
        .and_then(similar_key)
        .or_else(|| level.tables.iter().find_map(similar_key))
}

#[cfg(test)]
mod tests;
