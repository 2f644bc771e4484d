//! The types of settings: reading a value from a plan file or a flag, its limits, and writing it.
//!
//! Text is never quoted, because it may contain a password.

use super::SettingType;
use crate::check::{MAX_DURATION, MAX_RATE_TPS};
use crate::choice::Choice;
use crate::duration::{format_duration, format_number, parse_duration, shorten};
use crate::input::{InputValue, Located};
use crate::mark::Mark;
use crate::rate::strip_rate_unit;
use crate::section::Section;
use crate::suggest::nearest;
use crate::user_error::ErrorParts;
use prony_document::{Declared, DeclaredFact, Requirement, Requirements, ServerSettings};
use serde_json::{Value, json};
use std::time::Duration;

/// A value of a setting.
pub(crate) trait SettingValue {
    /// Reads the key of a plan file.
    fn from_toml(section: &mut Section<'_, '_>, key: &'static str) -> InputValue<Self>
    where
        Self: Sized;

    /// Reads the value of a flag.
    fn from_text(text: &str, value_type: &SettingType) -> Result<Self, String>
    where
        Self: Sized;

    /// Replaces the value of a plan by that of a flag or a variant.
    fn replace_by(&mut self, later: &Self)
    where
        Self: Clone,
    {
        self.clone_from(later);
    }

    /// Adds the value of the same flag given once more; a value that is no list is replaced.
    fn add(&mut self, next: Self)
    where
        Self: Sized,
    {
        *self = next;
    }

    /// The value in the Run document and the schema.
    fn to_json(&self) -> Value;

    /// The texts that set the value by its flag, each with the flag once more.
    fn to_texts(&self) -> Vec<String> {
        vec![match self.to_json() {
            Value::String(text) => text,
            value => value.to_string(),
        }]
    }

    /// The problem of a value that is not allowed, such as a number out of range; `None` if it is allowed.
    fn validation_error(&self, _value_type: &SettingType) -> Option<ErrorParts> {
        None
    }
}

/// Reads the value of a flag that was given once for each text.
pub(super) fn from_texts<T: SettingValue>(
    texts: &[&str],
    value_type: &SettingType,
) -> Result<T, String> {
    let mut values = texts.iter().map(|text| T::from_text(text, value_type));
    let mut value = values.next().ok_or("needs a value")??;
    for next in values {
        value.add(next?);
    }
    Ok(value)
}

impl SettingValue for bool {
    fn from_toml(section: &mut Section<'_, '_>, key: &'static str) -> InputValue<bool> {
        section.read_bool(key)
    }

    fn from_text(text: &str, _value_type: &SettingType) -> Result<bool, String> {
        text.parse().map_err(|_| "must be true or false".to_owned())
    }

    fn to_json(&self) -> Value {
        json!(self)
    }
}

impl SettingValue for String {
    fn from_toml(section: &mut Section<'_, '_>, key: &'static str) -> InputValue<String> {
        section.read_text(key)
    }

    fn from_text(text: &str, _value_type: &SettingType) -> Result<String, String> {
        Ok(text.to_owned())
    }

    fn to_json(&self) -> Value {
        json!(self)
    }

    fn validation_error(&self, _value_type: &SettingType) -> Option<ErrorParts> {
        let has_zero_byte = self.contains('\0');
        has_zero_byte.then(|| ErrorParts::new("contains a zero byte"))
    }
}

impl SettingValue for u64 {
    fn from_toml(section: &mut Section<'_, '_>, key: &'static str) -> InputValue<u64> {
        section.read_whole_number(key)
    }

    fn from_text(text: &str, value_type: &SettingType) -> Result<u64, String> {
        text.parse().map_err(|_| match *value_type {
            SettingType::WholeNumber { min: 0, .. } => "must be a whole number".to_owned(),
            SettingType::WholeNumber { min, max } if max < u64::MAX => {
                format!("must be from {min} to {max}")
            }
            _ => "must be a positive whole number".to_owned(),
        })
    }

    fn to_json(&self) -> Value {
        json!(self)
    }

    fn validation_error(&self, value_type: &SettingType) -> Option<ErrorParts> {
        let SettingType::WholeNumber { min, max } = *value_type else {
            return None;
        };
        if (min..=max).contains(self) {
            return None;
        }
        let range = match max {
            u64::MAX => format!("at least {min}"),
            _ => format!("from {min} to {max}"),
        };
        let message = format!("must be {range}, is {self}");
        Some(ErrorParts::new(message))
    }
}

impl SettingValue for f64 {
    fn from_toml(section: &mut Section<'_, '_>, key: &'static str) -> InputValue<f64> {
        section.read_number(key)
    }

    fn from_text(text: &str, _value_type: &SettingType) -> Result<f64, String> {
        // The rate is the only setting of this type.
        let rate = strip_rate_unit(text)
            .parse()
            .ok()
            .filter(|rate: &f64| !rate.is_sign_negative());
        rate.ok_or_else(|| {
            "must be a positive number of transactions per second, such as 5000, 5000tps or 5000/s"
                .to_owned()
        })
    }

    fn to_json(&self) -> Value {
        json!(self)
    }

    fn validation_error(&self, _value_type: &SettingType) -> Option<ErrorParts> {
        // Both comparisons are false for NaN, which is out of range.
        if *self > 0.0 && *self <= MAX_RATE_TPS {
            return None;
        }
        let message = format!(
            "must be above 0 and at most {MAX_RATE_TPS:.0}, is {}",
            format_number(*self)
        );
        let hint = "omit rate for a closed loop, in which each client sends as soon as the server has answered";
        Some(ErrorParts::new(message).with_hint(hint))
    }
}

impl SettingValue for Duration {
    fn from_toml(section: &mut Section<'_, '_>, key: &'static str) -> InputValue<Duration> {
        section.read_duration(key)
    }

    fn from_text(text: &str, _value_type: &SettingType) -> Result<Duration, String> {
        parse_duration(text).map_err(|error| error.to_string())
    }

    fn to_json(&self) -> Value {
        json!(format_duration(*self))
    }

    fn validation_error(&self, _value_type: &SettingType) -> Option<ErrorParts> {
        if *self <= MAX_DURATION {
            return None;
        }
        let message = format!("must be at most 366d, is {}", format_duration(*self));
        Some(ErrorParts::new(message))
    }
}

impl SettingValue for Declared {
    fn from_toml(section: &mut Section<'_, '_>, key: &'static str) -> InputValue<Declared> {
        section.read_facts(key)
    }

    fn from_text(text: &str, _value_type: &SettingType) -> Result<Declared, String> {
        let mut declared = Declared::default();
        let (name, value) = text
            .split_once('=')
            .ok_or("a fact is given as FACT=VALUE, such as cpus=16")?;
        let fact = fact_of_name(name)?;
        declared
            .declare(fact, value)
            .map_err(|expected| format!("{name} {expected}"))?;
        Ok(declared)
    }

    fn add(&mut self, next: Declared) {
        self.extend(&next);
    }

    /// Facts are replaced one by one.
    fn replace_by(&mut self, later: &Declared) {
        self.extend(later);
    }

    fn to_json(&self) -> Value {
        json!(self)
    }

    fn to_texts(&self) -> Vec<String> {
        let facts = self.iter();
        facts
            .map(|(fact, value)| format!("{}={value}", fact.name()))
            .collect()
    }
}

impl SettingValue for ServerSettings {
    fn from_toml(section: &mut Section<'_, '_>, key: &'static str) -> InputValue<ServerSettings> {
        section.read_server_settings(key)
    }

    fn from_text(text: &str, _value_type: &SettingType) -> Result<ServerSettings, String> {
        let mut settings = ServerSettings::default();
        let (name, value) = text
            .split_once('=')
            .ok_or("a setting is given as NAME=VALUE, such as synchronous_commit=off")?;
        settings
            .set(name, value)
            .map_err(|reason| format!("{} {reason}", shorten(name)))?;
        Ok(settings)
    }

    fn add(&mut self, next: ServerSettings) {
        self.extend(&next);
    }

    /// Settings are replaced one by one.
    fn replace_by(&mut self, later: &ServerSettings) {
        self.extend(later);
    }

    fn to_json(&self) -> Value {
        json!(self)
    }

    fn to_texts(&self) -> Vec<String> {
        let settings = self.iter();
        settings
            .map(|(name, value)| format!("{name}={value}"))
            .collect()
    }
}

impl SettingValue for Requirements {
    fn from_toml(section: &mut Section<'_, '_>, key: &'static str) -> InputValue<Requirements> {
        let Located { value, location } = section.read_list(key, "p99<20ms", Requirement::parse)?;
        let value = Requirements(value);
        Some(Located { value, location })
    }

    fn from_text(text: &str, _value_type: &SettingType) -> Result<Requirements, String> {
        Ok(Requirements(vec![Requirement::parse(text)?]))
    }

    fn add(&mut self, next: Requirements) {
        self.0.extend(next.0);
    }

    fn to_json(&self) -> Value {
        json!(self.0)
    }

    fn to_texts(&self) -> Vec<String> {
        self.0.iter().map(Requirement::to_string).collect()
    }
}

impl SettingValue for Vec<String> {
    fn from_toml(section: &mut Section<'_, '_>, key: &'static str) -> InputValue<Vec<String>> {
        section.read_texts(key)
    }

    fn from_text(text: &str, _value_type: &SettingType) -> Result<Vec<String>, String> {
        Ok(vec![text.to_owned()])
    }

    fn add(&mut self, next: Vec<String>) {
        self.extend(next);
    }

    fn to_json(&self) -> Value {
        json!(self)
    }

    fn to_texts(&self) -> Vec<String> {
        self.clone()
    }

    fn validation_error(&self, _value_type: &SettingType) -> Option<ErrorParts> {
        let hint = "a command that reaches a machine, such as \"ssh vm1\"";
        let is_empty = self.is_empty() || self.iter().any(|command| command.trim().is_empty());
        is_empty.then(|| ErrorParts::new("has an empty command").with_hint(hint))
    }
}

impl SettingValue for Vec<Mark> {
    fn from_toml(section: &mut Section<'_, '_>, key: &'static str) -> InputValue<Vec<Mark>> {
        section.read_list(key, "60s ./failover.sh", str::parse)
    }

    fn from_text(text: &str, _value_type: &SettingType) -> Result<Vec<Mark>, String> {
        Ok(vec![text.parse()?])
    }

    fn add(&mut self, next: Vec<Mark>) {
        self.extend(next);
    }

    fn to_json(&self) -> Value {
        json!(self.to_texts())
    }

    fn to_texts(&self) -> Vec<String> {
        self.iter().map(Mark::to_string).collect()
    }
}

/// The fact of this name; the error suggests a similar name, or lists all.
pub(crate) fn fact_of_name(name: &str) -> Result<DeclaredFact, String> {
    DeclaredFact::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = DeclaredFact::ALL.iter().map(|fact| fact.name()).collect();
        match nearest(name, &names) {
            Some(similar) => format!("{} is not a fact; did you mean {similar}?", shorten(name)),
            None => format!(
                "{} is not a fact: one of {}",
                shorten(name),
                names.join(", ")
            ),
        }
    })
}

impl<T: Choice> SettingValue for T {
    fn from_toml(section: &mut Section<'_, '_>, key: &'static str) -> InputValue<T> {
        section.read_choice(key)
    }

    fn from_text(text: &str, _value_type: &SettingType) -> Result<T, String> {
        let names: Vec<&str> = T::ALL.iter().map(|(name, _)| *name).collect();
        T::from_name(text).ok_or_else(|| format!("must be one of {}", names.join(", ")))
    }

    fn to_json(&self) -> Value {
        json!(self.name())
    }
}
