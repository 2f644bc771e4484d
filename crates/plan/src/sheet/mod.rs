//! Price sheets: what a configuration costs, where that is from, and as of when.
//!
//! In: TOML text. Out: a checked [`Sheet`], or every problem at once, each with its place and a hint.
//! Must never: fill in a price, a currency or a date; convert a currency.
//!
//! ```toml
//! [sheet]                      # what holds for all items that do not say otherwise
//! currency = "EUR"
//! region = "eu-central-1"
//! term = "on demand"
//! as_of = 2026-11-01           # or "2026-11", or "2026"
//! source = "https://example.com/prices"
//! entered_by = "dba"
//!
//! [[configuration]]
//! name = "small"
//! runs = ["20261120-2333"]     # the runs that were measured on it
//!
//! [[configuration.item]]
//! name = "primary and its replica"
//! quantity = 2
//! unit_price = 410.00
//! per = "month"                # or "hour", "year", "once"
//! replicas = 1                 # of what is bought here, so many are replicas
//! ```

mod check;
mod date;
mod read;

pub use date::AsOf;

use crate::choice::Choice;
use serde::Serialize;

/// Hours that a month is counted as: 8,760 a year by twelve, as clouds do.
pub const HOURS_A_MONTH: f64 = 730.0;

/// A price sheet without a mistake.
#[derive(Clone, Debug, PartialEq)]
pub struct Sheet {
    /// Its file, as the user wrote it.
    pub file: String,
    /// It is an example that comes with Prony, and nobody's own prices.
    pub example: bool,
    /// What can be bought; never empty, and all in one currency.
    pub configurations: Vec<Configuration>,
}

/// Something on which a load can run, with what it costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    /// Its name, unique in its sheet.
    pub name: String,
    /// The runs that were measured on it: ids, beginnings of ids, or files.
    pub runs: Vec<String>,
    /// What is paid for; never empty.
    pub items: Vec<Item>,
}

/// One thing that is paid for.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// What it is.
    pub name: String,
    /// How many of it.
    pub quantity: f64,
    /// What one of it costs.
    pub unit_price: f64,
    /// For how long one price is paid.
    pub per: Per,
    /// Share of the time for which it is paid, 0 to 1.
    pub usage: f64,
    /// What is taken off its price, per cent.
    pub discount_percent: f64,
    /// How many replicas of the database are paid for with it.
    pub replicas: u32,
    /// Three letters, as ISO 4217 has them.
    pub currency: String,
    /// Where it is bought.
    pub region: String,
    /// For how long it is bound: `on demand`, `1 year`...
    pub term: String,
    /// When the price was valid.
    pub as_of: AsOf,
    /// Where the price stands.
    pub source: String,
    /// Who wrote it down.
    pub entered_by: String,
}

/// For how long one price is paid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Per {
    /// Each hour of use.
    Hour,
    /// Each month.
    Month,
    /// Each year.
    Year,
    /// Once and for all.
    Once,
}

impl Choice for Per {
    const ALL: &'static [(&'static str, Self)] = &[
        ("hour", Self::Hour),
        ("month", Self::Month),
        ("year", Self::Year),
        ("once", Self::Once),
    ];
}

impl Item {
    /// What it costs each month; 0 for what is paid once.
    pub fn a_month(&self) -> f64 {
        match self.per {
            Per::Hour => self.paid() * HOURS_A_MONTH,
            Per::Month => self.paid(),
            Per::Year => self.paid() / 12.0,
            Per::Once => 0.0,
        }
    }

    /// What it costs once; 0 for what is paid again and again.
    pub fn once(&self) -> f64 {
        match self.per {
            Per::Once => self.paid(),
            _ => 0.0,
        }
    }

    fn paid(&self) -> f64 {
        self.quantity * self.unit_price * self.usage * (1.0 - self.discount_percent / 100.0)
    }
}

impl Configuration {
    /// What it costs each month.
    pub fn a_month(&self) -> f64 {
        self.items.iter().map(Item::a_month).sum()
    }

    /// What it costs once.
    pub fn once(&self) -> f64 {
        self.items.iter().map(Item::once).sum()
    }

    /// How many replicas it pays for.
    pub fn replicas(&self) -> u32 {
        let each = self.items.iter().map(|item| item.replicas);
        each.fold(0, u32::saturating_add)
    }

    /// The oldest of its prices' dates.
    pub fn as_of(&self) -> Option<AsOf> {
        let dates = self.items.iter().map(|item| item.as_of);
        dates.min_by_key(AsOf::first_day)
    }

    /// What its items say of something, each once, in their order.
    pub fn each<'a>(&'a self, of: impl Fn(&'a Item) -> &'a str) -> Vec<&'a str> {
        let mut found = Vec::new();
        for text in self.items.iter().map(of) {
            if !found.contains(&text) {
                found.push(text);
            }
        }
        found
    }
}

impl Sheet {
    /// Its currency.
    pub fn currency(&self) -> &str {
        let first = self.configurations.first();
        let item = first.and_then(|first| first.items.first());
        item.map_or("", |item| &item.currency)
    }
}

#[cfg(test)]
mod tests;
