//! Checks the content of a price sheet.
//!
//! The result is a [`PriceSheet`], or every problem. Values that make up a price are never filled in, and a
//! problem that is only a consequence of another one is not reported.

use super::read::{ConfigurationInput, ItemInput, SHARED_KEYS, SharedValues, SheetInput, read};
use super::{Configuration, PriceSheet, PricedItem};
use crate::duration::{format_number, shorten};
use crate::input::InputValue;
use crate::problem::{InputLocation, Problem, Problems};
use std::collections::HashSet;
use std::ops::RangeInclusive;

/// Maximum quantity or price; a larger one is probably a typing error.
const MAX_AMOUNT: f64 = 1e12;
/// Maximum number of replicas in an item, for the same reason.
const MAX_REPLICAS: u32 = 10_000;

impl PriceSheet {
    /// Reads a price sheet's text. `file` is its name for messages, as the user wrote it.
    ///
    /// # Errors
    /// Every problem at once, in the order of their locations; if the text is not TOML, only that problem.
    pub fn from_toml(file: &str, text: &str) -> Result<PriceSheet, Problems> {
        let mut input = read(file, text)?;
        let mut checker = Checker {
            problems: std::mem::take(&mut input.problems),
            reported_once: HashSet::new(),
            currency: None,
            missing_everywhere: missing_everywhere(file, &input),
        };
        let sheet = checker.check_sheet(file, input);
        match sheet {
            Some(sheet) if checker.problems.is_empty() => Ok(sheet),
            _ => Err(Problems::sorted(checker.problems)),
        }
    }
}

struct Checker {
    problems: Vec<Problem>,
    /// Location and message of the problems that several items would repeat.
    reported_once: HashSet<(InputLocation, String)>,
    /// The currency found first; all others must be equal to it.
    currency: InputValue<String>,
    /// Keys that could be given once for many items and are missing everywhere, with the location where they
    /// belong.
    missing_everywhere: Vec<(&'static str, InputLocation)>,
}

impl Checker {
    fn report(&mut self, location: &InputLocation, message: impl Into<String>, hint: &str) {
        let problem = Problem::new(location.clone(), message);
        self.problems.push(problem.with_hint(hint));
    }

    fn check_sheet(&mut self, file: &str, input: SheetInput) -> Option<PriceSheet> {
        if input.configurations.is_empty() {
            if !input.has_rejected_tables {
                let location = file_location(file, "configuration");
                let hint = "write [[configuration]] with a name, and below it a [[configuration.item]] \
                            for each thing that is paid for";
                self.report(&location, "is missing", hint);
            }
            return None;
        }
        let mut configurations: Vec<Configuration> = Vec::new();
        // Compares the names as written, so that a duplicate is found even if one of the two has
        // another mistake.
        let mut names: HashSet<&str> = HashSet::new();
        for configuration in &input.configurations {
            if let Some(name) = &configuration.name
                && !name.value.trim().is_empty()
                && !names.insert(&name.value)
            {
                let message = format!(
                    "another configuration is already named \"{}\"",
                    shorten(&name.value)
                );
                self.report(&name.location, message, "give each a different name");
            }
            configurations
                .extend(self.check_configuration(configuration, input.has_rejected_tables));
        }
        Some(PriceSheet {
            file: file.to_owned(),
            example: input.example.is_some_and(|example| example.value),
            configurations,
        })
    }

    fn check_configuration(
        &mut self,
        input: &ConfigurationInput,
        has_rejected_tables: bool,
    ) -> Option<Configuration> {
        let hint = "give it a name, such as name = \"small\"";
        let (location, rejected_keys) = (&input.location, &input.rejected_keys);
        let name = self.check_text("name", &input.name, location, rejected_keys, hint);
        if input.items.is_empty() && !has_rejected_tables {
            let hint = "write a [[configuration.item]] below it for each thing that is paid for";
            self.report(location, "has no item", hint);
        }
        let items: Vec<Option<PricedItem>> = input
            .items
            .iter()
            .map(|item| self.check_item(item))
            .collect();
        Some(Configuration {
            name: name?,
            runs: input.runs.clone(),
            items: items.into_iter().collect::<Option<_>>()?,
        })
    }

    fn check_item(&mut self, input: &ItemInput) -> Option<PricedItem> {
        let (location, rejected_keys) = (&input.location, &input.rejected_keys);
        let common = &input.common;
        let hint = "name what is paid for, such as name = \"storage\"";
        let name = self.check_text("name", &input.name, location, rejected_keys, hint);
        let hint = "state how many are paid for, such as quantity = 1";
        let quantity = self.check_amount("quantity", &input.quantity, input, hint);
        let hint = "state the price of one; Prony knows no prices";
        let unit_price = self.check_amount("unit_price", &input.unit_price, input, hint);
        let per = input.per.as_ref().map(|per| per.value);
        if per.is_none() {
            let hint = "state the billing period: per = \"hour\", \"month\", \"year\" or \"once\"";
            self.report_missing("per", location, rejected_keys, hint);
        }
        let hint = "it is the fraction of the time that is paid for: 0.5 is half of it";
        let usage = self.check_in_range(&input.usage, 0.0..=1.0, 1.0, hint);
        let hint = "it is the discount in per cent";
        let discount = self.check_in_range(&input.discount_percent, 0.0..=100.0, 0.0, hint);
        let replicas = self.check_replicas(input);
        let rejected_shared_keys = &common.rejected_keys;
        let [currency, region, term, source, entered_by] = std::array::from_fn(|nth| {
            let (key, hint) = SHARED_KEYS[nth];
            let input = &common.texts[nth];
            self.check_text(key, input, location, rejected_shared_keys, hint)
        });
        let as_of = common.as_of.as_ref().map(|date| date.value);
        if as_of.is_none() {
            let hint =
                "a price without a date is not used: as_of = 2026-11-20, under [sheet] for all";
            self.report_missing("as_of", location, rejected_shared_keys, hint);
        }
        self.check_currency(common.currency());
        Some(PricedItem {
            name: name?,
            quantity: quantity?,
            unit_price: unit_price?,
            per: per?,
            usage: usage?,
            discount_percent: discount?,
            replicas: replicas?,
            currency: currency?,
            region: region?,
            term: term?,
            as_of: as_of?,
            source: source?,
            entered_by: entered_by?,
        })
    }

    /// Checks a text, which is required and must not be empty.
    fn check_text(
        &mut self,
        key: &str,
        input: &InputValue<String>,
        location: &InputLocation,
        rejected_keys: &[String],
        hint: &str,
    ) -> Option<String> {
        match input {
            Some(text) if text.value.trim().is_empty() => {
                self.report_once(&text.location, "is empty".to_owned(), hint);
                None
            }
            Some(text) => Some(text.value.clone()),
            None => {
                self.report_missing(key, location, rejected_keys, hint);
                None
            }
        }
    }

    /// Reports a missing value. A value that is missing everywhere is reported once, not for each item.
    fn report_missing(
        &mut self,
        key: &str,
        location: &InputLocation,
        rejected_keys: &[String],
        hint: &str,
    ) {
        if rejected_keys.iter().any(|name| name == key) {
            return;
        }
        let everywhere = self
            .missing_everywhere
            .iter()
            .find(|(name, _)| *name == key);
        match everywhere.map(|(_, location)| location.clone()) {
            Some(location) => self.report_once(&location, "is missing".to_owned(), hint),
            None => self.report(&location_of_key(location, key), "is missing", hint),
        }
    }

    /// Reports a problem, unless the same problem was already reported for another item.
    fn report_once(&mut self, location: &InputLocation, message: String, hint: &str) {
        let is_new = self
            .reported_once
            .insert((location.clone(), message.clone()));
        if is_new {
            self.report(location, message, hint);
        }
    }

    /// Checks a quantity or a price, which is required and must not be negative.
    fn check_amount(
        &mut self,
        key: &str,
        amount: &InputValue<f64>,
        input: &ItemInput,
        hint: &str,
    ) -> Option<f64> {
        let Some(number) = amount else {
            self.report_missing(key, &input.location, &input.rejected_keys, hint);
            return None;
        };
        // A price may be 0, a quantity may not.
        let is_allowed = number.value > 0.0 || (key == "unit_price" && number.value == 0.0);
        if is_allowed && number.value <= MAX_AMOUNT {
            return Some(number.value);
        }
        let bound = if key == "unit_price" { "0 or more" } else { "more than 0" };
        let message = format!(
            "must be {bound} and at most {MAX_AMOUNT:e}, is {}",
            format_number(number.value)
        );
        let hint = "a discount is written as discount_percent";
        self.report(&number.location, message, hint);
        None
    }

    /// Checks a number that must be in a range; without input, returns `default`.
    fn check_in_range(
        &mut self,
        input: &InputValue<f64>,
        range: RangeInclusive<f64>,
        default: f64,
        hint: &str,
    ) -> Option<f64> {
        let Some(number) = input else {
            return Some(default);
        };
        if range.contains(&number.value) {
            return Some(number.value);
        }
        let message = format!(
            "must be from {} to {}, is {}",
            range.start(),
            range.end(),
            format_number(number.value)
        );
        self.report(&number.location, message, hint);
        None
    }

    fn check_replicas(&mut self, input: &ItemInput) -> Option<u32> {
        let Some(number) = &input.replicas else {
            return Some(0);
        };
        match u32::try_from(number.value) {
            Ok(count) if count <= MAX_REPLICAS => Some(count),
            _ => {
                let message = format!("must be at most {MAX_REPLICAS}, is {}", number.value);
                let hint = "it is the number of replicas included in this item";
                self.report(&number.location, message, hint);
                None
            }
        }
    }

    /// Checks that all items have the same currency and that it looks like a currency code.
    fn check_currency(&mut self, input: &InputValue<String>) {
        let Some(currency) = input else { return };
        let text = &currency.value;
        if text.trim().is_empty() {
            return;
        }
        if text.len() != 3 || !text.bytes().all(|byte| byte.is_ascii_uppercase()) {
            let message = format!(
                "must be a currency code of three capital letters, is \"{}\"",
                shorten(text)
            );
            self.report_once(&currency.location, message, "such as EUR, USD, CNY");
            return;
        }
        match &self.currency {
            None => self.currency = Some(currency.clone()),
            Some(first) if first.value != *text => {
                let message = format!("{text} differs from {} ({})", first.value, first.location);
                let hint = "Prony converts no currency: give all prices of a sheet in one, as of the \
                            same date";
                self.report_once(&currency.location, message, hint);
            }
            Some(_) => {}
        }
    }
}

/// The location of a key that is missing in an existing table.
fn location_of_key(location: &InputLocation, name: &str) -> InputLocation {
    match location {
        InputLocation::File {
            file,
            line_and_column,
            key,
        } => InputLocation::File {
            file: file.clone(),
            line_and_column: *line_and_column,
            key: format!("{key}.{name}"),
        },
        location => location.clone(),
    }
}

/// Keys of `[sheet]` that are missing there and in every item, each with its location in `[sheet]`.
fn missing_everywhere(file: &str, input: &SheetInput) -> Vec<(&'static str, InputLocation)> {
    let configurations = input.configurations.iter();
    let items = configurations.flat_map(|configuration| &configuration.items);
    let values: Vec<&SharedValues> = items.map(|item| &item.common).collect();
    let mut missing = Vec::new();
    for (nth, (key, _)) in SHARED_KEYS.into_iter().enumerate() {
        if values.iter().all(|values| values.texts[nth].is_none()) {
            missing.push(key);
        }
    }
    if values.iter().all(|values| values.as_of.is_none()) {
        missing.push("as_of");
    }
    let with_location = |key| (key, file_location(file, &format!("sheet.{key}")));
    missing.into_iter().map(with_location).collect()
}

fn file_location(file: &str, key: &str) -> InputLocation {
    InputLocation::File {
        file: file.to_owned(),
        line_and_column: None,
        key: key.to_owned(),
    }
}
