//! The figures of a run, accumulated second by second.
//!
//! Publishes an [`Exposition`] on a [`MetricsPage`], from the Run document as of the start, the rows of the event
//! loop and the seconds of the server. It contains no password, and each kind has a unique name.

use super::MetricsPage;
use prony_measure::{ErrorLedger, IntervalRow};
use prony_report::metrics::{ErrorTotals, Exposition, KindTotals};
use prony_store::{Choice, Run, Second, ServerEngine, ServerSecond};

/// The figures of a run, and the page that shows them.
pub struct RunMetrics {
    page: MetricsPage,
    all: Exposition,
    errors: ErrorLedger,
    /// Whether starts are scheduled, and may therefore wait for a client.
    is_open_loop: bool,
}

fn text(value: Option<impl ToString>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

impl RunMetrics {
    /// The figures of a run that is about to start.
    pub fn new(run: &Run, page: MetricsPage) -> RunMetrics {
        let (server, workload, drive) = (&run.server, &run.workload, &run.drive);
        let labels = vec![
            ("run", run.id.clone()),
            ("prony_version", run.build.version.clone()),
            ("workload", workload.name.clone()),
            ("scale", workload.scale.to_string()),
            (
                "protocol",
                drive.protocol.map_or("", Choice::name).to_owned(),
            ),
            (
                "pace",
                if drive.open_loop { "rate" } else { "closed" }.to_owned(),
            ),
            ("threads", drive.threads.to_string()),
            ("engine", text(server.engine.as_ref().map(ServerEngine::id))),
            ("server_version", server.version.clone()),
            ("address", text(server.address.as_ref())),
            ("database", server.database.clone()),
        ];
        let all = Exposition {
            labels,
            clients: drive.clients,
            target_tps: drive.rate_tps,
            kinds: kinds(&workload.kinds),
            ..Exposition::default()
        };
        page.publish(all.clone());
        RunMetrics {
            page,
            all,
            errors: ErrorLedger::default(),
            is_open_loop: drive.rate_tps.is_some(),
        }
    }

    /// Adds a second of the run, and what was observed of the server since the last one.
    pub fn row(&mut self, row: &IntervalRow, second: &Second, servers: &[ServerSecond]) {
        servers
            .iter()
            .for_each(|server| self.all.server.add(server));
        let interval = &row.interval;
        for (kind, tally) in self.all.kinds.iter_mut().zip(&interval.kinds) {
            kind.committed += tally.committed;
            kind.rolled_back += tally.rolled_back;
            kind.failed += tally.failed;
            kind.skipped += tally.skipped;
            kind.retries += tally.retries;
            kind.times += tally.response.samples;
            kind.sum_s += tally.response.sum_ns as f64 / 1e9;
            kind.add_times(&tally.response.histogram);
        }
        self.errors.add(&interval.errors);
        self.all.errors = self.error_totals();
        if let Some(cpu_ns) = interval.health.cpu_ns() {
            *self.all.client_cpu_s.get_or_insert_default() += cpu_ns as f64 / 1e9;
        }
        self.all.waiting = self.is_open_loop.then_some(interval.health.waiting);
        self.all.last = Some(second.clone());
        self.page.publish(self.all.clone());
    }

    fn error_totals(&self) -> Vec<ErrorTotals> {
        let name = |kind: u16| {
            let kind = self.all.kinds.get(usize::from(kind));
            kind.map_or_else(String::new, |kind| kind.name.clone())
        };
        // An entry with a message may belong to an error that did not end a transaction.
        let entries = self.errors.entries().iter().filter(|entry| entry.count > 0);
        let mut totals: Vec<ErrorTotals> = entries
            .map(|entry| ErrorTotals {
                kind: name(entry.kind),
                class: entry.class.name().to_owned(),
                code: String::from_utf8_lossy(&entry.code).into_owned(),
                count: entry.count,
            })
            .collect();
        if self.errors.others() > 0 {
            totals.push(ErrorTotals {
                class: "other".to_owned(),
                count: self.errors.others(),
                ..ErrorTotals::default()
            });
        }
        totals
    }
}

/// One entry for each kind. If scripts have the same name, the first keeps it, and the number of the script is
/// appended to the others, repeatedly if the resulting name is taken.
fn kinds(names: &[String]) -> Vec<KindTotals> {
    let mut unique: Vec<String> = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let later = &names[index + 1..];
        let mut unique_name = name.clone();
        if unique.contains(name) {
            while unique_name == *name
                || unique.contains(&unique_name)
                || later.contains(&unique_name)
            {
                unique_name += &format!(" #{}", index + 1);
            }
        }
        unique.push(unique_name);
    }
    let kind = |name| KindTotals {
        name,
        ..KindTotals::default()
    };
    unique.into_iter().map(kind).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_kinds_are_unique() {
        let named = |names: &[&str]| -> Vec<String> {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            kinds(&names).into_iter().map(|kind| kind.name).collect()
        };
        assert_eq!(named(&["x", "y", "x"]), ["x", "y", "x #3"]);
        assert_eq!(named(&["x", "x #3", "x"]), ["x", "x #3", "x #3 #3"]);
        // A later script keeps its own name too.
        assert_eq!(named(&["x", "x", "x #2"]), ["x", "x #2 #2", "x #2"]);
        for names in [
            &["x", "x #3 #3", "x", "x #3", "x", "x #3"][..],
            &["x #2", "x #2", "x", "x", "x #4"],
        ] {
            let mut unique = named(names);
            unique.sort();
            unique.dedup();
            assert_eq!(unique.len(), names.len(), "{unique:?}");
        }
    }
}
