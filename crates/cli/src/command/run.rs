//! `prony run`.
//!
//! In: a workload or a plan file, and flags. Out: an order, carried out. Must never: run a plan with
//! a mistake in it.

use super::{plan, server, sizing};
use crate::args::RunArgs;
use crate::exit::{Exit, Failure};
use crate::run::{Look, Meant, Named, Order, carry_out};
use crate::secrets;
use prony_plan::{Asked, Given, Place, Plan, ServerPlan};
use prony_store::scenario::Cached;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::Path;

/// Runs what was asked.
pub fn run(args: &RunArgs, arguments: &[OsString]) -> Result<Exit, Failure> {
    let (order, look) = order(args, arguments)?;
    carry_out(&order, &look)
}

/// What is to be run by these flags, and how the server is looked at meanwhile.
pub fn order(args: &RunArgs, arguments: &[OsString]) -> Result<(Order, Look), Failure> {
    let flags = args.asked();
    let (asked, of) = if args.is_plan() {
        let file = plan::read(Path::new(&args.what))?;
        (file.overlay(flags), args.what.as_str())
    } else {
        (flags, "the command line")
    };
    let plan = plan::runnable(asked.clone(), of)?;
    let meant = Meant {
        cached: cached(args, &plan)?,
        ..Meant::default()
    };
    let order = Order {
        asked: asked_document(&asked, &plan, arguments),
        plan,
        download: args.download,
        json: args.json,
        store: !args.no_store,
        progress: args.progress,
        meant,
    };
    let look = look(&asked, &order.plan);
    Ok((order, look))
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
