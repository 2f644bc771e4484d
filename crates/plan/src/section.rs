//! Reads one table of a plan file, key by key.
//!
//! The result is typed values with their locations, and a problem for each value of the wrong type. Reading
//! never stops at the first problem.

use crate::choice::Choice;
use crate::duration::{parse_duration, shorten};
use crate::input::{InputValue, Located};
use crate::problem::{InputLocation, Problem, Problems};
use crate::settings::fact_of_name;
use crate::suggest;
use crate::user_error::{ErrorParts, UserError};
use prony_document::{Declared, ServerSettings};
use std::str::FromStr;
use std::time::Duration;
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

/// The name and the text of a file; the text gives the lines and columns of locations.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    file: &'a str,
    text: &'a str,
    positions: &'a Positions,
}

/// Lines and columns of places in a text, in the order of their byte offsets: without them each of many locations would
/// read the text from its start.
pub(crate) struct Positions(Vec<Position>);

struct Position {
    offset: usize,
    line: usize,
    column: usize,
}

impl Positions {
    /// A long line has a position at each multiple of this number of characters.
    const DISTANCE: usize = 256;

    pub(crate) fn of(text: &str) -> Positions {
        let mut positions = vec![Position {
            offset: 0,
            line: 1,
            column: 1,
        }];
        let (mut line, mut column) = (1, 1);
        for (offset, character) in text.char_indices() {
            column += 1;
            if character == '\n' {
                (line, column) = (line + 1, 1);
            } else if column % Positions::DISTANCE != 0 {
                continue;
            }
            positions.push(Position {
                offset: offset + character.len_utf8(),
                line,
                column,
            });
        }
        Positions(positions)
    }

    /// The line and the column, in characters, of a byte of the text; both from 1.
    fn line_and_column(&self, text: &str, offset: usize) -> (usize, usize) {
        let next = self.0.partition_point(|position| position.offset <= offset);
        let nearest = &self.0[next.saturating_sub(1)];
        let between = text.get(nearest.offset..offset).unwrap_or_default();
        (nearest.line, nearest.column + between.chars().count())
    }
}

impl<'a> Source<'a> {
    /// `positions`: those of the text.
    pub(crate) fn new(file: &'a str, text: &'a str, positions: &'a Positions) -> Source<'a> {
        Source {
            file,
            text,
            positions,
        }
    }

    pub(crate) fn file(&self) -> &'a str {
        self.file
    }

    /// Parses the whole text as a table. `hint`: where to find a valid example.
    ///
    /// # Errors
    /// If the text is not TOML: only that problem, since the remaining text cannot be interpreted.
    pub(crate) fn parse_root(&self, hint: &str) -> Result<Spanned<DeTable<'a>>, Problems> {
        DeTable::parse(self.text).map_err(|error| {
            // The error's own text would quote the line.
            let offset = error.span().map_or(self.text.len(), |span| span.start);
            // The parser guesses by the first letter: t of `name = tpcb` begins `true`.
            let is_unquoted = ["invalid boolean", "invalid float, expected `", "string values must be quoted"]
                .iter()
                .any(|text| error.message().starts_with(text));
            let reason = if is_unquoted {
                "put text in double quotes"
            } else {
                error.message()
            };
            let message = format!("is not TOML: {reason}");
            let problem = Problem::new(self.location(offset, ""), message);
            // As in `\set` of a script.
            let hint = if error.message().contains("escape") {
                "a backslash between double quotes begins an escape: write the text between ''' and '''"
                    .to_owned()
            } else {
                format!("other problems are reported once the file can be parsed; {hint}")
            };
            Problems(vec![problem.with_hint(hint)])
        })
    }

    pub(crate) fn location(&self, offset: usize, key: impl Into<String>) -> InputLocation {
        InputLocation::File {
            file: self.file.to_owned(),
            line_and_column: Some(self.positions.line_and_column(self.text, offset)),
            key: key.into(),
        }
    }
}

/// What the entries of a table say of a server.
#[derive(Clone, Copy)]
enum EntryKind<'a> {
    /// Facts, except the entries with these keys.
    Fact { except: &'a [&'a str] },
    /// Settings, which may also be decimal numbers, booleans and tables.
    Setting,
}

/// A key of a table in a file, with its value.
pub(crate) struct Entry<'a, 'i> {
    pub(crate) key: &'a str,
    /// Where the key begins in the file.
    pub(crate) offset: usize,
    pub(crate) value: &'a Spanned<DeValue<'i>>,
}

/// A table and the keys that have been read from it.
pub(crate) struct Section<'a, 'i> {
    pub(crate) source: Source<'a>,
    /// Its name in the schema; the file may misspell it.
    pub(crate) name: &'static str,
    /// Its path in the file, such as `variants.new.run`.
    pub(crate) path: String,
    /// Absent if the file has no such table.
    pub(crate) table: Option<&'a DeTable<'i>>,
    /// The keys that the program has asked for so far; after all reads, the valid keys of the table.
    pub(crate) valid_keys: Vec<&'static str>,
    pub(crate) problems: Vec<Problem>,
    /// Paths of keys whose values could not be read.
    pub(crate) rejected_keys: Vec<String>,
}

impl<'a, 'i> Section<'a, 'i> {
    pub(crate) fn new(
        source: Source<'a>,
        name: &'static str,
        path: String,
        table: Option<&'a DeTable<'i>>,
    ) -> Section<'a, 'i> {
        Section {
            source,
            name,
            path,
            table,
            valid_keys: Vec::new(),
            problems: Vec::new(),
            rejected_keys: Vec::new(),
        }
    }

    /// Finds the value of a key, and records the key as valid.
    pub(crate) fn read_value(
        &mut self,
        key: &'static str,
    ) -> Option<(&'a DeValue<'i>, InputLocation)> {
        self.valid_keys.push(key);
        let table = self.table?;
        let (_, value) = table.iter().find(|(name, _)| name.get_ref() == key)?;
        let path = format!("{}.{key}", self.path);
        Some((
            value.get_ref(),
            self.source.location(value.span().start, path),
        ))
    }

    /// The entries that the program has not asked for, in the order of the file, which a parsed table loses.
    pub(crate) fn unread_entries(&self) -> Vec<Entry<'a, 'i>> {
        let mut unread = Vec::new();
        for (name, value) in self.table.into_iter().flatten() {
            let key = name.get_ref().as_ref();
            if !self.valid_keys.contains(&key) {
                let offset = name.span().start;
                unread.push(Entry { key, offset, value });
            }
        }
        unread.sort_by_key(|entry| entry.offset);
        unread
    }

    pub(crate) fn reject(&mut self, key: &str, problem: Problem) {
        self.rejected_keys.push(format!("{}.{key}", self.name));
        self.problems.push(problem);
    }

    /// Adds the problem that the value of a key has the wrong type.
    pub(crate) fn reject_wrong_type(
        &mut self,
        key: &str,
        location: InputLocation,
        expected: &str,
        value: &DeValue<'_>,
        hint: Option<String>,
    ) {
        let message = format!("must be {expected}, is {}", type_name(value));
        let problem = Problem::new(location, message);
        self.reject(key, Problem { hint, ..problem });
    }

    /// Reads a value that `convert` accepts; of any other one, the problem says what is `expected` and has a hint.
    fn read_as<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        convert: impl FnOnce(&DeValue<'i>) -> Option<T>,
        hint: impl FnOnce(&DeValue<'i>) -> Option<String>,
    ) -> InputValue<T> {
        let (value, location) = self.read_value(key)?;
        if let Some(value) = convert(value) {
            return Some(Located { value, location });
        }
        self.reject_wrong_type(key, location, expected, value, hint(value));
        None
    }

    pub(crate) fn read_text(&mut self, key: &'static str) -> InputValue<String> {
        let hint = |_: &DeValue<'i>| Some("put it in double quotes".to_owned());
        let text = |value: &DeValue<'i>| value.as_str().map(str::to_owned);
        self.read_as(key, "a string", text, hint)
    }

    /// Reads a whole number that is not negative.
    pub(crate) fn read_whole_number(&mut self, key: &'static str) -> InputValue<u64> {
        let (value, location) = self.read_value(key)?;
        let Some(integer) = value.as_integer() else {
            let hint = match value {
                DeValue::Float(_) => Some("write it without a decimal point".to_owned()),
                value => unquoted_hint::<u64>(key, value),
            };
            self.reject_wrong_type(key, location, "a whole number", value, hint);
            return None;
        };
        match u64::from_str_radix(integer.as_str(), integer.radix()) {
            Ok(value) => Some(Located { value, location }),
            Err(_) => {
                self.reject(key, out_of_range_problem(location, integer));
                None
            }
        }
    }

    /// Reads a number with or without a decimal point.
    pub(crate) fn read_number(&mut self, key: &'static str) -> InputValue<f64> {
        let number = |value: &DeValue<'i>| match value {
            DeValue::Float(float) => float.as_str().parse().ok(),
            DeValue::Integer(integer) => {
                let integer = i128::from_str_radix(integer.as_str(), integer.radix());
                // Numbers above 2^53 lose digits here, but such a rate is far out of range.
                integer.ok().map(|integer| integer as f64)
            }
            _ => None,
        };
        let hint = |value: &DeValue<'i>| unquoted_hint::<f64>(key, value);
        self.read_as(key, "a number", number, hint)
    }

    /// Reads `true` or `false`.
    pub(crate) fn read_bool(&mut self, key: &'static str) -> InputValue<bool> {
        let hint = format!("write {key} = true or {key} = false, without quotes");
        self.read_as(key, "true or false", DeValue::as_bool, |_| Some(hint))
    }

    /// Reads a duration: a string, or a whole number of seconds.
    pub(crate) fn read_duration(&mut self, key: &'static str) -> InputValue<Duration> {
        let (value, location) = self.read_value(key)?;
        let text = match value {
            DeValue::String(text) => text.as_ref().to_owned(),
            DeValue::Integer(integer) if integer.radix() == 10 => {
                integer.as_str().trim_start_matches('+').to_owned()
            }
            _ => {
                let hint = "write a string such as \"500ms\", \"60s\" or \"1m30s\"".to_owned();
                self.reject_wrong_type(key, location, "a duration", value, Some(hint));
                return None;
            }
        };
        match parse_duration(&text) {
            Ok(value) => Some(Located { value, location }),
            Err(error) => {
                let ErrorParts { problem, hint, .. } = error.parts();
                self.reject(
                    key,
                    Problem {
                        location,
                        message: problem,
                        hint,
                    },
                );
                None
            }
        }
    }

    /// Reads a table of facts about a server, `cpus = 16`.
    pub(crate) fn read_facts(&mut self, key: &'static str) -> InputValue<Declared> {
        self.read_table(key, "facts", |section, path, table| {
            section.read_fact_table(key, path, table, &[])
        })
    }

    /// Reads a table of settings of a server, `synchronous_commit = "off"`.
    pub(crate) fn read_server_settings(&mut self, key: &'static str) -> InputValue<ServerSettings> {
        self.read_table(key, "settings", |section, path, table| {
            section.read_server_setting_table(key, path, table)
        })
    }

    /// Reads a table; `contents` says of what.
    fn read_table<T>(
        &mut self,
        key: &'static str,
        contents: &str,
        read: impl FnOnce(&mut Self, &str, &DeTable<'i>) -> T,
    ) -> InputValue<T> {
        let (value, location) = self.read_value(key)?;
        let path = format!("{}.{key}", self.path);
        if let Some(table) = value.as_table() {
            let value = read(self, &path, table);
            return Some(Located { value, location });
        }
        let hint = format!("write [{path}] on a line of its own, and the {contents} below");
        self.reject_wrong_type(key, location, "a table", value, Some(hint));
        None
    }

    /// Reads the facts of `table`, except the keys in `except`; a problem rejects `key`.
    pub(crate) fn read_fact_table(
        &mut self,
        key: &str,
        path: &str,
        table: &DeTable<'_>,
        except: &[&str],
    ) -> Declared {
        let mut declared = Declared::default();
        let kind = EntryKind::Fact { except };
        self.read_entries(key, path, table, kind, &mut |name, text| {
            fact_of_name(name).and_then(|fact| declared.declare(fact, text))
        });
        declared
    }

    /// Reads the settings of `table`; a problem rejects `key`. A name such as `auto_explain.log_analyze` may be written
    /// without quotes, and is then a table in a table.
    pub(crate) fn read_server_setting_table(
        &mut self,
        key: &str,
        path: &str,
        table: &DeTable<'_>,
    ) -> ServerSettings {
        let mut settings = ServerSettings::default();
        let kind = EntryKind::Setting;
        self.read_entries(key, path, table, kind, &mut |name, text| {
            let set = settings.set(name, text);
            set.map_err(|reason| format!("{} {reason}", shorten(name)))
        });
        settings
    }

    /// Gives each entry of a table to `set`, as text; a problem rejects `key`.
    fn read_entries(
        &mut self,
        key: &str,
        path: &str,
        table: &DeTable<'_>,
        kind: EntryKind<'_>,
        set: &mut dyn FnMut(&str, &str) -> Result<(), String>,
    ) {
        let are_settings = matches!(kind, EntryKind::Setting);
        for (name, value) in table {
            if let EntryKind::Fact { except } = kind
                && except.contains(&name.get_ref().as_ref())
            {
                continue;
            }
            let path = format!("{path}.{}", shorten(name.get_ref()));
            let location = self.source.location(name.span().start, path.clone());
            let text = match value.get_ref() {
                DeValue::String(text) => text.as_ref(),
                DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str(),
                DeValue::Float(float) if are_settings => float.as_str(),
                DeValue::Boolean(true) if are_settings => "on",
                DeValue::Boolean(false) if are_settings => "off",
                DeValue::Table(inner) if are_settings => {
                    let set = &mut |rest: &str, text: &str| {
                        set(&format!("{}.{rest}", name.get_ref()), text)
                    };
                    self.read_entries(key, &path, inner, kind, set);
                    continue;
                }
                other => {
                    let expected = if are_settings {
                        "a string, a number or a boolean"
                    } else {
                        "a string or a whole number"
                    };
                    self.reject_wrong_type(key, location, expected, other, None);
                    continue;
                }
            };
            if let Err(message) = set(name.get_ref(), text) {
                self.reject(key, Problem::new(location, message));
            }
        }
    }

    /// Reads a list of strings that `parse` reads, such as this example.
    pub(crate) fn read_list<T>(
        &mut self,
        key: &'static str,
        example: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> InputValue<Vec<T>> {
        let (value, location) = self.read_value(key)?;
        let Some(list) = value.as_array() else {
            let hint = format!("write {key} = [\"{example}\"]");
            self.reject_wrong_type(key, location, "a list of strings", value, Some(hint));
            return None;
        };
        let mut items = Vec::new();
        for item in list {
            let path = format!("{}.{key}", self.path);
            let location = self.source.location(item.span().start, path);
            let Some(text) = item.get_ref().as_str() else {
                self.reject_wrong_type(key, location, "a string", item.get_ref(), None);
                continue;
            };
            match parse(text) {
                Ok(item) => items.push(item),
                Err(message) => self.reject(key, Problem::new(location, message)),
            }
        }
        Some(Located {
            value: items,
            location,
        })
    }

    pub(crate) fn read_texts(&mut self, key: &'static str) -> InputValue<Vec<String>> {
        let texts = |value: &DeValue<'i>| {
            let texts = value.as_array()?.iter();
            texts
                .map(|item| item.get_ref().as_str().map(str::to_owned))
                .collect()
        };
        let hint = format!("write {key} = [\"...\", \"...\"]");
        self.read_as(key, "a list of strings", texts, |_| Some(hint))
    }

    pub(crate) fn read_choice<T: Choice>(&mut self, key: &'static str) -> InputValue<T> {
        let (value, location) = self.read_value(key)?;
        let names: Vec<&str> = T::ALL.iter().map(|(name, _)| *name).collect();
        let expected = format!("one of \"{}\"", names.join("\", \""));
        let Some(name) = value.as_str() else {
            self.reject_wrong_type(key, location, &expected, value, None);
            return None;
        };
        if let Some(value) = T::from_name(name) {
            return Some(Located { value, location });
        }
        let mut problem = Problem::new(
            location,
            format!("must be {expected}, is \"{}\"", shorten(name)),
        );
        if let Some(similar) = suggest::nearest(name, &names) {
            problem = problem.with_hint(format!("did you mean \"{similar}\"?"));
        }
        self.reject(key, problem);
        None
    }
}

/// The hint for a number in quotes; `None` for any other value.
fn unquoted_hint<T: FromStr>(key: &str, value: &DeValue<'_>) -> Option<String> {
    let text = value.as_str()?.trim();
    let is_number = text.parse::<T>().is_ok();
    is_number.then(|| format!("write it without quotes: {key} = {text}"))
}

fn out_of_range_problem(location: InputLocation, integer: &DeInteger<'_>) -> Problem {
    let message = if integer.as_str().starts_with('-') {
        format!("must not be negative, is {}", shorten(&integer.to_string()))
    } else {
        format!(
            "must be at most {}, is {}",
            u64::MAX,
            shorten(&integer.to_string())
        )
    };
    Problem::new(location, message)
}

/// The type of a value, as text. The value itself is not shown, because it may be a misplaced password.
fn type_name(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a decimal number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
