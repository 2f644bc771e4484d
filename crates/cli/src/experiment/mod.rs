//! `prony run` of a plan with repeats or variants: one run after another.
//!
//! In: a checked experiment. Out: each run carried out, judged and stored by itself, a line of each,
//! and at the end the variants beside each other. Must never: hold a run back until the next one, or
//! go on after what runs between them has failed.

mod between;

use crate::command::output;
use crate::exit::{Exit, Failure};
use crate::run::{self, Look, Metrics, Order, Part, chosen_seed};
use crate::signals::Signals;
use prony_judge::experiment::{leads_with_orders, variants};
use prony_plan::{Choice, Experiment, Turn};
use prony_report::{experiment, json};
use prony_store::Run;

/// What is to be run, and what becomes of the results.
pub struct Batch {
    /// The checked experiment.
    pub experiment: Experiment,
    /// A run of each variant, in their order.
    pub orders: Vec<Order>,
    /// Print the documents, a line each, and nothing else.
    pub json: bool,
}

/// The runs that were carried out, and how they ended.
struct Course {
    /// Without their seconds, which are of no use here.
    runs: Vec<Run>,
    /// Name of the whole: that of the first run.
    id: String,
    worst: Exit,
}

/// What all runs have in common beside the batch.
struct With<'a> {
    signals: &'a Signals,
    metrics: Option<&'a Metrics>,
}

/// Carries it out. What has been run stays, whatever becomes of the rest.
///
/// # Errors
/// If a run cannot be carried out or stored, or the command between runs fails: after the table of
/// those that were.
pub fn carry_out(batch: &Batch, look: &Look) -> Result<Exit, Failure> {
    // One for all runs: whoever looks on finds it in the pauses too, and nobody else takes the port.
    let metrics = run::listen(look)?;
    let signals = Signals::listen()?;
    let of = &batch.experiment;
    let given = of.variants.first().and_then(|first| first.plan.drive.seed);
    let seed = given.unwrap_or_else(chosen_seed);
    let mut course = Course {
        runs: Vec::new(),
        id: String::new(),
        worst: Exit::Fine,
    };
    let with = With {
        signals: &signals,
        metrics: metrics.as_ref(),
    };
    let ended = run_all(batch, look, &with, seed, &mut course);
    drop(metrics);
    if !batch.json && !course.runs.is_empty() {
        let names: Vec<String> = of.variants.iter().map(|one| one.name.clone()).collect();
        let found = variants(&names, &course.runs);
        let by_orders = leads_with_orders(&course.runs);
        output::show(|out, style| {
            experiment::summary(out, style, &course.runs, &found, by_orders)
        })?;
    }
    ended.map(|()| course.worst)
}

fn run_all(
    batch: &Batch,
    look: &Look,
    with: &With<'_>,
    seed: u64,
    course: &mut Course,
) -> Result<(), Failure> {
    let (of, signals) = (&batch.experiment, with.signals);
    for (index, turn) in of.turns(seed).into_iter().enumerate() {
        if index > 0 && signals.asked().is_none() {
            let variant = &of.variants[turn.variant].name;
            between::runs(of, variant, turn.repeat, signals)?;
        }
        if let Some((exit, _)) = signals.asked() {
            course.worst = exit;
            return Ok(());
        }
        let position = u32::try_from(index + 1).unwrap_or(u32::MAX);
        let part = Part {
            experiment: place(of, turn, position, seed, &course.id),
            signals,
            metrics: with.metrics,
        };
        output::tell(&experiment::beginning(&part.experiment));
        let done = run::perform(&batch.orders[turn.variant], look, Some(&part))?;
        output::show(|out, style| match batch.json {
            true => json::line(out, done.run()),
            false => experiment::line(out, style, done.run()),
        })?;
        if index == 0 {
            course.id.clone_from(&done.run().id);
        }
        let (run, exit) = done.stored()?;
        course.runs.push(Run {
            series: Vec::new(),
            observed: None,
            ..run
        });
        // The codes rise with what they mean, and a signal's are the highest.
        if exit as u8 > course.worst as u8 {
            course.worst = exit;
        }
    }
    Ok(())
}

/// The place of a run among all.
fn place(
    of: &Experiment,
    turn: Turn,
    position: u32,
    seed: u64,
    id: &str,
) -> prony_store::Experiment {
    let random = of.order == prony_plan::Order::Random;
    prony_store::Experiment {
        id: id.to_owned(),
        variant: of.variants[turn.variant].name.clone(),
        repeat: turn.repeat,
        position,
        runs: of.runs(),
        order: of.order.name().to_owned(),
        order_seed: random.then_some(seed),
        variants: of.variants.iter().map(|one| one.name.clone()).collect(),
    }
}
