//! `prony run`.
//!
//! In: a workload or a plan file, and flags. Out: an order, or a batch of them, carried out. Must
//! never: run a plan with a mistake in it.

use super::plan;
use crate::args::RunArgs;
use crate::exit::{Exit, Failure};
use crate::experiment::{self, Batch};
use crate::run::{Look, Named, Order, carry_out};
use crate::secrets;
use prony_plan::{Asked, Given, Place, Plan, ServerPlan};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::Path;

/// Runs what was asked.
pub fn run(args: &RunArgs, arguments: &[OsString]) -> Result<Exit, Failure> {
    let flags = args.asked();
    let (asked, of) = if args.is_plan() {
        let file = plan::read(Path::new(&args.what))?;
        (file.overlay(flags), args.what.as_str())
    } else {
        (flags, "the command line")
    };
    if asked.is_experiment() {
        let of = plan::runnable_experiment(asked.clone(), of)?;
        // Once is a run as any other.
        if of.runs() > 1 {
            let each = asked.variants().into_iter().zip(&of.variants);
            let documents = each.map(|((_, one), of)| asked_document(&one, &of.plan, arguments));
            let batch = Batch {
                asked: documents.collect(),
                experiment: of,
                download: args.download,
                json: args.json,
                store: !args.no_store,
                progress: args.progress,
            };
            // No variant changes how its server is looked at.
            let look = look(&asked, &batch.experiment.variants[0].plan);
            return experiment::carry_out(&batch, &look);
        }
    }
    let plan = plan::runnable(asked.clone(), of)?;
    let order = Order {
        asked: asked_document(&asked, &plan, arguments),
        plan,
        download: args.download,
        json: args.json,
        store: !args.no_store,
        progress: args.progress,
    };
    carry_out(&order, &look(&asked, &order.plan))
}

/// Whether and how to look at the server, and who may look on.
pub fn look(asked: &Asked, plan: &Plan) -> Look {
    // What the plan has was asked for somewhere.
    fn by<T>(given: &Given<T>) -> String {
        let place = given.as_ref().map(|given| given.place.to_string());
        place.unwrap_or_default()
    }
    let observe = &plan.observe;
    let off = (!observe.server).then(|| match &asked.observe {
        Some(given) if !matches!(given.place, Place::Flag(_)) => {
            format!("the plan says so ({})", given.place)
        }
        _ => "--no-observe was given".to_owned(),
    });
    Look {
        off,
        metrics: observe.server_metrics.clone().map(|value| Named {
            value,
            by: by(&asked.server_metrics),
        }),
        listen: observe.metrics_listen.clone().map(|value| Named {
            value,
            by: by(&asked.metrics_listen),
        }),
    }
}

/// What was asked, for the Run document: each value with its place, and the command line as it was
/// typed, without passwords.
pub fn asked_document(asked: &Asked, plan: &Plan, arguments: &[OsString]) -> Value {
    let server = match &plan.server {
        ServerPlan::Url(url) => prony_server::redact(url),
        ServerPlan::Embedded => "embedded".to_owned(),
    };
    let typed: Vec<String> = arguments
        .iter()
        .map(|argument| secrets::without(&argument.to_string_lossy()))
        .collect();
    json!({ "command": typed, "given": asked.to_json(&server) })
}
