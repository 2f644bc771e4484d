//! `prony run`.
//!
//! In: a workload or a plan file, and flags. Out: an order, or a batch of them, carried out. Must
//! never: run a plan with a mistake in it.

use super::{plan, server, sizing};
use crate::args::RunArgs;
use crate::exit::{Exit, Failure};
use crate::experiment::{self, Batch};
use crate::run::{Look, Meant, Named, Order, carry_out};
use crate::secrets;
use prony_plan::{Asked, Experiment, Given, Place, Plan, ServerPlan};
use prony_store::scenario::Cached;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::Path;

/// Runs what was asked.
pub fn run(args: &RunArgs, arguments: &[OsString]) -> Result<Exit, Failure> {
    let (asked, of) = asked(args)?;
    if asked.is_experiment() {
        let experiment = plan::runnable_experiment(asked.clone(), of)?;
        // Once is a run as any other.
        if experiment.runs() > 1 {
            let batch = batch(args, &asked, experiment, arguments)?;
            // No variant changes how its server is looked at.
            let look = look(&asked, &batch.experiment.variants[0].plan);
            return experiment::carry_out(&batch, &look);
        }
    }
    let (order, look) = single(args, &asked, of, arguments)?;
    carry_out(&order, &look)
}

/// What one run by these flags is, and how the server is looked at meanwhile.
pub fn order(args: &RunArgs, arguments: &[OsString]) -> Result<(Order, Look), Failure> {
    let (asked, of) = asked(args)?;
    single(args, &asked, of, arguments)
}

/// What was asked, and where most of it stands.
fn asked(args: &RunArgs) -> Result<(Asked, &str), Failure> {
    let flags = args.asked();
    if args.is_plan() {
        let file = plan::read(Path::new(&args.what))?;
        Ok((file.overlay(flags), &args.what))
    } else {
        Ok((flags, "the command line"))
    }
}

fn single(
    args: &RunArgs,
    asked: &Asked,
    of: &str,
    arguments: &[OsString],
) -> Result<(Order, Look), Failure> {
    let plan = plan::runnable(asked.clone(), of)?;
    let order = ordered(args, asked, plan, arguments)?;
    let look = look(asked, &order.plan);
    Ok((order, look))
}

fn batch(
    args: &RunArgs,
    asked: &Asked,
    experiment: Experiment,
    arguments: &[OsString],
) -> Result<Batch, Failure> {
    let each = asked.variants().into_iter().zip(&experiment.variants);
    let orders = each.map(|((_, one), of)| ordered(args, &one, of.plan.clone(), arguments));
    Ok(Batch {
        orders: orders.collect::<Result<_, _>>()?,
        experiment,
        json: args.json,
    })
}

fn ordered(
    args: &RunArgs,
    asked: &Asked,
    plan: Plan,
    arguments: &[OsString],
) -> Result<Order, Failure> {
    Ok(Order {
        asked: asked_document(asked, &plan, arguments),
        meant: Meant {
            cached: cached(args, &plan)?,
            ..Meant::default()
        },
        plan,
        download: args.download,
        json: args.json,
        store: !args.keeping.no_store,
        progress: args.keeping.progress,
    })
}

/// The share of the data that is to be cached, with what it is to fit into.
fn cached(args: &RunArgs, plan: &Plan) -> Result<Option<Cached>, Failure> {
    let Some(share) = args.cached else {
        return Ok(None);
    };
    let ServerPlan::Url(url) = &plan.server else {
        let what = "--cached asks a server that is there, and this one is not started yet";
        return Err(Failure::new(Exit::Usage, what, "name a server with --url"));
    };
    let mut control = server::connect(&server::target(Some(url))?)?;
    let metrics = plan.observe.server_metrics.as_deref();
    sizing::wanted(&mut control, share, args.cached_of, metrics).map(Some)
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
