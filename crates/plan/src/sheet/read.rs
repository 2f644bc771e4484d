//! A price sheet's text, read to the end whatever is wrong in it.
//!
//! In: TOML text and the name of its file. Out: what is written, each value with its place, and every
//! problem of its form. Must never: compare values with each other, which is `check`'s.

use super::date::wrong_part;
use super::{AsOf, Per};
use crate::asked::{Given, Placed};
use crate::duration::shorten;
use crate::problem::{Place, Problem, Problems};
use crate::section::{Section, Source};
use crate::suggest;
use toml::de::{DeTable, DeValue};

/// What is written in a sheet.
#[derive(Default)]
pub(super) struct Written {
    pub example: Given<bool>,
    pub configurations: Vec<WrittenConfiguration>,
    pub problems: Vec<Problem>,
    /// Something was not read: what is missing then may be its echo.
    pub refused: bool,
}

/// One `[[configuration]]`.
pub(super) struct WrittenConfiguration {
    pub place: Place,
    pub name: Given<String>,
    pub runs: Vec<String>,
    pub items: Vec<WrittenItem>,
    /// Keys that were given and could not be read.
    pub refused: Vec<String>,
}

/// One `[[configuration.item]]`, what it does not say filled in from its configuration and its sheet.
pub(super) struct WrittenItem {
    pub place: Place,
    pub name: Given<String>,
    pub quantity: Given<f64>,
    pub unit_price: Given<f64>,
    pub per: Given<Per>,
    pub usage: Given<f64>,
    pub discount_percent: Given<f64>,
    pub replicas: Given<u64>,
    pub general: General,
    pub refused: Vec<String>,
}

/// What may stand once for many items.
#[derive(Clone, Default)]
pub(super) struct General {
    pub currency: Given<String>,
    pub region: Given<String>,
    pub term: Given<String>,
    pub as_of: Given<AsOf>,
    pub source: Given<String>,
    pub entered_by: Given<String>,
    /// Keys of these that were given and could not be read.
    pub refused: Vec<String>,
}

impl General {
    fn of(section: &mut Section<'_, '_>) -> General {
        General {
            currency: section.text("currency"),
            region: section.text("region"),
            term: section.text("term"),
            as_of: date(section),
            source: section.text("source"),
            entered_by: section.text("entered_by"),
            refused: refused(section),
        }
    }

    /// Its own values, and those of the table above for the others.
    fn or(self, above: &General) -> General {
        let refused = self.refused.iter().chain(&above.refused).cloned();
        General {
            currency: self.currency.or_else(|| above.currency.clone()),
            region: self.region.or_else(|| above.region.clone()),
            term: self.term.or_else(|| above.term.clone()),
            as_of: self.as_of.or_else(|| above.as_of.clone()),
            source: self.source.or_else(|| above.source.clone()),
            entered_by: self.entered_by.or_else(|| above.entered_by.clone()),
            refused: refused.collect(),
        }
    }
}

/// Keys of a table that were given in a form that could not be read, or misspelt: what is missing there
/// is no problem of its own.
fn refused(section: &Section<'_, '_>) -> Vec<String> {
    let last = |path: &String| path.rsplit('.').next().unwrap_or(path).to_owned();
    let mut keys: Vec<String> = section.refused.iter().map(last).collect();
    for (key, _, _) in section.others() {
        let meant = suggest::nearest(key, &section.known);
        keys.extend(meant.map(str::to_owned));
    }
    keys
}

/// Reads a sheet's text.
///
/// # Errors
/// Where the text is not TOML: that one problem, since nothing behind it can be trusted.
pub(super) fn read(file: &str, text: &str) -> Result<Written, Problems> {
    let source = Source { file, text };
    let root = source.root("plans/prices has an example")?;
    let root = root.get_ref();
    let mut written = Written::default();
    let general = head(source, root, &mut written);
    for (table, name, place) in tables(source, root, "", "configuration", &mut written) {
        configuration(source, table, &name, place, &general, &mut written);
    }
    for (key, value) in root {
        let name = key.get_ref().as_ref();
        if name != "sheet" && name != "configuration" {
            let place = source.place(key.span().start, name);
            let kind = if value.get_ref().is_table() || value.get_ref().is_array() {
                "table"
            } else {
                "key"
            };
            let problem = Problem::new(place, format!("unknown {kind} {}", shorten(name)));
            let hint = match suggest::nearest(name, &["sheet", "configuration"]) {
                Some("sheet") => "did you mean [sheet]?".to_owned(),
                Some(_) => "did you mean [[configuration]]?".to_owned(),
                None => "a price sheet has [sheet] and [[configuration]]".to_owned(),
            };
            written.problems.push(problem.hint(hint));
            written.refused = true;
        }
    }
    Ok(written)
}

fn section<'a, 'i>(
    source: Source<'a>,
    name: &'static str,
    written: String,
    table: Option<&'a DeTable<'i>>,
) -> Section<'a, 'i> {
    Section {
        source,
        name,
        written,
        table,
        known: Vec::new(),
        problems: Vec::new(),
        refused: Vec::new(),
    }
}

fn head(source: Source<'_>, root: &DeTable<'_>, written: &mut Written) -> General {
    let value = root.iter().find(|(key, _)| key.get_ref() == "sheet");
    let table = value.and_then(|(_, value)| value.get_ref().as_table());
    if let (Some((_, value)), None) = (value, table) {
        let place = source.place(value.span().start, "sheet");
        let hint = "write [sheet] on a line of its own, and its keys below";
        let problem = Problem::new(place, "must be a table");
        written.problems.push(problem.hint(hint));
        written.refused = true;
    }
    let mut head = section(source, "sheet", "sheet".to_owned(), table);
    written.example = head.truth("example");
    let general = General::of(&mut head);
    close(head, written);
    general
}

fn configuration(
    source: Source<'_>,
    table: &DeTable<'_>,
    name: &str,
    place: Place,
    above: &General,
    written: &mut Written,
) {
    let mut own = section(source, "configuration", name.to_owned(), Some(table));
    let title = own.text("name");
    let runs = texts(&mut own, "runs");
    let general = General::of(&mut own).or(above);
    own.known.push("item");
    let refused = refused(&own);
    close(own, written);
    let mut items = Vec::new();
    for (table, name, place) in tables(source, table, name, "item", written) {
        items.push(item(source, table, name, place, &general, written));
    }
    written.configurations.push(WrittenConfiguration {
        place,
        name: title,
        runs,
        items,
        refused,
    });
}

fn item(
    source: Source<'_>,
    table: &DeTable<'_>,
    name: String,
    place: Place,
    above: &General,
    written: &mut Written,
) -> WrittenItem {
    let mut own = section(source, "item", name, Some(table));
    let item = WrittenItem {
        place,
        name: own.text("name"),
        quantity: own.number("quantity"),
        unit_price: own.number("unit_price"),
        per: own.choice("per"),
        usage: own.number("usage"),
        discount_percent: own.number("discount_percent"),
        replicas: own.whole("replicas"),
        general: General::of(&mut own).or(above),
        refused: refused(&own),
    };
    close(own, written);
    item
}

/// Takes over what a table's reading has found, and names the keys that it may not have.
fn close(section: Section<'_, '_>, written: &mut Written) {
    for (key, offset, _) in section.others() {
        let place = section
            .source
            .place(offset, format!("{}.{key}", section.written));
        let problem = Problem::new(place, format!("unknown key {}", shorten(key)));
        let hint = match suggest::nearest(key, &section.known) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("[{}] has {}", section.name, section.known.join(", ")),
        };
        written.problems.push(problem.hint(hint));
    }
    written.problems.extend(section.problems);
}

/// The tables of an array of tables, each with its path, counted from 1, and its place.
fn tables<'a, 'i>(
    source: Source<'a>,
    within: &'a DeTable<'i>,
    path: &str,
    name: &'static str,
    written: &mut Written,
) -> Vec<(&'a DeTable<'i>, String, Place)> {
    let Some((_, value)) = within.iter().find(|(key, _)| key.get_ref() == name) else {
        return Vec::new();
    };
    let dot = if path.is_empty() { "" } else { "." };
    let list = value.get_ref().as_array();
    let mut found = Vec::new();
    let mut wrong = list.is_none().then(|| value.span().start);
    for (number, entry) in (1..).zip(list.into_iter().flat_map(|list| list.iter())) {
        let name = format!("{path}{dot}{name}[{number}]");
        let offset = entry.span().start;
        match entry.get_ref().as_table() {
            Some(table) => found.push((table, name.clone(), source.place(offset, name))),
            None => wrong = Some(offset),
        }
    }
    if let Some(offset) = wrong {
        let place = source.place(offset, format!("{path}{dot}{name}"));
        let plain = match name {
            "item" => "configuration.item",
            other => other,
        };
        let hint = format!("write [[{plain}]], with two brackets, above each");
        let problem = Problem::new(place, "must be a list of tables");
        written.problems.push(problem.hint(hint));
        written.refused = true;
    }
    found
}

/// A list of texts.
fn texts(section: &mut Section<'_, '_>, key: &'static str) -> Vec<String> {
    let Some((value, place)) = section.take(key) else {
        return Vec::new();
    };
    let list = value.as_array().map(|list| {
        let texts = list.iter().map(|entry| entry.get_ref().as_str());
        texts.map(|text| text.map(str::to_owned)).collect()
    });
    match list {
        Some(Some(texts)) => texts,
        _ => {
            let hint = format!("write {key} = [\"20261120-2333\", \"20261120-2345\"]");
            let problem = Problem::new(place, "must be a list of texts").hint(hint);
            section.refuse(key, problem);
            Vec::new()
        }
    }
}

/// The date of a price: a day, or a text where only the month or the year is known.
fn date(section: &mut Section<'_, '_>) -> Given<AsOf> {
    let key = "as_of";
    let (value, place) = section.take(key)?;
    let date = match value {
        DeValue::Datetime(moment) => moment
            .date
            .and_then(|date| AsOf::day(date.year.into(), date.month, date.day)),
        DeValue::String(text) => AsOf::parse(text),
        _ => None,
    };
    match date {
        Some(value) => Some(Placed { value, place }),
        None => {
            let wrong = value.as_str().and_then(wrong_part);
            let message = wrong.unwrap_or_else(|| "must be a date from 1970 on".to_owned());
            let problem = Problem::new(place, message);
            let hint =
                "write as_of = 2026-11-20, or \"2026-11\", or \"2026\" where no more is known";
            section.refuse(key, problem.hint(hint));
            None
        }
    }
}
