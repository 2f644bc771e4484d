//! What is heard of each transaction while it ends: errors, times of each virtual user, and with the
//! test driver its kind.
//!
//! In: samples, on the workers' threads. Out: lines, times. Must never: wait for another worker in a
//! timed run, unless there is an error to tell.

use super::super::lines::Lines;
use super::users::Raised;
use super::{Means, Ready};
use prony_dialect::hammerdb::RunLine;
use prony_dialect::hammerdb::text::Kind;
use prony_drive::{Tap, clients_of};
use prony_measure::{Distribution, Outcome, Sample};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Errors that virtual users tell of; further ones are counted, and told of at the end.
const ERRORS_TOLD: u32 = 1000;

/// The times of one virtual user.
#[derive(Clone, Default)]
pub struct Times {
    /// Its number.
    pub vuser: u32,
    /// Start of its first transaction and end of its last, on the run's clock.
    pub span_ns: Option<(u64, u64)>,
    /// By kind, in the workload's order.
    pub kinds: Vec<Distribution<u32>>,
}

/// What was heard by one worker, or by all.
#[derive(Clone, Default)]
pub struct Heard {
    /// Each virtual user.
    pub users: Vec<Times>,
    /// All together, by kind.
    pub all: Vec<Distribution<u64>>,
}

/// The ears of a run.
pub struct Ears {
    shared: Arc<Shared>,
    clients: u32,
    threads: u32,
    profiled: bool,
}

struct Shared {
    lines: Arc<Lines>,
    kinds: Vec<Kind>,
    /// The number of the first virtual user that drives.
    first: u32,
    is_test: bool,
    raised: Option<Raised>,
    told: AtomicU32,
    failed: Mutex<Vec<u32>>,
    heard: Mutex<Heard>,
}

impl Ears {
    /// For this run.
    pub fn new(means: &Means<'_>, ready: &Ready) -> Ears {
        let request = means.request;
        let kinds = ready.loaded.program.kinds().iter();
        let kinds: Vec<Kind> = kinds.map(|name| Kind::find(name)).collect();
        let is_test = means.first() == 1;
        Ears {
            clients: request.vusers,
            threads: ready.drive.threads.min(request.vusers).max(1),
            profiled: request.time_profile.is_some() && !is_test,
            shared: Arc::new(Shared {
                lines: Arc::clone(means.lines),
                kinds,
                first: means.first(),
                is_test,
                raised: ready.raised.clone(),
                told: AtomicU32::new(0),
                failed: Mutex::default(),
                heard: Mutex::default(),
            }),
        }
    }

    /// The virtual users that an error ended.
    pub fn failed(&self) -> Vec<u32> {
        let failed = self.shared.failed.lock();
        failed.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What was heard, once all workers have ended.
    pub fn heard(&self) -> Heard {
        let heard = self.shared.heard.lock();
        let mut heard = heard.unwrap_or_else(PoisonError::into_inner).clone();
        heard.users.sort_by_key(|user| user.vuser);
        heard
    }

    /// The ear of a worker.
    pub fn tap(&self, worker: usize) -> Box<dyn Tap> {
        let clients = clients_of(worker as u32, self.clients, self.threads);
        let kinds = self.shared.kinds.len();
        let times = |client| Times {
            vuser: client + self.shared.first,
            span_ns: None,
            kinds: (0..kinds).map(|_| Distribution::coarse()).collect(),
        };
        let heard = self.profiled.then(|| Heard {
            users: clients.clone().map(times).collect(),
            all: vec![Distribution::default(); kinds],
        });
        Box::new(Ear {
            shared: Arc::clone(&self.shared),
            first_client: clients.start,
            heard,
        })
    }
}

struct Ear {
    shared: Arc<Shared>,
    first_client: u32,
    heard: Option<Heard>,
}

impl Shared {
    fn failed(&self, client: u32, kind: Kind, code: [u8; 5]) {
        let vuser = client + self.first;
        let Some(raised) = &self.raised else {
            if self.told.fetch_add(1, Ordering::Relaxed) < ERRORS_TOLD {
                self.lines.told(vuser, RunLine::Error { kind });
            }
            return;
        };
        let flag = raised.get(client as usize);
        if flag.is_some_and(|flag| flag.swap(true, Ordering::Relaxed)) {
            return;
        }
        let code = String::from_utf8_lossy(&code);
        let reason = format!("{} failed with SQLSTATE {code}", kind.title);
        self.lines.failed(vuser, &reason);
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.push(vuser);
    }
}

impl Tap for Ear {
    fn started(&mut self, _: u64) {}

    fn sample(&mut self, client: u32, sample: &Sample) {
        let place = usize::from(sample.kind);
        if let Some(heard) = &mut self.heard {
            let time_ns = sample.response_ns();
            let at = (client - self.first_client) as usize;
            if let Some(user) = heard.users.get_mut(at) {
                let first_ns = user
                    .span_ns
                    .map_or(sample.scheduled_ns, |(first_ns, _)| first_ns);
                user.span_ns = Some((first_ns, sample.ended_ns));
                if let Some(times) = user.kinds.get_mut(place) {
                    times.record(time_ns);
                }
            }
            if let Some(times) = heard.all.get_mut(place) {
                times.record(time_ns);
            }
        }
        let Some(kind) = self.shared.kinds.get(place) else {
            return;
        };
        if self.shared.is_test {
            let vuser = client + self.shared.first;
            self.shared.lines.told(vuser, RunLine::Kind { kind: *kind });
        }
        if let Outcome::Failed(_, code) = sample.outcome {
            self.shared.failed(client, *kind, code);
        }
    }

    fn ended(&mut self, _: u64) {
        let Some(mine) = self.heard.take() else {
            return;
        };
        let mut heard = self
            .shared
            .heard
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        heard.users.extend(mine.users);
        heard.all.resize_with(mine.all.len(), Distribution::default);
        for (sum, times) in heard.all.iter_mut().zip(&mine.all) {
            sum.add_same(times);
        }
    }
}
