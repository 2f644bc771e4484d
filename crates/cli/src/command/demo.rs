//! `prony demo`: a run of every room on a server of its own.
//!
//! In: nothing but this machine. Out: what `prony run` prints. Must never: do what `prony run`
//! cannot; the same is said on stderr as a command.

use super::run::asked_document;
use super::{output, plan};
use crate::args::DemoArgs;
use crate::exit::{Exit, Failure};
use crate::run::host::processors;
use crate::run::{Look, Order, carry_out};
use prony_plan::{Asked, flag};
use std::ffi::OsString;
use std::time::Duration;

/// As many branches as clients: with fewer, the clients mostly wait for each other's row locks.
const CLIENTS: u64 = 16;

/// Runs tpcb on a throw-away server.
pub fn demo(args: &DemoArgs, arguments: &[OsString]) -> Result<Exit, Failure> {
    let threads = processors().clamp(1, 2) as u64;
    let mut asked = Asked::default();
    let place = "demo";
    asked.embedded = flag(place, Some(true));
    asked.workload = flag(place, Some("tpcb".to_owned()));
    asked.scale = flag(place, Some(CLIENTS));
    asked.clients = flag(place, Some(CLIENTS));
    asked.threads = flag(place, Some(threads));
    asked.warmup = flag(place, Some(Duration::from_secs(2)));
    asked.duration = flag("--duration", Some(args.duration));
    output::tell(&format!(
        "The same as: prony run tpcb --embedded --scale {CLIENTS} --clients {CLIENTS} \
         --threads {threads} --warmup 2s --duration {}",
        prony_plan::format_duration(args.duration),
    ));
    let plan = plan::checked(asked.clone(), "the demo")?;
    let order = Order {
        asked: asked_document(&asked, &plan, arguments),
        plan,
        download: args.download,
        json: args.json,
        store: !args.no_store,
        progress: Duration::from_secs(1),
        meant: Default::default(),
    };
    carry_out(&order, &Look::default())
}
