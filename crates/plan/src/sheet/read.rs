//! Reads a price sheet completely, even if it has mistakes.
//!
//! The result is each value with its location, and every syntax or type problem. `check` compares values with
//! each other.

use super::date::calendar_error;
use super::{BillingPeriod, PriceDate};
use crate::duration::shorten;
use crate::input::{InputValue, Located};
use crate::problem::{InputLocation, MAX_PROBLEMS, Problem, Problems};
use crate::section::{Positions, Section, Source};
use crate::suggest;
use toml::de::{DeTable, DeValue};

/// The content of a sheet.
#[derive(Default)]
pub(super) struct SheetInput {
    pub example: InputValue<bool>,
    pub configurations: Vec<ConfigurationInput>,
    pub problems: Vec<Problem>,
    /// Whether a table could not be read; missing tables may then be a consequence, and are not reported.
    pub has_rejected_tables: bool,
}

/// The content of one `[[configuration]]`.
pub(super) struct ConfigurationInput {
    pub location: InputLocation,
    pub name: InputValue<String>,
    pub runs: Vec<String>,
    pub items: Vec<ItemInput>,
    /// Keys that were given but could not be read; they do not count as missing.
    pub rejected_keys: Vec<String>,
}

/// The content of one `[[configuration.item]]`, with missing shared values filled in from its
/// configuration and its sheet.
pub(super) struct ItemInput {
    pub location: InputLocation,
    pub name: InputValue<String>,
    pub quantity: InputValue<f64>,
    pub unit_price: InputValue<f64>,
    pub per: InputValue<BillingPeriod>,
    pub usage: InputValue<f64>,
    pub discount_percent: InputValue<f64>,
    pub replicas: InputValue<u64>,
    pub common: SharedValues,
    /// As in a configuration.
    pub rejected_keys: Vec<String>,
}

/// Texts that may be given once for many items, each with the hint to show if it is missing. The first is the currency
/// ([`SharedValues::currency`]).
pub(super) const SHARED_KEYS: [(&str, &str); 5] = [
    ("currency", "a price needs a currency: currency = \"EUR\""),
    (
        "region",
        "prices differ by region: region = \"eu-central-1\"",
    ),
    (
        "term",
        "state the commitment: term = \"on demand\" or \"1 year\"",
    ),
    (
        "source",
        "state where the price is published: source = \"https://…\"",
    ),
    (
        "entered_by",
        "state who entered the price: entered_by = \"dba\"",
    ),
];

/// Values that may be given once for many items.
#[derive(Clone, Default)]
pub(super) struct SharedValues {
    /// In the order of [`SHARED_KEYS`].
    pub texts: [InputValue<String>; 5],
    pub as_of: InputValue<PriceDate>,
    /// The keys among these that were given but could not be read.
    pub rejected_keys: Vec<String>,
}

impl SharedValues {
    pub fn currency(&self) -> &InputValue<String> {
        &self.texts[0]
    }

    fn read(section: &mut Section<'_, '_>) -> SharedValues {
        SharedValues {
            texts: SHARED_KEYS.map(|(key, _)| section.read_text(key)),
            as_of: read_date(section),
            rejected_keys: rejected_keys(section),
        }
    }

    /// Fills in missing values from the enclosing table.
    fn or_enclosing(mut self, enclosing: &SharedValues) -> SharedValues {
        for (text, enclosing) in self.texts.iter_mut().zip(&enclosing.texts) {
            *text = text.take().or_else(|| enclosing.clone());
        }
        self.as_of = self.as_of.or_else(|| enclosing.as_of.clone());
        self.rejected_keys
            .extend(enclosing.rejected_keys.iter().cloned());
        self
    }
}

/// Keys of a table that could not be read or were misspelt, so that they are not also reported as missing.
fn rejected_keys(section: &Section<'_, '_>) -> Vec<String> {
    let last_segment = |path: &String| path.rsplit('.').next().unwrap_or(path).to_owned();
    let mut keys: Vec<String> = section.rejected_keys.iter().map(last_segment).collect();
    for entry in section.unread_entries() {
        // Each once: the items of a sheet repeat these keys.
        if let Some(similar) = suggest::nearest(entry.key, &section.valid_keys)
            && !keys.iter().any(|key| key == similar)
        {
            keys.push(similar.to_owned());
        }
    }
    keys
}

/// Reads a sheet's text.
///
/// # Errors
/// If the text is not TOML: only that problem, since the remaining text cannot be interpreted.
pub(super) fn read(file: &str, text: &str) -> Result<SheetInput, Problems> {
    let positions = Positions::of(text);
    let source = Source::new(file, text, &positions);
    let root = source.parse_root("plans/prices has an example")?;
    let root = root.get_ref();
    let mut input = SheetInput::default();
    let common = read_sheet_table(source, root, &mut input);
    for listed in read_array_of_tables(source, root, "", "configuration", &mut input) {
        read_configuration(source, listed, &common, &mut input);
    }
    for (key, value) in root {
        let name = key.get_ref().as_ref();
        if name != "sheet" && name != "configuration" {
            let location = source.location(key.span().start, name);
            let kind = if value.get_ref().is_table() || value.get_ref().is_array() {
                "table"
            } else {
                "key"
            };
            let problem = Problem::new(location, format!("unknown {kind} {}", shorten(name)));
            let hint = match suggest::nearest(name, &["sheet", "configuration"]) {
                Some("sheet") => "did you mean [sheet]?".to_owned(),
                Some(_) => "did you mean [[configuration]]?".to_owned(),
                None => "a price sheet has [sheet] and [[configuration]]".to_owned(),
            };
            input.problems.push(problem.with_hint(hint));
            input.has_rejected_tables = true;
        }
    }
    Ok(input)
}

/// Reads `[sheet]`: the values for all items.
fn read_sheet_table(
    source: Source<'_>,
    root: &DeTable<'_>,
    input: &mut SheetInput,
) -> SharedValues {
    let value = root.iter().find(|(key, _)| key.get_ref() == "sheet");
    let table = value.and_then(|(_, value)| value.get_ref().as_table());
    if let (Some((_, value)), None) = (value, table) {
        let location = source.location(value.span().start, "sheet");
        let hint = "write [sheet] on a line of its own, and its keys below";
        let problem = Problem::new(location, "must be a table");
        input.problems.push(problem.with_hint(hint));
        input.has_rejected_tables = true;
    }
    let mut section = Section::new(source, "sheet", "sheet".to_owned(), table);
    input.example = section.read_bool("example");
    let common = SharedValues::read(&mut section);
    report_problems(section, input);
    common
}

fn read_configuration(
    source: Source<'_>,
    listed: ListedTable<'_, '_>,
    enclosing: &SharedValues,
    input: &mut SheetInput,
) {
    let ListedTable {
        table,
        path,
        location,
    } = listed;
    let mut section = Section::new(source, "configuration", path.clone(), Some(table));
    let name = section.read_text("name");
    let runs = read_texts(&mut section, "runs");
    let common = SharedValues::read(&mut section).or_enclosing(enclosing);
    section.valid_keys.push("item");
    let rejected_keys = rejected_keys(&section);
    report_problems(section, input);
    let mut items = Vec::new();
    for item in read_array_of_tables(source, table, &path, "item", input) {
        items.push(read_item(source, item, &common, input));
    }
    input.configurations.push(ConfigurationInput {
        location,
        name,
        runs,
        items,
        rejected_keys,
    });
}

fn read_item(
    source: Source<'_>,
    listed: ListedTable<'_, '_>,
    enclosing: &SharedValues,
    input: &mut SheetInput,
) -> ItemInput {
    let mut section = Section::new(source, "item", listed.path, Some(listed.table));
    let item = ItemInput {
        location: listed.location,
        name: section.read_text("name"),
        quantity: section.read_number("quantity"),
        unit_price: section.read_number("unit_price"),
        per: section.read_choice("per"),
        usage: section.read_number("usage"),
        discount_percent: section.read_number("discount_percent"),
        replicas: section.read_whole_number("replicas"),
        common: SharedValues::read(&mut section).or_enclosing(enclosing),
        rejected_keys: rejected_keys(&section),
    };
    report_problems(section, input);
    item
}

/// Collects the problems of a table, and reports its unknown keys.
fn report_problems(section: Section<'_, '_>, input: &mut SheetInput) {
    for (index, entry) in section.unread_entries().into_iter().enumerate() {
        let key = entry.key;
        let path = format!("{}.{key}", section.path);
        let location = section.source.location(entry.offset, path);
        let problem = Problem::new(location, format!("unknown key {}", shorten(key)));
        // A hint costs a comparison with every valid key, and nobody reads so many.
        if index > MAX_PROBLEMS {
            input.problems.push(problem);
            continue;
        }
        let hint = match suggest::nearest(key, &section.valid_keys) {
            Some(similar) => format!("did you mean {similar}?"),
            None => format!("[{}] has {}", section.name, section.valid_keys.join(", ")),
        };
        input.problems.push(problem.with_hint(hint));
    }
    input.problems.extend(section.problems);
}

/// A table of an array of tables.
struct ListedTable<'a, 'i> {
    table: &'a DeTable<'i>,
    /// Such as `configuration[1].item[2]`.
    path: String,
    location: InputLocation,
}

/// Reads the array of tables `name` of the table at `path`, which is empty for the whole file.
fn read_array_of_tables<'a, 'i>(
    source: Source<'a>,
    parent: &'a DeTable<'i>,
    path: &str,
    name: &'static str,
    input: &mut SheetInput,
) -> Vec<ListedTable<'a, 'i>> {
    let Some((_, value)) = parent.iter().find(|(key, _)| key.get_ref() == name) else {
        return Vec::new();
    };
    let dot = if path.is_empty() { "" } else { "." };
    let list = value.get_ref().as_array();
    let mut tables = Vec::new();
    // Where the last value is that is no table; without a list, the value itself.
    let mut wrong_offset = list.is_none().then(|| value.span().start);
    for (number, entry) in (1..).zip(list.into_iter().flat_map(|list| list.iter())) {
        let path = format!("{path}{dot}{name}[{number}]");
        let offset = entry.span().start;
        match entry.get_ref().as_table() {
            Some(table) => tables.push(ListedTable {
                table,
                location: source.location(offset, path.clone()),
                path,
            }),
            None => wrong_offset = Some(offset),
        }
    }
    if let Some(offset) = wrong_offset {
        let location = source.location(offset, format!("{path}{dot}{name}"));
        let full_name = match name {
            "item" => "configuration.item",
            name => name,
        };
        let hint = format!("write [[{full_name}]], with two brackets, above each");
        let problem = Problem::new(location, "must be a list of tables");
        input.problems.push(problem.with_hint(hint));
        input.has_rejected_tables = true;
    }
    tables
}

/// Reads a list of strings.
fn read_texts(section: &mut Section<'_, '_>, key: &'static str) -> Vec<String> {
    let Some((value, location)) = section.read_value(key) else {
        return Vec::new();
    };
    let texts = value.as_array().and_then(|list| {
        let texts = list.iter().map(|entry| entry.get_ref().as_str());
        texts.map(|text| text.map(str::to_owned)).collect()
    });
    texts.unwrap_or_else(|| {
        let hint = format!("write {key} = [\"20261120-2333\", \"20261120-2345\"]");
        let problem = Problem::new(location, "must be a list of strings").with_hint(hint);
        section.reject(key, problem);
        Vec::new()
    })
}

/// Reads the date of a price: a TOML date, or a text if only the month or the year is known.
fn read_date(section: &mut Section<'_, '_>) -> InputValue<PriceDate> {
    let key = "as_of";
    let (value, location) = section.read_value(key)?;
    let date = match value {
        DeValue::Datetime(date_time) => date_time.date.and_then(|date| {
            PriceDate::from_year_month_day(date.year.into(), date.month, date.day)
        }),
        DeValue::String(text) => PriceDate::parse(text),
        _ => None,
    };
    match date {
        Some(value) => Some(Located { value, location }),
        None => {
            let wrong_part = value.as_str().and_then(calendar_error);
            let message = wrong_part.unwrap_or_else(|| "must be a date from 1970 on".to_owned());
            let problem = Problem::new(location, message);
            let hint =
                "write as_of = 2026-11-20, or \"2026-11\", or \"2026\" if the day is not known";
            section.reject(key, problem.with_hint(hint));
            None
        }
    }
}
