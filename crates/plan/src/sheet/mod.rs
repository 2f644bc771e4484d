//! Price sheets: the cost of configurations, with source and date.
//!
//! TOML text becomes a checked [`PriceSheet`], or every problem at once, each with its location and a hint.
//! Prices, currencies and dates are never filled in, and currencies never converted.
//!
//! ```toml
//! [sheet]                      # values for all items that do not have their own
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
//! replicas = 1                 # how many of these are replicas
//! ```

mod check;
mod date;
mod read;

pub use date::PriceDate;

use crate::choice::choices;

/// Hours in a month, as cloud providers bill them: a twelfth of 8,760 hours per year.
pub const HOURS_PER_MONTH: f64 = 730.0;

#[derive(Clone, Debug, PartialEq)]
pub struct PriceSheet {
    /// Name of the sheet's file, as the user wrote it.
    pub file: String,
    /// Whether the sheet is an example that comes with Prony, not the user's own prices.
    pub example: bool,
    /// The configurations; never empty, and all in one currency.
    pub configurations: Vec<Configuration>,
}

/// A system on which a load can run, with its costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    /// Name of the configuration, unique in its sheet.
    pub name: String,
    /// The runs that were measured on the configuration: ids, prefixes of ids, or files.
    pub runs: Vec<String>,
    /// The priced items; never empty.
    pub items: Vec<PricedItem>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PricedItem {
    pub name: String,
    pub quantity: f64,
    pub unit_price: f64,
    /// The period that the price covers.
    pub per: BillingPeriod,
    /// Fraction of the time that is paid for, 0 to 1.
    pub usage: f64,
    /// Discount, per cent.
    pub discount_percent: f64,
    /// Number of database replicas included.
    pub replicas: u32,
    /// Currency code of ISO 4217, three letters.
    pub currency: String,
    /// The region in which the item is bought.
    pub region: String,
    /// Commitment: `on demand`, `1 year`...
    pub term: String,
    /// When the price was valid.
    pub as_of: PriceDate,
    pub source: String,
    /// The person who entered the price.
    pub entered_by: String,
}

choices! {
    /// The period that the price covers.
    pub enum BillingPeriod {
        /// Each hour of use.
        Hour = "hour",
        Month = "month",
        Year = "year",
        Once = "once",
    }
}

impl PricedItem {
    /// Cost of the item per month; 0 if it is paid once.
    pub fn monthly_cost(&self) -> f64 {
        match self.per {
            BillingPeriod::Hour => self.amount() * HOURS_PER_MONTH,
            BillingPeriod::Month => self.amount(),
            BillingPeriod::Year => self.amount() / 12.0,
            BillingPeriod::Once => 0.0,
        }
    }

    /// One-time cost of the item; 0 if it is paid periodically.
    pub fn one_time_cost(&self) -> f64 {
        match self.per {
            BillingPeriod::Once => self.amount(),
            _ => 0.0,
        }
    }

    fn amount(&self) -> f64 {
        self.quantity * self.unit_price * self.usage * (1.0 - self.discount_percent / 100.0)
    }
}

impl Configuration {
    /// Cost of the configuration per month.
    pub fn monthly_cost(&self) -> f64 {
        self.items.iter().map(PricedItem::monthly_cost).sum()
    }

    /// One-time cost of the configuration.
    pub fn one_time_cost(&self) -> f64 {
        self.items.iter().map(PricedItem::one_time_cost).sum()
    }

    /// Number of replicas included.
    pub fn replicas(&self) -> u32 {
        let replicas = self.items.iter().map(|item| item.replicas);
        replicas.fold(0, u32::saturating_add)
    }

    /// The oldest date of the configuration's prices.
    pub fn as_of(&self) -> Option<PriceDate> {
        let dates = self.items.iter().map(|item| item.as_of);
        dates.min_by_key(PriceDate::first_epoch_day)
    }

    /// The distinct values of one field of the items, in order of first occurrence.
    pub fn distinct<'a>(&'a self, field: impl Fn(&'a PricedItem) -> &'a str) -> Vec<&'a str> {
        let mut distinct = Vec::new();
        for text in self.items.iter().map(field) {
            if !distinct.contains(&text) {
                distinct.push(text);
            }
        }
        distinct
    }
}

impl PriceSheet {
    /// The currency of all prices.
    pub fn currency(&self) -> &str {
        let first = self.configurations.first();
        let item = first.and_then(|first| first.items.first());
        item.map_or("", |item| &item.currency)
    }
}

#[cfg(test)]
mod tests;
