//! What is shown of a run, added up second by second.
//!
//! In: the document as it is when the clients connect, rows of the loop, seconds of the server. Out: an
//! [`Exposition`]. Must never: hold a password; give two kinds one name.

use prony_measure::{ErrorLedger, Row};
use prony_report::metrics::{ErrorSoFar, Exposition, KindSoFar};
use prony_store::{Run, Second, ServerSecond};

/// What is shown of a run.
pub struct Figures {
    all: Exposition,
    errors: ErrorLedger,
    /// Starts are scheduled, and may wait.
    paced: bool,
}

impl Figures {
    /// Of a run that is about to start.
    pub fn of(run: &Run) -> Figures {
        let (server, workload, drive) = (&run.server, &run.workload, &run.drive);
        let labels = vec![
            ("run", run.id.clone()),
            ("prony_version", run.build.version.clone()),
            ("workload", workload.name.clone()),
            ("scale", workload.scale.to_string()),
            ("protocol", drive.protocol.clone()),
            ("pace", drive.pace.clone()),
            ("threads", drive.threads.to_string()),
            ("engine", server.engine.clone()),
            ("server_version", server.version.clone()),
            ("address", server.address.clone()),
            ("database", server.database.clone()),
        ];
        let all = Exposition {
            labels,
            clients: drive.clients,
            target_tps: drive.rate_tps,
            kinds: kinds(&workload.kinds),
            ..Exposition::default()
        };
        Figures {
            all,
            errors: ErrorLedger::default(),
            paced: drive.rate_tps.is_some(),
        }
    }

    /// What is shown now.
    pub fn shown(&self) -> Exposition {
        self.all.clone()
    }

    /// Adds a second of the run.
    pub fn row(&mut self, row: &Row, second: &Second) {
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
        self.all.errors = self.sorts();
        if let Some(cpu_ns) = interval.health.cpu_ns() {
            *self.all.client_cpu_s.get_or_insert_default() += cpu_ns as f64 / 1e9;
        }
        self.all.waiting = self.paced.then_some(interval.health.waiting);
        self.all.last = Some(second.clone());
    }

    /// Adds a second of the server.
    pub fn server(&mut self, second: &ServerSecond) {
        self.all.server.add(second);
    }

    fn sorts(&self) -> Vec<ErrorSoFar> {
        let name = |kind: u16| {
            let kind = self.all.kinds.get(usize::from(kind));
            kind.map_or_else(String::new, |kind| kind.name.clone())
        };
        // A message may be known of an error that did not end a transaction.
        let entries = self.errors.entries().iter().filter(|entry| entry.count > 0);
        let mut sorts: Vec<ErrorSoFar> = entries
            .map(|entry| ErrorSoFar {
                kind: name(entry.kind),
                class: entry.class.name().to_owned(),
                code: String::from_utf8_lossy(&entry.code).into_owned(),
                count: entry.count,
            })
            .collect();
        if self.errors.others() > 0 {
            sorts.push(ErrorSoFar {
                class: "other".to_owned(),
                count: self.errors.others(),
                ..ErrorSoFar::default()
            });
        }
        sorts
    }
}

/// One entry a kind. Scripts of the same name are told apart by their place, the first keeps its own;
/// where another has that very name, by as many marks more as it takes.
fn kinds(names: &[String]) -> Vec<KindSoFar> {
    let mut taken: Vec<String> = Vec::new();
    for (place, name) in names.iter().enumerate() {
        let later = &names[place + 1..];
        let mut own = name.clone();
        if taken.contains(name) {
            while own == *name || taken.contains(&own) || later.contains(&own) {
                own += &format!(" #{}", place + 1);
            }
        }
        taken.push(own);
    }
    let kind = |name| KindSoFar {
        name,
        ..KindSoFar::default()
    };
    taken.into_iter().map(kind).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_kinds_have_one_name() {
        let named = |names: &[&str]| -> Vec<String> {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            kinds(&names).into_iter().map(|kind| kind.name).collect()
        };
        assert_eq!(named(&["x", "y", "x"]), ["x", "y", "x #3"]);
        assert_eq!(named(&["x", "x #3", "x"]), ["x", "x #3", "x #3 #3"]);
        // One that comes later keeps its name too.
        assert_eq!(named(&["x", "x", "x #2"]), ["x", "x #2 #2", "x #2"]);
        for names in [
            &["x", "x #3 #3", "x", "x #3", "x", "x #3"][..],
            &["x #2", "x #2", "x", "x", "x #4"],
        ] {
            let mut found = named(names);
            found.sort();
            found.dedup();
            assert_eq!(found.len(), names.len(), "{found:?}");
        }
    }
}
