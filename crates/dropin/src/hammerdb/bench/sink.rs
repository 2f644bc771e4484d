//! Records each transaction as it ends: errors, each virtual user's times and, with the test driver, the
//! kind.
//!
//! In: samples, on the workers' threads. Out: lines, times. Must never: wait for another worker in a timed
//! run, except to print an error.

use super::super::lines::VuserLines;
use super::users::ErrorFlags;
use super::{PreparedRun, RunContext};
use crate::output::lock;
use prony_dialect::hammerdb::text::TransactionKind;
use prony_drive::{SampleListener, clients_of_thread};
use prony_measure::{Distribution, Outcome, Sample};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// The times of one virtual user.
#[derive(Clone, Default)]
pub struct UserTimes {
    /// The virtual user's number.
    pub vuser: u32,
    /// Start of its first transaction and end of its last, on the run's clock; `None` without transactions.
    pub span_ns: Option<(u64, u64)>,
    /// Response times by kind, in the workload's order.
    pub times_by_kind: Vec<Distribution<u32>>,
}

/// The times measured by one worker, or by all workers.
#[derive(Clone, Default)]
pub struct CallTimes {
    /// The times of each virtual user.
    pub users: Vec<UserTimes>,
    /// Response times of all virtual users together, by kind.
    pub all_users: Vec<Distribution<u64>>,
}

/// Records the times of one worker's virtual users.
pub struct TimesRecorder {
    first_client: u32,
    times: CallTimes,
}

impl TimesRecorder {
    /// For these clients; that with number 0 is the virtual user `first_vuser`.
    pub fn new(clients: Range<u32>, first_vuser: u32, kind_count: usize) -> TimesRecorder {
        let user_times = |client| UserTimes {
            vuser: client + first_vuser,
            span_ns: None,
            times_by_kind: (0..kind_count).map(|_| Distribution::coarse()).collect(),
        };
        TimesRecorder {
            first_client: clients.start,
            times: CallTimes {
                users: clients.map(user_times).collect(),
                all_users: vec![Distribution::default(); kind_count],
            },
        }
    }

    pub fn record(&mut self, client: u32, sample: &Sample) {
        let (kind_index, time_ns) = (usize::from(sample.kind), sample.response_ns());
        let user_index = (client - self.first_client) as usize;
        if let Some(user) = self.times.users.get_mut(user_index) {
            let first_ns = user
                .span_ns
                .map_or(sample.scheduled_ns, |(first_ns, _)| first_ns);
            user.span_ns = Some((first_ns, sample.ended_ns));
            if let Some(times) = user.times_by_kind.get_mut(kind_index) {
                times.record(time_ns);
            }
        }
        if let Some(times) = self.times.all_users.get_mut(kind_index) {
            times.record(time_ns);
        }
    }

    pub fn into_times(self) -> CallTimes {
        self.times
    }
}

/// Creates the sample sink of each worker of a run.
pub struct SampleSinks {
    state: Arc<SinkState>,
    clients: u32,
    threads: u32,
    has_time_profile: bool,
}

struct SinkState {
    lines: Arc<VuserLines>,
    kinds: Vec<TransactionKind>,
    /// The number of the first virtual user that runs transactions.
    first_vuser: u32,
    is_test_driver: bool,
    error_flags: ErrorFlags,
    failed_vusers: Mutex<Vec<u32>>,
    times: Mutex<CallTimes>,
}

impl SampleSinks {
    pub(super) fn new(context: &RunContext<'_>, prepared: &PreparedRun) -> SampleSinks {
        let request = context.request;
        let kind_names = prepared.ready_workload.program.kinds().iter();
        let is_test_driver = request.first_vuser() == 1;
        SampleSinks {
            clients: request.vusers,
            threads: prepared.plan.drive.threads,
            has_time_profile: request.time_profile_path.is_some() && !is_test_driver,
            state: Arc::new(SinkState {
                lines: Arc::clone(context.lines),
                kinds: kind_names.map(|name| TransactionKind::find(name)).collect(),
                first_vuser: request.first_vuser(),
                is_test_driver,
                error_flags: prepared.error_flags.clone(),
                failed_vusers: Mutex::default(),
                times: Mutex::default(),
            }),
        }
    }

    /// The virtual users that an error ended.
    pub fn failed_vusers(&self) -> Vec<u32> {
        lock(&self.state.failed_vusers).clone()
    }

    /// All times, once the workers have ended.
    pub fn times(&self) -> CallTimes {
        let mut times = lock(&self.state.times).clone();
        times.users.sort_by_key(|user| user.vuser);
        times
    }

    /// Records a failed transaction of another machine's client.
    pub fn record_failure(&self, client: u32, kind_index: usize, sqlstate: [u8; 5]) {
        if let Some(kind) = self.state.kinds.get(kind_index)
            && client < self.clients
        {
            self.state.record_failure(client, *kind, sqlstate);
        }
    }

    /// Adds the times of a worker of another machine, whose virtual users and kinds must be those of the run.
    ///
    /// # Errors
    /// They are not.
    pub fn add_times(&self, times: CallTimes) -> Result<(), String> {
        let (first, kinds) = (self.state.first_vuser, self.state.kinds.len());
        let is_of_run = |user: &UserTimes| {
            (first..first.saturating_add(self.clients)).contains(&user.vuser)
                && user.times_by_kind.len() == kinds
        };
        // A worker sends its times once, so that each virtual user is new.
        let mut known: BTreeSet<u32> = {
            let times = lock(&self.state.times);
            times.users.iter().map(|user| user.vuser).collect()
        };
        let is_new = times.users.iter().all(|user| known.insert(user.vuser));
        if times.all_users.len() != kinds || !is_new || !times.users.iter().all(is_of_run) {
            return Err("it sent times of other virtual users".to_owned());
        }
        self.state.add_times(times);
        Ok(())
    }

    pub fn new_listener(&self, worker: usize) -> Box<dyn SampleListener> {
        let clients = clients_of_thread(worker as u32, self.clients, self.threads);
        let times = self.has_time_profile.then(|| {
            let first_vuser = self.state.first_vuser;
            TimesRecorder::new(clients, first_vuser, self.state.kinds.len())
        });
        Box::new(SampleSink {
            state: Arc::clone(&self.state),
            times,
        })
    }
}

struct SampleSink {
    state: Arc<SinkState>,
    times: Option<TimesRecorder>,
}

impl SinkState {
    fn add_times(&self, worker_times: CallTimes) {
        let mut times = lock(&self.times);
        times.users.extend(worker_times.users);
        let kinds = worker_times.all_users.len();
        times.all_users.resize_with(kinds, Distribution::default);
        for (sum, times) in times.all_users.iter_mut().zip(&worker_times.all_users) {
            sum.add_same(times);
        }
    }

    fn record_failure(&self, client: u32, kind: TransactionKind, sqlstate: [u8; 5]) {
        let vuser = client + self.first_vuser;
        if !self.error_flags.record(client) {
            return;
        }
        if !self.error_flags.ends_clients() {
            let line = format!("{} Procedure Error set RAISEERROR for Details", kind.title);
            self.lines.print_line(vuser, line);
            return;
        }
        let sqlstate = String::from_utf8_lossy(&sqlstate);
        let reason = format!("{} failed with SQLSTATE {sqlstate}", kind.title);
        self.lines.print_failed(vuser, &reason);
        lock(&self.failed_vusers).push(vuser);
    }
}

impl SampleListener for SampleSink {
    fn started(&mut self, _: u64) {}

    fn sample(&mut self, client: u32, sample: &Sample) {
        let kind_index = usize::from(sample.kind);
        if let Some(times) = &mut self.times {
            times.record(client, sample);
        }
        let Some(kind) = self.state.kinds.get(kind_index) else {
            return;
        };
        if self.state.is_test_driver {
            let vuser = client + self.state.first_vuser;
            let line = kind.title.to_lowercase();
            self.state.lines.print_line(vuser, line);
        }
        if let Outcome::Failed(_, sqlstate) = sample.outcome {
            self.state.record_failure(client, *kind, sqlstate);
        }
    }

    fn ended(&mut self, _: u64) {
        if let Some(times) = self.times.take() {
            self.state.add_times(times.into_times());
        }
    }
}
