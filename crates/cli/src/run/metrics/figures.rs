//! The figures of a run, accumulated second by second.
//!
//! Builds an [`Exposition`] from the Run document at the start of the run, the interval rows and the server's
//! per-second observations, and publishes it on a [`MetricsPage`]. The page contains no password, and each
//! kind has a unique name.

use super::MetricsPage;
use prony_measure::{ErrorLedger, IntervalRow};
use prony_report::metrics::{ErrorTotals, Exposition, KindTotals};
use prony_store::{Choice, Run, Second, ServerSecond};

/// The figures of a run, and the page that shows them.
pub struct RunMetrics {
    page: MetricsPage,
    exposition: Exposition,
    errors: ErrorLedger,
    /// Whether starts are scheduled, and may therefore wait for a client.
    is_open_loop: bool,
}

fn text_or_empty(value: Option<impl ToString>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

impl RunMetrics {
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
            (
                "product",
                text_or_empty(server.product.map(|product| product.id)),
            ),
            ("server_version", server.version.clone()),
            ("address", text_or_empty(server.address.as_ref())),
            ("database", server.database.clone()),
        ];
        let exposition = Exposition {
            labels,
            clients: drive.clients,
            target_tps: drive.rate_tps,
            kinds: empty_totals(&workload.kinds),
            ..Exposition::default()
        };
        page.publish(exposition.clone());
        RunMetrics {
            page,
            exposition,
            errors: ErrorLedger::default(),
            is_open_loop: drive.rate_tps.is_some(),
        }
    }

    /// Adds one second of the run, and the observations of the server since the previous second.
    pub fn add_second(
        &mut self,
        row: &IntervalRow,
        second: &Second,
        server_seconds: &[ServerSecond],
    ) {
        server_seconds
            .iter()
            .for_each(|server| self.exposition.server.add(server));
        let interval = &row.interval;
        for (kind, tally) in self.exposition.kinds.iter_mut().zip(&interval.kinds) {
            kind.committed += tally.committed;
            kind.rolled_back += tally.rolled_back;
            kind.failed += tally.failed;
            kind.skipped += tally.skipped;
            kind.retries += tally.retries;
            kind.samples += tally.response.samples;
            kind.sum_s += tally.response.sum_ns as f64 / 1e9;
            kind.add_times(&tally.response.histogram);
        }
        self.errors.add(&interval.errors);
        self.exposition.errors = self.error_totals();
        if let Some(cpu_ns) = interval.health.cpu_ns() {
            *self.exposition.client_cpu_s.get_or_insert_default() += cpu_ns as f64 / 1e9;
        }
        self.exposition.waiting_starts =
            self.is_open_loop.then_some(interval.health.starts_waiting);
        self.exposition.last = Some(second.clone());
        self.page.publish(self.exposition.clone());
    }

    fn error_totals(&self) -> Vec<ErrorTotals> {
        let name = |kind: u16| {
            let kind = self.exposition.kinds.get(usize::from(kind));
            kind.map_or_else(String::new, |kind| kind.name.clone())
        };
        // Skip entries with count 0: they only keep the message of an error that ended no transaction.
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

/// Totals of zero for each kind. If scripts have the same name, the first one keeps it, and the number of the
/// script is appended to the name of each other one, repeatedly if the resulting name is taken.
fn empty_totals(names: &[String]) -> Vec<KindTotals> {
    let mut unique: Vec<String> = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let later_names = &names[index + 1..];
        let mut unique_name = name.clone();
        if unique.contains(name) {
            while unique_name == *name
                || unique.contains(&unique_name)
                || later_names.contains(&unique_name)
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
        let unique_names = |names: &[&str]| -> Vec<String> {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            empty_totals(&names)
                .into_iter()
                .map(|kind| kind.name)
                .collect()
        };
        assert_eq!(unique_names(&["x", "y", "x"]), ["x", "y", "x #3"]);
        assert_eq!(unique_names(&["x", "x #3", "x"]), ["x", "x #3", "x #3 #3"]);
        // A later script keeps its own name too.
        assert_eq!(unique_names(&["x", "x", "x #2"]), ["x", "x #2 #2", "x #2"]);
        for names in [
            &["x", "x #3 #3", "x", "x #3", "x", "x #3"][..],
            &["x #2", "x #2", "x", "x", "x #4"],
        ] {
            let mut unique = unique_names(names);
            unique.sort();
            unique.dedup();
            assert_eq!(unique.len(), names.len(), "{unique:?}");
        }
    }
}
