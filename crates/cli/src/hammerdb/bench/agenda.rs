//! What is to be said and counted, and when.
//!
//! In: a request. Out: acts in order of time. Must never: read a clock.

use super::Means;
use prony_dialect::hammerdb::{Driver, RunLine, text};
use std::time::Duration;

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// A virtual user says this.
    Say(u32, RunLine),
    /// A virtual user begins.
    Running(u32),
    /// The figures are read, before and after.
    CountStart,
    /// The same; there is nothing after it.
    CountEnd,
    /// The transaction counter is read.
    Tick,
}

/// Acts by their time since the start of the load.
#[derive(Debug, Default)]
pub struct Agenda {
    acts: Vec<(Duration, Act)>,
}

impl Agenda {
    /// That of a run on so many warehouses.
    ///
    /// `cipher`: of the connections, which virtual users tell of on MySQL and MariaDB.
    pub fn new(means: &Means<'_>, warehouses: u32, cipher: Option<&str>) -> Agenda {
        let mut agenda = Agenda::default();
        agenda.monitor(means, cipher);
        agenda.users(means, warehouses, cipher);
        // Stable: what is due at the same time stays in this order.
        agenda.acts.sort_by_key(|(at, _)| *at);
        if let Some(end) = agenda
            .acts
            .iter()
            .position(|(_, act)| *act == Act::CountEnd)
        {
            agenda.acts.truncate(end + 1);
        }
        agenda
    }

    fn say(&mut self, at: Duration, vuser: u32, line: RunLine) {
        self.acts.push((at, Act::Say(vuser, line)));
    }

    fn cipher(&mut self, at: Duration, vuser: u32, cipher: Option<&str>) {
        if let Some(cipher) = cipher.map(str::to_owned) {
            self.say(at, vuser, RunLine::SslCipher { cipher });
        }
    }

    fn monitor(&mut self, means: &Means<'_>, cipher: Option<&str>) {
        let Driver::Timed {
            rampup_min,
            duration_min,
            ..
        } = means.request.driver
        else {
            return;
        };
        let after = |minutes: u64| {
            means
                .minute
                .saturating_mul(u32::try_from(minutes).unwrap_or(u32::MAX))
        };
        if means.request.time_profile.is_some() {
            self.say(Duration::ZERO, 1, RunLine::Profiler);
        }
        self.cipher(Duration::ZERO, 1, cipher);
        let rampup = RunLine::Rampup {
            minutes: rampup_min,
        };
        self.say(Duration::ZERO, 1, rampup);
        for minutes in 1..=rampup_min {
            self.say(after(minutes), 1, RunLine::RampupMinutes { minutes });
        }
        let start = after(rampup_min);
        self.say(start, 1, RunLine::RampupComplete);
        self.acts.push((start, Act::CountStart));
        let timing = RunLine::Timing {
            minutes: duration_min,
        };
        self.say(start, 1, timing);
        for minutes in 1..=duration_min {
            let at = start.saturating_add(after(minutes));
            self.say(at, 1, RunLine::Minute { minutes });
        }
        let end = start.saturating_add(after(duration_min));
        if let Some(counter) = &means.request.counter {
            let every = Duration::from_secs(counter.refresh_s.max(1));
            let mut at = Duration::ZERO;
            while at < end {
                self.acts.push((at, Act::Tick));
                at = at.saturating_add(every);
            }
        }
        self.say(end, 1, RunLine::TestComplete);
        self.acts.push((end, Act::CountEnd));
    }

    fn users(&mut self, means: &Means<'_>, warehouses: u32, cipher: Option<&str>) {
        let request = means.request;
        let is_timed = matches!(request.driver, Driver::Timed { .. });
        for client in 0..request.vusers {
            let vuser = means.vuser(client);
            let at = super::users::delay(request, client);
            if vuser > 1 {
                self.acts.push((at, Act::Running(vuser)));
            }
            if is_timed && request.time_profile.is_some() {
                self.say(at, vuser, RunLine::Profiler);
            }
            self.cipher(at, vuser, cipher);
            if request.all_warehouses {
                let share = text::share(client + 2, request.vusers, warehouses.into());
                let of = share.len() as u64;
                for (nth, warehouse) in (1..).zip(share) {
                    let line = RunLine::Assigning {
                        vuser,
                        warehouse,
                        users: request.vusers,
                        warehouses: warehouses.into(),
                        nth,
                        of,
                    };
                    self.say(at, vuser, line);
                }
            }
            let line = RunLine::Processing {
                iterations: request.iterations,
                suppressed: is_timed,
            };
            self.say(at, vuser, line);
        }
    }
}

impl IntoIterator for Agenda {
    type Item = (Duration, Act);
    type IntoIter = std::vec::IntoIter<(Duration, Act)>;

    fn into_iter(self) -> Self::IntoIter {
        self.acts.into_iter()
    }
}
