//! Checks the content of a price sheet.
//!
//! The result is a [`Sheet`], or every problem. Values that make up a price are never filled in, and a
//! problem that is only a consequence of another one is not reported.

use super::read::{ConfigurationInput, ItemInput, SHARED_KEYS, SheetInput, read};
use super::{Configuration, Item, Sheet};
use crate::duration::{format_number, shorten};
use crate::input::InputValue;
use crate::problem::{InputLocation, Problem, Problems};

/// Largest quantity and price; a larger one is probably a typing error.
const LARGEST: f64 = 1e12;

impl Sheet {
    /// Reads a price sheet's text. `file` is its name for messages, as the user wrote it.
    ///
    /// # Errors
    /// Every problem at once, in the order of their locations; if the text is not TOML, only that problem.
    pub fn from_toml(file: &str, text: &str) -> Result<Sheet, Problems> {
        let mut input = read(file, text)?;
        let mut checker = Checker {
            problems: std::mem::take(&mut input.problems),
            currency: None,
            missing_everywhere: missing_everywhere(file, &input),
        };
        let sheet = checker.sheet(file, input);
        match sheet {
            Some(sheet) if checker.problems.is_empty() => Ok(sheet),
            _ => Err(Problems::sorted(checker.problems)),
        }
    }
}

struct Checker {
    problems: Vec<Problem>,
    /// The first currency, with its location.
    currency: Option<(String, InputLocation)>,
    /// Keys that could be given once for many items and are missing everywhere, with the location where they
    /// belong.
    missing_everywhere: Vec<(&'static str, InputLocation)>,
}

impl Checker {
    fn problem_with_hint(
        &mut self,
        location: &InputLocation,
        message: impl Into<String>,
        hint: &str,
    ) {
        let problem = Problem::new(location.clone(), message);
        self.problems.push(problem.hint(hint));
    }

    fn sheet(&mut self, file: &str, input: SheetInput) -> Option<Sheet> {
        if input.configurations.is_empty() {
            if !input.refused {
                let location = file_location(file, "configuration");
                let hint = "write [[configuration]] with a name, and below it a [[configuration.item]] \
                            for each thing that is paid for";
                self.problem_with_hint(&location, "is missing", hint);
            }
            return None;
        }
        let mut configurations: Vec<Configuration> = Vec::new();
        // Compares the names as written, so that a duplicate is found even if one of the two has
        // another mistake.
        let mut names: Vec<&str> = Vec::new();
        for configuration in &input.configurations {
            if let Some(name) = configuration
                .name
                .as_ref()
                .filter(|name| !name.value.trim().is_empty())
            {
                if names.contains(&name.value.as_str()) {
                    let message =
                        format!("a second configuration is named {}", shorten(&name.value));
                    self.problem_with_hint(&name.location, message, "give each a different name");
                }
                names.push(&name.value);
            }
            configurations.extend(self.configuration(configuration, input.refused));
        }
        Some(Sheet {
            file: file.to_owned(),
            example: input.example.is_some_and(|example| example.value),
            configurations,
        })
    }

    fn configuration(
        &mut self,
        input: &ConfigurationInput,
        refused: bool,
    ) -> Option<Configuration> {
        let hint = "give it a name, such as name = \"small\"";
        let name = self.text("name", &input.name, &input.location, &input.refused, hint);
        if input.items.is_empty() && !refused {
            let hint = "write a [[configuration.item]] below it for each thing that is paid for";
            self.problem_with_hint(&input.location, "has no item", hint);
        }
        let items: Vec<Option<Item>> = input.items.iter().map(|item| self.item(item)).collect();
        Some(Configuration {
            name: name?,
            runs: input.runs.clone(),
            items: items.into_iter().collect::<Option<_>>()?,
        })
    }

    fn item(&mut self, input: &ItemInput) -> Option<Item> {
        let (location, refused) = (&input.location, &input.refused);
        let common = &input.common;
        let hint = "name what is paid for, such as name = \"storage\"";
        let name = self.text("name", &input.name, location, refused, hint);
        let hint = "state how many are paid for, such as quantity = 1";
        let quantity = self.amount("quantity", &input.quantity, input, hint);
        let hint = "state the price of one; Prony knows no prices";
        let unit_price = self.amount("unit_price", &input.unit_price, input, hint);
        let per = input.per.as_ref().map(|per| per.value);
        if per.is_none() && !refused.iter().any(|key| key == "per") {
            let hint = "state the billing period: per = \"hour\", \"month\", \"year\" or \"once\"";
            self.problem_with_hint(&location_of(location, "per"), "is missing", hint);
        }
        let usage = self.number_within("usage", &input.usage, 1.0, 1.0);
        let discount = self.number_within("discount_percent", &input.discount_percent, 0.0, 100.0);
        let replicas = self.replicas(input);
        let refused_shared = &common.refused;
        let [currency, region, term, source, entered_by] = std::array::from_fn(|nth| {
            let (key, hint) = SHARED_KEYS[nth];
            self.shared_text(key, &common.texts[nth], location, refused_shared, hint)
        });
        let as_of = common.as_of.as_ref().map(|date| date.value);
        if as_of.is_none() {
            let hint =
                "a price without a date is not used: as_of = 2026-11-20, under [sheet] for all";
            self.missing("as_of", location, refused_shared, hint);
        }
        self.one_currency(&common.texts[0]);
        Some(Item {
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

    /// A text that is required and must not be empty.
    fn text(
        &mut self,
        key: &str,
        input: &InputValue<String>,
        location: &InputLocation,
        refused: &[String],
        hint: &str,
    ) -> Option<String> {
        match input {
            Some(text) if text.value.trim().is_empty() => {
                self.report_once(&text.location, "is empty".to_owned(), hint);
                None
            }
            Some(text) => Some(text.value.clone()),
            None => {
                if !refused.iter().any(|name| name == key) {
                    self.problem_with_hint(&location_of(location, key), "is missing", hint);
                }
                None
            }
        }
    }

    /// A text that may be given once for many items.
    fn shared_text(
        &mut self,
        key: &str,
        input: &InputValue<String>,
        location: &InputLocation,
        refused: &[String],
        hint: &str,
    ) -> Option<String> {
        if input.is_some() {
            return self.text(key, input, location, refused, hint);
        }
        self.missing(key, location, refused, hint);
        None
    }

    /// Reports a missing value. A value that is missing everywhere is reported once, not for each item.
    fn missing(&mut self, key: &str, location: &InputLocation, refused: &[String], hint: &str) {
        if refused.iter().any(|name| name == key) {
            return;
        }
        let everywhere = self
            .missing_everywhere
            .iter()
            .find(|(name, _)| *name == key);
        match everywhere.map(|(_, location)| location.clone()) {
            Some(location) => self.report_once(&location, "is missing".to_owned(), hint),
            None => self.problem_with_hint(&location_of(location, key), "is missing", hint),
        }
    }

    /// Reports a problem of a value that many items share, once.
    fn report_once(&mut self, location: &InputLocation, message: String, hint: &str) {
        let is_same =
            |problem: &Problem| problem.location == *location && problem.message == message;
        if !self.problems.iter().any(is_same) {
            self.problem_with_hint(location, message, hint);
        }
    }

    /// A quantity or a price: required, and not negative.
    fn amount(
        &mut self,
        key: &str,
        amount: &InputValue<f64>,
        input: &ItemInput,
        hint: &str,
    ) -> Option<f64> {
        let Some(number) = amount else {
            if !input.refused.iter().any(|name| name == key) {
                self.problem_with_hint(&location_of(&input.location, key), "is missing", hint);
            }
            return None;
        };
        // A price may be 0, a quantity may not.
        let is_allowed = number.value > 0.0 || (key == "unit_price" && number.value == 0.0);
        if is_allowed && number.value <= LARGEST {
            return Some(number.value);
        }
        let bound = if key == "unit_price" {
            "0 or more"
        } else {
            "more than 0"
        };
        let message = format!(
            "must be {bound} and at most {LARGEST:e}, is {}",
            format_number(number.value)
        );
        let hint = "a discount is written as discount_percent";
        self.problem_with_hint(&number.location, message, hint);
        None
    }

    /// A number from 0 to a bound, or its default.
    fn number_within(
        &mut self,
        key: &str,
        input: &InputValue<f64>,
        default: f64,
        maximum: f64,
    ) -> Option<f64> {
        let Some(number) = input else {
            return Some(default);
        };
        if (0.0..=maximum).contains(&number.value) {
            return Some(number.value);
        }
        let message = format!(
            "must be from 0 to {maximum}, is {}",
            format_number(number.value)
        );
        let hint = match key {
            "usage" => "it is the fraction of the time that is paid for: 0.5 is half of it",
            _ => "it is the discount in per cent",
        };
        self.problem_with_hint(&number.location, message, hint);
        None
    }

    fn replicas(&mut self, input: &ItemInput) -> Option<u32> {
        let Some(number) = &input.replicas else {
            return Some(0);
        };
        match u32::try_from(number.value) {
            Ok(count) if count <= 10_000 => Some(count),
            _ => {
                let message = format!("must be at most 10000, is {}", number.value);
                let hint = "it is the number of replicas included in this item";
                self.problem_with_hint(&number.location, message, hint);
                None
            }
        }
    }

    /// Checks that all items have the same currency and that it looks like a currency code.
    fn one_currency(&mut self, input: &InputValue<String>) {
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
            None => self.currency = Some((text.clone(), currency.location.clone())),
            Some((first, location)) if first != text => {
                let message = format!("{text} differs from {first} ({location})");
                let hint = "Prony converts no currency: give all prices of a sheet in one, as of the \
                            same date";
                self.report_once(&currency.location.clone(), message, hint);
            }
            Some(_) => {}
        }
    }
}

/// The location of a key that is missing in an existing table.
fn location_of(location: &InputLocation, name: &str) -> InputLocation {
    match location {
        InputLocation::File { file, at, key } => InputLocation::File {
            file: file.clone(),
            at: *at,
            key: format!("{key}.{name}"),
        },
        location => location.clone(),
    }
}

/// Keys of `[sheet]` that no table has.
fn missing_everywhere(file: &str, input: &SheetInput) -> Vec<(&'static str, InputLocation)> {
    let items = || {
        input
            .configurations
            .iter()
            .flat_map(|configuration| &configuration.items)
    };
    let texts = SHARED_KEYS.iter().enumerate().map(|(nth, (key, _))| {
        let is_given = |item: &ItemInput| item.common.texts[nth].is_some();
        (*key, items().any(is_given))
    });
    let as_of = items().any(|item| item.common.as_of.is_some());
    let missing = texts
        .chain([("as_of", as_of)])
        .filter(|(_, is_given)| !is_given);
    missing
        .map(|(key, _)| (key, file_location(file, &format!("sheet.{key}"))))
        .collect()
}

fn file_location(file: &str, key: &str) -> InputLocation {
    InputLocation::File {
        file: file.to_owned(),
        at: None,
        key: key.to_owned(),
    }
}
