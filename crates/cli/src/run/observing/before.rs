//! How the server stands before the clients connect.
//!
//! In: the control connection that looked for the data, the settings. Out: the beginning of an
//! [`Observed`]. Must never: fail a run; a lost connection shows when the clients connect.

use super::{Look, Named, add_missing, missing, seen};
use crate::exit::{Exit, Failure};
use prony_server::Control;
use prony_server::observe::machine::{Exporter, Reading, neighbour, read_here};
use prony_server::observe::{Facts, Reader, round_trip, state};
use prony_store::{Machine, Observed, RoundTrip};

/// The beginning of what is observed, and the node_exporter if there is one.
///
/// # Errors
/// If the URL of the node_exporter is none, or it does not answer: whoever names it wants it.
pub fn before(
    control: &mut Control,
    facts: &Facts,
    look: &Look,
) -> Result<(Observed, Option<Exporter>), Failure> {
    let mut observed = Observed::default();
    if look.off.is_some() {
        observed.off.clone_from(&look.off);
        return Ok((observed, None));
    }
    let exporter = look.metrics.as_ref().map(answering).transpose()?;
    let near = neighbour(control);
    observed.machine = Machine {
        shared: near.shared,
        shared_because: near.because.to_owned(),
        ..Machine::default()
    };
    let machine = match &exporter {
        Some((exporter, reading)) => Some((exporter.name(), reading.clone())),
        None if near.shared == Some(true) => Some(("/proc".to_owned(), read_here())),
        None => None,
    };
    match machine {
        Some((source, reading)) => {
            observed.machine.source = Some(source);
            observed.machine.cpus = u32::try_from(reading.cpus.len()).ok().filter(|n| *n > 0);
            observed.machine.memory_bytes = reading.memory_bytes;
        }
        None => {
            let why = format!(
                "{}; --server-metrics URL names its node_exporter",
                near.because
            );
            add_missing(&mut observed, vec![missing("the server's machine", &why)]);
        }
    }
    if let Err(error) = ask(control, facts, &mut observed) {
        let text = error.to_string();
        let why = text.lines().next().unwrap_or_default();
        add_missing(
            &mut observed,
            vec![missing("how the server stands before it", why)],
        );
    }
    Ok((observed, exporter.map(|(exporter, _)| exporter)))
}

/// A node_exporter that answers, and its first answer.
fn answering(url: &Named<String>) -> Result<(Exporter, Reading), Failure> {
    let hint = format!("see the URL of {}, or run without it", url.by);
    let failure = |exit: Exit| {
        let hint = hint.clone();
        move |what: String| Failure::new(exit, what, hint)
    };
    let exporter = Exporter::new(&url.value).map_err(failure(Exit::Usage))?;
    // The first answer may have to look up a name.
    let reading = exporter.read().or_else(|_| exporter.read());
    let reading = reading.map_err(failure(Exit::Connect))?;
    Ok((exporter, reading))
}

fn ask(
    control: &mut Control,
    facts: &Facts,
    observed: &mut Observed,
) -> Result<(), prony_server::control::Error> {
    let mut found = state(control, facts)?;
    add_missing(observed, seen::missing(std::mem::take(&mut found.missing)));
    let trip = round_trip(control)?;
    observed.round_trip = trip.map(|trip| RoundTrip {
        samples: trip.samples,
        min_ns: trip.min_ns,
        p50_ns: trip.p50_ns,
        p99_ns: trip.p99_ns,
    });
    let mut reader = Reader::new(control)?;
    // Last, so that as little as possible lies between it and the load.
    let counters = reader.read(control)?;
    add_missing(observed, seen::missing(reader.take_missing()));
    observed.before = Some(seen::state(found, &counters));
    Ok(())
}
