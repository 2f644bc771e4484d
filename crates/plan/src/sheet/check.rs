//! From what is written to a checked sheet.
//!
//! In: what is written. Out: a [`Sheet`], or every problem. Must never: fill in what makes a price, or
//! report a problem that is only the echo of another.

use super::read::{General, Written, WrittenConfiguration, WrittenItem, read};
use super::{Configuration, Item, Sheet};
use crate::asked::Given;
use crate::duration::shorten;
use crate::problem::{Place, Problem, Problems};

/// Largest quantity and price: beyond it a slip is likelier than a price.
const LARGEST: f64 = 1e12;

impl Sheet {
    /// Reads a price sheet's text. `file` is its name for messages, as the user wrote it.
    ///
    /// # Errors
    /// Every problem at once, in the order of their places; of a text that is no TOML, that one.
    pub fn from_toml(file: &str, text: &str) -> Result<Sheet, Problems> {
        let mut written = read(file, text)?;
        let mut checker = Checker {
            found: std::mem::take(&mut written.problems),
            currency: None,
            nowhere: nowhere(file, &written),
        };
        let sheet = checker.sheet(file, written);
        match sheet {
            Some(sheet) if checker.found.is_empty() => Ok(sheet),
            _ => Err(Problems::sorted(checker.found)),
        }
    }
}

struct Checker {
    found: Vec<Problem>,
    /// The first currency, and where it stands.
    currency: Option<(String, Place)>,
    /// Keys that stand once for many items and are given nowhere, with the place where they belong.
    nowhere: Vec<(&'static str, Place)>,
}

impl Checker {
    fn hinted(&mut self, place: &Place, message: impl Into<String>, hint: &str) {
        let problem = Problem::new(place.clone(), message);
        self.found.push(problem.hint(hint));
    }

    fn sheet(&mut self, file: &str, written: Written) -> Option<Sheet> {
        if written.configurations.is_empty() {
            if !written.refused {
                let place = whole(file, "configuration");
                let hint = "write [[configuration]] with a name, and below it a [[configuration.item]] \
                            for each thing that is paid for";
                self.hinted(&place, "is missing", hint);
            }
            return None;
        }
        let mut configurations: Vec<Configuration> = Vec::new();
        // Names as they are written: another mistake in either of two hides not that they are one.
        let mut names: Vec<&str> = Vec::new();
        for one in &written.configurations {
            if let Some(name) = one
                .name
                .as_ref()
                .filter(|name| !name.value.trim().is_empty())
            {
                if names.contains(&name.value.as_str()) {
                    let message =
                        format!("a second configuration is named {}", shorten(&name.value));
                    self.hinted(&name.place, message, "give each a name of its own");
                }
                names.push(&name.value);
            }
            configurations.extend(self.configuration(one, written.refused));
        }
        Some(Sheet {
            file: file.to_owned(),
            example: written.example.is_some_and(|example| example.value),
            configurations,
        })
    }

    fn configuration(
        &mut self,
        written: &WrittenConfiguration,
        refused: bool,
    ) -> Option<Configuration> {
        let hint = "give it a name, such as name = \"small\"";
        let name = self.text(
            "name",
            &written.name,
            &written.place,
            &written.refused,
            hint,
        );
        if written.items.is_empty() && !refused {
            let hint = "write a [[configuration.item]] below it for each thing that is paid for";
            self.hinted(&written.place, "has no item", hint);
        }
        let items: Vec<Option<Item>> = written.items.iter().map(|one| self.item(one)).collect();
        Some(Configuration {
            name: name?,
            runs: written.runs.clone(),
            items: items.into_iter().collect::<Option<_>>()?,
        })
    }

    fn item(&mut self, written: &WrittenItem) -> Option<Item> {
        let (place, refused) = (&written.place, &written.refused);
        let general = &written.general;
        let hint = "say what is paid for, such as name = \"storage\"";
        let name = self.text("name", &written.name, place, refused, hint);
        let hint = "say how many are paid for, such as quantity = 1";
        let quantity = self.amount("quantity", &written.quantity, written, hint);
        let hint = "say what one costs; Prony knows no prices";
        let unit_price = self.amount("unit_price", &written.unit_price, written, hint);
        let per = written.per.as_ref().map(|per| per.value);
        if per.is_none() && !refused.iter().any(|key| key == "per") {
            let hint =
                "say for how long it is paid: per = \"hour\", \"month\", \"year\" or \"once\"";
            self.hinted(&under(place, "per"), "is missing", hint);
        }
        let usage = self.within("usage", &written.usage, 1.0, 1.0);
        let discount = self.within("discount_percent", &written.discount_percent, 0.0, 100.0);
        let replicas = self.replicas(written);
        let absent = &general.refused;
        let mut said = |key, given, hint| self.general(key, given, place, absent, hint);
        let hint = "a price without its currency is no price: currency = \"EUR\"";
        let currency = said("currency", &general.currency, hint);
        let hint = "prices differ by region: region = \"eu-central-1\"";
        let region = said("region", &general.region, hint);
        let hint = "say for how long the price binds: term = \"on demand\", \"1 year\"";
        let term = said("term", &general.term, hint);
        let hint = "say where the price stands: source = \"https://…\"";
        let source = said("source", &general.source, hint);
        let hint = "say who wrote the price down: entered_by = \"dba\"";
        let entered_by = said("entered_by", &general.entered_by, hint);
        let as_of = general.as_of.as_ref().map(|date| date.value);
        if as_of.is_none() {
            let hint =
                "a price without a date is not used: as_of = 2026-11-20, under [sheet] for all";
            self.missing("as_of", place, absent, hint);
        }
        self.one_currency(&general.currency);
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

    /// A text that must be there and not empty.
    fn text(
        &mut self,
        key: &str,
        given: &Given<String>,
        place: &Place,
        refused: &[String],
        hint: &str,
    ) -> Option<String> {
        match given {
            Some(text) if text.value.trim().is_empty() => {
                self.once(&text.place, "is empty".to_owned(), hint);
                None
            }
            Some(text) => Some(text.value.clone()),
            None => {
                if !refused.iter().any(|name| name == key) {
                    self.hinted(&under(place, key), "is missing", hint);
                }
                None
            }
        }
    }

    /// A text that may stand once for many items.
    fn general(
        &mut self,
        key: &str,
        given: &Given<String>,
        place: &Place,
        refused: &[String],
        hint: &str,
    ) -> Option<String> {
        if given.is_some() {
            return self.text(key, given, place, refused, hint);
        }
        self.missing(key, place, refused, hint);
        None
    }

    /// What is given nowhere is missed once, and not for each item.
    fn missing(&mut self, key: &str, place: &Place, refused: &[String], hint: &str) {
        if refused.iter().any(|name| name == key) {
            return;
        }
        let whole = self.nowhere.iter().find(|(name, _)| *name == key);
        match whole.map(|(_, place)| place.clone()) {
            Some(place) => self.once(&place, "is missing".to_owned(), hint),
            None => self.hinted(&under(place, key), "is missing", hint),
        }
    }

    /// A problem of a value that many items share: named once.
    fn once(&mut self, place: &Place, message: String, hint: &str) {
        let known = |problem: &Problem| problem.place == *place && problem.message == message;
        if !self.found.iter().any(known) {
            self.hinted(place, message, hint);
        }
    }

    /// A quantity or a price: there, and not negative.
    fn amount(
        &mut self,
        key: &str,
        given: &Given<f64>,
        written: &WrittenItem,
        hint: &str,
    ) -> Option<f64> {
        let Some(number) = given else {
            if !written.refused.iter().any(|name| name == key) {
                self.hinted(&under(&written.place, key), "is missing", hint);
            }
            return None;
        };
        // A price may be nothing; of nothing there is no price.
        let least = number.value > 0.0 || (key == "unit_price" && number.value == 0.0);
        if least && number.value <= LARGEST {
            return Some(number.value);
        }
        let bound = if key == "unit_price" {
            "0 or more"
        } else {
            "more than 0"
        };
        let message = format!(
            "must be {bound} and at most {LARGEST:e}, is {}",
            number.value
        );
        let hint = "a discount is written as discount_percent";
        self.hinted(&number.place, message, hint);
        None
    }

    /// A number from 0 to a bound, or its default.
    fn within(&mut self, key: &str, given: &Given<f64>, default: f64, most: f64) -> Option<f64> {
        let Some(number) = given else {
            return Some(default);
        };
        if (0.0..=most).contains(&number.value) {
            return Some(number.value);
        }
        let message = format!("must be from 0 to {most}, is {}", number.value);
        let hint = match key {
            "usage" => "it is the share of the time for which it is paid: 0.5 is half of it",
            _ => "it is what is taken off the price, per cent",
        };
        self.hinted(&number.place, message, hint);
        None
    }

    fn replicas(&mut self, written: &WrittenItem) -> Option<u32> {
        let Some(number) = &written.replicas else {
            return Some(0);
        };
        match u32::try_from(number.value) {
            Ok(count) if count <= 10_000 => Some(count),
            _ => {
                let message = format!("must be at most 10000, is {}", number.value);
                let hint = "it is how many replicas are paid for with this item";
                self.hinted(&number.place, message, hint);
                None
            }
        }
    }

    /// The currency is one, and looks like one.
    fn one_currency(&mut self, given: &Given<String>) {
        let Some(currency) = given else { return };
        let text = &currency.value;
        if text.trim().is_empty() {
            return;
        }
        if text.len() != 3 || !text.bytes().all(|byte| byte.is_ascii_uppercase()) {
            let message = format!(
                "must be a currency's three capital letters, is \"{}\"",
                shorten(text)
            );
            self.once(&currency.place, message, "such as EUR, USD, CNY");
            return;
        }
        match &self.currency {
            None => self.currency = Some((text.clone(), currency.place.clone())),
            Some((first, at)) if first != text => {
                let message = format!("{text} beside {first} ({at})");
                let hint = "Prony converts no currency: give all prices of a sheet in one, as of the \
                            same date";
                self.once(&currency.place.clone(), message, hint);
            }
            Some(_) => {}
        }
    }
}

/// The place of what is missing in a table that is there.
fn under(place: &Place, name: &str) -> Place {
    match place {
        Place::File { file, at, key } => Place::File {
            file: file.clone(),
            at: *at,
            key: format!("{key}.{name}"),
        },
        other => other.clone(),
    }
}

/// Keys of the head that no table has.
fn nowhere(file: &str, written: &Written) -> Vec<(&'static str, Place)> {
    type Has = fn(&General) -> bool;
    let keys: [(&'static str, Has); 6] = [
        ("currency", |general| general.currency.is_some()),
        ("region", |general| general.region.is_some()),
        ("term", |general| general.term.is_some()),
        ("as_of", |general| general.as_of.is_some()),
        ("source", |general| general.source.is_some()),
        ("entered_by", |general| general.entered_by.is_some()),
    ];
    let items = written.configurations.iter().flat_map(|one| &one.items);
    let generals: Vec<&General> = items.map(|item| &item.general).collect();
    let absent = |has: &Has| !generals.iter().any(|general| has(general));
    let keys = keys.into_iter().filter(|(_, has)| absent(has));
    keys.map(|(key, _)| (key, whole(file, &format!("sheet.{key}"))))
        .collect()
}

fn whole(file: &str, key: &str) -> Place {
    Place::File {
        file: file.to_owned(),
        at: None,
        key: key.to_owned(),
    }
}
