//! What the points of a sweep cost, by the price sheet that its plan names.
//!
//! `judge` computes the figures as for `prony price`; a point without a configuration has no price.

use crate::command::price::{parse_sheet, read_sheet, today};
use crate::exit::Failure;
use prony_judge::price::{MeasuredConfiguration, PriceOptions, PriceSheet, price};
use prony_judge::sweep::Sweep;
use prony_plan::{Experiment, Variant};
use prony_store::Run;
use std::path::Path;

/// The sheet of a sweep; `None` if its plan names none.
pub fn load_sheet(experiment: &Experiment) -> Result<Option<PriceSheet>, Failure> {
    let Some(file) = &experiment.prices else {
        return Ok(None);
    };
    let sheet = parse_sheet(&read_sheet(Path::new(file))?)?;
    let named = experiment
        .variants
        .iter()
        .filter_map(|variant| variant.configuration.as_ref());
    for name in named {
        if !sheet.configurations.iter().any(|known| known.name == *name) {
            let known: Vec<&str> = sheet
                .configurations
                .iter()
                .map(|known| known.name.as_str())
                .collect();
            let message = format!("the price sheet has no configuration {name}");
            let hint = format!(
                "name one of its configurations (configuration = \"...\"): {}",
                known.join(", ")
            );
            return Err(Failure::usage(message, hint).at(file));
        }
    }
    Ok(Some(sheet))
}

/// Adds the costs to a sweep; returns why runs have no price.
pub fn add_prices(
    sweep: &mut Sweep,
    experiment: &Experiment,
    sheet: Option<&PriceSheet>,
    runs: &[Run],
) -> Result<Vec<String>, Failure> {
    let Some(sheet) = sheet else {
        return Ok(Vec::new());
    };
    let measured: Vec<MeasuredConfiguration<'_>> = runs
        .iter()
        .filter_map(|run| {
            let point = &run.experiment.as_ref()?.variant;
            let is_of_point = |variant: &&Variant| variant.name == *point;
            let name = experiment
                .variants
                .iter()
                .find(is_of_point)?
                .configuration
                .as_ref()?;
            let mut configurations = sheet.configurations.iter();
            Some(MeasuredConfiguration {
                sheet,
                configuration: configurations.find(|known| known.name == *name)?,
                run,
            })
        })
        .collect();
    if measured.is_empty() {
        return Ok(vec![
            "No point has a price: none names a configuration of the price sheet.".to_owned(),
        ]);
    }
    let options = PriceOptions {
        today: today()?,
        utilisation: 1.0,
        across_regions: true,
        demand: None,
    };
    let prices = price(&measured, &options)
        .map_err(|error| Failure::usage(error.to_string(), error.hint()))?;
    sweep.add_prices(&prices);
    let unpriced = prices.unpriced_runs.iter();
    let mut notes: Vec<String> = unpriced
        .map(|unpriced| {
            format!(
                "No price for {}: {}. {}",
                unpriced.configuration, unpriced.why, unpriced.advice
            )
        })
        .collect();
    notes.extend(
        prices
            .remarks
            .iter()
            .map(|remark| format!("{} {}", remark.finding, remark.advice)),
    );
    notes.dedup();
    Ok(notes)
}
